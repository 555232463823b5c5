/* Ctrl-C: while it is caught, SIGINT sets a flag and makes a descriptor readable, so that loops can both ask and wait
 * for it. Process-wide, for the program's main thread. */
#ifndef TANDEM_SRC_INTERRUPT_H
#define TANDEM_SRC_INTERRUPT_H

#include <stdbool.h>

void interrupt_catch(void);   /* from now on; again: forgets an earlier Ctrl-C */
void interrupt_release(void); /* back to the default: Ctrl-C ends the program */
bool interrupt_seen(void);
int interrupt_fd(void);       /* readable once Ctrl-C was pressed; -1 before the first interrupt_catch */

#endif
