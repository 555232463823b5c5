#include "ui/edit/slash.h"

#include <string.h>

enum { WORD_MAX = 63, NAME_LEAST = 3 };

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : (unsigned char)c;
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Optimal string alignment, three rows at a time. */
unsigned slash_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][WORD_MAX + 1];
    if (a_length > WORD_MAX || b_length > WORD_MAX) return WORD_MAX;
    size_t *two = rows[0], *one = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b_length; j++) one[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t cost = lower(a[i - 1]) != lower(b[j - 1]);
            now[j] = min3(one[j] + 1, now[j - 1] + 1, one[j - 1] + cost);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]) &&
                two[j - 2] + 1 < now[j])
                now[j] = two[j - 2] + 1;
        }
        size_t *t = two;
        two = one;
        one = now;
        now = t;
    }
    return (unsigned)one[b_length];
}

unsigned slash_slips(size_t length)
{
    return length < 8 ? 1 + (unsigned)length / 4 : 3;
}

/* The length of the first word after the slash, or -1 when the draft is text. */
static ptrdiff_t command_word(const char *draft, size_t length, bool pasted)
{
    if (pasted || !length || draft[0] != '/') return -1;
    size_t n = 1;
    while (n < length && draft[n] && !strchr(" \t\r\n", draft[n])) {
        if (draft[n] == '/') return -1;
        n++;
    }
    return (ptrdiff_t)n - 1;
}

bool slash_may_be_command(const char *draft, size_t length, bool pasted)
{
    return command_word(draft, length, pasted) >= 0;
}

bool slash_runs(const char *draft, size_t length, bool pasted)
{
    return !pasted && length > 1 && draft[0] == '!' && !strchr(" \t\r\n", draft[1]) && !memchr(draft, '\n', length);
}

/* A name that was made longer ("regenerate" of "regen"): the longest one that the word begins with, or -1. */
static int name_within(const char *word, size_t length, const char *const *names, size_t n)
{
    int found = -1;
    size_t longest = NAME_LEAST - 1;
    for (size_t i = 0; i < n; i++) {
        size_t name = strlen(names[i]);
        if (name <= longest || name >= length || slash_distance(word, name, names[i], name)) continue;
        longest = name;
        found = (int)i;
    }
    return found;
}

struct slash_result slash_parse(const char *draft, bool pasted, const char *const *names, size_t n)
{
    struct slash_result r = {.kind = SLASH_TEXT, .nearest = -1, .argument = ""};
    ptrdiff_t word = command_word(draft, strlen(draft), pasted);
    if (word < 0) return r;
    r.kind = SLASH_UNKNOWN;
    r.word = draft + 1;
    r.word_length = (size_t)word;
    unsigned best = slash_slips(r.word_length) + 1;
    for (size_t i = 0; i < n; i++) {
        unsigned d = slash_distance(r.word, r.word_length, names[i], strlen(names[i]));
        if (d == 0) {
            r.kind = SLASH_COMMAND;
            r.index = i;
            r.nearest = -1;
            r.argument = r.word + r.word_length;
            r.argument += strspn(r.argument, " \t\r\n");
            return r;
        }
        if (d < best && d < r.word_length) {
            best = d;
            r.nearest = (int)i;
        }
    }
    if (r.nearest < 0 && r.word_length >= 2) /* the start of a name is near enough */
        for (size_t i = 0; i < n && r.nearest < 0; i++)
            if (strlen(names[i]) > r.word_length && !slash_distance(r.word, r.word_length, names[i], r.word_length))
                r.nearest = (int)i;
    if (r.nearest < 0) r.nearest = name_within(r.word, r.word_length, names, n);
    return r;
}
