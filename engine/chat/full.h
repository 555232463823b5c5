/* Which turns a prompt omits when the context is full (drop-oldest): the oldest ones, until there is room for an
 * answer, and more of them while the reply grows. The conversation keeps them. */
#ifndef TANDEM_CHAT_FULL_H
#define TANDEM_CHAT_FULL_H

#include "engine/chat/chat.h"

/* Computes the target of the turn that begins: its prompt must leave room for a reply. With drop-oldest, the oldest
 * turns of a longer prompt are left out until there is room for an answer: for as many tokens as the options allow one,
 * or else for a quarter of the context, at most FULL_ANSWER. TDM_E_CONTEXT: there is no room even so. */
enum { FULL_ANSWER = 1024 };
tdm_status full_fit(struct tdm_chat *c, int64_t now_ns, tdm_error *err);

/* A reply has filled the context. With drop-oldest it continues after a shorter prompt without the oldest turns: that
 * prompt is read first, then the reply's own ids. False: the reply ends, since no turn can be left out, it is one of
 * several, or the model is on a server. Call it in STAGE_DECODE, with the reply's newest token in its node. */
bool full_go_on(struct tdm_chat *c, struct decoder *d);

#endif
