/* Stopping and continuing a program that has changed the terminal's modes. On Ctrl-Z or SIGTSTP the program gives the
 * terminal back and then stops itself. On SIGCONT, after that or after SIGSTOP, which can't be caught, it takes the
 * terminal again. Process-wide, for the program's main thread. */
#ifndef TANDEM_SRC_STOPPING_H
#define TANDEM_SRC_STOPPING_H

#include <stdbool.h>

/* Catches these signals from now on, SIGWINCH too. A byte is written to `wake` (non-blocking; -1: nowhere) for each
 * signal, and blocked calls such as poll(2) return. */
void stopping_catch(int wake);

/* stopping_asked: whether the program must stop; stopping_over: whether it has continued after being stopped. Each
 * returns true once. */
bool stopping_asked(void);
bool stopping_over(void);

/* Stops the whole job, as the terminal's own Ctrl-Z would, and returns when it continues. It does nothing in a process
 * group that no shell could continue. Either way stopping_over() is true then. */
void stopping_stop(void);

#endif
