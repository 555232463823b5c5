/* What is left out of the prompt where the context is full (drop-oldest): turns from the conversation's beginning on,
 * until there is room for an answer, and more of them while the reply grows. The conversation keeps them. */
#ifndef TANDEM_CHAT_FULL_H
#define TANDEM_CHAT_FULL_H

#include "engine/chat/chat.h"

/* Computes the target of the turn that begins: its prompt must leave room for a reply. With drop-oldest a prompt that
 * doesn't is left without its oldest turns, as many as leave room for an answer: as many tokens as the options allow
 * one, else a quarter of the context, FULL_ANSWER at most. TDM_E_CONTEXT: even so there is none. */
enum { FULL_ANSWER = 1024 };
tdm_status full_fit(struct tdm_chat *c, int64_t now_ns, tdm_error *err);

/* A reply has filled the context. With drop-oldest it goes on behind a prompt without its oldest turns, which is read
 * first, then the reply's own ids. False: it ends; nothing can be left out, or it is one of several or on a server.
 * In STAGE_DECODE, with its newest token in its node. */
bool full_go_on(struct tdm_chat *c, struct decoder *d);

#endif
