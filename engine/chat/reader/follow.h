/* The work of the prefill unit towards the newest target: the follower's dispatches, and the hand-over of its state. */
#ifndef TANDEM_CHAT_FOLLOW_H
#define TANDEM_CHAT_FOLLOW_H

#include "engine/chat/chat.h"

/* The next work towards the target. */
int64_t follow_next(struct tdm_chat *c, int64_t now_ns, struct work *work);
/* The work that makes a checkpoint of what the follower has of the history beyond those that there are; false: there is
 * none to be made, or a turn is under way. Only while no plan of the follower is active. */
bool follow_keep_next(struct tdm_chat *c, struct work *work);
/* Whether the follower has read the whole prompt, its state is in the decode unit's memory, and the decoder is free.
 * Then follow_hand_over exchanges the two states, which takes no time, and the reply begins. */
bool follow_can_hand_over(const struct tdm_chat *c);
void follow_hand_over(struct tdm_chat *c);
/* Should a part of the state be copied to the decode unit's memory while no turn waits? */
bool follow_wants_carriage(const struct tdm_chat *c);
/* Replaces the follower's state by `loaded`, which is set; no job uses the follower's state. */
void follow_adopt_loaded(struct reader *r);

#endif
