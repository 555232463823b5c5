#include "engine/text/jinja/value/str.h"

#include <string.h>

#include "engine/base/utf8.h"

static struct str *new_str(struct arena *a, const char *bytes, size_t length)
{
    struct str *s = arena_take(a, sizeof *s);
    *s = (struct str){.bytes = length ? bytes : "", .length = length};
    return s;
}

const struct str *str_of(struct arena *a, struct span bytes, bool data)
{
    struct str *s = new_str(a, bytes.bytes, bytes.length);
    s->whole = (struct run){bytes.length, data};
    s->runs = &s->whole;
    s->n_runs = bytes.length > 0;
    return s;
}

const struct str *str_copy(struct arena *a, struct span bytes, bool data)
{
    char *copy = arena_take(a, bytes.length);
    if (bytes.length) memcpy(copy, bytes.bytes, bytes.length);
    return str_of(a, (struct span){copy, bytes.length}, data);
}

const struct str *str_literal(struct arena *a, const char *text)
{
    return str_of(a, span_text(text), false);
}

/* The run in which the byte at `at` lies. */
static size_t run_at(const struct str *s, size_t at)
{
    size_t low = 0, high = s->n_runs;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->runs[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct str *str_part(struct arena *a, const struct str *s, size_t begin, size_t end)
{
    if (begin >= end) return str_of(a, (struct span){"", 0}, false);
    if (!begin && end == s->length) return s;
    struct span bytes = {s->bytes + begin, end - begin};
    size_t first = run_at(s, begin), last = run_at(s, end - 1);
    if (first == last) {
        struct str *part = (struct str *)str_of(a, bytes, s->runs[first].data);
        part->markup = s->markup;
        return part;
    }
    struct run *runs = arena_take(a, (last - first + 1) * sizeof *runs);
    for (size_t i = first; i <= last; i++)
        runs[i - first] = (struct run){(i == last ? end : s->runs[i].end) - begin, s->runs[i].data};
    struct str *part = new_str(a, bytes.bytes, bytes.length);
    part->runs = runs;
    part->n_runs = last - first + 1;
    part->markup = s->markup;
    return part;
}

bool str_equal(const struct str *a, const struct str *b)
{
    return a == b || (a->length == b->length && !memcmp(a->bytes, b->bytes, a->length));
}

int str_compare(const struct str *a, const struct str *b)
{
    size_t n = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->bytes, b->bytes, n);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

bool str_data_at(const struct str *s, size_t at)
{
    return at < s->length && s->runs[run_at(s, at)].data;
}

bool str_has_data(const struct str *s)
{
    return s->n_runs > 1 || (s->n_runs && s->runs[0].data);
}

size_t str_codes(struct span s)
{
    size_t codes = 0;
    for (size_t i = 0; i < s.length; codes++) {
        int32_t code;
        i += (unsigned char)s.bytes[i] < 0x80 ? 1 : utf8_decode(s.bytes + i, s.length - i, &code);
    }
    return codes;
}

size_t str_offset(struct span s, size_t code)
{
    size_t i = 0;
    for (; code && i < s.length; code--) {
        int32_t unused;
        i += (unsigned char)s.bytes[i] < 0x80 ? 1 : utf8_decode(s.bytes + i, s.length - i, &unused);
    }
    return i;
}

size_t str_find(struct span s, struct span what, size_t from)
{
    if (from > s.length) return SIZE_MAX;
    if (!what.length) return from;
    const char *found = memmem(s.bytes + from, s.length - from, what.bytes, what.length);
    return found ? (size_t)(found - s.bytes) : SIZE_MAX;
}

/* ---- Building ------------------------------------------------------------------------------------------------ */

static size_t roomy(size_t had, size_t needed, size_t least)
{
    size_t room = had < least ? least : had;
    while (room < needed) room *= 2;
    return room;
}

void builder_add(struct arena *a, struct builder *b, const char *bytes, size_t n, bool data)
{
    if (!n) return;
    if (b->most && n > b->most - b->n)
        trap_fail(a->trap, TDM_E_UNSUPPORTED, "the template writes more than %zu bytes", b->most);
    if (n > b->room - b->n) {
        size_t room = roomy(b->room, b->n + n, 64);
        b->bytes = arena_grow(a, b->bytes, b->n, room);
        b->room = room;
    }
    memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
    if (b->n_runs && b->runs[b->n_runs - 1].data == data) {
        b->runs[b->n_runs - 1].end = b->n;
        return;
    }
    if (b->n_runs == b->run_room) {
        size_t room = roomy(b->run_room, b->n_runs + 1, 4);
        b->runs = arena_grow(a, b->runs, b->n_runs * sizeof *b->runs, room * sizeof *b->runs);
        b->run_room = room;
    }
    b->runs[b->n_runs++] = (struct run){b->n, data};
}

void builder_text(struct arena *a, struct builder *b, const char *text, bool data)
{
    builder_add(a, b, text, strlen(text), data);
}

void builder_part(struct arena *a, struct builder *b, const struct str *s, size_t begin, size_t end)
{
    for (size_t i = begin < end ? run_at(s, begin) : 0; begin < end; i++) {
        size_t stop = s->runs[i].end < end ? s->runs[i].end : end;
        builder_add(a, b, s->bytes + begin, stop - begin, s->runs[i].data);
        begin = stop;
    }
}

void builder_str(struct arena *a, struct builder *b, const struct str *s)
{
    builder_part(a, b, s, 0, s->length);
}

struct builder builder_from(struct arena *a, const struct str *s)
{
    struct builder b = {0};
    struct growth *growth = s->growth;
    if (!growth || growth->used != s->length) {
        builder_str(a, &b, s);
        return b;
    }
    growth->used = SIZE_MAX;
    return (struct builder){growth->bytes,    s->length, growth->room, growth->runs, s->n_runs,
                            growth->run_room, 0,         growth};
}

const struct str *builder_end(struct arena *a, struct builder *b)
{
    enum { LONG = 256 };
    struct str *s = new_str(a, b->bytes, b->n);
    s->runs = b->runs;
    s->n_runs = b->n_runs;
    if (b->n >= LONG) {
        s->growth = b->growth ? b->growth : arena_take(a, sizeof *s->growth);
        *s->growth = (struct growth){b->n, b->bytes, b->room, b->runs, b->run_room};
    }
    *b = (struct builder){.most = b->most};
    return s;
}

/* ---- Markup -------------------------------------------------------------------------------------------------- */

const struct str *str_as_markup(struct arena *a, const struct str *s, bool markup)
{
    struct str *copy = arena_take(a, sizeof *copy);
    *copy = *s;
    copy->markup = markup;
    return copy;
}

const struct str *str_escaped(struct arena *a, const struct str *s)
{
    if (s->markup) return s;
    struct builder b = {0};
    size_t kept = 0;
    for (size_t i = 0; i < s->length; i++) {
        char c = s->bytes[i];
        const char *name = c == '&'    ? "&amp;"
                           : c == '<'  ? "&lt;"
                           : c == '>'  ? "&gt;"
                           : c == '\'' ? "&#39;"
                           : c == '"'  ? "&#34;"
                                       : NULL;
        if (!name) continue;
        builder_part(a, &b, s, kept, i);
        builder_text(a, &b, name, str_data_at(s, i));
        kept = i + 1;
    }
    builder_part(a, &b, s, kept, s->length);
    return str_as_markup(a, builder_end(a, &b), true);
}
