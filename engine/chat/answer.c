#include "engine/chat/answer.h"

#include "engine/base/clock.h"
#include "engine/chat/reader/retarget.h"

static tdm_which_dialogue place_of(const struct tdm_chat *c, const struct dialogue *d)
{
    return d == c->back ? TDM_BACK : TDM_FRONT;
}

void answer_add(struct tdm_chat *c, struct decoder *d, struct span text, bool thinking, tdm_id id)
{
    if (text.length == 0) return;
    bool kept = !conversation_append(&d->dialogue->conversation, d->node, thinking, text.bytes, text.length, NULL);
    if (!kept) events_post_line(c->events, TDM_EV_ERROR, "no memory: a part of the reply was not kept");
    if (!thinking && d->stats.first_answer_ns == 0) d->stats.first_answer_ns = clock_ns();
    const tdm_event e = {.kind = TDM_EV_TEXT,
                         .node = d->node,
                         .dialogue = place_of(c, d->dialogue),
                         .answer = d->number,
                         .answers = d->dialogue->answers,
                         .text = text.bytes,
                         .length = text.length,
                         .thinking = thinking,
                         .id = id,
                         .tokens = d->stats.reply_tokens};
    /* Behind a gap no more text is posted: only the end of the text may be missing. */
    if ((d->undelivered || !events_post(c->events, &e)) && kept && !thinking) d->undelivered += text.length;
}

/* ---- The loop guard ---------------------------------------------------------------------------------------------- */

void answer_guard(const struct tdm_chat *c, struct decoder *d)
{
    guard_begin(&d->guard, chat_on_server(c) ? NULL : c->model->tokenizer); /* a reply that comes as text has none */
}

bool answer_is_guarded(const struct tdm_chat *c, struct decoder *d)
{
    bool guards = c->options.loop_guard && !c->options.ignore_eos;
    if (!guards) answer_guard(c, d);
    return guards;
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

static void warn_of_context(struct tdm_chat *c, uint32_t used)
{
    uint32_t size = (uint32_t)c->options.context;
    if (c->front->context_warned || used < size / 5 * 4) return;
    c->front->context_warned = true;
    events_post_line(c->events, TDM_EV_NOTICE, "the context is %u %% full: %u of %u tokens", used * 100 / size, used,
                     size);
}

/* The turn has ended: removes replies of which no word came. False: there are none. */
static bool drop_wordless(struct tdm_chat *c, struct dialogue *d)
{
    struct conversation *all = &d->conversation;
    int node = d->decoders[0]->node;
    if (!node || !conversation_remove_wordless(all, all->nodes[node].parent)) return false;
    for (int i = 0; i < d->answers; i++)
        if (d->decoders[i]->node > all->n) d->decoders[i]->node = 0;
    if (d->reply_node > all->n) d->reply_node = 0;
    events_post(c->events, &(tdm_event){.kind = TDM_EV_PATH});
    return true;
}

/* A reply ends, or with node 0 a turn without one. */
static void conclude(struct tdm_chat *c, struct dialogue *in, int node, tdm_turn_stats *stats, tdm_finish finish)
{
    const struct decoder *d = dialogue_decoder_of(in, node);
    int writing = dialogue_writing(in);
    stats->end_ns = clock_ns();
    if (node) {
        in->conversation.nodes[node].finish = finish;
        in->conversation.nodes[node].stats = *stats;
    }
    if (!writing) chat_event(c, in, ON_END);
    bool dropped = !writing && drop_wordless(c, in);
    if (dropped && node > in->conversation.n) node = 0;
    events_post(c->events, &(tdm_event){.kind = TDM_EV_END,
                                        .node = node,
                                        .dialogue = place_of(c, in),
                                        .answer = d ? d->number : 1,
                                        .answers = in->answers,
                                        .writing = writing,
                                        .lost = d ? d->undelivered : 0,
                                        .finish = finish,
                                        .stats = *stats});
    if (in == c->front && (!writing || d == in->decoder)) retarget(c, stats->end_ns);
    if (writing) return;
    pthread_cond_broadcast(&c->settled);
    if (in == c->front) c->steps->over(c, stats->end_ns);
}

void answer_end(struct tdm_chat *c, struct decoder *d, tdm_finish finish)
{
    struct dialogue *in = d->dialogue;
    struct reply_piece rest;
    if (finish != TDM_FINISH_STOP_STRING && reply_finish(&d->reply, &rest, NULL) == TDM_OK) {
        answer_add(c, d, rest.thinking, true, -1);
        answer_add(c, d, rest.answer, false, -1);
    }
    d->writing = false;
    if (in == c->front) {
        if (finish != TDM_FINISH_CONTEXT)
            warn_of_context(c, decoder_filled(d)); /* that end is reported with the reply */
        c->writer.decode_rate = d->stats.decode_tps;
    }
    if (dialogue_writing(in) == 0) in->turns_since_load++;
    conclude(c, in, d->node, &d->stats, finish);
}

void answer_end_all(struct tdm_chat *c, struct dialogue *d, tdm_finish finish)
{
    enum stage_phase phase = stage_phase(d->stage);
    bool again = d == c->front && c->writer.again;
    if (phase == PHASE_PROMPT && !again) conclude(c, d, d->reply_node, &d->stats, finish);
    if (phase != PHASE_DECODE && !again) return;
    if (again) c->writer.again = false;
    /* The next turn may begin with the last one's end. */
    for (int i = 0, left = dialogue_writing(d); left > 0; i++) {
        if (!d->decoders[i]->writing) continue;
        left--;
        answer_end(c, d->decoders[i], finish);
    }
}
