/* The programs that open connections, and the one that decodes pictures, confine themselves. An attacker who takes one
 * of them over, by what a server or a file sends, can do little with it: start no program, look into no other process,
 * and reach no file of the user but those it works with.
 *
 * As far as the kernel supports it: a restriction that it doesn't know or refuses (an old kernel, a container, an
 * emulator) is left out silently, and a sanitizer's build, which needs what is denied here, leaves out all but the
 * descriptors. Nothing of it can be taken back. Call these while there is one thread; those begun later inherit it. */
#ifndef TANDEM_SRC_CONFINE_H
#define TANDEM_SRC_CONFINE_H

#include <stdint.h>

/* First in main(): closes every descriptor above standard error; memory, which has keys and what is written, is neither
 * dumped nor read by other programs of the user's; neither exec nor set-user-ID gives more rights (no_new_privs);
 * system calls that start programs, trace processes, mount, load code into the kernel and the like fail with EPERM
 * (seccomp). */
void confine_process(void);

/* When all is read that the program reads itself: files can be opened for writing only below `written`, in the user's
 * home ($HOME) for reading only those and `read`, and no TCP port can be listened on (Landlock). Everything outside the
 * home stays readable, since systems differ in where they keep certificates, resolvers and their libraries. Of a path
 * in `written` that isn't there yet, the nearest folder above it counts. Each list ends with NULL; NULL: none. A second
 * call can only restrict further. */
void confine_files(const char *const *written, const char *const *read);

/* For a program that reads standard input, writes standard output and does nothing else, first in main(), in place of
 * the above: memory and the processor's time are bounded, no file is opened, and the system calls that don't fail are
 * few: reading and writing what is open, memory that holds no code, waiting, clocks, the end. */
void confine_to_pipes(uint64_t memory, unsigned seconds);

#endif
