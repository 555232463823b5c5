#include "engine/chat/reader/prompter.h"

#include <stdlib.h>

#include "engine/base/error.h"
#include "engine/chat/policy/pipeline.h"

static void drop_pictures(struct prompter *p)
{
    while (p->n_pictures) picture_drop(p->pictures[--p->n_pictures].picture);
    free(p->pictures);
    p->pictures = NULL;
}

void prompter_free(struct prompter *p)
{
    drop_pictures(p);
    state_free(p->state);
    free(p->ids.ids);
}

tdm_status prompter_begin(struct prompter *p, tdm_pipeline pipeline, const struct target *prompt, bool cold,
                          tdm_error *err)
{
    p->done = p->piece = 0;
    p->pipeline = pipeline;
    p->cold = cold;
    atomic_store(&p->cancel, false);
    p->ids.n = 0;
    p->seen = 0;
    drop_pictures(p);
    if (prompt->n_pictures) {
        p->pictures = malloc(prompt->n_pictures * sizeof *p->pictures);
        if (!p->pictures) return error_set(err, TDM_E_NOMEM, "no memory for %u pictures", prompt->n_pictures);
        for (; p->n_pictures < prompt->n_pictures; p->n_pictures++) {
            p->pictures[p->n_pictures] = prompt->pictures[p->n_pictures];
            picture_hold(p->pictures[p->n_pictures].picture);
        }
    }
    return ids_list_append(&p->ids, prompt->ids, prompt->n, err);
}

bool prompter_is_last(const struct prompter *p)
{
    return p->done + p->piece == p->ids.n;
}

tdm_status prompter_perform(struct prompter *p, struct evaluator *evaluator, struct team *team,
                            struct activity_span *span, tdm_error *err)
{
    uint32_t rest = (uint32_t)p->ids.n - p->done, rows;
    p->piece = pipeline_piece(pipeline_of(p->pipeline), rest, p->dispatch, evaluator->form.max_tokens, &rows);
    struct forward_run run = {.state = p->state,
                              .tokens = p->ids.ids + p->done,
                              .n = p->piece,
                              .padding = rows - p->piece,
                              .logits = prompter_is_last(p) ? LOGITS_LAST : LOGITS_NONE};
    struct forward_options options = {.cancel = &p->cancel};
    tdm_status status = evaluator_forward(team, evaluator, &run, 1, &options, &span->bytes, err);
    span->tokens = status ? 0 : p->piece;
    span->first = p->done;
    span->ids_hash = status ? 0 : activity_hash(run.tokens, p->piece);
    return status;
}
