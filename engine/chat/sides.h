/* The two sides of a chat: where each unit computes, and where its states live. */
#ifndef TANDEM_CHAT_SIDES_H
#define TANDEM_CHAT_SIDES_H

#include "engine/chat/chat.h"

/* Opens the sides that the options and the machine ask for. No other thread uses the chat yet. */
tdm_status sides_open(struct tdm_chat *c, tdm_error *err);
/* After all states. */
void sides_close(struct tdm_chat *c);

#endif
