/* A reply from the state of its prompt to its last token. */
#include "engine/chat/chat.h"

#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/chat/pace.h"
#include "engine/forward/logits.h"

#include <string.h>

/* So many tokens of a reply are decoded before the follower asks for its cores back: it has nothing urgent to do. */
enum { FIRST_TOKENS = 4 };

static uint64_t hash_id(uint64_t hash, tdm_id id)
{
    return fnv_step(hash, (uint32_t)id);
}

static bool is_stop(const struct tdm_chat *c, tdm_id id)
{
    const struct config *config = &c->side[TDM_DECODE_UNIT].weights->config;
    for (uint32_t i = 0; i < config->stop_count; i++)
        if (config->stops[i] == id) return true;
    return false;
}

void chat_give_text(struct tdm_chat *c, struct decoder *d, struct span text, bool thinking, tdm_id id)
{
    if (text.length == 0) return;
    bool kept = !conversation_append(chat_conversation_of(c, d), d->node, thinking, text.bytes, text.length, NULL);
    if (!kept) events_post_line(c->events, TDM_EV_ERROR, "no memory: a part of the reply was not kept");
    if (!thinking && d->stats.first_answer_ns == 0) d->stats.first_answer_ns = clock_ns();
    const tdm_event e = {.kind = TDM_EV_TEXT, .node = d->node, .elsewhere = d->elsewhere, .answer = d->number,
                         .answers = chat_answers_of(c, d), .text = text.bytes, .length = text.length,
                         .thinking = thinking, .id = id, .tokens = d->stats.reply_tokens};
    /* Behind a gap nothing more is told: what was lost is the text's end. */
    if ((d->lost || !events_post(c->events, &e)) && kept && !thinking) d->lost += text.length;
}

/* Wakes the follower when there is enough of the reply that it follows. */
static void be_followed(struct tdm_chat *c, struct decoder *d)
{
    uint32_t here = c->follower.length;
    uint32_t behind = (c->target.n > here ? c->target.n - here : 0) + c->unfollowed;
    if (!chat_pipeline(c)->follows || chat_level(c) < TDM_SPEC_HISTORY) return;
    if (c->options.reading == TDM_READ_AT_PAUSES) return;
    if (here && behind > d->stats.lag_max) d->stats.lag_max = behind;
    /* The follower waits for a full dispatch; asking it sooner would take its core from this unit's team. */
    if (behind >= c->follower.polite && d->stats.reply_tokens >= FIRST_TOKENS && !c->follower.plan.active &&
        !chat_decoder_leads(c))
        unit_wake(chat_unit(c, TDM_PREFILL_UNIT));
}

struct span chat_message_of(struct tdm_chat *c, const struct decoder *d)
{
    const struct conversation *all = chat_conversation_of(c, d);
    const struct buffer *text = &all->nodes[all->nodes[d->node].parent].text;
    return (struct span){text->bytes, text->n};
}

/* The guard's tokenizer: of a reply that comes as text there is none. */
static const struct tokenizer *guarded_by(const struct tdm_chat *c)
{
    return chat_on_server(c) ? NULL : c->model->tokenizer;
}

bool chat_guards(const struct tdm_chat *c, struct decoder *d)
{
    bool guards = c->options.loop_guard && !c->options.ignore_eos;
    if (!guards) guard_begin(&d->guard, guarded_by(c));
    return guards;
}

/* Why the token that was drawn last is the reply's last. TDM_UNFINISHED: it isn't. */
static tdm_finish last_because(const struct decoder *d, const struct reply_piece *piece, bool repeats)
{
    const tdm_turn_stats *s = &d->stats;
    if (piece->stopped) return TDM_STOP_STRING;
    if (d->max_tokens > 0 && s->reply_tokens >= d->max_tokens) return TDM_LENGTH;
    if (d->max_answer > 0 && s->reply_tokens - s->thinking_tokens >= d->max_answer) return TDM_LENGTH;
    if (repeats) return TDM_REPEATS;
    return d->prompt + d->index >= pool_context(d->state->pool) ? TDM_CONTEXT : TDM_UNFINISHED;
}

/* A token of the reply was drawn: shows it, and decides whether it is the last and why. */
static tdm_finish take_token(struct tdm_chat *c, struct decoder *d, tdm_id id)
{
    struct node *node = &chat_conversation_of(c, d)->nodes[d->node];
    tdm_turn_stats *s = &d->stats;
    int64_t now = clock_ns();
    if (s->first_id_ns == 0) s->first_id_ns = now;
    if (id < 0) {
        events_post_line(c->events, TDM_EV_ERROR, "the model gave no finite logit: the reply ends here");
        return TDM_FAILED;
    }
    if (is_stop(c, id) && !c->options.ignore_eos) return TDM_END;
    struct reply_piece piece;
    tdm_error err;
    bool thought = d->reply.thinking; /* </think> too */
    tdm_status status = ids_list_append(&node->reply, &id, 1, &err);
    if (status == TDM_OK) status = reply_push(&d->reply, id, &piece, &err);
    if (status) {
        events_post_line(c->events, TDM_EV_ERROR, "no memory for the reply: it ends here");
        return TDM_FAILED;
    }
    s->ids_hash = hash_id(s->ids_hash, id);
    s->reply_tokens++;
    if (thought) s->thinking_tokens++;
    s->last_id_ns = now;
    if (now > s->first_id_ns) s->decode_tps = (s->reply_tokens - 1) * 1e9 / (double)(now - s->first_id_ns);
    if (c->options.pace_tps > 0) s->paced = true;
    d->next = id;
    d->index++;
    if (d == c->decoder) c->unfollowed++;
    chat_give_text(c, d, piece.thinking, true, id);
    chat_give_text(c, d, piece.answer, false, id);
    return last_because(d, &piece, chat_guards(c, d) && guard_push(&d->guard, id, chat_message_of(c, d)));
}

/* The reply has gone on by a pass, or ends. */
static void go_on(struct tdm_chat *c, struct decoder *d, tdm_finish finish)
{
    if (finish != TDM_UNFINISHED)
        chat_end_answer(c, d, finish);
    else if (d == c->decoder)
        be_followed(c, d);
}

/* A pass gave so many tokens of each reply: when is the next one due? */
static void keep_pace(struct tdm_chat *c, uint32_t tokens)
{
    double tps = c->options.pace_tps / tokens;
    if (tps > 0) c->not_before_ns = pace_next(c->not_before_ns, clock_ns(), tps);
}

/* Draws the next token of the reply from the decoder's state. Whoever claimed the decoder calls it. */
static tdm_status draw(const struct tdm_chat *c, struct decoder *d, tdm_id *id, tdm_error *err)
{
    struct draw draw = {d->sampler, &d->sampling, d->turn, d->attempt, d->index};
    tdm_status status = evaluator_draw(c->side[d->unit].evaluator, d->state, &draw, id, err);
    if (status == TDM_OK && d->hashes) {
        const float *logits;
        status = state_logits(d->state, &logits, err);
        if (status == TDM_OK)
            d->logits_hash = logits_hash(d->logits_hash, logits, pool_shape(d->state->pool)->vocab);
    }
    if (status == TDM_OK && *id >= 0) sampler_accept(d->sampler, *id);
    return status;
}

static uint32_t above(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

void chat_account_before(struct tdm_chat *c)
{
    tdm_turn_stats *s = &c->stats;
    s->earlier = c->turn_base < c->read_at_enter ? c->turn_base : c->read_at_enter;
    s->before_enter = c->read_at_enter - s->earlier;
    uint32_t from = c->adopted.from > s->earlier ? c->adopted.from : s->earlier;
    s->adopted = above(c->adopted.to < c->read_at_enter ? c->adopted.to : c->read_at_enter, from);
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
    if (c->arrival.in_place) c->read_at_enter = c->decoder->held;
    chat_account_before(c);
    c->stats.after_enter = c->stats.prompt_tokens - c->read_at_enter;
    uint64_t evaluated = f->evaluated - c->evaluated_mark;
    uint64_t fresh = c->stats.prompt_tokens - c->turn_base - c->stats.adopted;
    if (chat_pipeline(c)->follows) {
        c->stats.wasted = evaluated > fresh ? (uint32_t)(evaluated - fresh) : 0;
        c->stats.suffix_evaluations = f->suffixes - c->suffix_mark;
    }
    c->adopted.from = c->adopted.to = 0;
    c->evaluated_mark = f->evaluated;
    c->suffix_mark = f->suffixes;
}

/* A reply is continued: brings sampler and text to where it stopped. What was shown at the stop because nothing
 * followed (half a character, the beginning of a stop string) is open again. */
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

/* The nodes of the answers; the first one is the turn's reply and current. False without memory for it. */
static bool add_replies(struct tdm_chat *c, tdm_error *err)
{
    int wanted = c->answers, node;
    c->answers = 1;
    for (int i = 0; i < wanted; i++) {
        if (!(node = conversation_add(&c->conversation, c->user_node, TDM_ASSISTANT, "", 0, err))) break;
        c->conversation.nodes[node].think = c->options.think;
        c->decoders[i]->node = node;
        c->answers = i + 1;
    }
    if (c->decoders[0]->node) conversation_select(&c->conversation, c->decoders[0]->node);
    c->reply_node = c->decoders[0]->node;
    return c->reply_node;
}

void chat_begin_reply(struct tdm_chat *c, int64_t moving_ns, uint64_t bytes)
{
    tdm_error err;
    c->arrival = (struct arrival){moving_ns, bytes, c->stage == STAGE_RESUME};
    if (!c->reply_node && !add_replies(c, &err)) {
        events_post_line(c->events, TDM_EV_ERROR, "%s", err.text);
        chat_end(c, TDM_FAILED);
        return;
    }
    c->carrier = c->decoder;
    if (!c->again) c->decoder->node = c->reply_node;
    chat_on(c, !c->arrival.in_place && chat_lacks_own(c) ? ON_OWN : ON_READY);
}

/* Fills in what an answer depends on: its node, the prompt's tokens, and the options as they are now. */
static void begin_answer(struct tdm_chat *c, struct decoder *d, int number, const tdm_id *prompt)
{
    struct node *node = &c->conversation.nodes[d->node];
    node->finish = TDM_UNFINISHED;
    d->number = number;
    d->writing = true;
    d->lost = 0;
    d->prompt = (c->arrival.in_place ? c->stats.prompt_tokens : c->decoder->held) - (uint32_t)node->reply.n;
    d->index = (uint32_t)node->reply.n;
    d->turn = (uint32_t)conversation_turns(&c->conversation, d->node);
    d->attempt = node->attempt;
    d->sampling = c->options.sampling;
    d->max_tokens = c->options.max_tokens > 0 ? (uint32_t)c->options.max_tokens : 0;
    d->max_answer = c->options.max_answer_tokens > 0 ? (uint32_t)c->options.max_answer_tokens : 0;
    d->hashes = c->options.hash_logits;
    d->mtp_accept = c->options.mtp_accept;
    d->logits_hash = LOGITS_HASH_START;
    d->unit = chat_pipeline(c)->decode_unit;
    reply_free(&d->reply);
    bool thinks = node->think && c->model->form.can_think && !(chat_on_server(c) && node->text.n);
    reply_init(&d->reply, c->model->tokenizer, thinks, (const char *const *)c->stops);
    guard_begin(&d->guard, guarded_by(c));
    sampler_start(d->sampler, prompt, d->prompt);
    if (node->reply.n) repeat_reply(c, d, node);
}

/* There is no next token. */
static void fail(struct tdm_chat *c, const char *why)
{
    if (chat_lose(c, why)) return;
    events_post_line(c->events, TDM_EV_ERROR, "DECODE failed: %s", why);
    chat_end(c, TDM_FAILED);
}

/* Nor is there for any reply of the pass. */
static void fail_pass(struct tdm_chat *c, const char *why)
{
    if (chat_lose(c, why)) return;
    events_post_line(c->events, TDM_EV_ERROR, "DECODE failed: %s", why);
    chat_end_elsewhere(c, TDM_FAILED);
    if (chat_phase(c) == PHASE_DECODE) chat_end(c, TDM_FAILED);
}

static void tell_reply(struct tdm_chat *c, const struct decoder *d)
{
    events_post(c->events, &(tdm_event){.kind = TDM_EV_REPLY, .node = d->node, .answer = d->number,
                                        .answers = c->answers, .stats = d->stats});
}

/* The replies' states were lost and are there again: each goes on with its next token. */
static void go_on_again(struct tdm_chat *c)
{
    int left = chat_writing(c);
    c->again = c->forks = false;
    for (int i = 0; left > 0 && i < c->answers; i++) {
        struct decoder *d = c->decoders[i];
        tdm_error err;
        tdm_id id;
        if (!d->writing) continue;
        d->held = d->state->length;
        if (draw(c, d, &id, &err)) {
            fail(c, err.text);
            return;
        }
        d->stats.logits_hash = d->logits_hash;
        tdm_finish finish = take_token(c, d, id);
        left -= finish != TDM_UNFINISHED;
        go_on(c, d, finish);
        if (!left) return; /* the next turn may have begun */
    }
    unit_wake(chat_unit(c, c->decoder->unit));
    chat_retarget(c, clock_ns());
}

void chat_reply(struct tdm_chat *c)
{
    if (c->again) {
        go_on_again(c);
        return;
    }
    struct decoder *d = c->decoder;
    const struct arrival *arrival = &c->arrival;
    d->held = d->state->length;
    for (int i = 0; i < c->answers; i++) begin_answer(c, c->decoders[i], i + 1, d->state->tokens);
    for (uint32_t i = 0; i < d->prompt; i++) c->stats.ids_hash = hash_id(c->stats.ids_hash, d->state->tokens[i]);
    bool lacks_last_token = d->held < d->prompt + d->index, draws = !lacks_last_token && !chat_on_server(c);
    const tdm_ids *before = &c->conversation.nodes[d->node].reply;
    tdm_error err;
    tdm_id first = lacks_last_token ? before->ids[before->n - 1] : -1;
    tdm_status status = draws ? draw(c, d, &first, &err) : TDM_OK;
    c->stats.logits_hash = d->logits_hash;
    account(c);
    if (arrival->since_ns) {
        struct activity_span span = {.start_ns = arrival->since_ns, .end_ns = clock_ns(), .kind = SPAN_HANDOVER,
                                     .bytes = arrival->bytes};
        c->handover_ms = c->stats.handover_ms = (double)(span.end_ns - span.start_ns) / 1e6;
        activity_add(unit_activity(chat_unit(c, TDM_DECODE_UNIT)), &span);
    }
    for (int i = 0; i < c->answers; i++) {
        c->decoders[i]->stats = c->stats;
        if (i > 0) c->decoders[i]->held = 0; /* until its state is made */
        tell_reply(c, c->decoders[i]);
    }
    bool alone = c->answers == 1;
    c->forks = !alone && !chat_on_server(c);
    c->not_before_ns = 0;
    if (status) {
        fail(c, err.text);
        return;
    }
    tdm_finish finish = draws ? take_token(c, d, first) : TDM_UNFINISHED;
    if (lacks_last_token) d->next = first;
    if (draws) go_on(c, d, finish);
    if (finish != TDM_UNFINISHED && alone) return; /* it was the only one */
    if (draws) keep_pace(c, 1);
    unit_wake(chat_unit(c, d->unit));
    chat_compute_target(c, clock_ns());
    c->follower_failed = false;
    follower_cancel_if_stale(&c->follower, &c->target);
    if (!c->follower.plan.active) follower_adopt_checkpoint(&c->follower, &c->target); /* take_token wakes it */
}

bool chat_continues_in_place(const struct tdm_chat *c)
{
    const struct decoder *d = c->decoder;
    const struct target *t = &c->target;
    uint32_t n = d->held, all = t->n + t->own;
    if (n == 0 || n > all || c->conversation.nodes[c->reply_node].reply.n == 0) return false;
    if (d->coming > 1 && !d->flights) return false; /* which tokens these are is known when they have come */
    if (memcmp(t->ids, d->state->tokens, n * sizeof *t->ids)) return false;
    for (uint32_t i = 0; i < d->coming; i++, n++)
        if (n == all || t->ids[n] != decoder_token(d, i)) return false;
    return n + 1 >= all;
}

void chat_go_on(struct tdm_chat *c)
{
    if (chat_continues_in_place(c))
        chat_begin_reply(c, 0, 0);
    else
        chat_on(c, ON_NOT_IN_PLACE);
}

/* The tokens of a run of the pass. */
static tdm_status draw_run(struct tdm_chat *c, uint32_t i, tdm_error *err)
{
    struct decode_pass *p = &c->pass;
    struct decoder *d = p->decoder[i];
    struct drawn *drawn = &p->drawn[i];
    if (p->run[i].kept) {
        chat_draw_rows(c, d, &p->run[i], drawn);
        return TDM_OK;
    }
    drawn->n = 1;
    tdm_status status = draw(c, d, &drawn->id[0], err);
    drawn->hash[0] = d->logits_hash;
    return status;
}

/* Members take a run each: what is drawn depends on its decoder alone. */
static void draw_runs(void *ctx, struct member *m)
{
    struct tdm_chat *c = ctx;
    struct decode_pass *p = &c->pass;
    uint32_t i, end;
    while (member_claim(m, p->n, 1, &i, &end)) p->status[i] = draw_run(c, i, &p->err[i]);
}

static tdm_status draw_all(struct tdm_chat *c, struct team *team, tdm_error *err)
{
    struct decode_pass *p = &c->pass;
    if (p->n == 1) return draw_run(c, 0, err);
    team_run(team, draw_runs, c);
    for (uint32_t i = 0; i < p->n; i++) {
        if (!p->status[i]) continue;
        *err = p->err[i];
        return p->status[i];
    }
    return TDM_OK;
}

/* Is what a run of the pass drew still wanted? */
static bool is_wanted(const struct tdm_chat *c, uint32_t i)
{
    return chat_runs(c, c->pass.decoder[i]) && c->pass.decoder[i]->writing && !c->pass.status[i];
}

/* The tokens that a pass drew become their replies'. Of a verified run whose tokens nobody wants any more the state
 * gets the row of the token that was certain, as from any other run. */
static void take_tokens(struct tdm_chat *c)
{
    struct decode_pass *p = &c->pass;
    for (uint32_t i = 0; i < p->n; i++) {
        struct decoder *d = p->decoder[i];
        struct drawn *drawn = &p->drawn[i];
        drawn->finish = TDM_UNFINISHED;
        drawn->taken = 0;
        while (is_wanted(c, i) && drawn->taken < drawn->n && drawn->finish == TDM_UNFINISHED) {
            d->logits_hash = d->stats.logits_hash = drawn->hash[drawn->taken];
            drawn->finish = take_token(c, d, drawn->id[drawn->taken++]);
        }
        if (!p->run[i].kept) continue;
        if (!drawn->taken) drawn->taken = 1;
        d->coming = drawn->taken;
        memcpy(d->flight, p->run[i].tokens, drawn->taken * sizeof *d->flight);
        d->flight[drawn->taken] = d->next;
        d->flights = drawn->taken + 1;
    }
}

/* What a pass of so many seconds tells of the speed. */
static void measure_pass(struct tdm_chat *c, double took)
{
    const struct decode_pass *p = &c->pass;
    bool shared = c->follower.plan.active && p->shares, alone = !c->follower.plan.active && !p->shares;
    if (p->several.n > 1) took /= p->drawn[0].n;
    double single = took / drafts_cost(&c->drafting.drafts, p->drafts);
    if (p->n == 1 && (shared || alone)) kept_add(&c->kept, shared, single);
    if (p->n == 1 && (shared || alone)) chat_count_drafts(c, took, alone);
    if (p->n > 1 && p->drafts) chat_count_drafts(c, took, false);
    if (p->front && (shared || alone) && chat_goes_on_elsewhere(c)) joining_count(&c->joining, p->elsewhere, single);
}

/* The states have what was taken: the replies go on, or end. took: seconds; 0: the pass made states and evaluated
 * nothing. */
static void end_pass(struct tdm_chat *c, struct activity_span *span, tdm_status status, double took, const char *why)
{
    struct decode_pass *p = &c->pass;
    bool wanted[PASS_RUNS], any = false;
    span->tokens = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        struct decoder *d = p->decoder[i];
        wanted[i] = chat_runs(c, d) && d->writing;
        any |= chat_runs(c, d);
        d->coming = d->flights = 0;
        d->held = status || p->status[i] ? 0 : d->state->length;
        if (status || took == 0) continue;
        uint32_t taken = p->drawn[i].taken;
        span->tokens += taken ? taken : 1;
        d->stats.passes += p->several.n > 1 ? taken : taken > 0;
        d->stats.accepted += p->several.n == 1 && taken ? taken - 1 : 0;
        d->stats.drafted += i == 0 ? p->drafts : 0;
    }
    if (p->front) chat_on(c, ON_RETURN);
    if (p->elsewhere) chat_on_elsewhere(c, ON_RETURN);
    if (any && status == TDM_OK && took > 0) measure_pass(c, took);
    for (uint32_t i = 0; i < p->n && any && !status; i++)
        if (p->status[i] == TDM_E_IO && chat_lose(c, p->err[i].text)) return;
    if (any && status) fail_pass(c, why);
    if (!any || status) return;
    /* Before the last reply ends, and perhaps the next one begins. */
    if (took > 0) keep_pace(c, p->run[0].kept ? p->drawn[0].taken : 1);
    for (uint32_t i = 0, n = p->n; i < n; i++) {
        struct decoder *d = p->decoder[i];
        if (!wanted[i]) continue;
        if (p->status[i]) {
            events_post_line(c->events, TDM_EV_ERROR, "answer %d could not begin: %s", d->number, p->err[i].text);
            chat_end_answer(c, d, TDM_FAILED);
        } else {
            go_on(c, d, p->drawn[i].finish);
        }
    }
}

static void job_decode(void *ctx, struct team *team, struct activity_span *span)
{
    struct tdm_chat *c = ctx;
    struct decode_pass *p = &c->pass;
    const struct side *side = &c->side[p->decoder[0]->unit];
    tdm_error err = {0};
    int64_t start = clock_ns();
    span->first = p->run[0].state->length;
    span->ids_hash = p->n == 1 ? activity_hash(p->run[0].tokens, 1) : 0;
    chat_make_drafts(c, team);
    if (p->drafts) p->several.n = 1;
    tdm_status status;
    if (p->several.n > 1) {
        status = chat_draw_several(c, &span->bytes, &err);
    } else {
        status = evaluator_forward(team, side->evaluator, p->run, p->n, NULL, &span->bytes, &err);
        if (status == TDM_OK) status = draw_all(c, team, &err);
    }
    chat_lock(c);
    if (status == TDM_OK) take_tokens(c);
    if (status == TDM_OK && p->run[0].kept) {
        /* What is accepted is already shown while it is added to the state. */
        chat_unlock(c);
        chat_accept_drafts(c, team);
        span->ids_hash = activity_hash(p->tokens, p->drawn[0].taken);
        chat_lock(c);
    }
    end_pass(c, span, status, (double)(clock_ns() - start) / 1e9, err.text);
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}

/* Makes the states of answers, a member one at a time, and draws their first tokens. */
static void fork_runs(void *ctx, struct member *m)
{
    struct tdm_chat *c = ctx;
    struct decode_pass *p = &c->pass;
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

/* A caller waits for the states, or another unit's pass has not ended. */
enum { LOOK_AGAIN_NS = 1000000 };

/* The runs of a turn's replies that go on; in a pass that makes states those of all but the first answer. */
static uint32_t add_runs(struct decode_pass *p, struct decoder *const *decoders, int answers)
{
    uint32_t before = p->n;
    for (int i = p->forked != NULL; i < answers; i++) {
        struct decoder *d = decoders[i];
        if (!d->writing) continue;
        d->coming = !p->forked;
        p->decoder[p->n] = d;
        p->status[p->n] = TDM_OK;
        p->run[p->n++] = (struct forward_run){.state = d->state, .tokens = &d->next, .n = 1, .logits = LOGITS_LAST};
    }
    return p->n - before;
}

static void begin_plan(struct tdm_chat *c, const struct state *forked)
{
    struct decode_pass *p = &c->pass;
    p->n = p->drafts = p->front = p->elsewhere = 0;
    p->draft_s = 0;
    p->several.n = 1;
    p->forked = forked;
    p->shares = c->follower.plan.active;
}

/* The pass that makes the states of several answers, if it is its time. False also where they were stopped before. */
static bool plan_forks(struct tdm_chat *c, bool front, bool elsewhere)
{
    struct elsewhere *e = &c->elsewhere;
    if (front && c->forks) {
        c->forks = false;
        begin_plan(c, c->decoders[0]->state);
        c->pass.front = add_runs(&c->pass, c->decoders, c->answers);
        if (c->pass.n) return true;
    }
    if (!elsewhere || !e->forks) return false;
    e->forks = false;
    begin_plan(c, e->decoders[0]->state);
    c->pass.elsewhere = add_runs(&c->pass, e->decoders, e->answers);
    return c->pass.n;
}

/* The replies in front go on with every pass, those elsewhere as joining.h has it; without room for all in one pass
 * they have some of their own. */
static void plan_pass(struct tdm_chat *c, bool front, bool elsewhere)
{
    struct decode_pass *p = &c->pass;
    const struct elsewhere *e = &c->elsewhere;
    bool room = chat_writing(c) + chat_writing_elsewhere(c) <= TDM_ANSWERS_MAX;
    begin_plan(c, NULL);
    bool joins = elsewhere && (!front || joining_due(&c->joining, room));
    if (front && (!joins || room)) p->front = add_runs(p, c->decoders, c->answers);
    if (joins) p->elsewhere = add_runs(p, e->decoders, e->answers);
    if (front && elsewhere) joining_passed(&c->joining, joins);
    if (p->front == 1 || p->n == 1) p->drafts = chat_drafts_wanted(c, p->decoder[0]);
    if (p->front == 1 && p->n == 1) chat_plan_several(c);
}

static int64_t claim(struct tdm_chat *c, struct work *work)
{
    const struct decode_pass *p = &c->pass;
    bool forks = p->forked;
    if (p->front) chat_on(c, ON_CLAIM);
    if (p->elsewhere) chat_on_elsewhere(c, ON_CLAIM);
    *work = (struct work){.fn = forks ? job_fork : job_decode, .ctx = c, .kind = forks ? SPAN_NONE : SPAN_DECODE,
                          .tokens = forks ? 0 : p->n};
    return UNIT_WORK;
}

int64_t chat_next_token(struct tdm_chat *c, int unit, int64_t now_ns, struct work *work)
{
    bool front = c->stage == STAGE_DECODE && c->decoder->unit == unit;
    bool elsewhere = unit == TDM_DECODE_UNIT && c->elsewhere.stage == STAGE_DECODE && chat_goes_on_elsewhere(c);
    if (!front && !elsewhere) return UNIT_IDLE;
    if (front && chat_on_server(c)) return chat_next_stream(c, work);
    if (c->waiting || c->elsewhere.stage == STAGE_DECODE_RUN) return now_ns + LOOK_AGAIN_NS;
    if (plan_forks(c, front, elsewhere)) return claim(c, work);
    if (front && chat_next_adoption(c, unit, now_ns, work)) return UNIT_WORK;
    if (now_ns < c->not_before_ns) return c->not_before_ns;
    plan_pass(c, front, elsewhere);
    return claim(c, work);
}
