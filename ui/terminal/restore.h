/* Gives the terminal back when the program ends at once: by a signal, by a broken invariant, without memory. Code that
 * changes the terminal's modes first registers here how to undo the change, and removes that once it has undone the
 * change.
 *
 * One terminal at a time, one thread; restore_now() alone may be called from any, and from signal handlers. */
#ifndef TANDEM_UI_RESTORE_H
#define TANDEM_UI_RESTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

enum { RESTORE_BYTES = 320 };

/* Whether this program is in the terminal's foreground: in a shell's background (after `bg`) it may change neither the
 * screen nor the modes. True if the terminal doesn't know. For signal handlers too. */
bool restore_in_front(int fd);

/* The line modes that the terminal `in` had, and bytes for `out` that undo other modes (at most RESTORE_BYTES).
 * Replaces what was registered before. */
void restore_arm(int in, const struct termios *modes, int out, const char *bytes, size_t n);
void restore_disarm(void);
bool restore_is_armed(void);

/* Gives the terminal back, if armed and in the foreground, with system calls alone. It waits at most OUTLET_PATIENCE_MS
 * for the terminal, and for outstanding answers as questions_end() does. */
void restore_now(void);

#endif
