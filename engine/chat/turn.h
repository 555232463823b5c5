/* A turn's beginning, and which work comes next: the sources of the two units. */
#ifndef TANDEM_CHAT_TURN_H
#define TANDEM_CHAT_TURN_H

#include "engine/chat/chat.h"

/* Sets the chat's steps (chat.h) and the sources of its client. Call it before machine_serve. */
void turn_open(struct tdm_chat *c);
/* Waits until the job of a stopped prompt has ended, at its next layer. TDM_E_BUSY: a cold prompt is being measured. */
tdm_status turn_wait_for_stopped_prompt(struct tdm_chat *c, tdm_error *err);
/* Begins a turn with this many answers to `user`; answers 0: the reply at the current leaf is continued. */
tdm_status turn_begin(struct tdm_chat *c, int user, int answers, int64_t enter_ns, tdm_turn_mark mark, tdm_error *err);
/* Removes the question that was added last, since it can't be sent, and makes the leaf before it current again. */
void turn_take_back(struct tdm_chat *c, int before);
/* The question is sent: posts TDM_EV_PATH if it did not become a child of the leaf before, a question without a
 * reply. */
void turn_tell_left(struct tdm_chat *c, int user, int before);
/* Sends the queued message, if there is one and no turn is under way. */
void turn_send_queued(struct tdm_chat *c, int64_t now_ns, tdm_turn_mark mark);
/* Drops a dialogue's queued message, if there is one, and posts an event about it. */
void turn_drop_queued(struct tdm_chat *c, struct dialogue *d);

#endif
