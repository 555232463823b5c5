/* Words that name files: `@notes.md` in a draft, and the words after /attach. Pure functions; any thread.
 *
 * A word ends at a blank. It may contain blanks between quotes, double or single, that begin right after the @ or with
 * the word, and after a backslash: @"my notes.md", @my\ notes.md (engine/os/path.h). In a draft a word begins at the
 * text's beginning, after a blank, or after one of ( [ { < " ' at such a position.
 */
#ifndef TANDEM_UI_PATH_WORD_H
#define TANDEM_UI_PATH_WORD_H

#include <stdbool.h>
#include <stddef.h>

struct path_word {
    size_t start, end;   /* bytes of the text: all of the word, its @ and quotes with it */
    size_t first, last;  /* bytes of the path alone */
    bool quoted;
    char quote;          /* which quote that is; 0: none */
};

/* The next word of a draft that begins with @ and names something, from byte *at on, which moves past it. */
bool path_word_next(const char *text, size_t n, size_t *at, struct path_word *out);

/* The next word of an argument. */
bool path_word_argument(const char *text, size_t n, size_t *at, struct path_word *out);

/* The path, malloc'ed, without quotes and backslashes; NULL without memory. */
char *path_word_read(const char *text, const struct path_word *w);

/* Removes one punctuation mark from the end of a word without quotes: the path of "@notes.md," may be notes.md. */
bool path_word_shorten(const char *text, struct path_word *w);

/* A path as such a word writes it, malloc'ed: within these quotes; 0: with backslashes. */
char *path_word_write(const char *path, char quote);

#endif
