/* Replies that a server writes: each is a request instead of passes of the decode unit, and gets its text as the server
 * sends it. The request begins at Enter, whatever has been read ahead: the server knows which part its cache lacks. */
#ifndef TANDEM_CHAT_STREAM_H
#define TANDEM_CHAT_STREAM_H

#include "engine/chat/chat.h"

/* Called when the prompt of the turn is known and the decoder is free: begins the reply, whatever was read ahead. */
void stream_ask(struct tdm_chat *c);
/* The next work of the decode unit in STAGE_DECODE. */
int64_t stream_next(struct tdm_chat *c, struct work *work);

#endif
