/* Swaps the two dialogues of a chat by exchanging two pointers: nothing of a running reply is copied or restarted, so
 * its bits are the same in front and in the back. Then the follower reads for the dialogue that is in front now.
 */

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/exchange.h"
#include "engine/chat/answer.h"
#include "engine/chat/chat.h"
#include "engine/chat/prepare.h"
#include "engine/chat/reader/retarget.h"
#include "engine/chat/turn.h"

/* ---- Changing places --------------------------------------------------------------------------------------------- */

/* No job uses a decoder. */
static void swap(struct tdm_chat *c)
{
    uint64_t before = c->front->conversation.version, other = c->back->conversation.version;
    EXCHANGE(c->front, c->back);
    c->front->conversation.version = (before > other ? before : other) + 1; /* its value stands for the texts */
}

/* What is left in the back is forgotten. */
static void empty_back(struct tdm_chat *c)
{
    dialogue_empty(c->back);
    c->writer.joining = (struct joining){0};
}

/* The dialogue that is in front now begins without what belonged to the other one; an event reports it, and the
 * follower follows it. */
static void settle(struct tdm_chat *c)
{
    for (int i = 0; i < 2; i++) c->dialogues[i].editing = 0;
    turn_drop_queued(c, c->front);
    turn_drop_queued(c, c->back);
    c->reader.head_start = false;
    c->reader.evaluated_mark = c->reader.follower.figures.evaluated;
    c->writer.joining = (struct joining){0};
    events_post(c->events, &(tdm_event){.kind = TDM_EV_PATH});
    retarget(c, clock_ns());
    unit_wake(chat_unit(c, TDM_DECODE_UNIT));
}

/* An empty dialogue for the one in front to change places with. */
static tdm_status make_place(struct tdm_chat *c, tdm_error *err)
{
    tdm_status status = c->back->decoder ? TDM_OK : dialogue_open(c->back, c->model, c->options.pipeline, err);
    if (status) {
        dialogue_close(c->back);
        return status;
    }
    c->back->pipeline = c->options.pipeline;
    const struct buffer *system = &c->front->conversation.system;
    return conversation_set_system(&c->back->conversation, system->bytes, system->n, err);
}

TDM_API tdm_status tdm_chat_leave(tdm_chat *c, tdm_error *err)
{
    tdm_status status = TDM_OK;
    if (chat_on_server(c)) return error_set(err, TDM_E_UNSUPPORTED, "a server writes one reply at a time");
    chat_lock(c);
    chat_quiesce(c);
    if (c->front->stage != STAGE_DECODE)
        status = error_set(err, TDM_E_BUSY, "no reply is being written");
    else if (c->front->decoder->unit != TDM_DECODE_UNIT)
        status = error_set(err, TDM_E_UNSUPPORTED, "the pipeline %s decodes on the prefill unit",
                           tdm_pipeline_name(c->front->pipeline));
    else if (c->back->is_left)
        status = error_set(err, TDM_E_BUSY, "another conversation is elsewhere");
    if (!status) status = make_place(c, err);
    if (!status) {
        swap(c);
        c->back->is_left = true;
        status = prepare_turn(c, c->options.pipeline, 1, false, err);
        if (status) {
            swap(c);
            empty_back(c);
        } else {
            events_change_places(c->events, true);
            settle(c);
        }
    }
    chat_unlock(c);
    return status;
}

/* Reports a reply of the turn in front once more; if it is still being written, with its text so far, as if it came
 * now. */
static void tell_again(struct tdm_chat *c, struct decoder *d)
{
    const struct node *node = &c->front->conversation.nodes[d->node];
    tdm_event e = {.kind = TDM_EV_REPLY,
                   .node = d->node,
                   .again = true,
                   .answer = d->number,
                   .answers = c->front->answers,
                   .stats = d->stats,
                   .tokens = d->stats.reply_tokens,
                   .finish = node->finish};
    const struct buffer *parts[] = {&node->thinking, &node->text};
    events_post(c->events, &e);
    d->undelivered = 0;
    for (int i = 0; i < 2 && d->writing; i++) {
        if (!parts[i]->n) continue;
        e = (tdm_event){.kind = TDM_EV_TEXT,
                        .node = d->node,
                        .answer = d->number,
                        .answers = c->front->answers,
                        .id = -1,
                        .thinking = i == 0,
                        .text = parts[i]->bytes,
                        .length = parts[i]->n,
                        .tokens = d->stats.reply_tokens};
        if (!events_post(c->events, &e) && i == 1) d->undelivered = parts[i]->n;
    }
}

/* A cold prompt, which is no turn, counts too. */
static bool reads_prompt(const struct tdm_chat *c)
{
    return chat_phase(c) == PHASE_PROMPT || (stage_prompts(c->front->stage) && c->front->stage != STAGE_IDLE_DROP);
}

static tdm_status check_visit(const struct tdm_chat *c, tdm_error *err)
{
    if (!c->back->is_left) return error_set(err, TDM_E_NOT_FOUND, "no conversation is elsewhere");
    return reads_prompt(c) ? error_set(err, TDM_E_BUSY, "a prompt is being read") : TDM_OK;
}

TDM_API tdm_status tdm_chat_visit(tdm_chat *c, bool keep, tdm_error *err)
{
    chat_lock(c);
    tdm_status status = check_visit(c, err);
    if (!status) {
        chat_quiesce(c);
        status = check_visit(c, err); /* a queued message may have been sent */
    }
    if (!status) {
        events_change_places(c->events, keep);
        swap(c);
        c->back->is_left = keep;
        if (!keep) {
            turn_drop_queued(c, c->back);
            answer_end_all(c, c->back, TDM_FINISH_STOPPED);
            empty_back(c);
        }
        settle(c);
        for (int i = 0; dialogue_writing(c->front) && i < c->front->answers; i++) tell_again(c, c->front->decoders[i]);
    }
    chat_unlock(c);
    return status;
}

TDM_API void tdm_chat_forget(tdm_chat *c)
{
    chat_lock(c);
    if (c->back->is_left) {
        answer_end_all(c, c->back, TDM_FINISH_STOPPED);
        chat_quiesce(c);
        empty_back(c);
    }
    chat_unlock(c);
}

/* ---- What is seen ------------------------------------------------------------------------------------------------ */

TDM_API void tdm_chat_back_of(const tdm_chat *c, tdm_back_status *out)
{
    const struct dialogue *back = c->back;
    chat_lock(c);
    *out = (tdm_back_status){.there = back->is_left,
                             .prompts = reads_prompt(c),
                             .possible = !chat_on_server(c) && chat_pipeline(c)->decode_unit == TDM_DECODE_UNIT};
    if (back->is_left) {
        bool room = dialogue_writing(c->front) + dialogue_writing(back) <= TDM_ANSWERS_MAX;
        out->answers = back->answers;
        out->writing = dialogue_writing(back);
        for (int i = 0; i < back->answers; i++) out->tokens += back->decoders[i]->stats.reply_tokens;
        out->decode_tps = back->decoder->stats.decode_tps;
        out->finish = back->conversation.nodes[back->conversation.leaf].finish;
        out->cost = joining_cost(&c->writer.joining);
        out->every = (int)joining_every(&c->writer.joining, room);
    }
    chat_unlock(c);
}
