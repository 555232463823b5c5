/* The terminal: the only place that writes to it, through ncurses.
 *
 * It puts a canvas on the screen: only cells that have changed since the last one, within a synchronised update where
 * the terminal has that, the hardware cursor at the canvas's cursor. Keys are not its business: it only switches the
 * line discipline to raw (ISIG, IXON and OPOST off) and curses' keypad mode off; the program reads the descriptor
 * itself.
 *
 * setlocale() comes first. One terminal at a time, one thread; term_emergency() alone may be called from a signal
 * handler. ncurses takes over no signal whose handler the program has set before term_open().
 */
#ifndef TANDEM_UI_TERM_H
#define TANDEM_UI_TERM_H

#include <stdio.h>

#include "ui/draw/canvas.h"

struct term;

/* Takes over the terminal: alternate screen, raw, bracketed paste. colours: use at most so many (256, 8 or 0), and
 * fewer where the terminal has fewer; negative: all that it has, none with NO_COLOR set. NULL: TERM is unknown or out
 * is no terminal; nothing has been changed then. */
struct term *term_open(FILE *out, FILE *in, int colours);

/* Gives it back as it was. */
void term_close(struct term *term);

/* 256, 8 or 0. */
int term_colours(const struct term *term);

/* The size now, asked from the system. */
void term_size(const struct term *term, int *rows, int *cols);

/* Shows the canvas, in one write (of 64 KiB at most), and returns when it has been written. A canvas of another size
 * than the last one is drawn afresh. */
void term_present(struct term *term, const struct canvas *canvas, enum view_theme theme);

/* What terminfo says: a string capability, or NULL; a lookup of decoder_add_terminfo(). */
const char *term_capability(void *unused, const char *name);

/* The next term_present() draws everything (Ctrl-L, or after another program has written). */
void term_redraw(struct term *term);

/* The terminal has answered that it knows mode 2026. */
void term_set_synchronised(struct term *term, bool on);

/* Clicks and wheel (modes 1000 and 1006); the wheel as arrow keys on the alternate screen (mode 1007). */
void term_set_mouse(struct term *term, bool mouse, bool wheel_as_keys);

/* Bytes past curses, for the clipboard (OSC 52), the bell and questions to the terminal. */
void term_write(struct term *term, const char *bytes, size_t len);

/* Leaves the screen to something else (Ctrl-Z, an editor, copy view), and comes back. */
void term_suspend(struct term *term);
void term_resume(struct term *term);

/* Restores an open terminal with nothing but write(2) and tcsetattr(3): for handlers of fatal signals and the bug hook.
 * Nothing happens when none is open. */
void term_emergency(void);
/* Whether there is one to give back. */
bool term_is_open(void);

#endif
