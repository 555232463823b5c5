#include "engine/text/added.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/utf8.h"
#include "engine/text/unicode.h"

static unsigned char first_byte(const struct added_token *token)
{
    return (unsigned char)token->text.bytes[0];
}

static int compare(const void *left, const void *right)
{
    const struct added_token *a = left, *b = right;
    if (first_byte(a) != first_byte(b)) return first_byte(a) < first_byte(b) ? -1 : 1;
    if (a->text.length != b->text.length) return a->text.length > b->text.length ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

void added_init(struct added *set, struct added_token *tokens, size_t count)
{
    *set = (struct added){.tokens = tokens, .count = count};
    if (count) qsort(tokens, count, sizeof *tokens, compare);
    for (size_t i = 0; i < count; i++) set->first[first_byte(&tokens[i]) + 1]++;
    for (int b = 0; b < 256; b++) set->first[b + 1] += set->first[b];
}

void added_free(struct added *set)
{
    free(set->tokens);
    *set = (struct added){0};
}

static bool fits(const struct added_token *token, const char *text, size_t n)
{
    return token->text.length <= n && !memcmp(token->text.bytes, text, token->text.length);
}

tdm_id added_find(const struct added *set, const char *text, size_t n)
{
    if (!n) return -1;
    unsigned char first = (unsigned char)text[0];
    for (size_t i = set->first[first]; i < set->first[first + 1]; i++)
        if (set->tokens[i].text.length == n && fits(&set->tokens[i], text, n)) return set->tokens[i].id;
    return -1;
}

size_t added_begins(const struct added *set, const char *text, size_t n)
{
    if (!n || !set->count) return 0;
    unsigned char first = (unsigned char)text[0];
    for (size_t i = set->first[first]; i < set->first[first + 1]; i++)
        if (fits(&set->tokens[i], text, n)) return set->tokens[i].text.length;
    return 0;
}

size_t added_longest(const struct added *set)
{
    size_t longest = 0;
    for (size_t i = 0; i < set->count; i++)
        if (set->tokens[i].text.length > longest) longest = set->tokens[i].text.length;
    return longest;
}

static bool stands_alone(const uint8_t *classes, const char *text, size_t n, size_t begin, size_t end)
{
    size_t length;
    if (begin > 0) {
        size_t before = utf8_before(text, begin);
        if (unicode_class(classes, text + before, n - before, &length) & UNICODE_WORD) return false;
    }
    return end == n || !(unicode_class(classes, text + end, n - end, &length) & UNICODE_WORD);
}

bool added_next(const struct added *set, const char *text, size_t n, size_t from, tdm_id *id, size_t *begin,
                size_t *end)
{
    if (!set->count) return false;
    const uint8_t *classes = unicode_classes();
    for (size_t at = from; at < n; at++) {
        unsigned char first = (unsigned char)text[at];
        size_t i = set->first[first], last = set->first[first + 1];
        while (i < last && !fits(&set->tokens[i], text + at, n - at)) i++;
        if (i == last) continue;
        const struct added_token *token = &set->tokens[i];
        size_t stop = at + token->text.length, length;
        if (token->flags & ADDED_SINGLE_WORD && !stands_alone(classes, text, n, at, stop)) {
            at = stop - 1;
            continue;
        }
        *begin = at;
        if (token->flags & ADDED_LSTRIP) {
            while (*begin > from) {
                size_t before = utf8_before(text, *begin);
                if (before < from || !(unicode_class(classes, text + before, n - before, &length) & UNICODE_SPACE))
                    break;
                *begin = before;
            }
        }
        if (token->flags & ADDED_RSTRIP)
            while (stop < n && unicode_class(classes, text + stop, n - stop, &length) & UNICODE_SPACE) stop += length;
        *end = stop;
        *id = token->id;
        return true;
    }
    return false;
}
