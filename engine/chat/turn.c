/* What the units do for a chat: the source of their work, and the way of a turn from Enter to its last token.
 *
 * The lock rules stand in chat.h. Functions named chat_ and the static ones are called with the lock held, except the
 * sources (chat_next_...) and the jobs (job_...), which take it themselves.
 */
#include "engine/base/buffer.h"
#include "engine/chat/chat.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/chat/pace.h"
#include "engine/forward/logits.h"

/* So many tokens of a reply are decoded before the follower asks for its cores back: it has nothing urgent to do. */
enum { FIRST_TOKENS = 4 };

static uint64_t hash_id(uint64_t hash, tdm_id id)
{
    return fnv_step(hash, (uint32_t)id);
}

static struct unit *unit_of(const struct tdm_chat *c, int unit)
{
    return c->machine->units[unit];
}

static const struct pipeline *pipeline_now(const struct tdm_chat *c)
{
    return pipeline_of(c->pipeline);
}

static void wake(const struct tdm_chat *c)
{
    for (int u = 0; u < TDM_UNITS; u++) unit_wake(unit_of(c, u));
}

/* ---- Following ----------------------------------------------------------------------------------------------- */

/* How long the user must rest before the draft is taken for the whole message. */
static int64_t pause_ns(const struct tdm_chat *c)
{
    if (c->options.pause_ms >= 0) return (int64_t)c->options.pause_ms * 1000000;
    return pause_auto(&c->typing, c->draft.bytes, c->draft.n, c->follower.figures.suffix_ns);
}

static bool draft_counts(const struct tdm_chat *c)
{
    return c->phase == CHAT_IDLE && c->draft.n > 0 && !c->draft_held && !c->draft_too_long &&
           c->options.speculation >= TDM_SPEC_DRAFT;
}

static struct target_input target_input(const struct tdm_chat *c)
{
    return (struct target_input){
        .conversation = &c->conversation,
        .path_start = c->path_start,
        .level = c->options.speculation,
        .think = c->options.think,
        .keep = template_keeps(c->model->form, c->options.keep_thinking),
        .reply = c->phase == CHAT_DECODE ? c->reply_node : 0,
        .sent = c->phase == CHAT_PROMPT && !c->resumed ? c->user_node : 0,
        .resumed = c->phase == CHAT_PROMPT && c->resumed ? c->reply_node : 0,
        .draft = c->draft.bytes,
        .draft_length = c->draft_too_long ? 0 : c->draft.n,
        .draft_held = c->draft_held,
        .closed = c->draft_closed,
    };
}

/* Has the user rested long enough? */
static bool draft_rests(const struct tdm_chat *c, int64_t now_ns)
{
    return draft_counts(c) && c->options.speculation >= TDM_SPEC_FULL && now_ns - c->typing.last_ns >= pause_ns(c);
}

bool chat_waits_for_pause(const struct tdm_chat *c)
{
    return draft_counts(c) && c->options.speculation >= TDM_SPEC_FULL && !c->draft_closed;
}

static void compute_target(struct tdm_chat *c, int64_t now_ns)
{
    c->draft_closed = draft_rests(c, now_ns);
    struct target_input in = target_input(c);
    tdm_error err;
    if (target_make(c->targets, &in, &c->target, &err)) {
        c->target = (struct target){0};
        events_post_line(c->events, TDM_EV_ERROR, "the next prompt can't be prepared: %s", err.text);
    }
    c->unfollowed = 0;
}

uint32_t chat_prompt_length(struct tdm_chat *c)
{
    struct target_input in = target_input(c);
    struct target whole;
    in.closed = true;
    return target_make(c->targets, &in, &whole, NULL) ? 0 : whole.n;
}

void chat_retarget(struct tdm_chat *c, int64_t now_ns)
{
    compute_target(c, now_ns);
    c->follower_failed = false;
    follower_cancel_if_stale(&c->follower, &c->target);
    unit_wake(unit_of(c, TDM_PREFILL_UNIT));
}

void chat_adopt_loaded(struct tdm_chat *c)
{
    follower_adopt(&c->follower, c->loaded);
    c->loaded = NULL;
}

/* moving_ns: when the state began to move here, bytes: what that copied; 0: it did not move. */
static void begin_reply(struct tdm_chat *c, int64_t moving_ns, uint64_t bytes);

/* The follower has read the whole prompt, and the decoder is free. */
static bool can_hand_over(const struct tdm_chat *c)
{
    return c->phase == CHAT_PROMPT && follower_is_ready(&c->follower, &c->target) && !c->decoder.running;
}

/* Within one pool states are exchanged, which takes no time. */
static void hand_over(struct tdm_chat *c)
{
    int64_t start = clock_ns();
    assert_always(!c->two_pools);
    c->decoder.state = follower_take(&c->follower, c->decoder.state);
    begin_reply(c, start, 0);
}

static void times_of_transfer(tdm_turn_stats *to, const tdm_turn_stats *from)
{
    to->save_ms = from->save_ms;
    to->read_ms = from->read_ms;
    to->restore_ms = from->restore_ms;
}

/* Between two pools the state is copied: a job of the prefill unit, which has no other meanwhile, so that nobody waits
 * for the lock. The follower keeps its state. */
static void job_hand_over(void *ctx, struct team *team, struct activity_span *span)
{
    struct tdm_chat *c = ctx;
    struct decoder *d = &c->decoder;
    (void)team;
    (void)span;
    int64_t start = clock_ns();
    tdm_error err;
    tdm_turn_stats times = {0};
    struct state *moved = c->follower.state;
    tdm_status status = chat_transfer(c, &moved, d->state, &times, &err);
    chat_lock(c);
    d->running = false;
    if (status == TDM_OK) d->state = moved;
    if (c->turn_serial == d->serial && can_hand_over(c)) {
        if (status) {
            events_post_line(c->events, TDM_EV_ERROR, "the hand-over failed: %s", err.text);
            chat_end(c, TDM_FAILED);
        } else {
            times_of_transfer(&c->stats, &times);
            begin_reply(c, start, c->bridge.size);
        }
    } else {
        wake(c); /* a prompt may have waited for this job's end */
    }
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}

static void job_follow(void *ctx, struct team *team, struct activity_span *span)
{
    struct tdm_chat *c = ctx;
    tdm_error err = {0};
    int64_t start = clock_ns();
    tdm_status status;
    if (atomic_load(&c->fail_dispatches) > 0) {
        atomic_fetch_sub(&c->fail_dispatches, 1);
        status = error_set(&err, TDM_E_NOMEM, "no memory (injected)");
    } else {
        status = follower_perform(&c->follower, team, unit_activity(unit_of(c, TDM_PREFILL_UNIT)), span, &err);
    }
    int64_t took = clock_ns() - start;
    chat_lock(c);
    uint32_t n = c->follower.plan.n;
    follower_done(&c->follower, status, took);
    if (status == TDM_OK && n) {
        double rate = n * 1e9 / (double)took;
        c->prefill_rate = c->prefill_rate > 0 ? 0.7 * c->prefill_rate + 0.3 * rate : rate;
    } else if (status && status != TDM_E_CANCELLED) {
        events_post_line(c->events, TDM_EV_ERROR, "the prefill unit failed: %s; %s", err.text,
                         c->phase == CHAT_PROMPT ? "trying once more" : "the conversation goes on without it");
        if (c->phase == CHAT_PROMPT && c->follower_failed)
            chat_end(c, TDM_FAILED);
        else
            c->follower_failed = true;
    }
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}

static bool runs_dry(const struct tdm_chat *c)
{
    struct pool_stats s = pool_stats(c->side[TDM_PREFILL_UNIT].pool);
    return s.free_pages < READY_PAGES || s.free_buffers < READY_BUFFERS;
}

/* One buffer at a time, so that a key does not wait for all of them. */
static void job_warm(void *ctx, struct team *team, struct activity_span *span)
{
    struct tdm_chat *c = ctx;
    struct pool *pool = c->side[TDM_PREFILL_UNIT].pool;
    (void)team;
    (void)span;
    uint32_t buffers = pool_stats(pool).free_buffers + 1;
    tdm_status status = pool_warm(pool, READY_PAGES, buffers < READY_BUFFERS ? buffers : READY_BUFFERS, NULL);
    chat_lock(c);
    c->dry = status != TDM_OK;
    chat_unlock(c);
}

/* What the prefill unit does towards the newest target. */
static int64_t next_follow(struct tdm_chat *c, int64_t now_ns, struct work *work)
{
    /* Whatever else changes it computes it at once. */
    if (c->unfollowed || draft_rests(c, now_ns) != c->draft_closed) compute_target(c, now_ns);
    if (can_hand_over(c)) {
        if (!c->two_pools) {
            hand_over(c);
            return UNIT_IDLE;
        }
        c->decoder.held = 0;
        c->decoder.serial = c->turn_serial;
        c->decoder.running = true;
        *work = (struct work){.fn = job_hand_over, .ctx = c, .kind = SPAN_NONE};
        return UNIT_WORK;
    }
    if (c->follower_failed && c->phase != CHAT_PROMPT) return UNIT_IDLE;
    if (follower_plan(&c->follower, &c->target, c->phase == CHAT_DECODE, c->phase == CHAT_PROMPT)) {
        if (c->follower.plan.from < c->read_at_enter) c->read_at_enter = c->follower.plan.from;
        *work = (struct work){.fn = job_follow, .ctx = c, .kind = c->follower.plan.kind,
                              .tokens = c->follower.plan.n};
        return UNIT_WORK;
    }
    /* Between two keys as well: the next dispatch of a draft begins with a checkpoint. */
    if (c->phase == CHAT_IDLE && !c->dry && runs_dry(c)) {
        *work = (struct work){.fn = job_warm, .ctx = c, .kind = SPAN_NONE};
        return UNIT_WORK;
    }
    if (chat_waits_for_pause(c)) return c->typing.last_ns + pause_ns(c);
    pthread_cond_broadcast(&c->settled); /* the pause may have ended without anything to do */
    return UNIT_IDLE;
}

/* ---- Prompts of pipelines that do not follow ------------------------------------------------------------------ */

/* The cold prompt has its first logits: compares and tells. */
static void cold_done(struct tdm_chat *c)
{
    struct prompter *p = &c->prompter;
    sampler_start(c->decoder.sampler, p->ids.ids, p->ids.n);
    tdm_id id = sampler_draw(c->decoder.sampler, &c->options.sampling, p->state->logits, p->turn, p->attempt, 0);
    p->answer.cold_ms = (double)(clock_ns() - p->start_ns) / 1e6;
    p->answer.cold_tokens = (uint32_t)p->ids.n;
    p->answer.same_first_token = id == p->first_id;
    p->active = p->cold = false;
    events_post(c->events, &(tdm_event){.kind = TDM_EV_COLD, .node = p->reply, .cold = p->answer});
}

static void job_prompt(void *ctx, struct team *team, struct activity_span *span)
{
    struct tdm_chat *c = ctx;
    struct prompter *p = &c->prompter;
    const struct pipeline *pipeline = pipeline_of(p->pipeline);
    const struct side *side = &c->side[pipeline->prompt_unit];
    uint32_t rest = (uint32_t)p->ids.n - p->done, rows;
    uint32_t n = pipeline_piece(pipeline, rest, p->dispatch, workspace_tokens(side->workspace), &rows);
    struct forward_run run = {.state = p->state, .tokens = p->ids.ids + p->done, .n = n, .pad = rows - n,
                              .logits = n == rest ? LOGITS_LAST : LOGITS_NONE};
    struct forward_options options = {.cancel = &p->cancel};
    tdm_error err = {0};
    tdm_turn_stats times = {0};
    int64_t moving_ns = 0;
    struct state *state = p->state;
    tdm_status status = forward(team, side->weights, side->workspace, &run, 1, &options, &span->bytes, &err);
    span->tokens = status ? 0 : n;
    bool last = status == TDM_OK && n == rest, moves = last && !p->cold && pipeline->transfer != TRANSFER_NONE;
    if (moves) {
        moving_ns = clock_ns();
        status = chat_transfer(c, &state, c->decoder.state, &times, &err);
    }
    chat_lock(c);
    p->running = false;
    p->done += status ? 0 : n;
    bool stopped = !p->cold && c->turn_serial != p->serial; /* perhaps too late for the pass to notice */
    if (status || stopped) {
        if (status && status != TDM_E_CANCELLED)
            events_post_line(c->events, TDM_EV_ERROR, "the prompt could not be evaluated: %s", err.text);
        bool failed = !p->cold && !stopped;
        p->active = p->cold = false;
        if (failed) chat_end(c, TDM_FAILED);
    } else if (last && p->cold) {
        cold_done(c);
    } else if (last) {
        p->active = false;
        if (moves) {
            times_of_transfer(&c->stats, &times);
            c->decoder.state = state;
        } else {
            p->state = c->decoder.state;
            c->decoder.state = state;
        }
        begin_reply(c, moves ? moving_ns : 0, c->bridge.size);
    }
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}

/* ---- Decoding ------------------------------------------------------------------------------------------------- */

static bool is_stop(const struct tdm_chat *c, tdm_id id)
{
    const struct config *config = &c->side[TDM_DECODE_UNIT].weights->config;
    for (uint32_t i = 0; i < config->stop_count; i++)
        if (config->stops[i] == id) return true;
    return false;
}

static void give_text(struct tdm_chat *c, struct span text, bool thinking, tdm_id id)
{
    if (text.length == 0) return;
    if (conversation_append(&c->conversation, c->reply_node, thinking, text.bytes, text.length, NULL))
        events_post_line(c->events, TDM_EV_ERROR, "no memory: a part of the reply was not kept");
    if (!thinking && c->stats.first_answer_ns == 0) c->stats.first_answer_ns = clock_ns();
    events_post(c->events, &(tdm_event){.kind = TDM_EV_TEXT, .node = c->reply_node, .text = text.bytes,
                                        .length = text.length, .thinking = thinking, .id = id,
                                        .tokens = c->stats.reply_tokens});
}

/* A token of the reply was drawn: shows it and decides whether it is the last. True while the reply goes on; when it
 * doesn't, the next turn may have begun already. */
static bool take_token(struct tdm_chat *c, tdm_id id)
{
    struct decoder *d = &c->decoder;
    struct node *node = &c->conversation.nodes[c->reply_node];
    int64_t now = clock_ns();
    if (c->stats.first_id_ns == 0) c->stats.first_id_ns = now;
    if (id < 0) {
        events_post_line(c->events, TDM_EV_ERROR, "the model gave no finite logit: the reply ends here");
        chat_end(c, TDM_FAILED);
        return false;
    }
    if (is_stop(c, id) && !c->options.ignore_eos) {
        chat_end(c, TDM_END);
        return false;
    }
    struct reply_piece piece;
    tdm_error err;
    bool thought = d->reply.thinking; /* </think> too */
    tdm_status status = ids_list_append(&node->reply, &id, 1, &err);
    if (status == TDM_OK) status = reply_push(&d->reply, id, &piece, &err);
    if (status) {
        events_post_line(c->events, TDM_EV_ERROR, "no memory for the reply: it ends here");
        chat_end(c, TDM_FAILED);
        return false;
    }
    sampler_accept(d->sampler, id);
    c->stats.ids_hash = hash_id(c->stats.ids_hash, id);
    c->stats.reply_tokens++;
    if (thought) c->stats.thinking_tokens++;
    c->stats.last_id_ns = now;
    if (now > c->stats.first_id_ns)
        c->stats.decode_tps = (c->stats.reply_tokens - 1) * 1e9 / (double)(now - c->stats.first_id_ns);
    d->next = id;
    d->index++;
    if (c->options.pace_tps > 0) {
        c->stats.paced = true;
        d->not_before_ns = pace_next(d->not_before_ns, now, c->options.pace_tps);
    }
    give_text(c, piece.thinking, true, id);
    give_text(c, piece.answer, false, id);
    tdm_finish finish = TDM_UNFINISHED;
    if (piece.stopped)
        finish = TDM_STOP_STRING;
    else if (d->max_tokens > 0 && c->stats.reply_tokens >= d->max_tokens)
        finish = TDM_LENGTH;
    else if (d->max_answer > 0 && c->stats.reply_tokens - c->stats.thinking_tokens >= d->max_answer)
        finish = TDM_LENGTH;
    else if (d->prompt + d->index >= pool_context(d->state->pool))
        finish = TDM_CONTEXT;
    if (finish != TDM_UNFINISHED) {
        chat_end(c, finish);
        return false;
    }

    uint32_t here = c->follower.length;
    uint32_t behind = (c->target.n > here ? c->target.n - here : 0) + ++c->unfollowed;
    if (pipeline_now(c)->follows && c->options.speculation >= TDM_SPEC_HISTORY) {
        if (here && behind > c->stats.lag_max) c->stats.lag_max = behind;
        /* The follower waits for a full dispatch; asking it sooner would take its core from this unit's team. */
        if (behind >= c->follower.polite && c->stats.reply_tokens >= FIRST_TOKENS && !c->follower.plan.active)
            unit_wake(unit_of(c, TDM_PREFILL_UNIT));
    }
    return true;
}

/* Draws the next token of the reply from the decoder's state. Whoever claimed the decoder calls it. */
static tdm_id draw(struct decoder *d)
{
    if (d->hashes)
        d->logits_hash = logits_hash(d->logits_hash, d->state->logits, pool_shape(d->state->pool)->vocab);
    return sampler_draw(d->sampler, &d->sampling, d->state->logits, d->turn, d->attempt, d->index);
}

static uint32_t above(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

/* What of this turn's prompt was there at Enter, and so its kind. */
static void account_before(struct tdm_chat *c)
{
    tdm_turn_stats *s = &c->stats;
    s->earlier = c->turn_base < c->read_at_enter ? c->turn_base : c->read_at_enter;
    s->before_enter = c->read_at_enter - s->earlier;
    s->turn_before_enter = above(c->read_at_enter, s->prompt_tokens - s->turn_tokens);
    if (c->turns_since_load == 0)
        s->kind = c->was_loaded ? TDM_RESUMED : TDM_FIRST;
    else
        s->kind = s->turn_before_enter ? TDM_WARM : TDM_COLD;
}

/* What this turn's prompt cost, in tokens. */
static void account(struct tdm_chat *c)
{
    const struct follower_figures *f = &c->follower.figures;
    uint64_t evaluated = f->evaluated - c->evaluated_mark, fresh = c->stats.prompt_tokens - c->turn_base;
    if (c->continues_in_place) c->read_at_enter = c->decoder.held;
    account_before(c);
    c->stats.after_enter = c->stats.prompt_tokens - c->read_at_enter;
    if (pipeline_now(c)->follows) {
        c->stats.wasted = evaluated > fresh ? (uint32_t)(evaluated - fresh) : 0;
        c->stats.suffix_evaluations = f->suffixes - c->suffix_mark;
    }
    c->evaluated_mark = f->evaluated;
    c->suffix_mark = f->suffixes;
}

/* A reply is continued: brings sampler and text to where it stopped. What was shown at the stop because nothing
 * followed (half a character, the beginning of a stop string) is open again. */
static void repeat_reply(struct tdm_chat *c, struct node *node)
{
    struct decoder *d = &c->decoder;
    struct reply_piece piece;
    size_t before = node->text.n + node->thinking.n;
    buffer_clear(&node->text);
    buffer_clear(&node->thinking);
    for (size_t i = 0; i < node->reply.n; i++) {
        sampler_accept(d->sampler, node->reply.ids[i]);
        if (reply_push(&d->reply, node->reply.ids[i], &piece, NULL)) break;
        buffer_append(&node->thinking, piece.thinking.bytes, piece.thinking.length, NULL);
        buffer_append(&node->text, piece.answer.bytes, piece.answer.length, NULL); /* there is room: it was there */
    }
    if (node->text.n + node->thinking.n != before) events_post(c->events, &(tdm_event){.kind = TDM_EV_PATH});
}

/* The decoder has the state of the whole prompt: makes the reply and draws its first token. A reply that goes on from
 * the decoder's own state may lack its last token there, which is then the first that is decoded. */
static void begin_reply(struct tdm_chat *c, int64_t moving_ns, uint64_t bytes)
{
    struct decoder *d = &c->decoder;
    tdm_error err;
    if (!c->resumed) {
        c->reply_node = conversation_add(&c->conversation, c->user_node, TDM_ASSISTANT, "", 0, &err);
        if (!c->reply_node) {
            events_post_line(c->events, TDM_EV_ERROR, "%s", err.text);
            chat_end(c, TDM_FAILED);
            return;
        }
        c->conversation.nodes[c->reply_node].think = c->options.think;
    }
    struct node *node = &c->conversation.nodes[c->reply_node];
    node->finish = TDM_UNFINISHED;
    d->held = d->state->length;
    d->prompt = (c->continues_in_place ? c->stats.prompt_tokens : d->held) - (uint32_t)node->reply.n;
    d->index = (uint32_t)node->reply.n;
    d->turn = (uint32_t)conversation_turns(&c->conversation, c->reply_node);
    d->attempt = node->attempt;
    d->sampling = c->options.sampling;
    d->max_tokens = c->options.max_tokens > 0 ? (uint32_t)c->options.max_tokens : 0;
    d->max_answer = c->options.max_answer_tokens > 0 ? (uint32_t)c->options.max_answer_tokens : 0;
    d->hashes = c->options.hash_logits;
    d->logits_hash = LOGITS_HASH_START;
    d->unit = pipeline_now(c)->decode_unit;
    d->not_before_ns = 0;
    d->serial = ++c->turn_serial;
    reply_free(&d->reply);
    /* A reply that was loaded from a file has left its think block where it has any text. */
    bool thinks = node->think && c->model->form.can_think && !(node->reply.n == 0 && node->text.n);
    reply_init(&d->reply, c->model->tokenizer, thinks, (const char *const *)c->stops);
    sampler_start(d->sampler, d->state->tokens, d->prompt);
    if (node->reply.n) repeat_reply(c, node);
    c->phase = CHAT_DECODE;
    for (uint32_t i = 0; i < d->prompt; i++) c->stats.ids_hash = hash_id(c->stats.ids_hash, d->state->tokens[i]);
    bool lacks_last_token = d->held < d->prompt + d->index;
    tdm_id first = lacks_last_token ? node->reply.ids[node->reply.n - 1] : draw(d);
    c->stats.logits_hash = d->logits_hash;
    account(c);
    if (moving_ns) {
        struct activity_span span = {moving_ns, clock_ns(), SPAN_HANDOVER, 0, bytes};
        c->handover_ms = c->stats.handover_ms = (double)(span.end_ns - span.start_ns) / 1e6;
        activity_add(unit_activity(unit_of(c, TDM_DECODE_UNIT)), &span);
    }
    events_post(c->events, &(tdm_event){.kind = TDM_EV_REPLY, .node = c->reply_node, .stats = c->stats});
    if (lacks_last_token)
        d->next = first;
    else if (!take_token(c, first))
        return; /* it was the only one */
    unit_wake(unit_of(c, d->unit));
    compute_target(c, clock_ns());
    c->follower_failed = false;
    follower_cancel_if_stale(&c->follower, &c->target);
    if (!c->follower.plan.active) follower_adopt_checkpoint(&c->follower, &c->target); /* take_token wakes it */
}

/* Does the decoder's state hold the whole prompt but for one token at most, or will it at the end of its running job?
 * Then a reply is continued right there. */
static bool decoder_continues_in_place(const struct tdm_chat *c)
{
    const struct decoder *d = &c->decoder;
    const struct target *t = &c->target;
    uint32_t n = d->held;
    if (n == 0 || n > t->n || c->conversation.nodes[c->reply_node].reply.n == 0) return false;
    if (target_common_prefix(t, d->state->tokens, n) < n) return false;
    if (d->running && (n == t->n || t->ids[n++] != d->next)) return false;
    return n + 1 >= t->n;
}

/* Goes on with a stopped reply, once no job runs on the decoder's state. The last one may have failed. */
static void go_on(struct tdm_chat *c)
{
    c->continues_in_place = decoder_continues_in_place(c);
    if (c->continues_in_place) {
        begin_reply(c, 0, 0);
    } else {
        c->read_at_enter = c->stats.prompt_tokens; /* the plans to come say it */
        unit_wake(unit_of(c, TDM_PREFILL_UNIT));
    }
}

static void job_decode(void *ctx, struct team *team, struct activity_span *span)
{
    struct tdm_chat *c = ctx;
    struct decoder *d = &c->decoder;
    const struct side *side = &c->side[d->unit];
    struct forward_run run = {.state = d->state, .tokens = &d->next, .n = 1, .logits = LOGITS_LAST};
    tdm_error err = {0};
    tdm_id id = -1;
    int64_t start = clock_ns();
    tdm_status status = forward(team, side->weights, side->workspace, &run, 1, NULL, &span->bytes, &err);
    if (status == TDM_OK) id = draw(d);
    double took = (double)(clock_ns() - start) / 1e9;
    chat_lock(c);
    d->running = false;
    d->held = status ? 0 : d->state->length;
    if (c->turn_serial == d->serial && c->phase == CHAT_DECODE) {
        c->stats.logits_hash = d->logits_hash;
        bool shared = c->follower.plan.active && d->shares;
        if (status == TDM_OK && (shared || !(c->follower.plan.active || d->shares))) kept_add(&d->kept, shared, took);
        if (status) {
            events_post_line(c->events, TDM_EV_ERROR, "the decode unit failed: %s", err.text);
            chat_end(c, TDM_FAILED);
        } else {
            take_token(c, id);
        }
    } else {
        span->tokens = status ? 0 : 1;
        wake(c); /* a hand-over or a prompt may have waited for this job's end */
    }
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}

/* ---- Sources -------------------------------------------------------------------------------------------------- */

static int64_t next_decode(struct tdm_chat *c, int64_t now_ns, struct work *work)
{
    struct decoder *d = &c->decoder;
    if (d->running) return UNIT_IDLE;
    if (now_ns < d->not_before_ns) return d->not_before_ns;
    d->running = true;
    d->shares = c->follower.plan.active;
    *work = (struct work){.fn = job_decode, .ctx = c, .kind = SPAN_DECODE, .tokens = 1};
    return UNIT_WORK;
}

static int64_t next_prompt(struct tdm_chat *c, struct work *work)
{
    struct prompter *p = &c->prompter;
    if (p->running || c->decoder.running) return UNIT_IDLE;
    if (p->done == 0) state_clear(p->state);
    p->dispatch = (uint32_t)c->options.dispatch;
    p->running = true;
    if (!p->cold) c->decoder.held = 0; /* its state is where the prompt's goes */
    *work = (struct work){.fn = job_prompt, .ctx = c, .kind = SPAN_PROMPT};
    return UNIT_WORK;
}

static int64_t next(struct tdm_chat *c, int unit, int64_t now_ns, struct work *work)
{
    chat_lock(c);
    int64_t when = UNIT_IDLE;
    if (unit == TDM_PREFILL_UNIT && c->loaded) chat_adopt_loaded(c);
    bool waits_for_decoder = c->phase == CHAT_PROMPT && c->continues_in_place;
    if (waits_for_decoder && !c->decoder.running) go_on(c);
    if (c->phase == CHAT_DECODE && c->decoder.unit == unit)
        when = next_decode(c, now_ns, work);
    else if (c->prompter.active && pipeline_of(c->prompter.pipeline)->prompt_unit == unit)
        when = next_prompt(c, work);
    else if (unit == TDM_PREFILL_UNIT && pipeline_now(c)->follows && !waits_for_decoder)
        when = next_follow(c, now_ns, work);
    chat_unlock(c);
    return when;
}

int64_t chat_next_prefill(void *chat, int64_t now_ns, struct work *work)
{
    return next(chat, TDM_PREFILL_UNIT, now_ns, work);
}

int64_t chat_next_decode(void *chat, int64_t now_ns, struct work *work)
{
    return next(chat, TDM_DECODE_UNIT, now_ns, work);
}

/* ---- A turn's beginning and end --------------------------------------------------------------------------------- */

static tdm_status copy_ids(tdm_ids *to, const tdm_id *ids, size_t n, tdm_error *err)
{
    to->n = 0;
    return ids_list_append(to, ids, n, err);
}

/* The prompt must leave room for a reply; with drop-oldest turns are left out until it takes three quarters. */
static tdm_status fit(struct tdm_chat *c, int64_t now_ns, tdm_error *err)
{
    uint32_t context = pool_context(c->decoder.state->pool);
    compute_target(c, now_ns);
    if (c->target.n == 0) return error_set(err, TDM_E_REFUSED, "the template refuses this conversation");
    if (c->target.n < context) return TDM_OK;
    int before = c->path_start, last = conversation_path(&c->conversation, NULL, 0) - 1;
    while (c->options.on_full == TDM_FULL_DROP_OLDEST && c->target.n > context / 4 * 3 && c->path_start + 2 <= last) {
        c->path_start += 2;
        compute_target(c, now_ns);
    }
    if (c->target.n < context) {
        events_post_line(c->events, TDM_EV_NOTICE, "the context is full: the oldest %d messages are left out",
                         c->path_start);
        return TDM_OK;
    }
    c->path_start = before;
    return error_set(err, TDM_E_CONTEXT, "%s: the prompt has %u tokens, there is room for %u",
                     last ? "the context is full" : "the message is too long", c->target.n, context - 1);
}

tdm_status chat_let_go(struct tdm_chat *c, tdm_error *err)
{
    if (c->prompter.active && c->prompter.cold) return error_set(err, TDM_E_BUSY, "a cold prompt is being measured");
    /* A prompt that was stopped is let go at its next layer. */
    while (c->prompter.running) pthread_cond_wait(&c->settled, &c->lock);
    return TDM_OK;
}

tdm_status chat_begin(struct tdm_chat *c, int user, bool resumed, int64_t enter_ns, tdm_turn_mark mark, tdm_error *err)
{
    assert_always(c->phase == CHAT_IDLE);
    tdm_status status = chat_let_go(c, err);
    if (!status) status = chat_prepare(c, c->options.pipeline, false, err);
    if (status) return status;
    /* What has been read by now, before the target becomes the whole prompt. */
    c->phase = CHAT_PROMPT;
    c->pipeline = c->options.pipeline;
    c->user_node = user;
    c->resumed = resumed;
    c->reply_node = resumed ? c->conversation.leaf : 0;
    status = fit(c, clock_ns(), err);
    const struct pipeline *pipeline = pipeline_now(c);
    if (status == TDM_OK && !pipeline->follows)
        status = copy_ids(&c->prompter.ids, c->target.ids, c->target.n, err);
    if (status) {
        c->phase = CHAT_IDLE;
        return status;
    }
    struct follower *f = &c->follower;
    c->continues_in_place = resumed && pipeline->follows && decoder_continues_in_place(c);
    if (!c->continues_in_place && pipeline->follows)
        follower_expedite(f, &c->target, clock_ns());
    else if (!c->continues_in_place)
        follower_cancel_if_stale(f, &c->target);
    c->read_at_enter = 0;
    if (c->continues_in_place)
        c->read_at_enter = c->decoder.held + c->decoder.running;
    else if (pipeline->follows)
        c->read_at_enter = f->plan.active ? follower_in_state(f, &c->target) : follower_reachable(f, &c->target);
    c->stats = (tdm_turn_stats){
        .mark = mark,
        .enter_ns = enter_ns,
        .prompt_tokens = c->target.n,
        .turn_tokens = c->target.n - c->target.opening,
        .ids_hash = LOGITS_HASH_START,
        .logits_hash = LOGITS_HASH_START,
    };
    c->turn_base = target_common_prefix(&c->target, c->last_prompt.ids, (uint32_t)c->last_prompt.n);
    account_before(c);
    c->turn_serial++;
    c->follower_failed = false;
    copy_ids(&c->last_prompt, c->target.ids, c->target.opening, NULL);
    if (!pipeline->follows) {
        struct prompter *p = &c->prompter;
        p->done = 0;
        p->pipeline = c->pipeline;
        p->serial = c->turn_serial;
        p->cold = false;
        p->active = true;
        atomic_store(&p->cancel, false);
    } else if (c->continues_in_place && !c->decoder.running) {
        begin_reply(c, 0, 0);
        return TDM_OK;
    } else if (!c->continues_in_place && !c->two_pools && can_hand_over(c)) {
        hand_over(c);
        return TDM_OK;
    }
    /* The other unit is left asleep: one that asks its source at this moment would keep its cores from the dispatch that
     * is waited for. */
    unit_wake(unit_of(c, c->continues_in_place ? pipeline->decode_unit : pipeline->prompt_unit));
    return TDM_OK;
}

tdm_status chat_begin_cold(struct tdm_chat *c, int reply, tdm_pipeline pipeline, tdm_error *err)
{
    struct prompter *p = &c->prompter;
    const struct node *node = &c->conversation.nodes[reply];
    tdm_status status = chat_prepare(c, pipeline, true, err);
    if (status) return status;
    struct target_input in = {.conversation = &c->conversation, .path_start = c->path_start, .think = c->options.think,
                              .keep = template_keeps(c->model->form, c->options.keep_thinking), .sent = node->parent};
    struct target prompt;
    status = target_make(c->targets, &in, &prompt, err);
    if (status == TDM_OK) status = copy_ids(&p->ids, prompt.ids, prompt.n, err);
    chat_retarget(c, clock_ns());
    if (status) return status;
    const tdm_turn_stats *warm = &node->stats;
    p->answer = (tdm_cold){.pipeline = pipeline, .warm_tokens = warm->after_enter,
                           .warm_engine_ms = (double)(warm->first_id_ns - warm->enter_ns) / 1e6};
    p->first_id = node->reply.ids[0];
    p->turn = (uint32_t)conversation_turns(&c->conversation, reply);
    p->attempt = node->attempt;
    p->reply = reply;
    p->done = 0;
    p->pipeline = pipeline;
    p->cold = p->active = true;
    atomic_store(&p->cancel, false);
    p->start_ns = clock_ns();
    unit_wake(unit_of(c, pipeline_of(pipeline)->prompt_unit));
    return TDM_OK;
}

static void warn_of_context(struct tdm_chat *c, uint32_t used)
{
    uint32_t size = pool_context(c->decoder.state->pool);
    if (c->context_warned || used < size / 5 * 4) return;
    c->context_warned = true;
    events_post_line(c->events, TDM_EV_NOTICE, "the context is %u %% full: %u of %u tokens", used * 100 / size, used,
                     size);
}

void chat_end(struct tdm_chat *c, tdm_finish finish)
{
    int64_t now = clock_ns();
    if (c->phase == CHAT_DECODE) {
        struct reply_piece rest;
        if (finish != TDM_STOP_STRING && reply_finish(&c->decoder.reply, &rest, NULL) == TDM_OK) {
            give_text(c, rest.thinking, true, -1);
            give_text(c, rest.answer, false, -1);
        }
        warn_of_context(c, c->decoder.prompt + c->decoder.index);
        c->turns_since_load++;
    } else if (c->phase == CHAT_PROMPT) {
        atomic_store(&c->prompter.cancel, true);
        if (!c->prompter.running) c->prompter.active = false;
    } else {
        return;
    }
    tdm_turn_stats *s = &c->stats;
    s->end_ns = now;
    if (c->phase == CHAT_DECODE) c->decode_rate = s->decode_tps;
    if (c->reply_node) {
        struct node *node = &c->conversation.nodes[c->reply_node];
        node->finish = finish;
        node->stats = *s;
    }
    c->phase = CHAT_IDLE;
    c->continues_in_place = false;
    c->turn_serial++;
    events_post(c->events, &(tdm_event){.kind = TDM_EV_END, .node = c->reply_node, .finish = finish, .stats = *s});
    chat_retarget(c, now);
    pthread_cond_broadcast(&c->settled);
    chat_send_queued(c, now, TDM_QUEUED);
}

void chat_send_queued(struct tdm_chat *c, int64_t now_ns, tdm_turn_mark mark)
{
    if (!c->has_queued || c->phase != CHAT_IDLE) return;
    tdm_error err;
    c->has_queued = false;
    int user = conversation_add(&c->conversation, c->conversation.leaf, TDM_USER, c->queued.bytes, c->queued.n, &err);
    tdm_status status = user ? TDM_OK : TDM_E_NOMEM;
    events_post(c->events, &(tdm_event){.kind = TDM_EV_UNQUEUED});
    if (status == TDM_OK) {
        events_post(c->events, &(tdm_event){.kind = TDM_EV_TURN, .node = user});
        status = chat_begin(c, user, false, now_ns, mark, &err);
        if (status) conversation_remove_last(&c->conversation);
    }
    if (status) {
        chat_retarget(c, now_ns);
        events_post_line(c->events, TDM_EV_ERROR, "the queued message was not sent: %s", err.text);
        events_post(c->events, &(tdm_event){.kind = TDM_EV_PATH});
    }
    buffer_clear(&c->queued);
}
