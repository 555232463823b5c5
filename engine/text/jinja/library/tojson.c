#include "engine/text/jinja/library/tojson.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/utf8.h"
#include "engine/text/jinja/library/filters.h"

enum { DEEPEST = 200 };

struct writer {
    struct jinja *j;
    struct builder b;
    const struct tojson_how *how;
};

static void put(struct writer *w, const char *text, bool data)
{
    builder_text(&w->j->arena, &w->b, text, data);
}

/* A separator, or indentation: its container's, where that is the data's. */
static void put_str(struct writer *w, const struct str *s, bool data)
{
    if (data)
        builder_add(&w->j->arena, &w->b, s->bytes, s->length, true);
    else
        builder_str(&w->j->arena, &w->b, s);
}

static void write_text(struct writer *w, const struct str *s)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    size_t kept = 0;
    bool data = str_has_data(s);
    put(w, "\"", data);
    for (size_t i = 0, n = 1; i < s->length; i += n) {
        unsigned char c = (unsigned char)s->bytes[i];
        char escape[16] = "";
        n = 1;
        const char *special = c ? strchr(from, c) : NULL;
        if (special) {
            snprintf(escape, sizeof escape, "\\%c", to[special - from]);
        } else if (c < 0x20) {
            snprintf(escape, sizeof escape, "\\u%04x", c);
        } else if (w->how->ascii && c >= 0x7F) {
            int32_t code;
            n = utf8_decode(s->bytes + i, s->length - i, &code);
            uint32_t u = code < 0 ? 0xFFFD : (uint32_t)code;
            if (u >= 0x10000)
                snprintf(escape, sizeof escape, "\\u%04x\\u%04x", 0xD800 + ((u - 0x10000) >> 10), 0xDC00 + (u & 0x3FF));
            else if (u > 0x7F)
                snprintf(escape, sizeof escape, "\\u%04x", u);
        }
        if (!escape[0]) continue;
        builder_part(&w->j->arena, &w->b, s, kept, i);
        put(w, escape, str_data_at(s, i));
        kept = i + n;
    }
    builder_part(&w->j->arena, &w->b, s, kept, s->length);
    put(w, "\"", data);
}

static void write_scalar(struct writer *w, struct value v)
{
    char text[VALUE_FLOAT_ROOM];
    switch (v.kind) {
    case VALUE_NONE:
        put(w, "null", v.data);
        break;
    case VALUE_BOOL:
        put(w, v.truth ? "true" : "false", v.data);
        break;
    case VALUE_INT:
        snprintf(text, sizeof text, "%" PRId64, v.integer);
        put(w, text, v.data);
        break;
    case VALUE_FLOAT:
        if (isfinite(v.real))
            text[value_write_float(v.real, text)] = 0;
        else
            strcpy(text, isnan(v.real) ? "NaN" : v.real < 0 ? "-Infinity" : "Infinity");
        put(w, text, v.data);
        break;
    case VALUE_STR:
        write_text(w, v.str);
        break;
    case VALUE_UNDEFINED:
        if (v.undefined->unsafe) value_fail_undefined(&w->j->arena, v);
        jinja_refuse(w->j, "Object of type Undefined is not JSON serializable");
    default:
        jinja_refuse(w->j, "Object of type %s is not JSON serializable", value_type(v));
    }
}

static void line_break(struct writer *w, int depth, bool data)
{
    if (!w->how->indent) return;
    put(w, "\n", data);
    for (int i = 0; i < depth; i++) put_str(w, w->how->indent, data);
}

static void write(struct writer *w, struct value v, int depth);

static void write_key(struct writer *w, struct value key)
{
    if (key.kind == VALUE_STR) {
        write_text(w, key.str);
        return;
    }
    if (key.kind != VALUE_NONE && !value_is_number(key))
        jinja_refuse(w->j, "keys must be str, int, float, bool or None, not %s", value_type(key));
    put(w, "\"", key.data);
    write_scalar(w, key);
    put(w, "\"", key.data);
}

static void write_dict(struct writer *w, const struct dict *dict, int depth)
{
    const struct dict_entry *entries = dict->entries;
    if (w->how->sorted) {
        struct list keys = {.n = dict->n, .items = arena_take(&w->j->arena, dict->n * sizeof(struct value))};
        struct value *values = arena_take(&w->j->arena, dict->n * sizeof *values);
        for (size_t i = 0; i < dict->n; i++) {
            keys.items[i] = entries[i].key;
            values[i] = entries[i].value;
        }
        size_t *order = filters_order(w->j, &keys, false);
        struct dict_entry *sorted = arena_take(&w->j->arena, dict->n * sizeof *sorted);
        for (size_t i = 0; i < dict->n; i++) sorted[i] = entries[order[i]];
        entries = sorted;
    }
    put(w, "{", dict->data);
    for (size_t i = 0; i < dict->n; i++) {
        if (i) put_str(w, w->how->item, dict->data);
        line_break(w, depth + 1, dict->data);
        write_key(w, entries[i].key);
        put_str(w, w->how->key, dict->data);
        write(w, entries[i].value, depth + 1);
    }
    if (dict->n) line_break(w, depth, dict->data);
    put(w, "}", dict->data);
}

static void write(struct writer *w, struct value v, int depth)
{
    if (depth > DEEPEST)
        trap_fail(&w->j->trap, TDM_E_UNSUPPORTED, "more than %d lists and dictionaries in each other", DEEPEST);
    jinja_work(w->j, 1);
    if (v.kind == VALUE_DICT) {
        write_dict(w, v.dict, depth);
    } else if (v.kind == VALUE_LIST && v.list->form <= LIST_TUPLE) {
        put(w, "[", v.list->data);
        for (size_t i = 0; i < v.list->n; i++) {
            if (i) put_str(w, w->how->item, v.list->data);
            line_break(w, depth + 1, v.list->data);
            write(w, v.list->items[i], depth + 1);
        }
        if (v.list->n) line_break(w, depth, v.list->data);
        put(w, "]", v.list->data);
    } else {
        write_scalar(w, v);
    }
}

const struct str *tojson(struct jinja *j, struct value v, const struct tojson_how *how)
{
    struct writer w = {.j = j, .how = how};
    write(&w, v, 0);
    jinja_work(j, w.b.n / 64);
    return builder_end(&j->arena, &w.b);
}
