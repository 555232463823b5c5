/* How an answer gets its text, and how it ends. A turn ends with the last of its answers, in either dialogue. */
#ifndef TANDEM_CHAT_ANSWER_H
#define TANDEM_CHAT_ANSWER_H

#include "engine/chat/chat.h"

/* Appends text to a reply and posts it. id: the token that it came with; -1: none. */
void answer_add(struct tdm_chat *c, struct decoder *d, struct span text, bool thinking, tdm_id id);

/* Starts the loop guard for the reply, from its next token on. */
void answer_guard(const struct tdm_chat *c, struct decoder *d);
/* Whether the loop guard watches replies now. When it is switched on again, it starts anew. */
bool answer_is_guarded(const struct tdm_chat *c, struct decoder *d);

/* Ends one reply that is being written. With the last one the turn ends, and the next may have begun on return. */
void answer_end(struct tdm_chat *c, struct decoder *d, tdm_finish finish);
/* Ends the replies of a dialogue that are being written, or discards the prompt that is being evaluated for them. */
void answer_end_all(struct tdm_chat *c, struct dialogue *d, tdm_finish finish);

#endif
