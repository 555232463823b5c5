#include "engine/chat/lost.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/chat/answer.h"
#include "engine/chat/reader/retarget.h"
#include "engine/chat/writer/drafting.h"

static bool is_lost(const struct side *side)
{
    struct backend_device *device = side->residence.model->device;
    return device && device->backend->lost(device);
}

/* The ids of a reply's own that its lost state had, and the one sampled last, are to be read again. */
static tdm_status take_again(struct tdm_chat *c, struct decoder *d, tdm_error *err)
{
    const struct state *s = d->state;
    uint32_t have = s->length, all = d->prompt + d->index;
    d->prefix_ids.n = 0;
    if (d->index == 0) return TDM_OK; /* it has not begun: its first token is sampled from the prompt's state */
    bool same = have >= c->writer.prefix_from &&
                target_common_prefix(&c->reader.target, s->tokens, have) == c->writer.prefix_from;
    tdm_status status = same ? TDM_OK : error_set(err, TDM_E_FORMAT, "its prompt is another one by now");
    if (!status)
        status = ids_list_append(&d->prefix_ids, s->tokens + c->writer.prefix_from, have - c->writer.prefix_from, err);
    return !status && have < all ? ids_list_append(&d->prefix_ids, &d->next, 1, err) : status;
}

/* The replies that are being written go back to their prompt: that is read again, then each one's own ids. */
static void read_again(struct tdm_chat *c)
{
    struct dialogue *front = c->front;
    bool follows = chat_pipeline(c)->follows;
    tdm_error err = {0};
    front->reply_node = front->decoder->node;
    c->writer.again = true;
    chat_event(c, c->front, follows ? ON_FOLLOW : ON_PROMPT);
    retarget_compute(c, clock_ns(), NULL);
    c->writer.prefix_from = c->reader.target.n;
    tdm_status status = TDM_OK;
    for (int i = 0; i < front->answers && !status; i++) {
        struct decoder *d = front->decoders[i];
        d->state_tokens = 0;
        d->prefix_ids.n = 0;
        if (d->writing) status = take_again(c, d, &err);
    }
    if (!status && !follows)
        status = prompter_begin(&c->reader.prompter, front->pipeline, &c->reader.target, false, &err);
    if (!status) return;
    events_post_line(c->events, TDM_EV_ERROR, "the reply can't go on: %s", err.text);
    answer_end_all(c, c->front, TDM_FINISH_FAILED);
}

bool lost_check(struct tdm_chat *c, const char *why)
{
    struct dialogue *front = c->front;
    bool lost[TDM_UNITS];
    for (int u = 0; u < TDM_UNITS; u++) lost[u] = is_lost(&c->side[u]);
    if (!lost[TDM_PREFILL_UNIT] && !lost[TDM_DECODE_UNIT]) return false;
    if (!c->lost)
        events_post_line(c->events, TDM_EV_NOTICE, "%s; the cores go on, bits may differ from here", why);
    c->lost = true;
    bool reads_own = front->stage == STAGE_PREFIX;
    if (reads_own) chat_event(c, c->front, chat_pipeline(c)->follows ? ON_FOLLOW : ON_PROMPT);
    if (front->stage == STAGE_PROMPT) c->reader.prompter.done = 0;
    if (front->stage == STAGE_DECODE && lost[front->decoder->unit]) read_again(c);
    if (lost[TDM_DECODE_UNIT]) answer_end_all(c, c->back, TDM_FINISH_FAILED);
    for (int u = 0; u < TDM_UNITS; u++) unit_wake(chat_unit(c, u));
    return true;
}

/* The objects that a side gets in place of those of the lost GPU. */
struct fresh {
    struct pool *pool;
    struct evaluator *evaluator;
    struct state *state[TDM_ANSWERS_MAX], *prompt; /* of the decoders; of the prompter */
    struct evaluator *follower;
    struct state *followed;
    struct checkpoints *checkpoints;
};

static void free_fresh(struct fresh *f, bool own_pool)
{
    for (int i = 0; i < TDM_ANSWERS_MAX; i++) state_free(f->state[i]);
    state_free(f->prompt);
    state_free(f->followed);
    checkpoints_free(f->checkpoints);
    evaluator_free(f->evaluator);
    evaluator_free(f->follower);
    if (own_pool) pool_free(f->pool);
}

/* All that the unit's side needs on the cores; shared: the pool of the other side, which serves it too, or NULL. */
static tdm_status make_fresh(struct tdm_chat *c, int unit, struct pool *shared, struct fresh *f, tdm_error *err)
{
    struct side *side = &c->side[unit];
    const struct backend_model *cores = &side->residence.cores;
    uint32_t context = (uint32_t)c->options.context;
    tdm_status status = TDM_OK;
    f->pool = shared;
    if (!shared) status = backend_pool(&f->pool, cores, pool_kv(side->pool), context, err);
    if (!status && side->evaluator) status = evaluator_new(&f->evaluator, cores, &side->evaluator->form, err);
    for (int i = 0; unit == TDM_DECODE_UNIT && i < TDM_ANSWERS_MAX && !status; i++)
        if (c->front->decoders[i] && c->front->decoders[i]->state) status = state_new(&f->state[i], f->pool, err);
    if (!status && c->reader.prompter.state && c->reader.prompter.state->pool == side->pool)
        status = state_new(&f->prompt, f->pool, err);
    if (unit != TDM_PREFILL_UNIT || status) return status;
    struct evaluator_form form = c->reader.follower.evaluator->form;
    if (form.max_tokens < chat_dispatch(c, cores)) form.max_tokens = chat_dispatch(c, cores);
    status = evaluator_new(&f->follower, cores, &form, err);
    if (!status) status = state_new(&f->followed, f->pool, err);
    return status ? status : checkpoints_new(&f->checkpoints, c->reader.follower.budget, err);
}

/* Puts them in place; the old objects are freed, except the pool and the device's model. */
static void put_fresh(struct tdm_chat *c, int unit, struct fresh *f)
{
    struct side *side = &c->side[unit];
    for (int i = 0; i < TDM_ANSWERS_MAX; i++) {
        if (!f->state[i]) continue;
        state_free(c->front->decoders[i]->state);
        c->front->decoders[i]->state = f->state[i];
        c->front->decoders[i]->state_tokens = 0;
    }
    if (f->prompt) {
        state_free(c->reader.prompter.state);
        c->reader.prompter.state = f->prompt;
    }
    if (unit == TDM_PREFILL_UNIT) {
        state_free(c->reader.loaded);
        c->reader.loaded = NULL;
        vision_job_free(c->reader.pictures.running);
        c->reader.pictures.running = NULL;
        follower_renew(&c->reader.follower, f->follower, f->followed, f->checkpoints);
        follower_set_dispatch(&c->reader.follower, chat_dispatch(c, &side->residence.cores));
        c->reader.failed = false;
    }
    if (f->evaluator) {
        if (c->writer.drafting.model == side->residence.model) drafting_free(&c->writer.drafting);
        evaluator_free(side->evaluator);
        side->evaluator = f->evaluator;
    }
}

static tdm_status recover(struct tdm_chat *c, tdm_error *err)
{
    struct side *side = c->side;
    struct pool *before[TDM_UNITS] = {side[0].pool, side[1].pool};
    struct fresh fresh[TDM_UNITS] = {0};
    bool lost[TDM_UNITS], own[TDM_UNITS] = {0};
    tdm_status status = TDM_OK;
    for (int u = 0; u < TDM_UNITS; u++) lost[u] = is_lost(&side[u]);
    if (c->front->decoder) replica_return(&c->reader.replica, &c->front->decoder->state);
    for (int u = 0; u < TDM_UNITS && !status; u++) {
        if (!lost[u]) continue;
        const struct side *other = &side[!u];
        bool serves = side[u].weights == other->weights && pool_kv(side[u].pool) == pool_kv(other->pool);
        struct pool *shared = !serves                                        ? NULL
                              : !lost[!u] && !other->residence.model->device ? other->pool
                                                                             : fresh[!u].pool;
        own[u] = !shared;
        status = make_fresh(c, u, shared, &fresh[u], err);
    }
    for (int u = TDM_UNITS - 1; u >= 0 && status; u--) free_fresh(&fresh[u], own[u]);
    if (status) return status;
    replica_free(&c->reader.replica);
    for (int u = 0; u < TDM_UNITS; u++)
        if (lost[u]) put_fresh(c, u, &fresh[u]);
    for (int u = 0; u < TDM_UNITS; u++) {
        if (!lost[u]) continue;
        if (before[u] != before[!u] || u == TDM_PREFILL_UNIT) pool_free(before[u]);
        side[u].pool = fresh[u].pool;
        residence_fall_back(&side[u].residence);
        c->client.on_cores[u] = true;
        unit_set_offloaded(chat_unit(c, u), false);
    }
    c->two_pools = side[0].pool != side[1].pool;
    drafting_prepare(c);
    return TDM_OK;
}

bool lost_recover(struct tdm_chat *c)
{
    struct dialogue *front = c->front;
    tdm_error err;
    if (front->stage == STAGE_DECODE && is_lost(&c->side[front->decoder->unit])) read_again(c);
    if (c->reader.follower.plan.active || stage_uses_decoder(front->stage) || stage_uses_prompter(front->stage))
        return false;
    if (stage_uses_decoder(c->back->stage) || c->reader.pictures.busy) return false;
    if (pthread_mutex_trylock(&c->saving)) return false;
    tdm_status status = recover(c, &err);
    pthread_mutex_unlock(&c->saving);
    c->lost = false;
    if (status) {
        events_post_line(c->events, TDM_EV_ERROR, "the cores can't take the GPU's place: %s", err.text);
        answer_end_all(c, c->front, TDM_FINISH_FAILED);
        c->reader.failed = true;
        return true;
    }
    retarget(c, clock_ns());
    unit_wake(chat_unit(c, TDM_DECODE_UNIT));
    return true;
}

bool lost_replace(struct tdm_chat *c, const char *why)
{
    enum { PATIENCE_MS = 1000, LOOK_NS = 1000000 };
    if (!lost_check(c, why)) return false;
    for (int ms = 0; ms < PATIENCE_MS && c->lost && !lost_recover(c); ms++)
        clock_wait(&c->settled, &c->lock, clock_ns() + LOOK_NS);
    return !c->lost;
}
