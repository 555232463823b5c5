#include "src/io/json_text.h"

#include <inttypes.h>
#include <json-c/linkhash.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/harmless.h"
#include "engine/base/utf8.h"

/* What an object's user data is where it lacks something: json-c keeps that for its users, and uses it itself for the
 * text of a real number alone. */
static char lacks;

struct writer {
    struct buffer *out;
    json_text_form form;
    int level;
    tdm_status status; /* the first failure; then nothing more is written */
};

void json_text_lacks(json_object *o)
{
    if (o) json_object_set_userdata(o, &lacks, NULL);
}

static void put(struct writer *w, const char *bytes, size_t n)
{
    if (!w->status) w->status = buffer_append(w->out, bytes, n, NULL);
}

static void put_line(struct writer *w)
{
    static const char spaces[] = "                                ";
    if (w->form == JSON_TEXT_LINE) return;
    put(w, "\n", 1);
    for (size_t n = 2 * (size_t)w->level, part; n; n -= part)
        put(w, spaces, part = n < sizeof spaces - 1 ? n : sizeof spaces - 1);
}

/* The one that is escaped by a letter, or 0. */
static char letter_of(char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *at = c ? strchr(from, c) : NULL;
    return at ? to[at - from] : 0;
}

/* Characters that a terminal must not get are escaped, so that a line of JSON may be shown unchanged. */
static void put_string(struct writer *w, const char *text, size_t n)
{
    put(w, "\"", 1);
    for (size_t at = 0, plain = 0, length; at < n; at += length) {
        int32_t code;
        char escape[8], letter = letter_of(text[at]);
        length = utf8_decode(text + at, n - at, &code);
        bool escaped = letter || (code >= 0 && !harmless_code(code));
        if (!escaped && at + length < n) continue;
        put(w, text + plain, at + (escaped ? 0 : length) - plain);
        plain = at + length;
        if (!escaped) continue;
        int written = letter ? snprintf(escape, sizeof escape, "\\%c", letter)
                             : snprintf(escape, sizeof escape, "\\u%04x", (unsigned)code);
        put(w, escape, (size_t)written);
    }
    put(w, "\"", 1);
}

static void put_value(struct writer *w, json_object *o);

static void put_object(struct writer *w, json_object *o)
{
    bool any = false;
    put(w, "{", 1);
    w->level++;
    json_object_object_foreach(o, key, member)
    {
        if (any) put(w, ",", 1);
        any = true;
        put_line(w);
        put_string(w, key, strlen(key));
        put(w, ": ", w->form == JSON_TEXT_LINE ? 1 : 2);
        put_value(w, member);
    }
    w->level--;
    if (any) put_line(w);
    put(w, "}", 1);
}

static void put_array(struct writer *w, json_object *o)
{
    size_t n = json_object_array_length(o);
    put(w, "[", 1);
    w->level++;
    for (size_t i = 0; i < n; i++) {
        if (i) put(w, ",", 1);
        put_line(w);
        put_value(w, json_object_array_get_idx(o, i));
    }
    w->level--;
    if (n) put_line(w);
    put(w, "]", 1);
}

static void put_number(struct writer *w, json_object *o)
{
    char text[32];
    const char *kept = json_object_is_type(o, json_type_double) ? json_object_get_userdata(o) : NULL;
    if (!kept && json_object_is_type(o, json_type_double))
        snprintf(text, sizeof text, "%.17g", json_object_get_double(o));
    else if (json_object_get_int64(o) == INT64_MAX) /* or more */
        snprintf(text, sizeof text, "%" PRIu64, json_object_get_uint64(o));
    else
        snprintf(text, sizeof text, "%" PRId64, json_object_get_int64(o));
    put(w, kept ? kept : text, strlen(kept ? kept : text));
}

static void put_value(struct writer *w, json_object *o)
{
    switch (json_object_get_type(o)) {
    case json_type_null: put(w, "null", 4); return;
    case json_type_boolean:
        if (json_object_get_boolean(o)) put(w, "true", 4);
        else put(w, "false", 5);
        return;
    case json_type_string: put_string(w, json_object_get_string(o), (size_t)json_object_get_string_len(o)); return;
    case json_type_int:
    case json_type_double: put_number(w, o); return;
    default: break;
    }
    if (json_object_get_userdata(o) == &lacks) w->status = TDM_E_NOMEM;
    if (json_object_is_type(o, json_type_object))
        put_object(w, o);
    else
        put_array(w, o);
}

tdm_status json_text_write(json_object *o, json_text_form form, struct buffer *out, tdm_error *err)
{
    struct writer w = {.out = out, .form = form};
    size_t before = out->n;
    if (o)
        put_value(&w, o);
    else
        w.status = TDM_E_NOMEM;
    if (!w.status) return TDM_OK;
    out->n = before;
    if (out->bytes) out->bytes[before] = 0;
    return error_set(err, w.status, "out of memory");
}
