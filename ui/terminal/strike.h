/* Struck-through text, which curses has no attribute for. It is drawn as blinking, which nothing else here is, and what
 * curses writes for that is turned into the other before it goes to the terminal: SGR 9 in place of SGR 5. */
#ifndef TANDEM_UI_STRIKE_H
#define TANDEM_UI_STRIKE_H

#include <stdbool.h>
#include <stddef.h>

/* Can this terminal strike text through, and is it told to blink as others are? */
bool strike_able(const char *(*capability)(void *arg, const char *name), void *arg);

/* What curses has written, in place. */
void strike_put(char *bytes, size_t n);

#endif
