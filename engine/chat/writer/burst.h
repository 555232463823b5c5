/* Several tokens of a reply at once, where a backend samples them itself (backend.h: reply). They become tokens of the
 * reply one after the other, as any others. Tokens after the reply's end stay in the state; its list of tokens shows
 * that, so the reply is not continued from that state. */
#ifndef TANDEM_CHAT_BURST_H
#define TANDEM_CHAT_BURST_H

#include "engine/chat/chat.h"

/* For a pass of one run without drafts: plans how many tokens may be evaluated at once before the host is needed. */
void burst_plan(struct tdm_chat *c);
/* For a claimed pass, without the lock: evaluates and samples that many tokens. */
tdm_status burst_sample(struct tdm_chat *c, uint64_t *bytes, tdm_error *err);

#endif
