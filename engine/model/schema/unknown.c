#include "engine/model/schema/unknown.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/harmless.h"
#include "engine/json/json.h"
#include "engine/model/schema/schema.h"

enum { NAME_SHOWN = 120 };

void unknowns_free(struct unknowns *u)
{
    for (size_t i = 0; i < u->count; i++) free(u->items[i].name);
    free(u->items);
    u->items = NULL;
    u->count = 0;
}

/* Untrusted bytes as printable ASCII. */
static void printable(struct span s, char *out, size_t room)
{
    size_t n = 0;
    for (; n < s.length && n + 1 < room; n++) {
        unsigned char b = (unsigned char)s.bytes[n];
        out[n] = b >= 0x20 && b < 0x7f ? (char)b : '?';
    }
    out[n] = 0;
    if (n < s.length && n > 3) memcpy(out + n - 3, "...", 3);
}

tdm_status unknowns_note(struct unknowns *u, struct span name, const char *value, const char *why, tdm_error *err)
{
    if (u->count == UNKNOWN_MAX) return TDM_OK;
    struct unknown_item *items = realloc(u->items, (u->count + 1) * sizeof *items);
    if (items) u->items = items;
    char *copy = items ? malloc(NAME_SHOWN + 1) : NULL;
    if (!copy) return error_set(err, TDM_E_NOMEM, "out of memory");
    struct unknown_item *item = &items[u->count++];
    *item = (struct unknown_item){.name = copy, .why = why};
    printable(name, copy, NAME_SHOWN + 1);
    printable(span_text(value), item->value, sizeof item->value);
    return TDM_OK;
}

/* A tensor's name with a "*" for the number of its layer, so that one word accepts it in all of them. */
static void of_all_layers(char *name)
{
    static const char *const before[] = {"blk.", "layers."};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        char *at = strstr(name, before[i]);
        if (!at) continue;
        at += strlen(before[i]);
        size_t n = strspn(at, "0123456789");
        if (!n || at[n] != '.') continue;
        *at = '*';
        memmove(at + 1, at + n, strlen(at + n) + 1);
        return;
    }
}

static bool is_accepted(const struct unknowns *u, struct span name)
{
    for (const char *const *a = u->accept; a && *a; a++)
        if (span_is(name, *a) || (!strchr(*a, '|') && schema_is_named(*a, name, NULL))) return true;
    return false;
}

tdm_status unknowns_refuse(struct unknowns *u, const char *file, const char *thing, struct span name, const char *value,
                           const char *said, tdm_error *err)
{
    if (is_accepted(u, name)) return unknowns_note(u, name, value, NULL, err);
    char shown[NAME_SHOWN], word[NAME_SHOWN];
    printable(name, shown, sizeof shown);
    strcpy(word, shown);
    if (!strcmp(thing, "tensor")) of_all_layers(word);
    const char *quote = strpbrk(word, "*?'\" ") ? "'" : "";
    return error_set(err, TDM_E_UNSUPPORTED, "%s: %s %s%s (--accept-unknown %s%s%s loads it without)", file, thing,
                     shown, said, quote, word, quote);
}

/* ---- Neutral values ---------------------------------------------------------------------------------------------- */

static bool holds(struct span name, const char *part)
{
    return memmem(name.bytes, name.length, part, strlen(part));
}

bool unknown_number_is_neutral(struct span name, double v)
{
    static const char *const factors[] = {"scale", "scaling", "multiplier", "factor", "gain", "temperature"};
    if (v == 0) return true;
    for (size_t i = 0; v == 1 && i < sizeof factors / sizeof *factors; i++)
        if (holds(name, factors[i])) return true;
    return false;
}

static bool text_is_neutral(struct span text)
{
    return !text.length || span_is(text, "none");
}

/* Nesting is bounded by the parser's (JSON_DEEPEST). */
bool unknown_json_is_neutral(struct span name, struct json_object *v)
{
    switch (json_kind_of(v)) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return !json_truth_of(v);
    case JSON_INT:
    case JSON_REAL:
        return unknown_number_is_neutral(name, json_real_of(v));
    case JSON_STRING:
        return text_is_neutral(json_span_of(v));
    case JSON_ARRAY:
        for (size_t i = 0; i < json_length(v); i++)
            if (!unknown_json_is_neutral(name, json_at(v, i))) return false;
        return true;
    case JSON_OBJECT:
        break;
    }
    for (struct json_walk m = json_walk(v); json_next(&m);)
        if (!unknown_json_is_neutral(span_text(m.key), m.value)) return false;
    return true;
}

bool unknown_key_is_neutral(const struct gguf_key *k)
{
    struct span text;
    double v;
    for (uint64_t i = 0; i < k->count; i++) {
        if (k->type == GGUF_STRING && k->array) return false;
        if (k->type == GGUF_STRING && gguf_key_text(k, &text) && !text_is_neutral(text)) return false;
        if (k->type == GGUF_STRING) continue;
        if (!gguf_key_number(k, i, &v) || !unknown_number_is_neutral(k->name, v)) return false;
        if (k->type == GGUF_BOOL && v != 0) return false;
    }
    return true;
}

/* ---- Values as text ---------------------------------------------------------------------------------------------- */

void unknown_json_text(struct json_object *v, char out[UNKNOWN_VALUE_ROOM])
{
    printable(span_text(json_shown(v)), out, UNKNOWN_VALUE_ROOM);
}

void unknown_key_text(const struct gguf_key *k, char out[UNKNOWN_VALUE_ROOM])
{
    struct span text = {"?", 1};
    double v = 0;
    size_t at = 0;
    if (k->type == GGUF_STRING && !k->array) {
        gguf_key_text(k, &text);
        printable(text, out, UNKNOWN_VALUE_ROOM);
    } else if (k->type == GGUF_STRING) {
        snprintf(out, UNKNOWN_VALUE_ROOM, "%llu text%s", (unsigned long long)k->count, k->count == 1 ? "" : "s");
    } else if (!k->array && k->type == GGUF_BOOL) {
        gguf_key_number(k, 0, &v);
        strcpy(out, v != 0 ? "true" : "false");
    } else {
        out[0] = 0;
        enum { SHOWN = 4 };
        for (uint64_t i = 0; i < k->count && i < SHOWN && gguf_key_number(k, i, &v); i++)
            at += (size_t)snprintf(out + at, UNKNOWN_VALUE_ROOM - at, "%s%.6g", i ? "," : k->array ? "[" : "", v);
        if (k->array)
            snprintf(out + at, UNKNOWN_VALUE_ROOM - at, "%s%s]", k->count ? "" : "[", k->count > SHOWN ? ",..." : "");
    }
}

/* ---- Optional parts -------------------------------------------------------------------------------------------- */

void notes_add(struct notes *notes, const char *format, ...)
{
    if (notes->n == NOTES_MAX) {
        snprintf(notes->lines[NOTES_MAX - 1], NOTES_ROOM, "further parts of the model's files are left out");
        return;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(notes->lines[notes->n], NOTES_ROOM, format, args);
    va_end(args);
    harmless_line(notes->lines[notes->n++]); /* file names and contents reach it */
}
