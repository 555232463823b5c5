/* The programs that open connections confine themselves, so that whoever took one over by what a server sends could do
 * little with it: start no program, look into no other process, and reach no file of the user but those it works with.
 *
 * As far as the kernel goes along: what it doesn't know or refuses (an old one, a container, an emulator) is left out
 * without a word, and a sanitizer's build, which needs what is denied here, leaves out all but the descriptors.
 * Nothing of it can be taken back. Call these while there is one thread; those begun later inherit it. */
#ifndef TANDEM_SRC_CONFINE_H
#define TANDEM_SRC_CONFINE_H

/* First in main(): closes every descriptor above standard error; neither exec nor set-user-ID gives more rights
 * (no_new_privs); system calls that start programs, trace processes, mount, load code into the kernel and the like fail
 * with EPERM (seccomp). */
void confine_process(void);

/* When all is read that the program reads itself: files can be opened for writing only below `written`, in the user's
 * home ($HOME) for reading only those and `read`, and no TCP port can be listened on (Landlock). Everything outside the
 * home stays readable, since nobody can say where a system keeps certificates, resolvers and their libraries. Of a path
 * in `written` that isn't there yet, the nearest folder above it counts. Each list ends with NULL; NULL: none. A second
 * call can only restrict further. */
void confine_files(const char *const *written, const char *const *read);

#endif
