/* Colours for source code: keywords, strings, comments and numbers of the common languages, from one table.
 *
 * A line at a time, with the state that one line leaves to the next (an open comment or string), so that a code block
 * that still streams is coloured once. The lexer is only approximate: nothing depends on its result.
 */
#ifndef TANDEM_UI_HIGHLIGHT_H
#define TANDEM_UI_HIGHLIGHT_H

#include <stddef.h>

#include "ui/draw/theme.h"

struct highlight_language;

struct highlight_state {
    int inside; /* 0, or the open comment or string */
};

/* The language that a fence names ("python", "c++", "sh" ...), case ignored; NULL: not known, plain code. */
const struct highlight_language *highlight_find(const char *name, size_t len);

/* Calls emit for consecutive stretches of the line, which has no newline. */
void highlight_line(const struct highlight_language *language, struct highlight_state *state, const char *line,
                    size_t len, void (*emit)(void *arg, size_t from, size_t to, style_t style), void *arg);

#endif
