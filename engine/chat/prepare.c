#include "engine/chat/prepare.h"

#include "engine/chat/lost.h"
#include "engine/chat/writer/drafting.h"

/* Makes *state a state of this pool, whatever it was. */
static tdm_status state_on(struct state **state, struct pool *pool, tdm_error *err)
{
    if (*state && (*state)->pool == pool) return TDM_OK;
    state_free(*state);
    *state = NULL;
    return state_new(state, pool, err);
}

static bool has_room(const struct evaluator *e, uint32_t rows, uint32_t runs)
{
    return e && e->form.max_tokens >= rows && e->form.max_runs >= runs;
}

tdm_status prepare_evaluator(struct tdm_chat *c, struct evaluator **e, const struct side *side, uint32_t rows,
                             uint32_t runs, tdm_error *err)
{
    if (has_room(*e, rows, runs)) return TDM_OK;
    struct evaluator_form form = {.max_tokens = rows,
                                  .max_runs = runs,
                                  .context = (uint32_t)c->options.context,
                                  .max_members = (uint32_t)machine_workers(c->machine->machine)};
    if (*e && (*e)->form.max_tokens > rows) form.max_tokens = (*e)->form.max_tokens;
    if (*e && (*e)->form.max_runs > runs) form.max_runs = (*e)->form.max_runs;
    struct evaluator *fresh;
    tdm_status status = evaluator_new(&fresh, side->residence.model, &form, err);
    if (status) return status;
    evaluator_free(*e);
    *e = fresh;
    return TDM_OK;
}

/* Are the decoders of this many answers there, with states on this pool? */
static bool has_decoders(const struct tdm_chat *c, const struct pool *pool, int answers)
{
    for (int i = 0; i < answers; i++)
        if (!c->front->decoders[i] || !c->front->decoders[i]->state || c->front->decoders[i]->state->pool != pool)
            return false;
    return true;
}

static tdm_status make_decoders(struct tdm_chat *c, struct pool *pool, int answers, tdm_error *err)
{
    for (int i = 0; i < answers; i++) {
        tdm_status status = dialogue_add_decoder(c->front, i, c->model, err);
        if (status) return status;
        struct decoder *d = c->front->decoders[i];
        /* While the replica is being written the decoder gets another state. */
        if (!c->reader.follower.plan.active) replica_return(&c->reader.replica, &d->state);
        if (!d->state || d->state->pool != pool) d->state_tokens = 0;
        status = state_on(&d->state, pool, err);
        if (status) return status;
    }
    return TDM_OK;
}

static tdm_status prepare(struct tdm_chat *c, tdm_pipeline pipeline, int answers, bool cold, tdm_error *err)
{
    const struct pipeline *p = pipeline_of(pipeline);
    struct side *prompt = &c->side[p->prompt_unit], *decode = &c->side[p->decode_unit];
    bool prompts = cold || !p->follows;
    uint32_t rows =
        prompts ? pipeline_rows(p, chat_dispatch(c, prompt->residence.model), (uint32_t)c->options.context) : 1;
    uint32_t other = c->back->is_left ? (uint32_t)c->back->answers : 0;
    uint32_t runs = (uint32_t)answers + other, most = chat_sides_agree(c) ? 1 + DRAFTS_MAX + other : PREFIX_ROWS;
    if (most < runs) most = runs;
    bool ready = has_room(decode->evaluator, most, runs) && has_decoders(c, decode->pool, answers);
    ready = ready && drafting_fits(c);
    if (prompts)
        ready = ready && has_room(prompt->evaluator, rows, 1) && c->reader.prompter.state &&
                c->reader.prompter.state->pool == prompt->pool;
    if (ready) return TDM_OK;
    chat_quiesce(c);
    tdm_status status = prepare_evaluator(c, &decode->evaluator, decode, most, runs, err);
    if (status == TDM_OK) status = make_decoders(c, decode->pool, answers, err);
    if (status == TDM_OK) drafting_prepare(c);
    if (!prompts || status) return status;
    status = prepare_evaluator(c, &prompt->evaluator, prompt, rows, 1, err);
    if (status == TDM_OK) status = state_on(&c->reader.prompter.state, prompt->pool, err);
    return status;
}

tdm_status prepare_turn(struct tdm_chat *c, tdm_pipeline pipeline, int answers, bool cold, tdm_error *err)
{
    tdm_status status = prepare(c, pipeline, answers, cold, err);
    /* A GPU that was lost since the last turn, each unit's at most once. */
    for (int i = 0; i < TDM_UNITS && status == TDM_E_IO && lost_replace(c, err->text); i++)
        status = prepare(c, pipeline, answers, cold, err);
    return status;
}
