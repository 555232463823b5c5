/* The terminal: the only code that writes to it, through ncurses, from a canvas.
 *
 * It puts a canvas on the screen: only cells that have changed since the last one, within a synchronised update if the
 * terminal supports it, with the hardware cursor at the canvas's cursor. It does not decode keys: it only switches the
 * line discipline to raw (ISIG, IXON and OPOST off) and curses' keypad mode off; the program waits for the descriptor
 * itself, and reads with term_read().
 *
 * setlocale() comes first. One terminal at a time, one thread. While the terminal is taken, restore.h is armed to give
 * it back if the program ends at once. ncurses takes over no signal whose handler the program has set before
 * term_open().
 */
#ifndef TANDEM_UI_TERM_H
#define TANDEM_UI_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "ui/draw/canvas.h"
#include "ui/terminal/graphics.h"

struct term;

/* Takes over the terminal: alternate screen, raw, bracketed paste. name: of its entry in terminfo
 * (ui/terminal/term_name.h); NULL: $TERM. colours: use at most this many (256, 8 or 0), or fewer if the terminal has
 * fewer; negative: all that it has, none with NO_COLOR set. leave: a descriptor that becomes readable when the program
 * must leave, after which writes no longer wait for the terminal (engine/os/inout.h); -1: none. LINES and COLUMNS,
 * where they are set, get the size of the terminal. NULL: TERM is unknown or out is no terminal, which is left as it
 * was. */
struct term *term_open(const char *name, int out, int in, int leave, int colours);

/* Gives it back as it was, if the program has it now, once it has answered all questions (ui/terminal/questions.h). */
void term_close(struct term *term);

/* 256, 8 or 0. */
int term_colours(const struct term *term);
/* Is STYLE_STRIKE drawn? */
bool term_strikes(const struct term *term);

/* The present size, from the system. */
void term_size(const struct term *term, int *rows, int *cols);

/* Shows the canvas, in one write (of 64 KiB at most), and returns when it has been written. A canvas of another size
 * than the last one is drawn afresh. */
void term_present(struct term *term, const struct canvas *canvas, enum view_theme theme);

/* A string capability of terminfo, or NULL; the lookup of decoder_add_terminfo(). */
const char *term_capability(void *unused, const char *name);

/* The next term_present() draws everything (Ctrl-L, or after another program has written). */
void term_redraw(struct term *term);

/* The terminal has answered that it knows mode 2026. */
void term_set_synchronised(struct term *term, bool on);

/* Sets more modes, now and whenever the terminal is taken back; `off` undoes them whenever it is given back. Both texts
 * must outlive the terminal. */
void term_set_modes(struct term *term, const char *on, const char *off);

/* Clicks and wheel (modes 1000 and 1006); the wheel as arrow keys on the alternate screen (mode 1007). */
void term_set_mouse(struct term *term, bool mouse, bool wheel_as_keys);

/* Shows the canvas's pictures in this way from the next term_present() on; for sixel it asks the system for the cells'
 * pixels. False: not possible. Pictures are removed before the terminal is given back. */
bool term_set_graphics(struct term *term, enum graphics_way way);
/* A cell's pixels as the system reports them; 0 and 0: it doesn't. */
void term_cell_size(const struct term *term, int *width, int *height);

/* Writes bytes without curses, for the clipboard (OSC 52), the bell and questions to the terminal. */
void term_write(struct term *term, const char *bytes, size_t len);
/* Reads typed bytes without waiting, once `in` is readable: as read(2) (engine/os/inout.h). */
ssize_t term_read(struct term *term, void *bytes, size_t n);

/* Gives the screen to another program (Ctrl-Z, an editor, copy view), and takes it back. */
void term_suspend(struct term *term);
void term_resume(struct term *term);
/* While it is given away: on: keys come one by one without echo; until off or term_resume(). */
void term_take_keys(struct term *term, bool on);

/* Call it when the program continues (SIGCONT) after it was stopped, by itself or by another program. In the terminal's
 * foreground the modes are set again, and the next term_present() draws everything. In a shell's background nothing is
 * written, and the owner must not read, until a later call finds it in the foreground. Returns whether it is. */
bool term_continue(struct term *term);
bool term_is_behind(const struct term *term);

/* True: without memory for the screen it no longer draws, and the program should end. */
bool term_has_failed(const struct term *term);

#endif
