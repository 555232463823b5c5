/* Ctrl-C, and being told to leave: while they are caught, SIGINT, SIGTERM and SIGHUP set a flag and make a descriptor
 * readable, so that loops can both ask and wait for them. Process-wide, for the program's main thread. */
#ifndef TANDEM_SRC_INTERRUPT_H
#define TANDEM_SRC_INTERRUPT_H

#include <stdbool.h>

void interrupt_catch(void);   /* from now on; again: forgets an earlier Ctrl-C */
void interrupt_release(void); /* back to the default: they end the program */
bool interrupt_seen(void);
bool interrupt_leaving(void); /* SIGTERM or SIGHUP came; is never forgotten */
int interrupt_fd(void);       /* readable once Ctrl-C was pressed; -1 before the first interrupt_catch */

#endif
