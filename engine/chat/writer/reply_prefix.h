/* A reply is continued that is not in the decoder's state, and the two units don't compute the same bits. Then the
 * prefill unit reads the prompt, as it did before the reply began, and the decode unit reads the reply's own ids, as it
 * did when it decoded them. So the reply goes on with the bits that it would have if it had not been stopped. */
#ifndef TANDEM_CHAT_REPLY_PREFIX_H
#define TANDEM_CHAT_REPLY_PREFIX_H

#include "engine/chat/chat.h"

/* A decoder is to go on with the reply that this target was computed for: it gets the reply's own ids, if any. */
tdm_status reply_prefix_take(struct writer *w, struct decoder *d, const struct target *t, tdm_error *err);
/* Whether the decoder's state, which holds the prompt, lacks some of these ids. */
bool reply_prefix_is_lacking(const struct tdm_chat *c);
/* The next work of the decode unit in STAGE_OWN. */
int64_t reply_prefix_next(struct tdm_chat *c, struct work *work);

#endif
