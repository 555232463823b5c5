#include "engine/text/split.h"

#include <string.h>

#include "engine/text/unicode.h"

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)|"
#define WHITE_SPACE  "[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const struct {
    enum split_rule rule;
    const char *name, *regex;
} rules[] = {
    {SPLIT_QWEN2, "qwen2", CONTRACTIONS "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+" WHITE_SPACE},
    {SPLIT_QWEN35, "qwen35",
     CONTRACTIONS "[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+" WHITE_SPACE},
};

static bool is(const char *text, size_t n, const char *what)
{
    return strlen(what) == n && !memcmp(text, what, n);
}

bool split_rule_of_regex(const char *regex, size_t n, enum split_rule *rule)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (is(regex, n, rules[i].regex)) return *rule = rules[i].rule, true;
    return false;
}

bool split_rule_of_name(const char *name, size_t n, enum split_rule *rule)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (is(name, n, rules[i].name)) return *rule = rules[i].rule, true;
    return false;
}

const char *split_rule_name(enum split_rule rule)
{
    size_t i = 0;
    while (rules[i].rule != rule) i++;
    return rules[i].name;
}

/* The length of a contraction at text, which begins with an apostrophe; 0: none. Letters match in any case; the
 * long s (U+017F) is a case of s too. */
static size_t contraction(const char *text, size_t n)
{
    if (n < 2) return 0;
    char first = text[1] | 0x20;
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
    if (n < 3) return 0;
    char second = text[2] | 0x20;
    if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l')) return 3;
    if (text[1] == '\xC5' && text[2] == '\xBF') return 3;
    return 0;
}

/* The end of the run of characters from `at` on that have one of the flags `with` (with) or none of them. */
static size_t run_of(const uint8_t *classes, const char *text, size_t n, size_t at, uint8_t flags)
{
    size_t length;
    while (at < n && unicode_class(classes, text + at, n - at, &length) & flags) at += length;
    return at;
}

static size_t run_without(const uint8_t *classes, const char *text, size_t n, size_t at, uint8_t flags)
{
    size_t length;
    while (at < n && !(unicode_class(classes, text + at, n - at, &length) & flags)) at += length;
    return at;
}

static size_t white_space(const uint8_t *classes, const char *text, size_t n, size_t at)
{
    size_t end = at, last = at, after_break = at, length;
    while (end < n) {
        uint8_t class = unicode_class(classes, text + end, n - end, &length);
        if (!(class & UNICODE_SPACE)) break;
        last = end;
        end += length;
        if (class & UNICODE_BREAK) after_break = end;
    }
    if (after_break > at) return after_break;
    return end < n && last > at ? last : end;
}

size_t split_next(enum split_rule rule, const uint8_t *classes, const char *text, size_t n, size_t at)
{
    const uint8_t letters = rule == SPLIT_QWEN35 ? UNICODE_LETTER | UNICODE_MARK : UNICODE_LETTER;
    const uint8_t not_other = letters | UNICODE_SPACE | UNICODE_NUMBER;
    size_t length, next_length;
    uint8_t class = unicode_class(classes, text + at, n - at, &length);

    if (text[at] == '\'') {
        size_t end = contraction(text + at, n - at);
        if (end) return at + end;
    }
    if (class & letters) return run_of(classes, text, n, at + length, letters);
    if (class & UNICODE_NUMBER) return at + length;
    size_t next = at + length;
    uint8_t next_class = next < n ? unicode_class(classes, text + next, n - next, &next_length) : UNICODE_SPACE;
    if (!(class & UNICODE_BREAK) && next_class & letters) return run_of(classes, text, n, next, letters);
    if (!(class & UNICODE_SPACE) || (text[at] == ' ' && !(next_class & not_other))) {
        size_t end = run_without(classes, text, n, next, not_other);
        return run_of(classes, text, n, end, UNICODE_BREAK);
    }
    return white_space(classes, text, n, at);
}
