#include "engine/chat/writer/arrival.h"

#include "engine/chat/answer.h"
#include "engine/chat/writer/reply_prefix.h"

#include <string.h>

/* ---- A reply goes on from what the decoder has ------------------------------------------------------------------- */

bool arrival_in_place(const struct tdm_chat *c)
{
    const struct decoder *d = c->front->decoder;
    const struct target *t = &c->reader.target;
    uint32_t n = d->state_tokens, all = t->n + t->reply_prefix;
    if (n == 0 || n > all || c->front->conversation.nodes[c->front->reply_node].reply.n == 0) return false;
    if (d->max_added > 1 && !d->n_accepted) return false; /* which tokens these are is known when they have come */
    if (memcmp(t->ids, d->state->tokens, n * sizeof *t->ids)) return false;
    for (uint32_t i = 0; i < d->max_added; i++, n++)
        if (n == all || t->ids[n] != decoder_token(d, i)) return false;
    return n + 1 >= all;
}

void arrival_resume(struct tdm_chat *c)
{
    if (arrival_in_place(c))
        arrival_begin_reply(c, 0, 0);
    else
        chat_event(c, c->front, ON_NOT_IN_PLACE);
}

/* ---- The reply's beginning --------------------------------------------------------------------------------------- */

/* The nodes of the answers; the first one is the turn's reply and current. False without memory for it. */
static bool add_replies(struct tdm_chat *c, tdm_error *err)
{
    struct dialogue *front = c->front;
    int wanted = front->answers, node;
    front->answers = 1;
    for (int i = 0; i < wanted; i++) {
        if (!(node = conversation_add(&front->conversation, front->user_node, TDM_ASSISTANT, "", 0, err))) break;
        front->conversation.nodes[node].think = front->prompt_options.think;
        front->decoders[i]->node = node;
        front->answers = i + 1;
    }
    if (front->decoders[0]->node) conversation_select(&front->conversation, front->decoders[0]->node);
    front->reply_node = front->decoders[0]->node;
    return front->reply_node;
}

void arrival_begin_reply(struct tdm_chat *c, int64_t moving_ns, uint64_t bytes)
{
    struct dialogue *front = c->front;
    tdm_error err;
    c->writer.arrival = (struct arrival){moving_ns, bytes, front->stage == STAGE_RESUME};
    if (!front->reply_node && !add_replies(c, &err)) {
        events_post_line(c->events, TDM_EV_ERROR, "%s", err.text);
        answer_end_all(c, c->front, TDM_FINISH_FAILED);
        return;
    }
    c->writer.carrier = front->decoder;
    if (!c->writer.again) front->decoder->node = front->reply_node;
    chat_event(c, c->front, !c->writer.arrival.in_place && reply_prefix_is_lacking(c) ? ON_PREFIX : ON_READY);
}

/* ---- What the prompt cost ---------------------------------------------------------------------------------------- */

static uint32_t above(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

void arrival_account_before(const struct reader *r, struct dialogue *front)
{
    tdm_turn_stats *s = &front->stats;
    s->earlier = r->turn_base < r->read_at_enter ? r->turn_base : r->read_at_enter;
    s->before_enter = r->read_at_enter - s->earlier;
    uint32_t from = r->adopted.from > s->earlier ? r->adopted.from : s->earlier;
    s->adopted = above(r->adopted.to < r->read_at_enter ? r->adopted.to : r->read_at_enter, from);
    s->turn_before_enter = above(r->read_at_enter, s->prompt_tokens - s->turn_tokens);
    if (front->turns_since_load == 0)
        s->kind = front->was_loaded ? TDM_TURN_RESUMED : TDM_TURN_FIRST;
    else
        s->kind = s->turn_before_enter ? TDM_TURN_WARM : TDM_TURN_COLD;
}

void arrival_account(struct tdm_chat *c)
{
    struct reader *r = &c->reader;
    struct dialogue *front = c->front;
    const struct follower_figures *f = &r->follower.figures;
    tdm_turn_stats *s = &front->stats;
    if (c->writer.arrival.in_place) r->read_at_enter = front->decoder->state_tokens;
    arrival_account_before(r, front);
    s->after_enter = s->prompt_tokens - r->read_at_enter;
    uint64_t evaluated = f->evaluated - r->evaluated_mark;
    uint64_t fresh = s->prompt_tokens - r->turn_base - s->adopted;
    if (chat_pipeline(c)->follows) {
        s->wasted = evaluated > fresh ? (uint32_t)(evaluated - fresh) : 0;
        s->suffix_evaluations = f->suffixes - r->suffix_mark;
    }
    r->adopted.from = r->adopted.to = 0;
    r->evaluated_mark = f->evaluated;
    r->suffix_mark = f->suffixes;
}
