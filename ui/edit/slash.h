/* Is a draft a command? Pure functions; any thread.
 *
 * A draft is a command if it begins with `/` in its first column, its first word has no second slash (`/etc/hosts says`
 * and `//` are text), and that slash was typed rather than pasted. A leading blank makes it text as well. Text is sent
 * unchanged.
 */
#ifndef TANDEM_UI_SLASH_H
#define TANDEM_UI_SLASH_H

#include <stdbool.h>
#include <stddef.h>

enum slash_kind {
    SLASH_TEXT,
    SLASH_COMMAND, /* index, argument */
    SLASH_UNKNOWN, /* nearest; the draft stays */
};

struct slash_result {
    enum slash_kind kind;
    size_t index;         /* COMMAND: into names */
    /* COMMAND: within the draft, blanks at its start skipped; "" without one. Its end may be blank. */
    const char *argument;
    const char *word;     /* COMMAND, UNKNOWN: the name as typed, without the slash */
    size_t word_length;
    int nearest;          /* UNKNOWN: index of the most similar name, -1 when none is similar */
};

/* names: all names without their slash, second names included ("?" is a name). pasted: the draft's first byte came from
 * a paste. Names are matched exactly, in lower case (`/Help` finds help). A lone `/` is UNKNOWN without a nearest
 * name. */
struct slash_result slash_parse(const char *draft, bool pasted, const char *const *names, size_t n);

/* May this unfinished draft become a command? Then it isn't prefilled. */
bool slash_may_be_command(const char *draft, size_t length, bool pasted);

/* Is a draft a command of the shell? Then it begins with ! in its first column, typed rather than pasted, something
 * follows at once, and it is one line. A leading blank makes it text. */
bool slash_runs(const char *draft, size_t length, bool pasted);

/* Steps (insert, delete, replace, swap neighbours) from one word to the other, compared without case; words longer than
 * 63 bytes count as 63 apart. */
unsigned slash_distance(const char *a, size_t a_length, const char *b, size_t b_length);

/* The largest distance from a mistyped word of that length to the intended one. */
unsigned slash_slips(size_t length);

#endif
