/* The prompter: evaluates a prompt from an empty state, dispatch by dispatch, for pipelines without a follower, and for
 * tdm_chat_cold.
 *
 * The chat's lock guards it, except while the stage says that a job uses it: then prompter_perform runs without the
 * lock. */
#ifndef TANDEM_CHAT_PROMPTER_H
#define TANDEM_CHAT_PROMPTER_H

#include "engine/backend/backend.h"
#include "engine/chat/reader/target.h"
#include "engine/unit/unit.h"

#include <stdatomic.h>

struct prompter {
    struct state *state; /* in the memory of the unit that evaluates prompts; scratch between prompts */
    struct state *reply_state; /* the decoder's state of the reply that the prompt is for, noted when the running job
                                  was claimed: if that job is stopped, or is a cold prompt's, another reply may be
                                  selected meanwhile */
    tdm_ids ids;
    struct target_picture *pictures; /* [n_pictures] in the ids, held */
    size_t n_pictures, seen;         /* seen: how many were encoded for a cold prompt */
    uint32_t done;                   /* ids that are evaluated, */
    uint32_t piece;                  /* and the ids after them that the running or last job evaluates */
    tdm_pipeline pipeline;
    uint32_t dispatch;       /* as it was when the running job was claimed */
    bool cold;               /* evaluated only to its first token, for comparison */
    atomic_bool cancel;
    tdm_cold answer;
    tdm_id first_id;         /* the first token of the turn that is compared */
    int reply;               /* its node, turn and attempt */
    uint32_t turn, attempt;
    int64_t start_ns;
};

/* Sets the prompt to be evaluated. */
tdm_status prompter_begin(struct prompter *p, tdm_pipeline pipeline, const struct target *prompt, bool cold,
                          tdm_error *err);
void prompter_free(struct prompter *p);
/* Evaluates the next piece; `done` is left to the caller, who has the lock afterwards. */
tdm_status prompter_perform(struct prompter *p, struct evaluator *evaluator, struct team *team,
                            struct activity_span *span, tdm_error *err);
/* Was the last piece the prompt's end? Then the state has its logits. */
bool prompter_is_last(const struct prompter *p);

#endif
