/* A GPU is lost while a chat uses it: the cores take the place of its unit. The host has the tokens of the device's
 * states, so no text is lost, but the cores must read it again. A reply that was being written goes on from its own
 * ids; its bits may differ from there on. Replies in the back end. */
#ifndef TANDEM_CHAT_LOST_H
#define TANDEM_CHAT_LOST_H

#include "engine/chat/chat.h"

/* For a job that has failed and returned: whether it failed because a GPU is lost. Then an event says so, once, and the
 * turn waits until the cores take the GPU's place. In STAGE_DECODE the turn goes back to its prompt. */
bool lost_check(struct tdm_chat *c, const char *why);
/* The cores take the lost GPU's place. False: a job still uses its states; call again later. */
bool lost_recover(struct tdm_chat *c);
/* For what has failed on the thread that calls the chat, with no turn in front: if it failed because a GPU is lost,
 * waits until the cores have taken its place. True: it can be tried again. False: no GPU is lost, or one is still used
 * after a second. */
bool lost_replace(struct tdm_chat *c, const char *why);

#endif
