/* Ctrl-C, and requests to leave. While SIGINT, SIGTERM and SIGHUP are caught, they set a flag and make a descriptor
 * readable, so that loops can both check and wait for them. Those that are ignored stay so: SIGHUP below nohup, SIGINT
 * in what a shell script starts in the background. Process-wide, for the program's main thread. */
#ifndef TANDEM_SRC_INTERRUPT_H
#define TANDEM_SRC_INTERRUPT_H

#include <stdbool.h>

void interrupt_catch(void);   /* from now on; again: forgets an earlier Ctrl-C */
void interrupt_catch_all(void); /* the same if Ctrl-C is a key: SIGINT requests leaving, as the other signals do */
void interrupt_release(void); /* back to the default: they end the program */
bool interrupt_seen(void);
bool interrupt_leaving(void); /* a signal has asked the program to leave; that is never forgotten */
int interrupt_leave_fd(void); /* stays readable once such a signal came; -1: there was no descriptor */
int interrupt_fd(void);       /* readable once Ctrl-C was pressed; -1 before the first interrupt_catch */

/* Waits for so long, or until Ctrl-C is pressed. False: it was pressed, before or meanwhile. */
bool interrupt_pause(int ms);

#endif
