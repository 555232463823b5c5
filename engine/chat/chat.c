/* The chat's door: opening, closing, what it is asked to do, and what it tells. How a turn runs is in turn.c.
 *
 * Every tdm_chat_ function takes the lock; none waits for a forward pass but as tandem.h says.
 */
#include "engine/chat/chat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/memory.h"

enum {
    DISPATCH_MAX = 512,
    READY_REST_MS = 400,   /* without a key before the mark says ready */
};

/* The public kinds are the internal ones. */
_Static_assert((int)TDM_SPAN_KINDS == (int)SPAN_KINDS && (int)TDM_SPAN_LENT == (int)SPAN_LENT, "span kinds");
_Static_assert((int)TDM_KV_Q8_0 == (int)KV_Q8_0 && (int)TDM_KV_F32 == (int)KV_F32, "key/value types");

void chat_lock(const struct tdm_chat *c)
{
    pthread_mutex_lock(&((struct tdm_chat *)c)->lock);
}

void chat_unlock(const struct tdm_chat *c)
{
    pthread_mutex_unlock(&((struct tdm_chat *)c)->lock);
    events_signal(c->events);
}

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

TDM_API void tdm_chat_defaults(tdm_chat_options *o, const tdm_model *m)
{
    *o = (tdm_chat_options){
        .pipeline = TDM_PIPE_TANDEM,
        .speculation = TDM_SPEC_FULL,
        .pause_ms = -1,
        .kv = TDM_KV_F16,
        .prefill_kv = TDM_KV_F16,
        .sampling = m->info.sampling,
    };
}

static tdm_status check_options(const tdm_chat_options *o, const tdm_model *m, tdm_error *err)
{
    if (o->dispatch < 0 || o->dispatch > DISPATCH_MAX)
        return error_set(err, TDM_E_ARG, "dispatch: expected 1 to %d tokens or 0, automatic, found %d", DISPATCH_MAX,
                         o->dispatch);
    if ((unsigned)o->pipeline >= TDM_PIPELINES || (unsigned)o->speculation > TDM_SPEC_FULL)
        return error_set(err, TDM_E_ARG, "no such pipeline or level of speculation");
    if ((unsigned)o->reading > TDM_READ_NEVER) return error_set(err, TDM_E_ARG, "no such time of reading");
    tdm_status status = template_check(m->form, o->think, o->keep_thinking, err);
    if (status) return status;
    if (o->mtp < TDM_MTP_OFF || o->mtp > TDM_MTP_MOST)
        return error_set(err, TDM_E_ARG, "mtp: expected auto, off or 1 to %d drafts", TDM_MTP_MOST);
    if (!(o->mtp_accept >= 0 && o->mtp_accept <= 1))
        return error_set(err, TDM_E_ARG, "mtp-accept: expected a share from 0 to 1, found %g", o->mtp_accept);
    if (!(o->pace_tps >= 0)) return error_set(err, TDM_E_ARG, "pace: expected 0 or more tokens per second");
    status = chat_check_server(o, m, err);
    if (status) return status;
    return sampler_check(&o->sampling, err);
}

static tdm_status copy_stops(struct tdm_chat *c, const char *const *stops, tdm_error *err)
{
    size_t n = 0;
    while (stops && stops[n]) n++;
    const char **copies = calloc(n + 1, sizeof *copies);
    c->stops = copies;
    c->options.stops = copies;
    for (size_t i = 0; copies && i < n; i++)
        if (!(copies[i] = strdup(stops[i]))) return error_set(err, TDM_E_NOMEM, "no memory for the stop strings");
    return copies ? TDM_OK : error_set(err, TDM_E_NOMEM, "no memory for the stop strings");
}

/* A state on this pool in *state, whatever was there. */
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

uint32_t chat_dispatch(const struct tdm_chat *c, const struct backend_model *m)
{
    return c->options.dispatch ? (uint32_t)c->options.dispatch : backend_dispatch(m);
}

tdm_status chat_evaluator(struct tdm_chat *c, struct evaluator **e, const struct side *side, uint32_t rows,
                          uint32_t runs, tdm_error *err)
{
    if (has_room(*e, rows, runs)) return TDM_OK;
    struct evaluator_form form = {.max_tokens = rows, .max_runs = runs, .context = (uint32_t)c->options.context,
                                  .max_members = (uint32_t)machine_workers(c->machine->machine)};
    if (*e && (*e)->form.max_tokens > rows) form.max_tokens = (*e)->form.max_tokens;
    if (*e && (*e)->form.max_runs > runs) form.max_runs = (*e)->form.max_runs;
    struct evaluator *fresh;
    tdm_status status = evaluator_new(&fresh, side->place.model, &form, err);
    if (status) return status;
    evaluator_free(*e);
    *e = fresh;
    return TDM_OK;
}

/* Are the decoders of so many answers there, with states on this pool? */
static bool has_decoders(const struct tdm_chat *c, const struct pool *pool, int answers)
{
    for (int i = 0; i < answers; i++)
        if (!c->decoders[i] || !c->decoders[i]->state || c->decoders[i]->state->pool != pool) return false;
    return true;
}

static tdm_status make_decoders(struct tdm_chat *c, struct pool *pool, int answers, tdm_error *err)
{
    for (int i = 0; i < answers; i++) {
        tdm_status status = chat_add_decoder(c, &c->decoders[i], err);
        if (status) return status;
        struct decoder *d = c->decoders[i];
        if (!d->state || d->state->pool != pool) d->held = 0;
        status = state_on(&d->state, pool, err);
        if (status) return status;
    }
    return TDM_OK;
}

tdm_status chat_prepare(struct tdm_chat *c, tdm_pipeline pipeline, int answers, bool cold, tdm_error *err)
{
    const struct pipeline *p = pipeline_of(pipeline);
    struct side *prompt = &c->side[p->prompt_unit], *decode = &c->side[p->decode_unit];
    bool prompts = cold || !p->follows;
    uint32_t rows = prompts ? pipeline_rows(p, chat_dispatch(c, prompt->place.model), (uint32_t)c->options.context) : 1;
    uint32_t other = c->elsewhere.there ? (uint32_t)c->elsewhere.answers : 0;
    uint32_t runs = (uint32_t)answers + other, most = chat_sides_agree(c) ? 1 + DRAFTS_MOST + other : OWN_ROWS;
    if (most < runs) most = runs;
    bool ready = has_room(decode->evaluator, most, runs) && has_decoders(c, decode->pool, answers);
    ready = ready && chat_drafting_fits(c);
    if (prompts) ready = ready && has_room(prompt->evaluator, rows, 1) && c->prompter.state &&
                         c->prompter.state->pool == prompt->pool;
    if (ready) return TDM_OK;
    chat_quiesce(c);
    tdm_status status = chat_evaluator(c, &decode->evaluator, decode, most, runs, err);
    if (status == TDM_OK) status = make_decoders(c, decode->pool, answers, err);
    if (status == TDM_OK) chat_prepare_drafting(c);
    if (!prompts || status) return status;
    status = chat_evaluator(c, &prompt->evaluator, prompt, rows, 1, err);
    if (status == TDM_OK) status = state_on(&c->prompter.state, prompt->pool, err);
    return status;
}

static tdm_status open_follower(struct tdm_chat *c, tdm_error *err)
{
    struct side *side = &c->side[TDM_PREFILL_UNIT];
    struct evaluator *evaluator = NULL;
    struct state *state = NULL;
    struct checkpoints *checkpoints = NULL;
    uint64_t budget = c->options.checkpoint_bytes;
    if (budget == 0) budget = memory_available() / 8;
    uint32_t dispatch = chat_dispatch(c, side->place.model);
    tdm_status status = chat_evaluator(c, &evaluator, side, dispatch, 1, err);
    if (status == TDM_OK) status = state_new(&state, side->pool, err);
    if (status == TDM_OK) status = checkpoints_new(&checkpoints, budget, err);
    if (status == TDM_OK)
        status = follower_init(&c->follower, evaluator, state, checkpoints, dispatch, err);
    if (status == TDM_OK) return TDM_OK;
    checkpoints_free(checkpoints);
    state_free(state);
    evaluator_free(evaluator);
    return status;
}

TDM_API tdm_status tdm_chat_open(tdm_chat **out, const tdm_model *m, tdm_machine *machine,
                                 const tdm_chat_options *options, tdm_error *err)
{
    tdm_status status = check_options(options, m, err);
    if (status) return status;
    struct tdm_chat *c = calloc(1, sizeof *c);
    if (!c) return error_set(err, TDM_E_NOMEM, "no memory for a chat");
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->saving, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&c->settled, &monotonic);
    pthread_condattr_destroy(&monotonic);
    c->model = m;
    c->machine = machine;
    c->options = *options;
    c->pipeline = options->pipeline;
    chat_cap_server(c, false);
    status = copy_stops(c, options->stops, err);
    if (status == TDM_OK) status = events_open(&c->events, err);
    if (status == TDM_OK) status = chat_open_sides(c, err);
    if (status == TDM_OK) status = conversation_init(&c->conversation, err);
    if (status == TDM_OK) status = target_cache_new(&c->targets, m->tokenizer, m->form, err);
    if (status == TDM_OK) status = chat_add_decoder(c, &c->decoders[0], err);
    c->decoder = c->decoders[0];
    if (status == TDM_OK) status = open_follower(c, err);
    if (status == TDM_OK) {
        chat_lock(c);
        status = chat_prepare(c, c->options.pipeline, 1, false, err);
        chat_unlock(c);
    }
    if (status) {
        tdm_chat_close(c);
        return status;
    }
    chat_tell_server(c);
    c->client.next[TDM_PREFILL_UNIT] = chat_next_prefill;
    c->client.next[TDM_DECODE_UNIT] = chat_next_decode;
    c->client.ctx = c;
    machine_serve(machine, &c->client);
    *out = c;
    return TDM_OK;
}

TDM_API void tdm_chat_close(tdm_chat *c)
{
    if (!c) return;
    atomic_store(&c->follower.cancel, true);
    atomic_store(&c->prompter.cancel, true);
    if (c->events && chat_on_server(c)) tdm_chat_stop(c); /* or its reply would be waited for */
    machine_leave(c->machine, &c->client);
    if (c->follower.path) follower_free(&c->follower);
    for (int i = 0; i < TDM_ANSWERS_MAX; i++) chat_remove_decoder(&c->decoders[i]);
    chat_close_elsewhere(c);
    chat_free_drafting(c);
    state_free(c->prompter.state);
    state_free(c->loaded);
    chat_close_sides(c);
    state_bytes_free(&c->bridge);
    target_cache_free(c->targets);
    conversation_free(&c->conversation);
    events_close(c->events);
    buffer_free(&c->draft);
    buffer_free(&c->queued);
    free(c->prompter.ids.ids);
    free(c->last_prompt.ids);
    for (size_t i = 0; c->stops && c->stops[i]; i++) free((char *)c->stops[i]);
    free(c->stops);
    pthread_cond_destroy(&c->settled);
    pthread_mutex_destroy(&c->saving);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* Whatever of the target has been read by now, the figure is of the texts alone: the same on fast and slow machines. */
static void retarget_and_compare(struct tdm_chat *c)
{
    uint32_t n = c->target.n;
    tdm_id *earlier = malloc((n + 1) * sizeof *earlier);
    if (earlier && n) memcpy(earlier, c->target.ids, n * sizeof *earlier);
    chat_retarget(c, clock_ns());
    uint32_t same = earlier ? target_common_prefix(&c->target, earlier, n) : n;
    c->read_again = same < n && c->target.n > same ? c->target.n - same : 0;
    free(earlier);
}

TDM_API tdm_status tdm_chat_configure(tdm_chat *c, const tdm_chat_options *options, tdm_error *err)
{
    tdm_status status = check_options(options, c->model, err);
    if (status) return status;
    const tdm_chat_options *now = &c->options; /* nobody else changes them: read without the lock */
    if (options->kv != now->kv || options->prefill_kv != now->prefill_kv ||
        (options->context && options->context != now->context) || options->prefill_model != now->prefill_model)
        return error_set(err, TDM_E_ARG,
                         "the context, the key/value types and the prefill model can't change in a chat");
    /* What the follower works with is exchanged between two of its dispatches. */
    bool budget = options->checkpoint_bytes && options->checkpoint_bytes != now->checkpoint_bytes;
    bool between = budget || options->dispatch != now->dispatch;
    if (between && chat_on_server(c)) atomic_store(&c->follower.cancel, true); /* a request may take long */
    if (between) unit_quiesce(c->machine->units[TDM_PREFILL_UNIT]);
    if (budget) pthread_mutex_lock(&c->saving); /* a smaller one drops checkpoints */
    chat_lock(c);
    while (between && c->follower.plan.active) pthread_cond_wait(&c->settled, &c->lock); /* on the decode unit */
    if (options->dispatch != now->dispatch) {
        c->options.dispatch = options->dispatch;
        const struct side *side = &c->side[TDM_PREFILL_UNIT];
        status = chat_evaluator(c, &c->follower.evaluator, side, chat_dispatch(c, side->place.model), 1, err);
        if (status == TDM_OK) follower_set_dispatch(&c->follower, chat_dispatch(c, side->place.model));
    }
    if (status == TDM_OK) {
        int context = c->options.context;
        if (budget) follower_set_budget(&c->follower, options->checkpoint_bytes);
        if (options->pace_tps != now->pace_tps) c->not_before_ns = 0;
        c->options = *options;
        c->options.context = context;
        chat_cap_server(c, true);
        c->options.stops = (const char *const *)c->stops;
        if (chat_phase(c) == PHASE_IDLE) c->pipeline = options->pipeline;
        retarget_and_compare(c);
        /* The pace may have changed. A decoder without a reply is left asleep, so that its cores can be lent. */
        if (chat_phase(c) == PHASE_DECODE) unit_wake(c->machine->units[c->decoder->unit]);
        if (chat_goes_on_elsewhere(c)) unit_wake(c->machine->units[TDM_DECODE_UNIT]);
    }
    chat_unlock(c);
    if (budget) pthread_mutex_unlock(&c->saving);
    if (between) unit_resume(c->machine->units[TDM_PREFILL_UNIT]);
    return status;
}

TDM_API void tdm_chat_options_of(const tdm_chat *c, tdm_chat_options *out)
{
    chat_lock(c);
    *out = c->options;
    chat_unlock(c);
}

/* ---- What is seen ------------------------------------------------------------------------------------------------ */

TDM_API int tdm_chat_fd(const tdm_chat *c)
{
    return events_fd(c->events);
}

TDM_API bool tdm_chat_next_event(tdm_chat *c, tdm_event *out)
{
    return events_take(c->events, out);
}

TDM_API int tdm_chat_nodes(const tdm_chat *c)
{
    chat_lock(c);
    int n = c->conversation.n;
    chat_unlock(c);
    return n;
}

TDM_API int tdm_chat_path(const tdm_chat *c, int *nodes, int room)
{
    chat_lock(c);
    int n = conversation_path(&c->conversation, nodes, room);
    chat_unlock(c);
    return n;
}

static char *copy_text(const struct buffer *t)
{
    char *copy = malloc(t->n + 1);
    if (copy) {
        if (t->n) memcpy(copy, t->bytes, t->n);
        copy[t->n] = 0;
    }
    return copy;
}

tdm_status chat_copy_node(const struct conversation *c, int node, tdm_node *out, tdm_error *err)
{
    if (node < 1 || node > c->n) return error_set(err, TDM_E_NOT_FOUND, "no message %d: there are %d", node, c->n);
    const struct node *at = &c->nodes[node];
    *out = (tdm_node){.node = node, .parent = at->parent, .role = at->role, .length = at->text.n,
                      .thinking_length = at->thinking.n, .finish = at->finish, .time_s = at->time_s,
                      .current = conversation_on_path(c, node), .stats = at->stats};
    conversation_branch(c, node, &out->branch, &out->branches);
    out->text = copy_text(&at->text);
    if (at->thinking.n) out->thinking = copy_text(&at->thinking);
    if (out->text && (!at->thinking.n || out->thinking)) return TDM_OK;
    tdm_node_free(out);
    return error_set(err, TDM_E_NOMEM, "no memory for message %d", node);
}

TDM_API tdm_status tdm_chat_node(const tdm_chat *c, int node, tdm_node *out, tdm_error *err)
{
    chat_lock(c);
    tdm_status status = chat_copy_node(&c->conversation, node, out, err);
    chat_unlock(c);
    return status;
}

TDM_API void tdm_node_free(tdm_node *node)
{
    free(node->text);
    free(node->thinking);
    node->text = node->thinking = NULL;
}

static size_t draft_read(const struct tdm_chat *c)
{
    const struct target *t = &c->target;
    uint32_t read = follower_in_state(&c->follower, t);
    if (chat_phase(c) != PHASE_IDLE || read <= t->history) return 0;
    if (read >= t->n && t->complete) return c->draft.n;
    uint32_t i = read < t->draft ? read : t->draft;
    return i > t->history ? t->draft_ends[i - t->history - 1] : 0;
}

static tdm_mark mark_of(const struct tdm_chat *c, uint32_t behind, int64_t now_ns)
{
    if (c->has_queued) return TDM_MARK_QUEUED;
    if (c->draft_too_long) return TDM_MARK_TOO_LONG;
    if (chat_level(c) < TDM_SPEC_DRAFT || !pipeline_of(c->options.pipeline)->follows) return TDM_MARK_OFF;
    if (chat_phase(c) != PHASE_IDLE) return TDM_MARK_AFTER_REPLY;
    if (follower_is_ready(&c->follower, &c->target) && now_ns - c->typing.last_ns >= (int64_t)READY_REST_MS * 1000000)
        return TDM_MARK_READY;
    return behind > (chat_rests_until(c, now_ns) ? 0 : c->follower.dispatch) ? TDM_MARK_TO_READ : TDM_MARK_FOLLOWING;
}

TDM_API void tdm_chat_status_of(const tdm_chat *c, tdm_chat_status *out)
{
    chat_lock(c);
    int64_t now = clock_ns();
    const struct follower *f = &c->follower;
    const struct target *t = &c->target;
    bool follows = pipeline_of(c->pipeline)->follows;
    uint32_t read = follower_covered(f, t);
    *out = (tdm_chat_status){
        .phase = chat_phase(c) == PHASE_PROMPT ? TDM_READING
                 : chat_phase(c) == PHASE_IDLE ? TDM_IDLE
                 : c->decoder->reply.thinking ? TDM_THINKING : TDM_ANSWERING,
        .answers = c->answers,
        .writing = chat_writing(c),
        .answer = c->decoder->number,
        .queued = c->has_queued,
        .draft_read_bytes = draft_read(c),
        .draft_tokens = c->draft_too_long ? c->draft_tokens : t->draft - t->history,
        .target = t->n + c->unfollowed,
        .read = read,
        .behind = t->n - read + c->unfollowed,
        .read_again = c->read_again,
        .wasted = c->stats.wasted,
        .ahead = (uint32_t)(f->figures.evaluated - c->evaluated_mark),
        .adopted = read > c->adopted.from ? (read < c->adopted.to ? read : c->adopted.to) - c->adopted.from : 0,
        .context_size = (uint32_t)c->options.context,
        .dispatch = (int)f->dispatch,
        .decode_tps = chat_phase(c) == PHASE_DECODE ? c->decoder->stats.decode_tps : c->decode_rate,
        .prefill_tps = c->prefill_rate,
        .handover_ms = c->handover_ms,
    };
    out->mark = mark_of(c, out->behind, now);
    if (chat_phase(c) == PHASE_PROMPT) {
        out->reading_total = c->stats.prompt_tokens - c->read_at_enter;
        /* A state that runs past the prompt is given up for a checkpoint: what it shares is not progress. */
        bool grows = f->usable && read == f->length && read > c->read_at_enter;
        out->reading_done = !follows ? c->prompter.done : grows ? read - c->read_at_enter : 0;
    }
    out->checkpoints = f->kept.count;
    out->checkpoint_bytes = f->kept.bytes;
    out->checkpoint_budget = f->kept.budget;
    out->no_checkpoints = f->kept.count == 0 && f->figures.unkept > 0;
    out->prefill_failed = c->follower_failed;
    /* Without a target (nothing is read ahead) the last turn's tokens stand. */
    out->context_used = chat_phase(c) == PHASE_DECODE || !t->n ? c->decoder->prompt + c->decoder->index : t->n;
    out->speed_kept = kept_share(&c->kept);
    out->weight_bytes = c->side[TDM_DECODE_UNIT].weights->bytes;
    out->state_bytes = pool_stats(c->side[TDM_DECODE_UNIT].pool).bytes;
    if (c->side[TDM_PREFILL_UNIT].weights != c->side[TDM_DECODE_UNIT].weights)
        out->weight_bytes += c->side[TDM_PREFILL_UNIT].weights->bytes;
    if (c->two_pools) out->state_bytes += pool_stats(c->side[TDM_PREFILL_UNIT].pool).bytes;
    out->level = chat_level(c);
    if (chat_on_server(c)) {
        struct server_link *server = c->model->server;
        out->on_server = true;
        if (c->decoder->stats.counted && chat_phase(c) == PHASE_IDLE) out->context_used = chat_filled(c->decoder);
        out->rereads = atomic_load(&server->rereads);
        out->round_trip_ms = server->round_trip_ms;
        out->last = server_last(server);
        if (chat_phase(c) == PHASE_DECODE && !c->decoder->stats.first_id_ns) {
            out->phase = TDM_READING; /* as far as can be seen from here */
            out->reading_total = c->stats.after_enter;
        }
    }
    chat_unlock(c);
}

/* Nothing decodes, nothing waits, and the follower has nothing to do now or after the pause. */
static bool is_settled(struct tdm_chat *c)
{
    if (c->stage != STAGE_IDLE || c->elsewhere.stage != STAGE_IDLE || c->has_queued) return false;
    if (c->follower.plan.active || c->loaded) return false;
    if (!pipeline_of(c->pipeline)->follows || c->follower_failed) return true;
    if (c->target.n > pool_context(c->follower.state->pool)) return true; /* too long to be read */
    uint32_t read = follower_in_state(&c->follower, &c->target);
    return read == c->target.n && !chat_waits_for_pause(c) &&
           (!c->target.complete || follower_is_ready(&c->follower, &c->target));
}

TDM_API bool tdm_chat_wait_idle(tdm_chat *c, int timeout_ms)
{
    int64_t until = clock_ns() + (int64_t)timeout_ms * 1000000;
    struct timespec at = {until / 1000000000, until % 1000000000};
    chat_lock(c);
    bool settled;
    while (!(settled = is_settled(c))) {
        if (timeout_ms < 0)
            pthread_cond_wait(&c->settled, &c->lock);
        else if (pthread_cond_timedwait(&c->settled, &c->lock, &at) == ETIMEDOUT)
            break;
    }
    chat_unlock(c);
    return settled;
}
