/* Adoption: where a past turn renders exactly as it was decoded, the decoder's own state is a prefix of the next
 * prompt, and the follower takes a copy of it instead of evaluating the reply again. Only the ids decide: those
 * that the decoder evaluated are compared with those of the target.
 *
 * The bits are the same either way (engine/README.md, 'Exactness'), hence only between units of one backend with the
 * same weights and one pool, that is with the same kernels and types of keys and values.
 *
 * While a reply is decoded, the unit that decodes makes the copy, between two tokens and as often as the follower would
 * have evaluated a dispatch of at least 32 tokens; the follower's unit sleeps and lends its cores. If the reply turns
 * out not to render as it was decoded, no more than a dispatch's worth of tokens is left to be read. At other times the
 * prefill unit copies. */
#ifndef TANDEM_CHAT_ADOPT_H
#define TANDEM_CHAT_ADOPT_H

#include "engine/chat/chat.h"

/* Whether the decoder has evaluated all tokens of the newest target or is about to, so that the follower need not. Only
 * where its state can be adopted at all. */
bool adopt_leads(const struct tdm_chat *c);
/* How many tokens of the target an adoption would bring now; 0: there is nothing to adopt. */
uint32_t adopt_tokens(const struct tdm_chat *c);
/* The next work, if the follower is to adopt the decoder's state now; called by the driver of `unit`. */
bool adopt_next(struct tdm_chat *c, int unit, int64_t now_ns, struct work *work);

#endif
