/* Libraries that don't check whether they get memory: ncurses, libcrypto and what libcurl uses fault at an address near
 * zero then, within one of our calls. Code that calls them says so here, so that the handler (src/process/crash.h) can
 * tell such a fault from one of our own. */
#ifndef TANDEM_OS_STARVING_H
#define TANDEM_OS_STARVING_H

#include <stdbool.h>

/* From now on this thread is in a call of such a library, or not. Returns what was said before, for functions of ours
 * that such a library calls. */
bool starving_watch(bool in_call);
/* Is it in one? */
bool starving_watched(void);
/* Is a fault of this thread at that address one of the library without memory? For signal handlers. */
bool starving_at(const void *address);

#endif
