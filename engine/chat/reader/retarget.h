/* The target of the moment (target.h): what the next prompt will begin with, given the draft and how long the user has
 * rested. */
#ifndef TANDEM_CHAT_RETARGET_H
#define TANDEM_CHAT_RETARGET_H

#include "engine/chat/chat.h"

/* Computes the newest target; it is empty if that fails. err NULL: an event says why, for the first of several failures
 * in a row. */
tdm_status retarget_compute(struct tdm_chat *c, int64_t now_ns, tdm_error *err);
/* The same, then cancels a running dispatch whose tokens are not part of the target, and wakes the prefill unit. */
void retarget(struct tdm_chat *c, int64_t now_ns);
/* When reading may begin, if it happens at pauses only: INT64_MAX: after the reply, or once there is something that a
 * server is worth asking for; 0: now. */
int64_t retarget_rests_until(const struct tdm_chat *c, int64_t now_ns);
/* How long the user must rest before the draft is treated as the complete message. */
int64_t retarget_pause_ns(const struct tdm_chat *c);
/* Has the user rested that long? */
bool retarget_draft_rests(const struct tdm_chat *c, int64_t now_ns);
/* Will the draft be treated as the complete message if the user types nothing more? */
bool retarget_waits_for_pause(const struct tdm_chat *c);
/* Tokens of the prompt if the draft were sent now; 0 if there is none. Invalidates the target. */
uint32_t retarget_prompt_length(struct tdm_chat *c);
/* Tokens of the prompt and of reply `node`, if the reply were continued with the path beginning at path_start; 0: no
 * such prompt can be made. Invalidates the target. */
uint32_t retarget_resumed_length(struct tdm_chat *c, int node, int path_start);
/* Returns TDM_E_CONTEXT for a prompt that leaves the context no room for a reply: the line has the reason and both
 * numbers of tokens. */
tdm_status retarget_refuse(const char *why, uint32_t tokens, uint32_t context, tdm_error *err);

#endif
