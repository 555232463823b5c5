/* The sources of the units' work, and a turn's beginning and end. What the work does is in follow.c, prompt.c and
 * decode.c. */
#include "engine/base/buffer.h"
#include "engine/chat/chat.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/forward/logits.h"

struct unit *chat_unit(const struct tdm_chat *c, int unit)
{
    return c->machine->units[unit];
}

const struct pipeline *chat_pipeline(const struct tdm_chat *c)
{
    return pipeline_of(c->pipeline);
}

enum stage_phase chat_phase(const struct tdm_chat *c)
{
    return stage_phase(c->stage);
}

/* The unit whose next job this stage has. The other one is left asleep, so that its cores can be lent. */
static int waited_for_by(const struct tdm_chat *c)
{
    if (c->stage == STAGE_RESUME || c->stage == STAGE_OWN) return chat_pipeline(c)->decode_unit;
    return stage_prompts(c->stage) ? pipeline_of(c->prompter.pipeline)->prompt_unit : TDM_PREFILL_UNIT;
}

void chat_on(struct tdm_chat *c, enum stage_event event)
{
    struct stage_transition t = stage_transition(c->stage, event);
    assert_always(t.possible);
    bool rested = !chat_goes_on_elsewhere(c);
    c->stage = t.next;
    if (rested && chat_goes_on_elsewhere(c)) unit_wake(chat_unit(c, TDM_DECODE_UNIT));
    switch (t.action) {
    case DO_WAKE: unit_wake(chat_unit(c, waited_for_by(c))); break;
    case DO_READ:
        c->read_at_enter = c->stats.prompt_tokens; /* the plans to come say it */
        unit_wake(chat_unit(c, TDM_PREFILL_UNIT));
        break;
    case DO_CANCEL: atomic_store(&c->prompter.cancel, true); break;
    case DO_REPLY: chat_reply(c); break;
    default: break; /* nothing, or a job, which is its claimant's */
    }
}

/* ---- Sources ----------------------------------------------------------------------------------------------------- */

/* A job still uses what is to be exchanged. */
enum { LOOK_AGAIN_NS = 1000000 };

static int64_t next(struct tdm_chat *c, int unit, int64_t now_ns, struct work *work)
{
    chat_lock(c);
    int64_t when = UNIT_IDLE;
    if (c->lost && !chat_recover(c)) {
        chat_unlock(c);
        return now_ns + LOOK_AGAIN_NS;
    }
    if (unit == TDM_PREFILL_UNIT && c->loaded && !c->follower.plan.active) chat_adopt_loaded(c);
    if (c->stage == STAGE_RESUME) chat_go_on(c);
    if (chat_phase(c) == PHASE_DECODE && c->decoder->unit == unit)
        when = chat_next_token(c, unit, now_ns, work);
    else if (c->stage == STAGE_OWN && chat_pipeline(c)->decode_unit == unit)
        when = chat_next_own(c, work);
    else if (stage_prompts(c->stage) && pipeline_of(c->prompter.pipeline)->prompt_unit == unit)
        when = chat_next_prompt(c, work);
    else if (unit == TDM_PREFILL_UNIT && chat_pipeline(c)->follows && c->stage != STAGE_RESUME_BUSY)
        when = chat_next_follow(c, now_ns, work);
    else
        when = chat_next_token(c, unit, now_ns, work); /* of the replies elsewhere */
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

/* ---- A turn's beginning and end ---------------------------------------------------------------------------------- */

/* The prompt must leave room for a reply; with drop-oldest turns are left out until it takes three quarters. */
static tdm_status fit(struct tdm_chat *c, int64_t now_ns, tdm_error *err)
{
    uint32_t context = pool_context(c->decoder->state->pool);
    chat_compute_target(c, now_ns);
    if (c->target.n == 0) return error_set(err, TDM_E_REFUSED, "the template refuses this conversation");
    if (c->target.n + c->target.own < context) return TDM_OK;
    int before = c->path_start, last = conversation_path(&c->conversation, NULL, 0) - 1;
    while (c->options.on_full == TDM_FULL_DROP_OLDEST && c->target.n > context / 4 * 3 && c->path_start + 2 <= last) {
        c->path_start += 2;
        chat_compute_target(c, now_ns);
    }
    if (c->target.n + c->target.own < context) {
        events_post_line(c->events, TDM_EV_NOTICE, "the context is full: the oldest %d messages are left out",
                         c->path_start);
        return TDM_OK;
    }
    uint32_t tokens = c->target.n + c->target.own;
    c->path_start = last; /* would it fit with all that was said before left out? */
    chat_compute_target(c, now_ns);
    bool alone = c->target.n + c->target.own < context;
    c->path_start = before;
    return error_set(err, TDM_E_CONTEXT, "%s: the prompt has %u tokens, there is room for %u",
                     alone ? "the context is full" : "the message is too long", tokens, context - 1);
}

tdm_status chat_let_go(struct tdm_chat *c, tdm_error *err)
{
    if (stage_prompts(c->stage) && c->prompter.cold)
        return error_set(err, TDM_E_BUSY, "a cold prompt is being measured");
    /* A prompt that was stopped is let go at its next layer. */
    while (c->stage == STAGE_IDLE_DROP) pthread_cond_wait(&c->settled, &c->lock);
    return TDM_OK;
}

/* A reply that was loaded from a file has a text and no ids; when it is continued it gets those that were made of its
 * text, or a second continuation would know those of the first alone. */
static tdm_status take_loaded_reply(struct tdm_chat *c, tdm_error *err)
{
    struct node *node = &c->conversation.nodes[c->reply_node];
    const struct target *t = &c->target;
    if (!c->reply_node || node->reply.n || chat_on_server(c)) return TDM_OK; /* a server goes on from the text */
    return ids_list_append(&node->reply, t->ids + t->n + t->own - t->reply, t->reply, err);
}

tdm_status chat_begin(struct tdm_chat *c, int user, int answers, int64_t enter_ns, tdm_turn_mark mark, tdm_error *err)
{
    bool resumed = answers == 0;
    if (resumed) answers = 1;
    tdm_status status = chat_let_go(c, err);
    if (!status) status = events_reserve(c->events, 2 * answers + chat_writing_elsewhere(c), err);
    if (status) return status;
    chat_arrange_decoders(c, answers);
    status = chat_prepare(c, c->options.pipeline, answers, false, err);
    if (status) return status;
    c->answers = answers;
    c->pipeline = c->options.pipeline;
    c->user_node = user;
    c->reply_node = resumed ? c->conversation.leaf : 0;
    const struct pipeline *pipeline = chat_pipeline(c);
    chat_on(c, pipeline->follows ? ON_FOLLOW : ON_PROMPT); /* from now on the target is the whole prompt */
    status = fit(c, clock_ns(), err);
    if (status == TDM_OK) status = take_loaded_reply(c, err);
    if (status == TDM_OK) status = chat_take_own(c, err);
    if (status == TDM_OK && !pipeline->follows) status = chat_begin_prompt(c, err);
    if (status) {
        chat_on(c, ON_END);
        return status;
    }
    struct follower *f = &c->follower;
    bool in_place = resumed && pipeline->follows && chat_continues_in_place(c);
    if (in_place)
        chat_on(c, ON_IN_PLACE);
    else if (pipeline->follows)
        follower_expedite(f, &c->target, clock_ns());
    else
        follower_cancel_if_stale(f, &c->target);
    c->read_at_enter = 0;
    if (in_place)
        c->read_at_enter = c->decoder->held + c->decoder->coming;
    else if (pipeline->follows)
        c->read_at_enter = f->plan.active ? follower_in_state(f, &c->target) : follower_reachable(f, &c->target);
    if (pipeline->follows && chat_adoptable(c) > c->read_at_enter) c->read_at_enter = chat_adoptable(c);
    c->stats = (tdm_turn_stats){
        .mark = mark,
        .enter_ns = enter_ns,
        .prompt_tokens = c->target.n + c->target.own,
        .turn_tokens = c->target.n + c->target.own - c->target.opening,
        .ids_hash = LOGITS_HASH_START,
        .logits_hash = LOGITS_HASH_START,
    };
    c->turn_base = target_common_prefix(&c->target, c->last_prompt.ids, (uint32_t)c->last_prompt.n);
    chat_account_before(c);
    c->follower_failed = false;
    c->last_prompt.n = 0;
    ids_list_append(&c->last_prompt, c->target.ids, c->target.opening, NULL);
    if (c->stage == STAGE_RESUME) {
        chat_begin_reply(c, 0, 0);
        return TDM_OK;
    }
    if (!c->two_pools && chat_can_hand_over(c)) {
        chat_hand_over(c);
        return TDM_OK;
    }
    /* The other unit is left asleep: one that asks its source at this moment would keep its cores from the dispatch
     * that is waited for. */
    unit_wake(chat_unit(c, in_place ? pipeline->decode_unit : pipeline->prompt_unit));
    return TDM_OK;
}

static void warn_of_context(struct tdm_chat *c, uint32_t used)
{
    uint32_t size = (uint32_t)c->options.context;
    if (c->context_warned || used < size / 5 * 4) return;
    c->context_warned = true;
    events_post_line(c->events, TDM_EV_NOTICE, "the context is %u %% full: %u of %u tokens", used * 100 / size, used,
                     size);
}

/* A reply ends, or with node 0 a turn without one. */
static void conclude(struct tdm_chat *c, int node, tdm_turn_stats *stats, tdm_finish finish)
{
    stats->end_ns = clock_ns();
    if (node) {
        c->conversation.nodes[node].finish = finish;
        c->conversation.nodes[node].stats = *stats;
    }
    const struct decoder *d = chat_decoder_of(c, node);
    int writing = chat_writing(c);
    if (!writing) chat_on(c, ON_END);
    events_post(c->events, &(tdm_event){.kind = TDM_EV_END, .node = node, .answer = d ? d->number : 1,
                                        .answers = c->answers, .writing = writing, .lost = d ? d->lost : 0,
                                        .finish = finish, .stats = *stats});
    if (!writing || d == c->decoder) chat_retarget(c, stats->end_ns);
    if (writing) return;
    pthread_cond_broadcast(&c->settled);
    chat_send_queued(c, stats->end_ns, TDM_QUEUED);
}

void chat_end_answer(struct tdm_chat *c, struct decoder *d, tdm_finish finish)
{
    struct reply_piece rest;
    if (finish != TDM_STOP_STRING && reply_finish(&d->reply, &rest, NULL) == TDM_OK) {
        chat_give_text(c, d, rest.thinking, true, -1);
        chat_give_text(c, d, rest.answer, false, -1);
    }
    d->writing = false;
    if (d->elsewhere) {
        chat_conclude_elsewhere(c, d, finish);
        return;
    }
    if (finish != TDM_CONTEXT) warn_of_context(c, chat_filled(d)); /* the end of the context is told as the reply's */
    c->decode_rate = d->stats.decode_tps;
    if (chat_writing(c) == 0) c->turns_since_load++;
    conclude(c, d->node, &d->stats, finish);
}

void chat_end(struct tdm_chat *c, tdm_finish finish)
{
    enum stage_phase phase = chat_phase(c);
    if (phase == PHASE_PROMPT && !c->again) conclude(c, c->reply_node, &c->stats, finish);
    if (phase != PHASE_DECODE && !c->again) return;
    c->again = false;
    /* The next turn may begin with the last one's end. */
    for (int i = 0, left = chat_writing(c); left > 0; i++) {
        if (!c->decoders[i]->writing) continue;
        left--;
        chat_end_answer(c, c->decoders[i], finish);
    }
}

void chat_send_queued(struct tdm_chat *c, int64_t now_ns, tdm_turn_mark mark)
{
    if (!c->has_queued || chat_phase(c) != PHASE_IDLE) return;
    tdm_error err;
    c->has_queued = false;
    int answers = c->queued_answers > 1 ? c->queued_answers : 1;
    c->queued_answers = 0;
    int user = conversation_add(&c->conversation, c->conversation.leaf, TDM_USER, c->queued.bytes, c->queued.n, &err);
    tdm_status status = user ? TDM_OK : TDM_E_NOMEM;
    events_post(c->events, &(tdm_event){.kind = TDM_EV_UNQUEUED});
    if (status == TDM_OK) {
        events_post(c->events, &(tdm_event){.kind = TDM_EV_TURN, .node = user});
        status = chat_begin(c, user, answers, now_ns, mark, &err);
        if (status) conversation_remove_last(&c->conversation);
    }
    if (status) {
        chat_retarget(c, now_ns);
        events_post_line(c->events, TDM_EV_ERROR, "the queued message was not sent: %s", err.text);
        events_post(c->events, &(tdm_event){.kind = TDM_EV_PATH});
    }
    buffer_clear(&c->queued);
}
