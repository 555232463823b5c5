/* The work of a unit while the prompter (prompter.h) evaluates a prompt: that of a turn, or a cold one. */
#ifndef TANDEM_CHAT_PROMPT_H
#define TANDEM_CHAT_PROMPT_H

#include "engine/chat/chat.h"

/* The next work in STAGE_PROMPT and STAGE_COLD. */
int64_t prompt_next(struct tdm_chat *c, int64_t now_ns, struct work *work);
/* Evaluates the prompt of this reply from an empty state, to its first token. After turn_wait_for_stopped_prompt. */
tdm_status prompt_begin_cold(struct tdm_chat *c, int reply, tdm_pipeline pipeline, tdm_error *err);

#endif
