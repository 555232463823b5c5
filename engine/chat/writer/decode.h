/* Replies, from the state of their prompt to their last token: the passes of the unit that decodes. */
#ifndef TANDEM_CHAT_DECODE_H
#define TANDEM_CHAT_DECODE_H

#include "engine/chat/chat.h"

/* Begins the replies and samples their first token (chat_steps: reply). A reply that goes on from the decoder's own
 * state may lack its last token there; then that token is decoded first. */
void decode_reply(struct tdm_chat *c);
/* The next pass of the unit, for the replies of both dialogues. */
int64_t decode_next(struct tdm_chat *c, int unit, int64_t now_ns, struct work *work);

#endif
