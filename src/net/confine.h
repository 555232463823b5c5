/* The programs that open connections, and the one that decodes pictures, confine themselves. An attacker who takes one
 * of them over, by what a server or a file sends, can do little with it: start no program, read no other process, and
 * open no file of the user except those it works with.
 *
 * A restriction that the kernel doesn't know or refuses (an old kernel, a container, an emulator) is skipped silently;
 * sanitizer builds, which need the denied system calls, only close descriptors. Restrictions can't be undone. Call
 * these while there is one thread; those begun later inherit it. */
#ifndef TANDEM_SRC_CONFINE_H
#define TANDEM_SRC_CONFINE_H

#include <stdint.h>

/* First in main(): closes every descriptor above standard error; memory, which contains keys and the user's text, is
 * neither dumped nor readable by other programs of the user's; neither exec nor set-user-ID gives more rights
 * (no_new_privs); system calls that start programs, trace processes, mount, load code into the kernel and the like fail
 * with EPERM (seccomp). */
void confine_process(void);

/* Call it once the program has read its own files: from then on files can be opened for writing only below `written`,
 * in the user's home ($HOME) for reading only those and `read`, and no TCP port can be listened on (Landlock).
 * Everything outside the home stays readable, since systems differ in where they keep certificates, resolvers and their
 * libraries. For a path in `written` that doesn't exist yet, the nearest existing folder above it counts. Each list
 * ends with NULL; NULL: none. A second call can only restrict further. */
void confine_files(const char *const *written, const char *const *read);

/* For a program that reads standard input, writes standard output and does nothing else, first in main(), in place of
 * the above: limits memory and processor time, forbids opening files, and allows only a few system calls: reading and
 * writing open descriptors, non-executable memory, waiting, clocks, exit. */
void confine_to_pipes(uint64_t memory, unsigned seconds);

#endif
