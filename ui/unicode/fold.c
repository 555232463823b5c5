#include "ui/unicode/fold.h"

#include <stdint.h>
#include <string.h>
#include <utf8proc.h>

#include "engine/base/utf8.h"

enum {
    LIMIT = 18,         /* code points that one may be decomposed to (Unicode's bound is for compatibility forms) */
    ROOM = 64,          /* of a character with its marks; further marks begin another */
    NO_UTF8 = 0x110000, /* and the byte */
};

/* A text as folded code points, loaded character by character: a base with the marks behind it, in canonical order. */
struct stream {
    const char *text;
    size_t n, at;
    enum fold_how how;
    size_t used, count;
    int32_t code[ROOM];
};

static int order(int32_t code)
{
    return code < 0x300 || code >= NO_UTF8 ? 0 : utf8proc_get_property(code)->combining_class;
}

/* Belongs to the character before it: a mark, or a Korean vowel or final consonant. */
static bool joins(int32_t code)
{
    return order(code) || (code >= 0x1160 && code <= 0x11FF);
}

static size_t take(const char *text, size_t n, int32_t *code)
{
    size_t length = utf8_decode(text, n, code);
    if (*code < 0) *code = NO_UTF8 + (unsigned char)*text;
    return length;
}

static void append(struct stream *s, int32_t code)
{
    int ignored = 0;
    utf8proc_option_t options = UTF8PROC_DECOMPOSE | (s->how == FOLD_CASE ? UTF8PROC_CASEFOLD : 0);
    utf8proc_ssize_t n = 0;
    if (code < 0x80)
        s->code[s->count++] = s->how == FOLD_CASE && code >= 'A' && code <= 'Z' ? code + 32 : code;
    else if (code < NO_UTF8)
        n = utf8proc_decompose_char(code, s->code + s->count, LIMIT, options, &ignored);
    else
        s->code[s->count++] = code;
    if (n > 0) s->count += (size_t)(n < LIMIT ? n : LIMIT);
}

/* Marks of different places stand in any order in a text, and in this one here. */
static void put_in_order(struct stream *s)
{
    for (size_t i = 1; i < s->count; i++) {
        int32_t code = s->code[i];
        int of = order(code);
        size_t at = i;
        for (; of && at && order(s->code[at - 1]) > of; at--) s->code[at] = s->code[at - 1];
        s->code[at] = code;
    }
}

static void load(struct stream *s)
{
    int32_t code;
    s->used = s->count = 0;
    s->at += take(s->text + s->at, s->n - s->at, &code);
    append(s, code);
    while (s->at < s->n && (unsigned char)s->text[s->at] >= 0x80 && s->count + LIMIT <= ROOM) {
        size_t length = take(s->text + s->at, s->n - s->at, &code);
        if (!joins(code)) break;
        s->at += length;
        append(s, code);
    }
    put_in_order(s);
}

/* False at the end. */
static bool next(struct stream *s, int32_t *code)
{
    while (s->used == s->count) {
        if (s->at == s->n) return false;
        load(s);
    }
    *code = s->code[s->used++];
    return true;
}

/* Does a character begin at byte `at` of text[0..n)? */
static bool begins_at(const char *text, size_t n, size_t at)
{
    int32_t code;
    if (at == 0 || at >= n || (unsigned char)text[at] < 0x80) return at < n;
    for (size_t k = 1; utf8_continues(text[at]) && k <= 3 && k <= at; k++)
        if (!utf8_continues(text[at - k])) return utf8_decode(text + at - k, n - at + k, &code) <= k;
    take(text + at, n - at, &code);
    return !joins(code);
}

size_t fold_match(const char *text, size_t n, size_t at, const char *words, size_t m, enum fold_how how)
{
    if (m == 0 || !begins_at(text, n, at)) return 0;
    struct stream a = {.text = text + at, .n = n - at, .how = how}, b = {.text = words, .n = m, .how = how};
    int32_t p, q;
    while (next(&b, &q))
        if (!next(&a, &p) || p != q) return 0;
    return a.used == a.count ? a.at : 0;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

size_t fold_find(const char *text, size_t n, size_t at, const char *words, size_t m, size_t *found)
{
    for (size_t length; m && at < n; at++) {
        bool ascii = (unsigned char)text[at] < 0x80 && (unsigned char)words[0] < 0x80;
        if (ascii && lower(text[at]) != lower(words[0])) continue;
        if (!(length = fold_match(text, n, at, words, m, FOLD_CASE))) continue;
        if (found) *found = at;
        return length;
    }
    return 0;
}

bool fold_holds(const char *text, const char *words)
{
    return !*words || fold_find(text, strlen(text), 0, words, strlen(words), NULL);
}

bool fold_begins(const char *text, const char *words, enum fold_how how)
{
    return !*words || fold_match(text, strlen(text), 0, words, strlen(words), how);
}

int fold_compare(const char *a, const char *b)
{
    struct stream x = {.text = a, .n = strlen(a), .how = FOLD_CASE}, y = {.text = b, .n = strlen(b), .how = FOLD_CASE};
    int32_t p, q;
    for (;;) {
        bool more = next(&x, &p), other = next(&y, &q);
        if (!more || !other) return more - other;
        if (p != q) return p < q ? -1 : 1;
    }
}
