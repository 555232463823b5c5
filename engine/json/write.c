#include "engine/json/write.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json_object.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/harmless.h"
#include "engine/base/utf8.h"

/* ---- Building ---------------------------------------------------------------------------------------------------- */

/* What an object's user data is where it lacks something: json-c keeps that for its users, and uses it itself for the
 * text of a real number alone. */
static char lacks;

json_object *json_new_object(void)
{
    return json_object_new_object();
}

json_object *json_new_array(void)
{
    return json_object_new_array();
}

/* Takes a member, or without a key an element; made: the value isn't NULL for lack of memory. */
static void take(json_object *in, const char *key, json_object *value, bool made)
{
    if (in && made && !(key ? json_object_object_add(in, key, value) : json_object_array_add(in, value))) return;
    json_object_put(value);
    if (in) json_object_set_userdata(in, &lacks, NULL);
}

void json_add(json_object *o, const char *key, json_object *member)
{
    take(o, key, member, member);
}

void json_append(json_object *array, json_object *element)
{
    take(array, NULL, element, element);
}

void json_add_shared(json_object *o, const char *key, json_object *value)
{
    take(o, key, json_share(value), true);
}

void json_append_shared(json_object *array, json_object *value)
{
    take(array, NULL, json_share(value), true);
}

static json_object *text_of(const char *text, size_t n)
{
    char *valid = malloc(3 * n + 3);
    if (!valid) return NULL;
    size_t length = utf8_mend(text, n, valid);
    json_object *o = length <= INT32_MAX ? json_object_new_string_len(valid, (int)length) : NULL;
    free(valid);
    return o;
}

static json_object *digits_of(const char *text)
{
    return json_object_new_double_s(strtod(text, NULL), text);
}

static json_object *real_of(double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", value);
    return digits_of(text);
}

void json_add_text(json_object *o, const char *key, const char *text, size_t n)
{
    json_add(o, key, text_of(text, n));
}

void json_add_string(json_object *o, const char *key, const char *text)
{
    if (text)
        json_add_text(o, key, text, strlen(text));
    else
        json_add_null(o, key);
}

void json_add_bool(json_object *o, const char *key, bool value)
{
    json_add(o, key, json_object_new_boolean(value));
}

void json_add_int(json_object *o, const char *key, int64_t value)
{
    json_add(o, key, json_object_new_int64(value));
}

void json_add_real(json_object *o, const char *key, double value)
{
    if (isfinite(value))
        json_add(o, key, real_of(value));
    else
        json_add_null(o, key);
}

void json_add_hash(json_object *o, const char *key, uint64_t value)
{
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, value);
    json_add_string(o, key, text);
}

void json_add_digits(json_object *o, const char *key, const char *text)
{
    json_add(o, key, digits_of(text));
}

void json_add_null(json_object *o, const char *key)
{
    take(o, key, NULL, true);
}

void json_append_string(json_object *array, const char *text)
{
    json_append(array, text_of(text, strlen(text)));
}

void json_append_int(json_object *array, int64_t value)
{
    json_append(array, json_object_new_int64(value));
}

void json_append_real(json_object *array, double value)
{
    if (isfinite(value))
        json_append(array, real_of(value));
    else
        take(array, NULL, NULL, true);
}

void json_append_digits(json_object *array, const char *text)
{
    json_append(array, digits_of(text));
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

struct writer {
    struct buffer *out;
    bool indented; /* each member and element on its own line, by two spaces */
    int level;
    tdm_status status; /* the first failure; then nothing more is written */
};

static void put(struct writer *w, const char *bytes, size_t n)
{
    if (!w->status) w->status = buffer_append(w->out, bytes, n, NULL);
}

static void put_line(struct writer *w)
{
    static const char spaces[] = "                                ";
    if (!w->indented) return;
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
    for (struct json_walk m = json_walk(o); json_next(&m); any = true) {
        if (any) put(w, ",", 1);
        put_line(w);
        put_string(w, m.key, strlen(m.key));
        put(w, ": ", w->indented ? 2 : 1);
        put_value(w, m.value);
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

/* json-c's own writer leaves parts out without memory, and does not report it. */
static tdm_status write_text(json_object *o, bool indented, const char *end, struct buffer *out, tdm_error *err)
{
    struct writer w = {.out = out, .indented = indented};
    size_t before = out->n;
    if (o)
        put_value(&w, o);
    else
        w.status = TDM_E_NOMEM;
    put(&w, end, strlen(end));
    if (!w.status) return TDM_OK;
    out->n = before;
    if (out->bytes) out->bytes[before] = 0;
    return error_set(err, w.status, "out of memory");
}

tdm_status json_write_text(json_object *o, struct buffer *out, tdm_error *err)
{
    return write_text(o, false, "", out, err);
}

tdm_status json_write_line(json_object *o, struct buffer *out, tdm_error *err)
{
    return write_text(o, false, "\n", out, err);
}

tdm_status json_write_indented(json_object *o, struct buffer *out, tdm_error *err)
{
    return write_text(o, true, "\n", out, err);
}

bool json_write(json_object *o, FILE *out)
{
    struct buffer line = {0};
    bool whole = !json_write_line(o, &line, NULL);
    if (!whole) errno = ENOMEM;
    bool written = whole && fwrite(line.bytes, 1, line.n, out) == line.n;
    int failure = errno;
    buffer_free(&line);
    errno = failure;
    return written;
}
