/* The terminal in which lines are typed: readline's modes and ways to read it, the echo, and stopping. However the
 * program ends, the terminal gets its modes back (ui/terminal/restore.h). */
#ifndef TANDEM_SRC_PLAIN_TTY_H
#define TANDEM_SRC_PLAIN_TTY_H

#include <stdbool.h>
#include <stddef.h>

/* Called once if standard input is a terminal, before readline is used. */
void plain_tty_open(void);

/* Switches the terminal's echo; readline echoes by itself. */
void plain_tty_echo(bool on);

/* Drops typed bytes that are not read yet. */
void plain_tty_forget(void);

/* Pass it all bytes that are read from the terminal, in order: it replaces a zero that was typed before readline's
 * modes were set by the key for the end of the input (Ctrl-D). While lines are read whole, the terminal keeps that key
 * as a zero, which readline treats as Ctrl-Space; so Ctrl-D between two prompts would be lost. */
void plain_tty_typed(char *bytes, size_t n);

/* Call it in each round of a loop that waits: stops the program after Ctrl-Z, and returns when it continues. False: the
 * program is in the background of a shell; it must neither write nor read, and must call this again after
 * PLAIN_TTY_BEHIND_MS, since no signal reports the foreground. True where plain_tty_open() wasn't called. */
enum { PLAIN_TTY_BEHIND_MS = 250 };
bool plain_tty_look(void);

#endif
