/* Words that name files: they lie within the text, one behind the other, and a path is read as it was written. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ui/edit/path_word.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_words(const char *text, size_t n, bool (*next)(const char *, size_t, size_t *, struct path_word *))
{
    struct path_word w;
    for (size_t at = 0, before = 0; next(text, n, &at, &w); before = at) {
        if (w.start < before || w.start > w.first || w.first > w.last || w.last > w.end || w.end > n || at != w.end)
            abort();
        if (at == before) abort(); /* it comes to an end */
        do {
            char *path = path_word_read(text, &w);
            if (!path || strlen(path) > w.last - w.first) abort();
            free(path);
        } while (path_word_shorten(text, &w));
    }
}

/* A blank in front makes it the first word; what a file's name can't hold is left out. */
static void check_round(char *path, bool quoted)
{
    struct path_word w;
    size_t at = 0, n;
    char *word = path_word_write(path, quoted ? '"' : 0), *text = malloc(strlen(word) + 8);
    n = (size_t)(stpcpy(stpcpy(stpcpy(text, quoted ? " @\"" : " @"), word), quoted ? "\" x" : " x") - text);
    if (!path_word_next(text, n, &at, &w) || w.start != 1) abort();
    char *again = path_word_read(text, &w);
    if (strcmp(again, path)) abort();
    free(again);
    free(text);
    free(word);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    check_words(text, size, path_word_next);
    check_words(text, size, path_word_argument);
    if (text[0]) {
        check_round(text, false);
        check_round(text, true);
    }
    free(text);
    return 0;
}
