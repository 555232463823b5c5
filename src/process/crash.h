/* Ends of the program that leave no time: by a signal whose default action ends it (except SIGINT, SIGTERM and SIGHUP,
 * see interrupt.h), by a broken invariant, or by a library that gets no memory. The terminal is given back first
 * (ui/terminal/restore.h). Only then is a line written to standard error, so that it stays readable. The program ends
 * by the same signal, as its sender and the shell expect. */
#ifndef TANDEM_SRC_CRASH_H
#define TANDEM_SRC_CRASH_H

/* Takes effect for the whole program; further calls do nothing. Call it before the terminal's modes are changed.
 * Signals that were ignored when the program began stay ignored. */
void crash_catch(void);

/* The part of it that every command needs: a model's file that shrinks while it is read (shrunk.h). */
void crash_catch_shrunk(void);

#endif
