/* Struck-through text, which curses has no attribute for. It is drawn as blinking, which is not used otherwise, and in
 * curses' output SGR 5 is replaced by SGR 9 before it goes to the terminal. */
#ifndef TANDEM_UI_STRIKE_H
#define TANDEM_UI_STRIKE_H

#include <stdbool.h>
#include <stddef.h>

/* Can this terminal strike text through, and does its terminfo use the usual sequence for blinking? */
bool strike_able(const char *(*capability)(void *arg, const char *name), void *arg);

/* Replaces the sequence in curses' output, in place. */
void strike_put(char *bytes, size_t n);

#endif
