/* What gives the terminal back when the program ends at once: by a signal, by a broken invariant, without memory.
 * Code that changes the modes of the terminal first says here what undoes the change, and takes that back once it has
 * undone it.
 *
 * One terminal at a time, one thread; restore_now() alone may be called from any, and from signal handlers. */
#ifndef TANDEM_UI_RESTORE_H
#define TANDEM_UI_RESTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

enum { RESTORE_BYTES = 320 };

/* Whether this program is in front of the terminal: in a shell's background (after `bg`) neither what it shows nor its
 * modes are ours. A terminal that doesn't know is ours. For signal handlers too. */
bool restore_in_front(int fd);

/* The line modes that the terminal `in` had, and bytes for `out` that undo other modes (at most RESTORE_BYTES). In the
 * place of what was there. */
void restore_arm(int in, const struct termios *modes, int out, const char *bytes, size_t n);
void restore_disarm(void);
bool restore_is_armed(void);

/* Gives the terminal back, if it is to be and this program is in front, with nothing but system calls, and waits for it
 * no longer than OUTLET_PATIENCE_MS, and for answers on their way as questions_end() does. */
void restore_now(void);

#endif
