/* A GPU is lost while a chat uses it: the cores take the place of its unit. What the host has of the device's states
 * is their tokens, so nothing that was said is lost, but all of it is read again where it is needed; a reply that was
 * being written goes on from its own ids. Its bits may be others from there on. Replies elsewhere end.
 */
#include "engine/chat/chat.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"

static bool is_lost(const struct side *side)
{
    struct backend_device *device = side->place.model->device;
    return device && device->backend->lost(device);
}

/* The ids of a reply's own that its lost state had, and the one drawn last, are to be read again. */
static tdm_status take_again(struct tdm_chat *c, struct decoder *d, tdm_error *err)
{
    const struct state *s = d->state;
    uint32_t have = s->length, all = d->prompt + d->index;
    d->own.n = 0;
    if (d->index == 0) return TDM_OK; /* it has not begun: its first token is drawn from the prompt's state */
    bool same = have >= c->own_from && target_common_prefix(&c->target, s->tokens, have) == c->own_from;
    tdm_status status = same ? TDM_OK : error_set(err, TDM_E_FORMAT, "its prompt is another one by now");
    if (!status) status = ids_list_append(&d->own, s->tokens + c->own_from, have - c->own_from, err);
    return !status && have < all ? ids_list_append(&d->own, &d->next, 1, err) : status;
}

/* The replies that are being written go back to their prompt: that is read again, then each one's own ids. */
static void read_again(struct tdm_chat *c)
{
    bool follows = chat_pipeline(c)->follows;
    tdm_error err = {0};
    c->reply_node = c->decoder->node;
    c->again = true;
    chat_on(c, follows ? ON_FOLLOW : ON_PROMPT);
    chat_compute_target(c, clock_ns());
    c->own_from = c->target.n;
    tdm_status status = TDM_OK;
    for (int i = 0; i < c->answers && !status; i++) {
        struct decoder *d = c->decoders[i];
        d->held = 0;
        d->own.n = 0;
        if (d->writing) status = take_again(c, d, &err);
    }
    if (!status && !follows) status = chat_begin_prompt(c, &err);
    if (!status) return;
    events_post_line(c->events, TDM_EV_ERROR, "the reply can't go on: %s", err.text);
    chat_end(c, TDM_FAILED);
}

bool chat_lose(struct tdm_chat *c, const char *why)
{
    bool lost[TDM_UNITS];
    for (int u = 0; u < TDM_UNITS; u++) lost[u] = is_lost(&c->side[u]);
    if (!lost[TDM_PREFILL_UNIT] && !lost[TDM_DECODE_UNIT]) return false;
    if (!c->lost)
        events_post_line(c->events, TDM_EV_NOTICE, "%s; the cores go on, bits may differ from here", why);
    c->lost = true;
    bool reads_own = c->stage == STAGE_OWN;
    if (reads_own) chat_on(c, chat_pipeline(c)->follows ? ON_FOLLOW : ON_PROMPT);
    if (c->stage == STAGE_PROMPT) c->prompter.done = 0;
    if (c->stage == STAGE_DECODE && lost[c->decoder->unit]) read_again(c);
    if (lost[TDM_DECODE_UNIT]) chat_end_elsewhere(c, TDM_FAILED);
    for (int u = 0; u < TDM_UNITS; u++) unit_wake(chat_unit(c, u));
    return true;
}

/* What a side gets in place of what it loses. */
struct fresh {
    struct pool *pool;
    struct evaluator *evaluator;
    struct state *state[TDM_ANSWERS_MAX], *prompt; /* of the decoders there are; of the prompter */
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
    const struct backend_model *cores = &side->place.cores;
    uint32_t context = (uint32_t)c->options.context;
    tdm_status status = TDM_OK;
    f->pool = shared;
    if (!shared) status = backend_pool(&f->pool, cores, pool_kv(side->pool), context, err);
    if (!status && side->evaluator) status = evaluator_new(&f->evaluator, cores, &side->evaluator->form, err);
    for (int i = 0; unit == TDM_DECODE_UNIT && i < TDM_ANSWERS_MAX && !status; i++)
        if (c->decoders[i] && c->decoders[i]->state) status = state_new(&f->state[i], f->pool, err);
    if (!status && c->prompter.state && c->prompter.state->pool == side->pool)
        status = state_new(&f->prompt, f->pool, err);
    if (unit != TDM_PREFILL_UNIT || status) return status;
    struct evaluator_form form = c->follower.evaluator->form;
    if (form.max_tokens < chat_dispatch(c, cores)) form.max_tokens = chat_dispatch(c, cores);
    status = evaluator_new(&f->follower, cores, &form, err);
    if (!status) status = state_new(&f->followed, f->pool, err);
    return status ? status : checkpoints_new(&f->checkpoints, c->follower.kept.budget, err);
}

/* Puts it in place; what was there is freed, but for the pool and the device's model. */
static void put_fresh(struct tdm_chat *c, int unit, struct fresh *f)
{
    struct side *side = &c->side[unit];
    for (int i = 0; i < TDM_ANSWERS_MAX; i++) {
        if (!f->state[i]) continue;
        state_free(c->decoders[i]->state);
        c->decoders[i]->state = f->state[i];
        c->decoders[i]->held = 0;
    }
    if (f->prompt) {
        state_free(c->prompter.state);
        c->prompter.state = f->prompt;
    }
    if (unit == TDM_PREFILL_UNIT) {
        state_free(c->loaded);
        c->loaded = NULL;
        follower_renew(&c->follower, f->follower, f->followed, f->checkpoints);
        follower_set_dispatch(&c->follower, chat_dispatch(c, &side->place.cores));
        c->follower_failed = false;
    }
    if (f->evaluator) {
        if (c->drafting.model == side->place.model) chat_free_drafting(c);
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
    for (int u = 0; u < TDM_UNITS && !status; u++) {
        if (!lost[u]) continue;
        const struct side *other = &side[!u];
        bool serves = side[u].weights == other->weights && pool_kv(side[u].pool) == pool_kv(other->pool);
        struct pool *shared = !serves ? NULL : !lost[!u] && !other->place.model->device ? other->pool : fresh[!u].pool;
        own[u] = !shared;
        status = make_fresh(c, u, shared, &fresh[u], err);
    }
    for (int u = TDM_UNITS - 1; u >= 0 && status; u--) free_fresh(&fresh[u], own[u]);
    if (status) return status;
    for (int u = 0; u < TDM_UNITS; u++)
        if (lost[u]) put_fresh(c, u, &fresh[u]);
    for (int u = 0; u < TDM_UNITS; u++) {
        if (!lost[u]) continue;
        if (before[u] != before[!u] || u == TDM_PREFILL_UNIT) pool_free(before[u]);
        side[u].pool = fresh[u].pool;
        place_fall_back(&side[u].place);
        c->client.on_cores[u] = true;
        unit_work_elsewhere(chat_unit(c, u), false);
    }
    c->two_pools = side[0].pool != side[1].pool;
    chat_prepare_drafting(c);
    return TDM_OK;
}

bool chat_recover(struct tdm_chat *c)
{
    tdm_error err;
    if (c->stage == STAGE_DECODE && is_lost(&c->side[c->decoder->unit])) read_again(c);
    if (c->follower.plan.active || stage_uses_decoder(c->stage) || stage_uses_prompter(c->stage)) return false;
    if (stage_uses_decoder(c->elsewhere.stage)) return false;
    if (pthread_mutex_trylock(&c->saving)) return false;
    tdm_status status = recover(c, &err);
    pthread_mutex_unlock(&c->saving);
    c->lost = false;
    if (status) {
        events_post_line(c->events, TDM_EV_ERROR, "the cores can't take the GPU's place: %s", err.text);
        chat_end(c, TDM_FAILED);
        c->follower_failed = true;
        return true;
    }
    chat_retarget(c, clock_ns());
    unit_wake(chat_unit(c, TDM_DECODE_UNIT));
    return true;
}
