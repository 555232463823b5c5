/* The public functions of a chat: opening, closing, settings, and what it reports. Its actions are in actions.c, how a
 * turn runs in engine/chat/turn.c.
 *
 * Every tdm_chat_ function takes the lock; none waits for a forward pass but as tandem.h says.
 */

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/api/options.h"
#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/memory.h"
#include "engine/chat/chat.h"
#include "engine/chat/prepare.h"
#include "engine/chat/reader/follow.h"
#include "engine/chat/reader/retarget.h"
#include "engine/chat/reader/pictures.h"
#include "engine/chat/remote.h"
#include "engine/chat/sides.h"
#include "engine/chat/turn.h"
#include "engine/chat/writer/drafting.h"
#include "engine/tandem/measure.h"

enum {
    DISPATCH_MAX = 512,
    READY_REST_MS = 400,   /* without a key before the mark says ready */
};

/* The public kinds are the internal ones. */
_Static_assert((int)TDM_SPAN_KINDS == (int)SPAN_KINDS && (int)TDM_SPAN_LENT == (int)SPAN_LENT, "span kinds");

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

static tdm_status check_options(const tdm_chat_options *o, const tdm_model *m, tdm_error *err)
{
    if (o->dispatch < 0 || o->dispatch > DISPATCH_MAX)
        return error_set(err, TDM_E_ARG, "dispatch: expected 1 to %d tokens or 0, automatic, found %d", DISPATCH_MAX,
                         o->dispatch);
    if ((unsigned)o->pipeline >= TDM_PIPELINES || (unsigned)o->speculation > TDM_SPEC_FULL)
        return error_set(err, TDM_E_ARG, "no such pipeline or level of speculation");
    if ((unsigned)o->kv >= TDM_KV_TYPES || (unsigned)o->prefill_kv >= TDM_KV_TYPES)
        return error_set(err, TDM_E_ARG, "no such type of keys and values");
    if (o->pause_ms < TDM_PAUSE_NONE)
        return error_set(err, TDM_E_ARG, "pause: expected milliseconds, 0 or %d, found %d", TDM_PAUSE_NONE,
                         o->pause_ms);
    if ((unsigned)o->reading > TDM_READ_NEVER) return error_set(err, TDM_E_ARG, "no such time of reading");
    tdm_status status = template_check(m->template, o->think, o->keep_thinking, err);
    if (status) return status;
    if (o->mtp < TDM_MTP_OFF || o->mtp > TDM_MTP_MAX)
        return error_set(err, TDM_E_ARG, "mtp: expected auto, off or 1 to %d drafts", TDM_MTP_MAX);
    if (o->picture_tokens < 0)
        return error_set(err, TDM_E_ARG, "image-tokens: expected 0 or more, found %d", o->picture_tokens);
    if (!(o->pace_tps >= 0)) return error_set(err, TDM_E_ARG, "pace: expected 0 or more tokens per second");
    status = remote_check(o, m, err);
    if (status) return status;
    return sampler_check(&o->sampling, err);
}

static tdm_status copy_stops(struct tdm_chat *c, const char *const *stops, tdm_error *err)
{
    size_t n = 0;
    while (stops && stops[n]) n++;
    const char **copies = calloc(n + 1, sizeof *copies);
    c->options.stops = (const char *const *)copies;
    for (size_t i = 0; copies && i < n; i++)
        if (!(copies[i] = strdup(stops[i]))) return error_set(err, TDM_E_NOMEM, "no memory for the stop strings");
    return copies ? TDM_OK : error_set(err, TDM_E_NOMEM, "no memory for the stop strings");
}

static tdm_status open_follower(struct tdm_chat *c, tdm_error *err)
{
    struct side *side = &c->side[TDM_PREFILL_UNIT];
    struct evaluator *evaluator = NULL;
    struct state *state = NULL;
    struct checkpoints *checkpoints = NULL;
    uint64_t budget = c->options.checkpoint_bytes;
    if (budget == 0) budget = memory_available() / 8;
    uint32_t dispatch = chat_dispatch(c, side->residence.model);
    tdm_status status = prepare_evaluator(c, &evaluator, side, dispatch, 1, err);
    if (status == TDM_OK) status = state_new(&state, side->pool, err);
    if (status == TDM_OK) status = checkpoints_new(&checkpoints, budget, err);
    if (status == TDM_OK) status = follower_init(&c->reader.follower, evaluator, state, checkpoints, dispatch, err);
    if (status == TDM_OK) return TDM_OK;
    checkpoints_free(checkpoints);
    state_free(state);
    evaluator_free(evaluator);
    return status;
}

static tdm_status open_chat(tdm_chat **out, const tdm_model *m, tdm_machine *machine, const tdm_chat_options *options,
                            tdm_error *err)
{
    tdm_status status = check_options(options, m, err);
    if (status) return status;
    struct tdm_chat *c = calloc(1, sizeof *c);
    if (!c) return error_set(err, TDM_E_NOMEM, "no memory for a chat");
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->saving, NULL);
    clock_condition_init(&c->settled);
    c->model = m;
    c->machine = machine;
    c->options = *options;
    c->front = &c->dialogues[0];
    c->back = &c->dialogues[1];
    turn_open(c);
    remote_cap(c, false);
    status = copy_stops(c, options->stops, err);
    if (status == TDM_OK) status = events_open(&c->events, err);
    if (status == TDM_OK) status = sides_open(c, err);
    if (status == TDM_OK) status = dialogue_open(c->front, m, options->pipeline, err);
    if (status == TDM_OK) status = target_cache_new(&c->reader.targets, m->tokenizer, m->template, err);
    if (status == TDM_OK) status = open_follower(c, err);
    if (status == TDM_OK) {
        chat_lock(c);
        status = prepare_turn(c, c->options.pipeline, 1, false, err);
        chat_unlock(c);
    }
    if (status) {
        tdm_chat_close(c);
        return status;
    }
    if (m->vision) vision_set_budget(m->vision, options->picture_bytes);
    remote_tell(c);
    machine_serve(machine, &c->client);
    *out = c;
    return TDM_OK;
}

TDM_API tdm_status tdm_chat_open_sized(tdm_chat **out, const tdm_model *m, tdm_machine *machine,
                                       const tdm_chat_options *options, size_t size, tdm_error *err)
{
    tdm_chat_options own = {0};
    tdm_machine *own_machine = NULL;
    *out = NULL;
    tdm_status status = options_take(&own, sizeof own, options, size, err);
    options_fill(&own, m);
    if (!status && !machine) status = tdm_machine_open(&own_machine, NULL, err);
    if (!status) status = open_chat(out, m, machine ? machine : own_machine, &own, err);
    if (status)
        tdm_machine_close(own_machine);
    else
        (*out)->own_machine = own_machine;
    return status;
}

TDM_API void tdm_chat_close(tdm_chat *c)
{
    if (!c) return;
    atomic_store(&c->reader.follower.cancel, true);
    atomic_store(&c->reader.prompter.cancel, true);
    if (c->events && chat_on_server(c)) tdm_chat_stop(c, TDM_FRONT); /* or its reply would be waited for */
    machine_leave(c->machine, &c->client);
    if (c->reader.follower.path) follower_free(&c->reader.follower);
    replica_free(&c->reader.replica);
    for (int i = 0; i < 2; i++) dialogue_close(&c->dialogues[i]);
    drafting_free(&c->writer.drafting);
    prompter_free(&c->reader.prompter);
    pictures_close(&c->reader.pictures, c->model->vision);
    state_free(c->reader.loaded);
    sides_close(c);
    bridge_free(&c->writer.bridge);
    server_prompt_free(&c->writer.asked);
    target_cache_free(c->reader.targets);
    events_close(c->events);
    buffer_free(&c->draft.text);
    picture_list_free(&c->draft.pictures);
    for (size_t i = 0; c->options.stops && c->options.stops[i]; i++) free((char *)c->options.stops[i]);
    free((void *)c->options.stops);
    pthread_cond_destroy(&c->settled);
    pthread_mutex_destroy(&c->saving);
    pthread_mutex_destroy(&c->lock);
    tdm_machine_close(c->own_machine);
    free(c);
}

/* The figure depends on the texts alone and not on how much has been read, so it is the same on fast and slow
 * machines. */
static void retarget_and_compare(struct tdm_chat *c)
{
    uint32_t n = c->reader.target.n;
    tdm_id *earlier = malloc((n + 1) * sizeof *earlier);
    if (earlier && n) memcpy(earlier, c->reader.target.ids, n * sizeof *earlier);
    retarget(c, clock_ns());
    uint32_t same = earlier ? target_common_prefix(&c->reader.target, earlier, n) : n;
    c->reader.read_again = same < n && c->reader.target.n > same ? c->reader.target.n - same : 0;
    free(earlier);
}

/* States in another memory are given back first. No plan is active. */
static void set_budget(struct tdm_chat *c, uint64_t bytes)
{
    struct follower *f = &c->reader.follower;
    if (bytes < f->budget && c->two_pools) {
        replica_free(&c->reader.replica);
        pool_give_back(c->side[TDM_DECODE_UNIT].pool);
        f->external = 0;
    }
    follower_set_budget(f, bytes);
}

static tdm_status configure(tdm_chat *c, const tdm_chat_options *options, tdm_error *err)
{
    tdm_status status = check_options(options, c->model, err);
    if (status) return status;
    const tdm_chat_options *now = &c->options; /* only this thread changes them: read without the lock */
    if (options->kv != now->kv || options->prefill_kv != now->prefill_kv || options->context != now->context ||
        options->prefill_model != now->prefill_model)
        return error_set(err, TDM_E_ARG,
                         "the context, the key/value types and the prefill model can't change in a chat");
    /* What the follower works with is exchanged between two of its dispatches. */
    bool budget = options->checkpoint_bytes && options->checkpoint_bytes != now->checkpoint_bytes;
    bool between = budget || options->dispatch != now->dispatch;
    if (between && chat_on_server(c)) atomic_store(&c->reader.follower.cancel, true); /* a request may take long */
    if (between) unit_quiesce(c->machine->units[TDM_PREFILL_UNIT]);
    if (budget) pthread_mutex_lock(&c->saving); /* a smaller one drops checkpoints */
    chat_lock(c);
    while (between && c->reader.follower.plan.active) pthread_cond_wait(&c->settled, &c->lock); /* on the decode unit */
    if (options->dispatch != now->dispatch) {
        c->options.dispatch = options->dispatch;
        const struct side *side = &c->side[TDM_PREFILL_UNIT];
        status =
            prepare_evaluator(c, &c->reader.follower.evaluator, side, chat_dispatch(c, side->residence.model), 1, err);
        if (status == TDM_OK) follower_set_dispatch(&c->reader.follower, chat_dispatch(c, side->residence.model));
    }
    if (status == TDM_OK) {
        if (budget) set_budget(c, options->checkpoint_bytes);
        if (options->pace_tps != now->pace_tps) c->writer.not_before_ns = 0;
        if (c->model->vision) vision_set_budget(c->model->vision, options->picture_bytes);
        const char *const *stops = now->stops;
        c->options = *options;
        c->options.stops = stops;
        remote_cap(c, true);
        if (chat_phase(c) == PHASE_IDLE) c->front->pipeline = options->pipeline;
        retarget_and_compare(c);
        /* The pace may have changed. A decoder without a reply is left asleep, so that its cores can be lent. */
        if (chat_phase(c) == PHASE_DECODE) unit_wake(c->machine->units[c->front->decoder->unit]);
        if (chat_back_goes_on(c)) unit_wake(c->machine->units[TDM_DECODE_UNIT]);
    }
    chat_unlock(c);
    if (budget) pthread_mutex_unlock(&c->saving);
    if (between) unit_resume(c->machine->units[TDM_PREFILL_UNIT]);
    return status;
}

TDM_API void tdm_chat_defaults_sized(tdm_chat_options *options, size_t size, const tdm_model *m)
{
    tdm_chat_options own = {0};
    options_fill(&own, m);
    options_give(options, size, &own, sizeof own);
}

TDM_API tdm_status tdm_chat_configure_sized(tdm_chat *c, const tdm_chat_options *options, size_t size, tdm_error *err)
{
    tdm_chat_options own;
    tdm_chat_options_of(c, &own);
    const tdm_chat_options opened = own;
    tdm_status status = options_take(&own, sizeof own, options, size, err);
    if (!own.context) own.context = opened.context;
    if (!own.kv) own.kv = opened.kv;
    if (!own.prefill_kv) own.prefill_kv = opened.prefill_kv;
    if (!own.prefill_model) own.prefill_model = opened.prefill_model;
    options_fill(&own, c->model);
    return status ? status : configure(c, &own, err);
}

TDM_API void tdm_chat_options_of_sized(const tdm_chat *c, tdm_chat_options *out, size_t size)
{
    chat_lock(c);
    options_give(out, size, &c->options, sizeof c->options);
    chat_unlock(c);
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

TDM_API tdm_status tdm_chat_pretend_drafts(tdm_chat *c, double share, tdm_error *err)
{
    if (!(share >= 0 && share <= 1))
        return error_set(err, TDM_E_ARG, "mtp-accept: expected a share from 0 to 1, found %g", share);
    chat_lock(c);
    c->writer.drafting.pretended_share = share;
    chat_unlock(c);
    return TDM_OK;
}

TDM_API void tdm_chat_set_adoption(tdm_chat *c, bool on)
{
    chat_lock(c);
    c->reader.never_adopts = !on || chat_on_server(c);
    chat_unlock(c);
}

/* ---- What is seen ------------------------------------------------------------------------------------------------ */

TDM_API int tdm_chat_fd(const tdm_chat *c)
{
    return events_fd(c->events);
}

TDM_API bool tdm_chat_next_event(tdm_chat *c, tdm_event *out)
{
    bool taken = events_take(c->events, out);
    if (!taken) *out = (tdm_event){0};
    return taken;
}

TDM_API bool tdm_chat_wait_event(tdm_chat *c, tdm_event *out, int timeout_ms)
{
    int64_t until = clock_ns() + (int64_t)timeout_ms * 1000000;
    while (!tdm_chat_next_event(c, out)) {
        int64_t rest_ms = timeout_ms < 0 ? -1 : (until - clock_ns() + 999999) / 1000000;
        if (timeout_ms >= 0 && rest_ms <= 0) return false;
        poll(&(struct pollfd){.fd = tdm_chat_fd(c), .events = POLLIN}, 1, (int)rest_ms);
    }
    return true;
}

/* Where nothing is in the back, it is empty. */
static struct conversation *conversation_of(const struct tdm_chat *c, tdm_which_dialogue which)
{
    return which == TDM_BACK ? &c->back->conversation : &c->front->conversation;
}

TDM_API int tdm_chat_nodes(const tdm_chat *c, tdm_which_dialogue which)
{
    chat_lock(c);
    int n = conversation_of(c, which)->n;
    chat_unlock(c);
    return n;
}

TDM_API int64_t tdm_chat_begun(const tdm_chat *c, tdm_which_dialogue which)
{
    chat_lock(c);
    int64_t begun_s = conversation_of(c, which)->begun_s;
    chat_unlock(c);
    return begun_s;
}

TDM_API int tdm_chat_path(const tdm_chat *c, tdm_which_dialogue which, int *nodes, int room)
{
    chat_lock(c);
    int n = conversation_path(conversation_of(c, which), nodes, room);
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

static tdm_status copy_node(const struct conversation *c, int node, tdm_node *out, tdm_error *err)
{
    if (node < 1 || node > c->n) return error_set(err, TDM_E_NOT_FOUND, "no message %d: there are %d", node, c->n);
    const struct node *at = &c->nodes[node];
    *out = (tdm_node){.node = node,
                      .parent = at->parent,
                      .role = at->role,
                      .length = at->text.n,
                      .thinking_length = at->thinking.n,
                      .finish = at->finish,
                      .time_s = at->time_s,
                      .current = conversation_on_path(c, node),
                      .stats = at->stats,
                      .user = at->user};
    conversation_branch(c, node, &out->branch, &out->branches);
    out->text = copy_text(&at->text);
    if (at->thinking.n) out->thinking = copy_text(&at->thinking);
    struct picture_list pictures = {0};
    bool all = !picture_list_append(&pictures, 0, at->pictures.at, at->pictures.n, NULL);
    out->pictures = pictures.at;
    out->n_pictures = pictures.n;
    if (all && out->text && (!at->thinking.n || out->thinking)) return TDM_OK;
    tdm_node_free(out);
    return error_set(err, TDM_E_NOMEM, "no memory for message %d", node);
}

TDM_API tdm_status tdm_chat_node(const tdm_chat *c, tdm_which_dialogue which, int node, tdm_node *out, tdm_error *err)
{
    chat_lock(c);
    tdm_status status = copy_node(conversation_of(c, which), node, out, err);
    chat_unlock(c);
    return status;
}

TDM_API tdm_status tdm_chat_set_user(tdm_chat *c, tdm_which_dialogue which, int node, void *user, tdm_error *err)
{
    tdm_status status = TDM_OK;
    chat_lock(c);
    struct conversation *its = conversation_of(c, which);
    if (node >= 1 && node <= its->n)
        its->nodes[node].user = user;
    else
        status = error_set(err, TDM_E_NOT_FOUND, "no message %d: there are %d", node, its->n);
    chat_unlock(c);
    return status;
}

TDM_API void tdm_node_free(tdm_node *node)
{
    free(node->text);
    free(node->thinking);
    struct picture_list pictures = {node->pictures, node->n_pictures};
    picture_list_free(&pictures);
    node->text = node->thinking = NULL;
    node->pictures = NULL;
    node->n_pictures = 0;
}

TDM_API void tdm_chat_picture_of(const tdm_chat *c, const tdm_picture *p, tdm_picture_status *out)
{
    chat_lock(c);
    pictures_tell(c, p, out);
    chat_unlock(c);
}

TDM_API void tdm_chat_picture_figures(const tdm_chat *c, tdm_picture_figures *out)
{
    struct vision *vision = c->model->vision;
    *out = (tdm_picture_figures){0};
    if (!vision) return;
    pthread_mutex_lock(&vision->lock);
    *out = vision->figures;
    pthread_mutex_unlock(&vision->lock);
}

static size_t draft_read(const struct tdm_chat *c)
{
    const struct target *t = &c->reader.target;
    uint32_t read = follower_in_state(&c->reader.follower, t);
    if (chat_phase(c) != PHASE_IDLE || read <= t->history) return 0;
    if (read >= t->n && t->complete) return c->draft.text.n;
    uint32_t i = read < t->draft ? read : t->draft;
    return i > t->history ? t->draft_ends[i - t->history - 1] : 0;
}

static tdm_mark mark_of(const struct tdm_chat *c, uint32_t behind, int64_t now_ns)
{
    if (c->front->has_queued) return TDM_MARK_QUEUED;
    if (c->draft.too_long) return TDM_MARK_TOO_LONG;
    if (chat_level(c) < TDM_SPEC_DRAFT || !pipeline_of(c->options.pipeline)->follows) return TDM_MARK_OFF;
    if (chat_phase(c) != PHASE_IDLE) return TDM_MARK_AFTER_REPLY;
    if (c->reader.unmade || c->reader.failed) return TDM_MARK_NOT_READ;
    if (follower_is_ready(&c->reader.follower, &c->reader.target) &&
        now_ns - c->draft.typing.last_ns >= (int64_t)READY_REST_MS * 1000000)
        return TDM_MARK_READY;
    return behind > (retarget_rests_until(c, now_ns) ? 0 : c->reader.follower.dispatch) ? TDM_MARK_TO_READ
                                                                                        : TDM_MARK_FOLLOWING;
}

TDM_API void tdm_chat_status_of(const tdm_chat *c, tdm_chat_status *out)
{
    chat_lock(c);
    struct dialogue *front = c->front;
    int64_t now = clock_ns();
    const struct follower *f = &c->reader.follower;
    const struct target *t = &c->reader.target;
    bool follows = pipeline_of(front->pipeline)->follows;
    uint32_t read = follower_covered(f, t);
    *out = (tdm_chat_status){
        .phase = chat_phase(c) == PHASE_PROMPT    ? TDM_PHASE_READING
                 : chat_phase(c) == PHASE_IDLE    ? TDM_PHASE_IDLE
                 : front->decoder->reply.thinking ? TDM_PHASE_THINKING
                                                  : TDM_PHASE_ANSWERING,
        .answers = front->answers,
        .writing = dialogue_writing(front),
        .answer = front->decoder->number,
        .queued = front->has_queued,
        .draft_read_bytes = draft_read(c),
        .draft_tokens = c->draft.too_long ? c->draft.tokens : t->draft - t->typed,
        .turn_known = t->n > t->opening ? t->n - t->opening : 0,
        .turn_read = read > t->opening ? read - t->opening : 0,
        .target = t->n + c->reader.unfollowed,
        .read = read,
        .behind = t->n - read + c->reader.unfollowed,
        .read_again = c->reader.read_again,
        .wasted = front->stats.wasted,
        .ahead = (uint32_t)(f->figures.evaluated - c->reader.evaluated_mark),
        .adopted = read > c->reader.adopted.from
                       ? (read < c->reader.adopted.to ? read : c->reader.adopted.to) - c->reader.adopted.from
                       : 0,
        .context_size = (uint32_t)c->options.context,
        .dispatch = (int)f->dispatch,
        .decode_tps = chat_phase(c) == PHASE_DECODE ? front->decoder->stats.decode_tps : c->writer.decode_rate,
        .prefill_tps = c->reader.prefill_rate,
        .handover_ms = c->writer.handover_ms,
    };
    out->mark = mark_of(c, out->behind, now);
    if (chat_phase(c) == PHASE_PROMPT) {
        out->reading_total = front->stats.prompt_tokens - c->reader.read_at_enter;
        /* A state that runs past the prompt is given up for a checkpoint: what it shares is not progress. */
        bool grows = f->usable && read == f->length && read > c->reader.read_at_enter;
        out->reading_done = !follows ? c->reader.prompter.done : grows ? read - c->reader.read_at_enter : 0;
    }
    out->checkpoints = f->kept.count;
    out->replica_bytes = f->external;
    out->checkpoint_bytes = f->kept.bytes + f->external;
    out->checkpoint_budget = f->budget;
    out->carried_ahead = c->reader.replica.carried.ahead;
    out->carried_after = c->reader.replica.carried.after;
    out->carried_ns = (uint64_t)c->reader.replica.carried.ns;
    out->no_checkpoints = f->kept.count == 0 && f->figures.unkept > 0;
    out->prefill_failed = c->reader.failed;
    /* Without a target (nothing is read ahead) the last turn's tokens stand. */
    out->context_used = chat_phase(c) == PHASE_DECODE || !t->n ? front->decoder->prompt + front->decoder->index : t->n;
    /* There is no room for what closes a reply that has filled the context. */
    const struct node *last = &front->conversation.nodes[front->conversation.leaf];
    if (last->finish == TDM_FINISH_CONTEXT && out->context_used > out->context_size)
        out->context_used = out->context_size;
    out->speed_kept = overlap_cost_share(&c->writer.overlap_cost);
    out->weight_bytes = c->side[TDM_DECODE_UNIT].weights->bytes;
    out->state_bytes = pool_stats(c->side[TDM_DECODE_UNIT].pool).bytes;
    if (c->side[TDM_PREFILL_UNIT].weights != c->side[TDM_DECODE_UNIT].weights)
        out->weight_bytes += c->side[TDM_PREFILL_UNIT].weights->bytes;
    if (c->two_pools) out->state_bytes += pool_stats(c->side[TDM_PREFILL_UNIT].pool).bytes;
    out->level = chat_level(c);
    if (chat_on_server(c)) {
        struct server_link *server = c->model->server;
        out->on_server = true;
        if (front->decoder->stats.counted && chat_phase(c) == PHASE_IDLE)
            out->context_used = decoder_filled(front->decoder);
        out->rereads = atomic_load(&server->rereads);
        out->round_trip_ms = server->round_trip_ms;
        out->last = server_last(server);
        if (chat_phase(c) == PHASE_DECODE && !front->decoder->stats.first_id_ns) {
            out->phase = TDM_PHASE_READING; /* as far as can be seen from here */
            out->reading_total = front->stats.after_enter;
        }
    }
    chat_unlock(c);
}

/* Nothing decodes, nothing waits, and the follower has nothing to do now or after the pause. */
static bool is_settled(struct tdm_chat *c)
{
    if (c->front->stage != STAGE_IDLE || c->back->stage != STAGE_IDLE || c->front->has_queued) return false;
    if (c->reader.follower.plan.active || c->reader.loaded || c->reader.pictures.busy) return false;
    if (!pipeline_of(c->front->pipeline)->follows || c->reader.failed) return true;
    if (c->reader.target.n > pool_context(c->reader.follower.state->pool)) return true; /* too long to be read */
    if (follow_wants_carriage(c)) return false;
    if (chat_on_server(c) && !remote_asks(c)) return !retarget_waits_for_pause(c);
    uint32_t read = follower_in_state(&c->reader.follower, &c->reader.target);
    return read == c->reader.target.n && !retarget_waits_for_pause(c) &&
           (!c->reader.target.complete || follower_is_ready(&c->reader.follower, &c->reader.target));
}

TDM_API bool tdm_chat_wait_idle(tdm_chat *c, int timeout_ms)
{
    int64_t until = clock_ns() + (int64_t)timeout_ms * 1000000;
    chat_lock(c);
    bool settled;
    while (!(settled = is_settled(c))) {
        if (timeout_ms < 0)
            pthread_cond_wait(&c->settled, &c->lock);
        else if (clock_wait(&c->settled, &c->lock, until))
            break;
    }
    chat_unlock(c);
    return settled;
}
