#include "ui/edit/path_word.h"

#include <stdlib.h>
#include <string.h>

#include "engine/os/path.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The word that begins at `start`, its path at `from`. */
static void read_word(const char *text, size_t n, size_t start, size_t from, struct path_word *w)
{
    char quote = from < n && (text[from] == '"' || text[from] == '\'') ? text[from] : 0;
    size_t at = from + (quote != 0);
    *w = (struct path_word){.start = start, .first = at, .quoted = quote, .quote = quote};
    while (at < n && (quote ? text[at] != quote : !is_blank(text[at]))) at += text[at] == '\\' && at + 1 < n ? 2 : 1;
    w->last = at;
    w->end = at + (quote && at < n);
}

/* Whether a word of a draft begins at `at`. */
static bool begins(const char *text, size_t at)
{
    while (at && strchr("([{<\"'", text[at - 1]) && text[at - 1]) at--;
    return !at || is_blank(text[at - 1]);
}

bool path_word_next(const char *text, size_t n, size_t *at, struct path_word *out)
{
    for (size_t i = *at; i < n; i++) {
        if (text[i] != '@' || !begins(text, i)) continue;
        read_word(text, n, i, i + 1, out);
        *at = i = out->end;
        if (out->last > out->first) return true;
        i--;
    }
    *at = n;
    return false;
}

bool path_word_argument(const char *text, size_t n, size_t *at, struct path_word *out)
{
    while (*at < n && is_blank(text[*at])) ++*at;
    if (*at >= n) return false;
    read_word(text, n, *at, *at, out);
    *at = out->end;
    return true;
}

char *path_word_read(const char *text, const struct path_word *w)
{
    return path_plain(text + w->first, w->last - w->first);
}

bool path_word_shorten(const char *text, struct path_word *w)
{
    if (w->quoted || w->last - w->first < 2 || !strchr(".,;:!?)]}>\"'", text[w->last - 1])) return false;
    w->end = --w->last;
    return true;
}

char *path_word_write(const char *path, char quote)
{
    char *word = malloc(2 * strlen(path) + 1), *out = word;
    const char within[] = {quote, '\\', 0};
    const char *special = quote ? within : " \t\n\r\"\\";
    for (const char *at = path; word && *at; *out++ = *at++)
        if (strchr(special, *at) || (at == path && *at == '\'' && !quote)) *out++ = '\\';
    if (word) *out = 0;
    return word;
}
