/* Makes the evaluators, decoders and states that a turn needs, before it begins. */
#ifndef TANDEM_CHAT_PREPARE_H
#define TANDEM_CHAT_PREPARE_H

#include "engine/chat/chat.h"

/* Makes *e an evaluator for at least this many rows and runs, if it is not; *e may be NULL. No job uses it. */
tdm_status prepare_evaluator(struct tdm_chat *c, struct evaluator **e, const struct side *side, uint32_t rows,
                             uint32_t runs, tdm_error *err);
/* Allocates the evaluators, decoders and states of a pipeline that are not there yet, for this many answers. Not during
 * a turn. cold: for prompt_begin_cold, which evaluates the prompt by itself in any pipeline. */
tdm_status prepare_turn(struct tdm_chat *c, tdm_pipeline pipeline, int answers, bool cold, tdm_error *err);

#endif
