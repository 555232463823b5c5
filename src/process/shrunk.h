/* A model's file that becomes shorter, or can't be read any more, while the engine reads it through a mapping: a
 * network share, a USB stick, or a program that truncates the file. The system raises SIGBUS then. Then the terminal is
 * given back, one line names the file, and the program ends with status 1. */
#ifndef TANDEM_SRC_SHRUNK_H
#define TANDEM_SRC_SHRUNK_H

/* Takes effect for the whole program, all its threads. Both functions make system calls only: give_back (NULL:
 * nothing) gives the terminal back, say writes a line and its end to standard error. A SIGBUS with another cause ends
 * the program by its default action, after give_back. */
void shrunk_catch(void (*give_back)(void), void (*say)(const char *line));

#endif
