/* The state of a prompt arrives at the decoder: by an exchange, by a copy, or because the decoder has it already. The
 * reply then goes on from that state, or the decode unit first reads the ids that it lacks (reply_prefix.h). */
#ifndef TANDEM_CHAT_ARRIVAL_H
#define TANDEM_CHAT_ARRIVAL_H

#include "engine/chat/chat.h"

/* Called when the decoder has the state of the whole prompt: makes the reply's node, and posts ON_READY or ON_PREFIX.
 * moving_ns: when copying the state began; bytes: how many were copied; 0: it was not copied. */
void arrival_begin_reply(struct tdm_chat *c, int64_t moving_ns, uint64_t bytes);

/* Whether the decoder's state holds the whole prompt except at most one token, or will hold it when its running job
 * ends. Then a reply is continued from that state. */
bool arrival_in_place(const struct tdm_chat *c);
/* Goes on with a stopped reply, once no job runs on the decoder's state. The last job may have failed. */
void arrival_resume(struct tdm_chat *c);

/* Notes in the figures how much of this turn's prompt had been read at Enter, and so the turn's kind. */
void arrival_account_before(const struct reader *r, struct dialogue *front);
/* Notes the same, and how many tokens were evaluated for the prompt. Once a turn, before the follower begins to read
 * the reply. */
void arrival_account(struct tdm_chat *c);

#endif
