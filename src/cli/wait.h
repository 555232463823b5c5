/* Waiting for a chat, for Ctrl-C (src/cli/interrupt.h) and for one more descriptor. */
#ifndef TANDEM_SRC_WAIT_H
#define TANDEM_SRC_WAIT_H

#include "engine/tandem.h"

enum { WAIT_CHAT = 1, WAIT_INTERRUPT = 2, WAIT_OTHER = 4 };

/* What is ready, or 0 after timeout_ms (-1: never). c NULL and other -1: not waited for. A signal counts as a
 * timeout. */
int wait_for(const tdm_chat *c, int other, int timeout_ms);

#endif
