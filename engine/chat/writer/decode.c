#include "engine/chat/writer/decode.h"

#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/chat/answer.h"
#include "engine/chat/full.h"
#include "engine/chat/lost.h"
#include "engine/chat/policy/pace.h"
#include "engine/chat/reader/adopt.h"
#include "engine/chat/reader/retarget.h"
#include "engine/chat/writer/arrival.h"
#include "engine/chat/writer/drafting.h"
#include "engine/chat/writer/burst.h"
#include "engine/chat/writer/stream.h"
#include "engine/state/pads.h"

#include <string.h>

/* This many tokens of a reply are decoded before the follower asks for its cores back: it has nothing urgent to do. */
enum { FIRST_TOKENS = 4 };

static uint64_t hash_id(uint64_t hash, tdm_id id)
{
    return fnv_step(hash, id < 0 ? pads_word(id) : (uint32_t)id);
}

/* Wakes the follower when there is enough of the reply that it follows. */
static void be_followed(struct tdm_chat *c, struct decoder *d)
{
    uint32_t here = c->reader.follower.length;
    uint32_t behind = (c->reader.target.n > here ? c->reader.target.n - here : 0) + c->reader.unfollowed;
    if (!chat_pipeline(c)->follows || chat_level(c) < TDM_SPEC_HISTORY) return;
    if (c->options.reading == TDM_READ_AT_PAUSES) return;
    if (here && behind > d->stats.lag_max) d->stats.lag_max = behind;
    /* The follower waits for a full dispatch; asking it sooner would take its core from this unit's team. */
    if (behind >= c->reader.follower.max_while_decoding && d->stats.reply_tokens >= FIRST_TOKENS &&
        !c->reader.follower.plan.active && !adopt_leads(c))
        unit_wake(chat_unit(c, TDM_PREFILL_UNIT));
}

/* Why the token that was sampled last is the reply's last. TDM_FINISH_UNFINISHED: it isn't. */
static tdm_finish last_because(const struct decoder *d, const struct reply_piece *piece, bool ignores, bool repeats)
{
    const tdm_turn_stats *s = &d->stats;
    if (piece->stopped) return TDM_FINISH_STOP_STRING;
    if (piece->ended && !ignores) return TDM_FINISH_END;
    if (d->max_tokens > 0 && s->reply_tokens >= d->max_tokens) return TDM_FINISH_LENGTH;
    if (d->max_answer > 0 && s->reply_tokens - s->thinking_tokens >= d->max_answer) return TDM_FINISH_LENGTH;
    if (repeats) return TDM_FINISH_REPEATS;
    return d->prompt + d->index >= pool_context(d->state->pool) ? TDM_FINISH_CONTEXT : TDM_FINISH_UNFINISHED;
}

/* A token of the reply was sampled, at this time by a pass: shows it, and decides whether it is the last and why. */
static tdm_finish take_token(struct tdm_chat *c, struct decoder *d, tdm_id id, int64_t now)
{
    struct node *node = &d->dialogue->conversation.nodes[d->node];
    tdm_turn_stats *s = &d->stats;
    if (s->first_id_ns == 0) s->first_id_ns = now;
    if (id < 0) {
        events_post_line(c->events, TDM_EV_ERROR, "the model gave no finite logit: the reply ends here");
        return TDM_FINISH_FAILED;
    }
    if (config_is_stop(&c->side[TDM_DECODE_UNIT].weights->config.stops, id) && !c->options.ignore_eos)
        return TDM_FINISH_END;
    struct reply_piece piece;
    tdm_error err;
    bool thought = d->reply.thinking; /* </think> too, and headers of channels */
    tdm_status status = ids_list_append(&node->reply, &id, 1, &err);
    if (status == TDM_OK) status = reply_push(&d->reply, id, &piece, &err);
    if (status) {
        events_post_line(c->events, TDM_EV_ERROR, "no memory for the reply: it ends here");
        return TDM_FINISH_FAILED;
    }
    s->ids_hash = hash_id(s->ids_hash, id);
    s->reply_tokens++;
    if (thought || d->reply.header) s->thinking_tokens++;
    decoder_came(d, 1, now);
    s->decode_tps = decoder_rate(d);
    if (c->options.pace_tps > 0) s->paced = true;
    d->next = id;
    d->index++;
    if (d == c->front->decoder) c->reader.unfollowed++;
    answer_add(c, d, piece.thinking, true, id);
    answer_add(c, d, piece.answer, false, id);
    return last_because(d, &piece, c->options.ignore_eos,
                        answer_is_guarded(c, d) && guard_push(&d->guard, id, decoder_message(d)));
}

/* The reply has gone on by a pass, or ends. */
static void go_on(struct tdm_chat *c, struct decoder *d, tdm_finish finish)
{
    if (finish == TDM_FINISH_CONTEXT && full_go_on(c, d)) return;
    if (finish != TDM_FINISH_UNFINISHED)
        answer_end(c, d, finish);
    else if (d == c->front->decoder)
        be_followed(c, d);
}

/* A pass gave this many tokens of each reply: when is the next one due? */
static void keep_pace(struct tdm_chat *c, uint32_t tokens)
{
    double tps = c->options.pace_tps / tokens;
    if (tps > 0) c->writer.not_before_ns = pace_next(c->writer.not_before_ns, clock_ns(), tps);
}

/* Samples the next token of the reply from the decoder's state. The job that claimed the decoder calls it. */
static tdm_status sample(const struct tdm_chat *c, struct decoder *d, tdm_id *id, tdm_error *err)
{
    struct sampling_request request = {d->sampler, &d->sampling, d->turn, d->attempt, d->index};
    tdm_status status = evaluator_sample(c->side[d->unit].evaluator, d->state, &request, id, err);
    if (status == TDM_OK && d->hashes) {
        const float *logits;
        status = state_logits(d->state, &logits, err);
        if (status == TDM_OK) d->logits_hash = fnv_floats(d->logits_hash, logits, pool_shape(d->state->pool)->vocab);
    }
    if (status == TDM_OK && *id >= 0) sampler_accept(d->sampler, *id);
    return status;
}

/* For a reply that is continued: brings sampler and text to where it stopped. Text that was shown at the stop because
 * nothing followed (half a character, the beginning of a stop string) is held back again. */
static void repeat_reply(struct tdm_chat *c, struct decoder *d, struct node *node)
{
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

/* Whether a reply begins in its thinking: by the prompt, or by the text that a loaded reply has. */
static enum reply_beginning beginning_of(const struct tdm_chat *c, const struct node *node)
{
    const struct template_facts *facts = template_facts(c->model->template);
    enum template_opening opening = facts->opening[node->think];
    if (!facts->opens && !chat_on_server(c)) return REPLY_ANSWERS;
    if (!node->reply.n && node->text.n) return REPLY_ANSWERS;
    if (!node->reply.n && node->thinking.n) return REPLY_THINKS;
    return opening == OPENING_THINKS ? REPLY_THINKS : opening == OPENING_ANSWERS ? REPLY_ANSWERS : REPLY_MAY_THINK;
}

/* Fills in what an answer depends on: its node, the prompt's tokens, and the options as they are now. */
static void begin_answer(struct tdm_chat *c, struct decoder *d, int number, const tdm_id *prompt)
{
    struct dialogue *front = c->front;
    struct node *node = &front->conversation.nodes[d->node];
    node->finish = TDM_FINISH_UNFINISHED;
    d->number = number;
    d->writing = true;
    d->undelivered = d->at_first = 0;
    d->prompt = (c->writer.arrival.in_place ? front->stats.prompt_tokens : front->decoder->state_tokens) -
                (uint32_t)node->reply.n;
    d->index = (uint32_t)node->reply.n;
    d->turn = (uint32_t)conversation_turns(&front->conversation, d->node);
    d->attempt = node->attempt;
    d->sampling = c->options.sampling;
    d->max_tokens = c->options.max_tokens > 0 ? (uint32_t)c->options.max_tokens : 0;
    d->max_answer = c->options.max_answer_tokens > 0 ? (uint32_t)c->options.max_answer_tokens : 0;
    d->hashes = c->options.hash_logits;
    d->pretended_share = c->writer.drafting.pretended_share;
    d->logits_hash = FNV_START;
    d->unit = chat_pipeline(c)->decode_unit;
    reply_free(&d->reply);
    const struct template_facts *facts = template_facts(c->model->template);
    bool thinks = facts->thinkings >> node->think & 1 && !(chat_on_server(c) && node->text.n);
    d->think = thinks ? node->think : TDM_THINK_OFF;
    reply_init(&d->reply, c->model->tokenizer, facts, beginning_of(c, node), c->options.stops);
    answer_guard(c, d);
    sampler_start(d->sampler, prompt, d->prompt);
    if (node->reply.n) repeat_reply(c, d, node);
}

/* There is no next token. */
static void fail(struct tdm_chat *c, const char *why)
{
    if (lost_check(c, why)) return;
    events_post_line(c->events, TDM_EV_ERROR, "DECODE failed: %s", why);
    answer_end_all(c, c->front, TDM_FINISH_FAILED);
}

/* Nor is there for any reply of the pass. */
static void fail_pass(struct tdm_chat *c, const char *why)
{
    if (lost_check(c, why)) return;
    events_post_line(c->events, TDM_EV_ERROR, "DECODE failed: %s", why);
    answer_end_all(c, c->back, TDM_FINISH_FAILED);
    if (chat_phase(c) == PHASE_DECODE) answer_end_all(c, c->front, TDM_FINISH_FAILED);
}

static void tell_reply(struct tdm_chat *c, const struct decoder *d)
{
    events_post(c->events, &(tdm_event){.kind = TDM_EV_REPLY,
                                        .node = d->node,
                                        .answer = d->number,
                                        .answers = c->front->answers,
                                        .stats = d->stats});
}

/* The replies' states were lost and are there again: each goes on with its next token. */
static void go_on_again(struct tdm_chat *c)
{
    struct dialogue *front = c->front;
    int left = dialogue_writing(front);
    c->writer.again = front->forks_pending = false;
    for (int i = 0; left > 0 && i < front->answers; i++) {
        struct decoder *d = front->decoders[i];
        tdm_error err;
        tdm_id id;
        if (!d->writing) continue;
        d->state_tokens = d->state->length;
        if (sample(c, d, &id, &err)) {
            fail(c, err.text);
            return;
        }
        d->stats.logits_hash = d->logits_hash;
        tdm_finish finish = take_token(c, d, id, clock_ns());
        left -= finish != TDM_FINISH_UNFINISHED;
        go_on(c, d, finish);
        if (!left) return; /* the next turn may have begun */
    }
    unit_wake(chat_unit(c, front->decoder->unit));
    retarget(c, clock_ns());
}

void decode_reply(struct tdm_chat *c)
{
    struct dialogue *front = c->front;
    if (c->writer.again) {
        go_on_again(c);
        return;
    }
    struct decoder *d = front->decoder;
    const struct arrival *arrival = &c->writer.arrival;
    d->state_tokens = d->state->length;
    for (int i = 0; i < front->answers; i++) begin_answer(c, front->decoders[i], i + 1, d->state->tokens);
    for (uint32_t i = 0; i < d->prompt; i++)
        front->stats.ids_hash = hash_id(front->stats.ids_hash, d->state->tokens[i]);
    bool lacks_last_token = d->state_tokens < d->prompt + d->index, samples = !lacks_last_token && !chat_on_server(c);
    const tdm_ids *before = &front->conversation.nodes[d->node].reply;
    tdm_error err;
    tdm_id first = lacks_last_token ? before->ids[before->n - 1] : -1;
    tdm_status status = samples ? sample(c, d, &first, &err) : TDM_OK;
    front->stats.logits_hash = d->logits_hash;
    arrival_account(c);
    if (arrival->since_ns) {
        struct activity_span span = {.start_ns = arrival->since_ns, .end_ns = clock_ns(), .kind = SPAN_HANDOVER,
                                     .bytes = arrival->bytes};
        c->writer.handover_ms = front->stats.handover_ms = (double)(span.end_ns - span.start_ns) / 1e6;
        activity_add(unit_activity(chat_unit(c, TDM_DECODE_UNIT)), &span);
    }
    for (int i = 0; i < front->answers; i++) {
        front->decoders[i]->stats = front->stats;
        if (i > 0) front->decoders[i]->state_tokens = 0; /* until its state is made */
        tell_reply(c, front->decoders[i]);
    }
    bool alone = front->answers == 1;
    front->forks_pending = !alone && !chat_on_server(c);
    c->writer.not_before_ns = 0;
    if (status) {
        fail(c, err.text);
        return;
    }
    tdm_finish finish = samples ? take_token(c, d, first, clock_ns()) : TDM_FINISH_UNFINISHED;
    if (lacks_last_token) d->next = first;
    if (samples) go_on(c, d, finish);
    if (finish != TDM_FINISH_UNFINISHED && alone) return; /* it was the only one */
    if (samples) keep_pace(c, 1);
    unit_wake(chat_unit(c, d->unit));
    retarget_compute(c, clock_ns(), NULL);
    c->reader.failed = false;
    follower_cancel_if_stale(&c->reader.follower, &c->reader.target);
    if (!c->reader.follower.plan.active)
        follower_adopt_checkpoint(&c->reader.follower, &c->reader.target); /* take_token wakes it */
}

/* The tokens of a run of the pass. */
static tdm_status draw_run(struct tdm_chat *c, uint32_t i, tdm_error *err)
{
    struct decode_pass *p = &c->writer.pass;
    struct decoder *d = p->decoder[i];
    struct sampled *sampled = &p->sampled[i];
    if (p->run[i].kept) {
        drafting_sample(c, d, &p->run[i], sampled);
        return TDM_OK;
    }
    sampled->n = 1;
    tdm_status status = sample(c, d, &sampled->id[0], err);
    sampled->hash[0] = d->logits_hash;
    return status;
}

/* Members take a run each: what is sampled depends on its decoder alone. */
static void draw_runs(void *ctx, struct member *m)
{
    struct tdm_chat *c = ctx;
    struct decode_pass *p = &c->writer.pass;
    uint32_t i, end;
    while (member_claim(m, p->n, 1, &i, &end)) p->status[i] = draw_run(c, i, &p->err[i]);
}

static tdm_status draw_all(struct tdm_chat *c, struct team *team, tdm_error *err)
{
    struct decode_pass *p = &c->writer.pass;
    if (p->n == 1) return draw_run(c, 0, err);
    team_run(team, draw_runs, c);
    for (uint32_t i = 0; i < p->n; i++) {
        if (!p->status[i]) continue;
        *err = p->err[i];
        return p->status[i];
    }
    return TDM_OK;
}

/* Whether the tokens that were sampled for run i of the pass are still wanted. */
static bool is_wanted(const struct tdm_chat *c, uint32_t i)
{
    return decoder_runs(c->writer.pass.decoder[i]) && c->writer.pass.decoder[i]->writing && !c->writer.pass.status[i];
}

/* Appends the sampled tokens of a pass to their replies. Of a verified run whose tokens are not wanted any more the
 * state gets the row of the token that was certain, as from any other run. */
static void take_tokens(struct tdm_chat *c)
{
    struct decode_pass *p = &c->writer.pass;
    int64_t now = clock_ns();
    for (uint32_t i = 0; i < p->n; i++) {
        struct decoder *d = p->decoder[i];
        struct sampled *sampled = &p->sampled[i];
        sampled->finish = TDM_FINISH_UNFINISHED;
        sampled->taken = 0;
        while (is_wanted(c, i) && sampled->taken < sampled->n && sampled->finish == TDM_FINISH_UNFINISHED) {
            d->logits_hash = d->stats.logits_hash = sampled->hash[sampled->taken];
            sampled->finish = take_token(c, d, sampled->id[sampled->taken++], now);
        }
        if (!p->run[i].kept) continue;
        if (!sampled->taken) sampled->taken = 1;
        d->max_added = sampled->taken;
        memcpy(d->accepted, p->run[i].tokens, sampled->taken * sizeof *d->accepted);
        d->accepted[sampled->taken] = d->next;
        d->n_accepted = sampled->taken + 1;
    }
}

/* Adds a pass of this many seconds to the measured speed. */
static void measure_pass(struct tdm_chat *c, double took)
{
    const struct decode_pass *p = &c->writer.pass;
    bool shared = c->reader.follower.plan.active && p->shares, alone = !c->reader.follower.plan.active && !p->shares;
    if (p->burst.n > 1) took /= p->sampled[0].n;
    double single = took / drafts_cost(&c->writer.drafting.drafts, p->drafts);
    if (p->n == 1 && (shared || alone)) overlap_cost_add(&c->writer.overlap_cost, shared, single);
    if (p->n == 1 && (shared || alone)) drafting_count(&c->writer, took, alone);
    if (p->n > 1 && p->drafts) drafting_count(&c->writer, took, false);
    if (p->front && (shared || alone) && chat_back_goes_on(c)) joining_count(&c->writer.joining, p->back, single);
}

/* The states have what was taken: the replies go on, or end. took: seconds; 0: the pass made states and evaluated
 * nothing. */
static void end_pass(struct tdm_chat *c, struct activity_span *span, tdm_status status, double took, const char *why)
{
    struct decode_pass *p = &c->writer.pass;
    bool wanted[PASS_RUNS], any = false;
    span->tokens = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        struct decoder *d = p->decoder[i];
        wanted[i] = decoder_runs(d) && d->writing;
        any |= decoder_runs(d);
        d->max_added = d->n_accepted = 0;
        d->state_tokens = status || p->status[i] ? 0 : d->state->length;
        if (status || took == 0) continue;
        uint32_t taken = p->sampled[i].taken;
        span->tokens += taken ? taken : 1;
        d->stats.passes += p->burst.n > 1 ? taken : taken > 0;
        d->stats.accepted += p->burst.n == 1 && taken ? taken - 1 : 0;
        d->stats.drafted += i == 0 ? p->drafts : 0;
    }
    if (p->front) chat_event(c, c->front, ON_RETURN);
    if (p->back) chat_event(c, c->back, ON_RETURN);
    if (any && status == TDM_OK && took > 0) measure_pass(c, took);
    for (uint32_t i = 0; i < p->n && any && !status; i++)
        if (p->status[i] == TDM_E_IO && lost_check(c, p->err[i].text)) return;
    if (any && status) fail_pass(c, why);
    if (!any || status) return;
    /* Before the last reply ends, and perhaps the next one begins. */
    if (took > 0) keep_pace(c, p->run[0].kept ? p->sampled[0].taken : 1);
    for (uint32_t i = 0, n = p->n; i < n; i++) {
        struct decoder *d = p->decoder[i];
        if (!wanted[i]) continue;
        if (p->status[i]) {
            events_post_line(c->events, TDM_EV_ERROR, "answer %d could not begin: %s", d->number, p->err[i].text);
            answer_end(c, d, TDM_FINISH_FAILED);
        } else {
            go_on(c, d, p->sampled[i].finish);
        }
    }
}

static void job_decode(void *ctx, struct team *team, struct activity_span *span)
{
    struct tdm_chat *c = ctx;
    struct decode_pass *p = &c->writer.pass;
    const struct side *side = &c->side[p->decoder[0]->unit];
    tdm_error err = {0};
    int64_t start = clock_ns();
    span->first = p->run[0].state->length;
    span->ids_hash = p->n == 1 ? activity_hash(p->run[0].tokens, 1) : 0;
    drafting_make(c, team);
    if (p->drafts) p->burst.n = 1;
    tdm_status status;
    if (p->burst.n > 1) {
        status = burst_sample(c, &span->bytes, &err);
    } else {
        status = evaluator_forward(team, side->evaluator, p->run, p->n, NULL, &span->bytes, &err);
        if (status == TDM_OK) status = draw_all(c, team, &err);
    }
    chat_lock(c);
    if (status == TDM_OK) take_tokens(c);
    if (status == TDM_OK && p->run[0].kept) {
        /* What is accepted is already shown while it is added to the state. */
        chat_unlock(c);
        drafting_accept(c, team);
        span->ids_hash = activity_hash(p->tokens, p->sampled[0].taken);
        chat_lock(c);
    }
    end_pass(c, span, status, (double)(clock_ns() - start) / 1e9, err.text);
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}

/* Makes the states of answers, a member one at a time, and samples their first tokens. */
static void fork_runs(void *ctx, struct member *m)
{
    struct tdm_chat *c = ctx;
    struct decode_pass *p = &c->writer.pass;
    uint32_t i, end;
    while (member_claim(m, p->n, 1, &i, &end)) {
        struct decoder *d = p->decoder[i];
        p->status[i] = state_copy(d->state, p->forked, &p->err[i]);
        if (p->status[i] == TDM_OK) p->status[i] = draw_run(c, i, &p->err[i]);
    }
}

/* The first answer has begun with the prompt's state and not gone on yet: the others begin with copies of it, which
 * share its pages. Apart from the first token, for which the user waits. */
static void job_fork(void *ctx, struct team *team, struct activity_span *span)
{
    struct tdm_chat *c = ctx;
    team_run(team, fork_runs, c);
    chat_lock(c);
    take_tokens(c);
    end_pass(c, span, TDM_OK, 0, "");
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}

/* ---- Sources ----------------------------------------------------------------------------------------------------- */

/* While a caller waits for the states, or the pass of another unit has not ended, the source is asked again after this
 * time. */
enum { LOOK_AGAIN_NS = 1000000 };

/* The runs of a turn's replies that go on; in a pass that makes states those of all but the first answer. */
static uint32_t add_runs(struct decode_pass *p, struct decoder *const *decoders, int answers)
{
    uint32_t before = p->n;
    for (int i = p->forked != NULL; i < answers; i++) {
        struct decoder *d = decoders[i];
        if (!d->writing) continue;
        d->max_added = !p->forked;
        p->decoder[p->n] = d;
        p->status[p->n] = TDM_OK;
        p->run[p->n++] = (struct forward_run){.state = d->state, .tokens = &d->next, .n = 1, .logits = LOGITS_LAST};
    }
    return p->n - before;
}

static void begin_plan(struct tdm_chat *c, const struct state *forked)
{
    struct decode_pass *p = &c->writer.pass;
    p->n = p->drafts = p->front = p->back = 0;
    p->draft_s = 0;
    p->burst.n = 1;
    p->forked = forked;
    p->shares = c->reader.follower.plan.active;
}

/* The pass that makes the states of several answers, if it is its time. False also where they were stopped before. */
static bool plan_forks(struct tdm_chat *c, bool front, bool back)
{
    struct dialogue *e = c->back;
    if (front && c->front->forks_pending) {
        c->front->forks_pending = false;
        begin_plan(c, c->front->decoders[0]->state);
        c->writer.pass.front = add_runs(&c->writer.pass, c->front->decoders, c->front->answers);
        if (c->writer.pass.n) return true;
    }
    if (!back || !e->forks_pending) return false;
    e->forks_pending = false;
    begin_plan(c, e->decoders[0]->state);
    c->writer.pass.back = add_runs(&c->writer.pass, e->decoders, e->answers);
    return c->writer.pass.n;
}

/* The replies in front go on with every pass, those in the back as joining.h has it; without room for all in one pass
 * they have some of their own. */
static void plan_pass(struct tdm_chat *c, bool front, bool back)
{
    struct decode_pass *p = &c->writer.pass;
    const struct dialogue *e = c->back;
    bool room = dialogue_writing(c->front) + dialogue_writing(c->back) <= TDM_ANSWERS_MAX;
    begin_plan(c, NULL);
    bool joins = back && (!front || joining_due(&c->writer.joining, room));
    if (front && (!joins || room)) p->front = add_runs(p, c->front->decoders, c->front->answers);
    if (joins) p->back = add_runs(p, e->decoders, e->answers);
    if (front && back) joining_passed(&c->writer.joining, joins);
    if (p->front == 1 || p->n == 1) p->drafts = drafting_wanted(c, p->decoder[0]);
    if (p->front == 1 && p->n == 1) burst_plan(c);
}

static int64_t claim(struct tdm_chat *c, struct work *work)
{
    const struct decode_pass *p = &c->writer.pass;
    bool forks = p->forked;
    if (p->front) chat_event(c, c->front, ON_CLAIM);
    if (p->back) chat_event(c, c->back, ON_CLAIM);
    *work = (struct work){.fn = forks ? job_fork : job_decode, .ctx = c, .kind = forks ? SPAN_NONE : SPAN_DECODE,
                          .tokens = forks ? 0 : p->n};
    return UNIT_WORK;
}

int64_t decode_next(struct tdm_chat *c, int unit, int64_t now_ns, struct work *work)
{
    bool front = c->front->stage == STAGE_DECODE && c->front->decoder->unit == unit;
    bool back = unit == TDM_DECODE_UNIT && c->back->stage == STAGE_DECODE && chat_back_goes_on(c);
    if (!front && !back) return UNIT_IDLE;
    if (front && chat_on_server(c)) return stream_next(c, work);
    if (c->writer.waiting || c->back->stage == STAGE_DECODE_RUN) return now_ns + LOOK_AGAIN_NS;
    if (plan_forks(c, front, back)) return claim(c, work);
    if (front && adopt_next(c, unit, now_ns, work)) return UNIT_WORK;
    if (now_ns < c->writer.not_before_ns) return c->writer.not_before_ns;
    plan_pass(c, front, back);
    return claim(c, work);
}
