/* Waiting for a chat, for Ctrl-C (src/process/interrupt.h) and for one more descriptor. */
#ifndef TANDEM_SRC_WAIT_H
#define TANDEM_SRC_WAIT_H

#include "engine/tandem.h"

enum { WAIT_CHAT = 1, WAIT_OTHER = 2 };

/* Waits, and returns which are ready, or 0 after timeout_ms. c NULL and other -1 are left out. A signal ends the wait
 * like a timeout (see interrupt_seen()); once Ctrl-C was seen, it no longer ends waits. */
int wait_for(const tdm_chat *c, int other, int timeout_ms);
/* Waits until tdm_chat_wait_idle() returns true; false: Ctrl-C was pressed, or the program is to leave. */
bool wait_idle(tdm_chat *c);

#endif
