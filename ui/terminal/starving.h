/* ncurses doesn't check whether it gets memory: without memory it faults at an address near zero within one of our
 * calls. Code that calls ncurses says so here, so that the handler can tell such a fault from one of our own. */
#ifndef TANDEM_UI_STARVING_H
#define TANDEM_UI_STARVING_H

#include <stdbool.h>

/* From now on this thread is in a call of ncurses, or not. */
void starving_watch(bool in_call);
/* Is it in one? */
bool starving_watched(void);
/* Is a fault of this thread at that address one of ncurses without memory? For signal handlers. */
bool starving_at(const void *address);

#endif
