/* Continues a reply that is not in the decoder's state while the two units don't compute the same bits. The prefill
 * unit reads the prompt, as it did before the reply began, and the decode unit reads the reply's own ids, as it did
 * when it decoded them. So the reply goes on with the bits that it would have if it had not been stopped. */
#ifndef TANDEM_CHAT_REPLY_PREFIX_H
#define TANDEM_CHAT_REPLY_PREFIX_H

#include "engine/chat/chat.h"

/* Gives a decoder the reply's own ids, if any, of a target that was computed to continue a reply. */
tdm_status reply_prefix_take(struct writer *w, struct decoder *d, const struct target *t, tdm_error *err);
/* Whether the decoder's state, which holds the prompt, lacks some of these ids. */
bool reply_prefix_is_lacking(const struct tdm_chat *c);
/* The next work of the decode unit in STAGE_PREFIX. */
int64_t reply_prefix_next(struct tdm_chat *c, struct work *work);

#endif
