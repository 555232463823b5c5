/* How programs start: this one with open standard descriptors and without blocked signals, whatever a supervisor or a
 * hook started it with; those that it starts with the default action for every signal, whatever signals it ignores,
 * blocks or catches itself. */
#ifndef TANDEM_OS_START_H
#define TANDEM_OS_START_H

#include <spawn.h>

/* Call it first in main(). Otherwise the first file, pipe or socket that is opened would get the number of a closed
 * standard descriptor: output would go there, and its data would be read as the user's input. This function opens a
 * placeholder in its place, which fails with EBADF as a closed descriptor does. It ends the program if that is
 * impossible.
 *
 * Signals that are blocked at the start would never come (SIGWINCH, SIGTERM), and where SIGCHLD is ignored, waitpid()
 * does not tell how a child ended: from now on no signal is blocked, and SIGCHLD has its default action. Others that
 * are ignored stay so, as nohup and shells mean it. */
void start_standard(void);

/* For posix_spawn: no signal is blocked and none ignored; more: further flags. The caller destroys them. */
void start_attributes(posix_spawnattr_t *out, short more);

/* The same between fork and exec. */
void start_signals(void);

#endif
