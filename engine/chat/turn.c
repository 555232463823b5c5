#include "engine/chat/turn.h"

#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/chat/full.h"
#include "engine/chat/lost.h"
#include "engine/chat/prepare.h"
#include "engine/chat/reader/adopt.h"
#include "engine/chat/reader/follow.h"
#include "engine/chat/reader/prompt.h"
#include "engine/chat/reader/retarget.h"
#include "engine/chat/writer/arrival.h"
#include "engine/chat/writer/decode.h"
#include "engine/chat/writer/reply_prefix.h"
#include "engine/base/fnv.h"

/* ---- Sources ----------------------------------------------------------------------------------------------------- */

/* While a job uses what the cores are to take over from a lost GPU, the unit asks again after this time. A device is
 * lost so rarely that no wake-up is made for it. */
enum { LOOK_AGAIN_NS = 1000000 };

/* What a unit is to do next. The order is one of priority: a lost GPU is replaced before anything is evaluated; the
 * reply in front comes before the prompt or the target that follows it, and replies in the back come last. */
static int64_t next_job(struct tdm_chat *c, int unit, int64_t now_ns, struct work *work)
{
    chat_lock(c);
    struct dialogue *front = c->front;
    int64_t when = UNIT_IDLE;
    if (c->lost && !lost_recover(c)) {
        chat_unlock(c);
        return now_ns + LOOK_AGAIN_NS;
    }
    if (unit == TDM_PREFILL_UNIT && c->reader.loaded && !c->reader.follower.plan.active)
        follow_adopt_loaded(&c->reader);
    if (front->stage == STAGE_RESUME) arrival_resume(c);
    if (chat_phase(c) == PHASE_DECODE && front->decoder->unit == unit)
        when = decode_next(c, unit, now_ns, work);
    else if (front->stage == STAGE_PREFIX && chat_pipeline(c)->decode_unit == unit)
        when = reply_prefix_next(c, work);
    else if (stage_prompts(front->stage) && pipeline_of(c->reader.prompter.pipeline)->prompt_unit == unit)
        when = prompt_next(c, now_ns, work);
    else if (unit == TDM_PREFILL_UNIT && chat_pipeline(c)->follows && front->stage != STAGE_RESUME_BUSY)
        when = follow_next(c, now_ns, work);
    else
        when = decode_next(c, unit, now_ns, work); /* of the replies in the back */
    chat_unlock(c);
    return when;
}

static int64_t next_prefill(void *chat, int64_t now_ns, struct work *work)
{
    return next_job(chat, TDM_PREFILL_UNIT, now_ns, work);
}

static int64_t next_decode(void *chat, int64_t now_ns, struct work *work)
{
    return next_job(chat, TDM_DECODE_UNIT, now_ns, work);
}

/* ---- A turn's beginning ------------------------------------------------------------------------------------------ */

tdm_status turn_wait_for_stopped_prompt(struct tdm_chat *c, tdm_error *err)
{
    if (stage_prompts(c->front->stage) && c->reader.prompter.cold)
        return error_set(err, TDM_E_BUSY, "a cold prompt is being measured");
    /* A prompt that was stopped is let go at its next layer. */
    while (c->front->stage == STAGE_IDLE_DROP) pthread_cond_wait(&c->settled, &c->lock);
    return TDM_OK;
}

/* A reply that was loaded from a file has a text and no ids; when it is continued it gets those that were made of its
 * text, or a second continuation would know those of the first alone. */
static tdm_status take_loaded_reply(struct tdm_chat *c, tdm_error *err)
{
    struct node *node = &c->front->conversation.nodes[c->front->reply_node];
    const struct target *t = &c->reader.target;
    if (!c->front->reply_node || node->reply.n || chat_on_server(c)) return TDM_OK; /* a server goes on from the text */
    return ids_list_append(&node->reply, t->ids + t->n + t->reply_prefix - t->reply, t->reply, err);
}

/* How much of the prompt has been evaluated, or will be by what runs. */
static uint32_t read_so_far(struct tdm_chat *c, bool in_place)
{
    struct follower *f = &c->reader.follower;
    const struct target *t = &c->reader.target;
    if (!chat_pipeline(c)->follows) return 0;
    uint32_t read, adopted = adopt_tokens(c);
    if (in_place)
        read = c->front->decoder->state_tokens + c->front->decoder->max_added;
    else
        read = f->plan.active ? follower_in_state(f, t) : follower_reachable(f, t);
    return adopted > read ? adopted : read;
}

/* The turn's figures begin, and its prompt is the one that the next is compared with. */
static void begin_figures(struct reader *r, struct dialogue *front, int64_t enter_ns, tdm_turn_mark mark)
{
    const struct target *t = &r->target;
    tdm_ids *last = &front->last_prompt;
    front->stats = (tdm_turn_stats){
        .mark = mark,
        .enter_ns = enter_ns ? enter_ns : clock_ns(),
        .prompt_tokens = t->n + t->reply_prefix,
        .turn_tokens = t->n + t->reply_prefix - t->opening,
        .ids_hash = FNV_START,
        .logits_hash = FNV_START,
    };
    r->turn_base = target_common_prefix(t, last->ids, (uint32_t)last->n);
    arrival_account_before(r, front);
    r->failed = r->replica.failed = false;
    last->n = 0;
    ids_list_append(last, t->ids, t->opening, NULL);
}

tdm_status turn_begin(struct tdm_chat *c, int user, int answers, int64_t enter_ns, tdm_turn_mark mark, tdm_error *err)
{
    struct dialogue *front = c->front;
    struct reader *r = &c->reader;
    bool resumed = answers == 0;
    if (resumed) answers = 1;
    tdm_status status = turn_wait_for_stopped_prompt(c, err);
    if (!status) status = events_reserve(c->events, 2 * answers + dialogue_writing(c->back), err);
    if (status) return status;
    dialogue_arrange(front, answers);
    status = prepare_turn(c, c->options.pipeline, answers, false, err);
    if (status) return status;
    front->answers = answers;
    front->pipeline = c->options.pipeline;
    front->prompt_options = chat_prompt_options(c);
    front->user_node = user;
    front->reply_node = resumed ? front->conversation.leaf : 0;
    const struct pipeline *pipeline = chat_pipeline(c);
    chat_event(c, front, pipeline->follows ? ON_FOLLOW : ON_PROMPT); /* from now on the target is the whole prompt */
    status = full_fit(c, clock_ns(), err);
    if (status == TDM_OK) status = take_loaded_reply(c, err);
    if (status == TDM_OK) status = reply_prefix_take(&c->writer, front->decoder, &r->target, err);
    if (status == TDM_OK && !pipeline->follows)
        status = prompter_begin(&r->prompter, front->pipeline, &r->target, false, err);
    if (status) {
        chat_event(c, front, ON_END);
        return status;
    }
    if (resumed) front->conversation.nodes[front->reply_node].continued = true;
    bool in_place = resumed && pipeline->follows && arrival_in_place(c);
    if (in_place)
        chat_event(c, front, ON_IN_PLACE);
    else if (pipeline->follows)
        follower_expedite(&r->follower, &r->target, clock_ns());
    else
        follower_cancel_if_stale(&r->follower, &r->target);
    r->read_at_enter = read_so_far(c, in_place);
    begin_figures(r, front, enter_ns, mark);
    if (front->stage == STAGE_RESUME) {
        arrival_begin_reply(c, 0, 0);
        return TDM_OK;
    }
    if (follow_can_hand_over(c)) {
        follow_hand_over(c);
        return TDM_OK;
    }
    /* The other unit is left asleep: one that asks its source at this moment would keep its cores from the dispatch
     * that is waited for. */
    unit_wake(chat_unit(c, in_place ? pipeline->decode_unit : pipeline->prompt_unit));
    return TDM_OK;
}

void turn_take_back(struct tdm_chat *c, int before)
{
    conversation_remove_last(&c->front->conversation);
    conversation_set_leaf(&c->front->conversation, before);
}

void turn_tell_left(struct tdm_chat *c, int user, int before)
{
    if (c->front->conversation.nodes[user].parent != before) events_post(c->events, &(tdm_event){.kind = TDM_EV_PATH});
}

void turn_send_queued(struct tdm_chat *c, int64_t now_ns, tdm_turn_mark mark)
{
    struct dialogue *front = c->front;
    if (!front->has_queued || chat_phase(c) != PHASE_IDLE) return;
    tdm_error err;
    front->has_queued = false;
    int answers = front->queued_answers > 1 ? front->queued_answers : 1;
    front->queued_answers = 0;
    int before = front->conversation.leaf;
    int user = conversation_add(&front->conversation, before, TDM_USER, front->queued.bytes, front->queued.n, &err);
    if (user) conversation_set_pictures(&front->conversation, &front->queued_pictures);
    tdm_status status = user ? TDM_OK : TDM_E_NOMEM;
    events_post(c->events, &(tdm_event){.kind = TDM_EV_UNQUEUED});
    if (status == TDM_OK) {
        events_post(c->events, &(tdm_event){.kind = TDM_EV_TURN, .node = user});
        turn_tell_left(c, user, before);
        status = turn_begin(c, user, answers, now_ns, mark, &err);
        if (status) turn_take_back(c, before);
    }
    if (status) {
        retarget(c, now_ns);
        events_post_line(c->events, TDM_EV_ERROR, "the queued message was not sent: %s", err.text);
        events_post(c->events, &(tdm_event){.kind = TDM_EV_PATH});
    }
    buffer_clear(&front->queued);
    picture_list_free(&front->queued_pictures);
}

void turn_drop_queued(struct tdm_chat *c, struct dialogue *d)
{
    if (!d->has_queued) return;
    dialogue_drop_queued(d);
    events_post(c->events, &(tdm_event){.kind = TDM_EV_UNQUEUED});
}

/* ---- What follows from below ------------------------------------------------------------------------------------- */

static void send_queued(struct tdm_chat *c, int64_t now_ns)
{
    turn_send_queued(c, now_ns, TDM_TURN_MARK_QUEUED);
}

void turn_open(struct tdm_chat *c)
{
    static const struct chat_steps steps = {.reply = decode_reply, .over = send_queued};
    c->steps = &steps;
    c->client.next[TDM_PREFILL_UNIT] = next_prefill;
    c->client.next[TDM_DECODE_UNIT] = next_decode;
    c->client.ctx = c;
}
