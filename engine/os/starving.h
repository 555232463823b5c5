/* Libraries that don't check the result of malloc(): without memory ncurses, libcrypto and libraries of libcurl fault
 * at an address near zero, within one of our calls. Code that calls them says so here, so that the handler
 * (src/process/crash.h) can tell such a fault from one of our own. */
#ifndef TANDEM_OS_STARVING_H
#define TANDEM_OS_STARVING_H

#include <stdbool.h>

/* Notes whether this thread is in a call of such a library from now on. Returns the previous value, which a callback of
 * such a library must restore. */
bool starving_watch(bool in_call);
/* Is this thread in such a call? */
bool starving_watched(void);
/* Was a fault of this thread at that address caused by such a library's lack of memory? For signal handlers. */
bool starving_at(const void *address);

#endif
