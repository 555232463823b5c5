/* Tokens drafted by the MTP head, or from the context, and verified by one pass (engine/forward/head.h, forward.h).
 * Each row's token is sampled from its own logits, with the random number of its index and the penalties as of that
 * row, and the next row counts only if its draft is that token: so the text is the same as without drafts. */
#ifndef TANDEM_CHAT_DRAFTING_H
#define TANDEM_CHAT_DRAFTING_H

#include "engine/chat/chat.h"

/* Allocates what drafting needs if the decode unit's backend can verify; without memory for it nothing is drafted. */
void drafting_prepare(struct tdm_chat *c);
/* Whether drafting_prepare was called for the unit that decodes now. */
bool drafting_fits(const struct tdm_chat *c);
void drafting_free(struct drafting *d);

/* How many tokens to draft for the next pass, which has this decoder's run alone. */
uint32_t drafting_wanted(const struct tdm_chat *c, const struct decoder *d);
/* For a claimed pass, without the lock: makes drafts and, if there are any, adds them to the run to be verified. */
void drafting_make(struct tdm_chat *c, struct team *team);
/* Likewise after the pass: samples the tokens of a verified run's rows. */
void drafting_sample(const struct tdm_chat *c, struct decoder *d, const struct forward_run *run, struct sampled *out);
/* Likewise: adds the rows of the accepted tokens to the state. */
void drafting_accept(struct tdm_chat *c, struct team *team);
/* With the lock: the pass took this many seconds, its drafts included. */
void drafting_count(struct writer *w, double took, bool timed);

#endif
