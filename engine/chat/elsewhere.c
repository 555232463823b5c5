/* A conversation that is left while it is answered, and goes on in the background. It changes places with the one in
 * front as a whole, tree, decoders and stage, so that nothing of a reply is copied or begun anew: its bits are what
 * they would be in front. Then the follower follows the other one.
 */
#include "engine/chat/chat.h"

#include <stdlib.h>

#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/exchange.h"

struct conversation *chat_conversation_of(struct tdm_chat *c, const struct decoder *d)
{
    return d->elsewhere ? &c->elsewhere.conversation : &c->conversation;
}

int chat_answers_of(const struct tdm_chat *c, const struct decoder *d)
{
    return d->elsewhere ? c->elsewhere.answers : c->answers;
}

bool chat_runs(const struct tdm_chat *c, const struct decoder *d)
{
    return (d->elsewhere ? c->elsewhere.stage : c->stage) == STAGE_DECODE_RUN;
}

int chat_writing_elsewhere(const struct tdm_chat *c)
{
    int n = 0;
    for (int i = 0; i < c->elsewhere.answers; i++) n += c->elsewhere.decoders[i]->writing;
    return n;
}

bool chat_goes_on_elsewhere(const struct tdm_chat *c)
{
    enum stage_phase front = chat_phase(c);
    if (stage_phase(c->elsewhere.stage) != PHASE_DECODE || c->lost || stage_prompts(c->stage)) return false;
    return front == PHASE_IDLE || (front == PHASE_DECODE && c->decoder->unit == TDM_DECODE_UNIT);
}

void chat_rest_elsewhere(struct tdm_chat *c)
{
    struct elsewhere *e = &c->elsewhere;
    if (e->stage != STAGE_IDLE) return;
    for (int i = 0; i < TDM_ANSWERS_MAX && e->decoders[i]; i++) {
        state_free(e->decoders[i]->state);
        e->decoders[i]->state = NULL;
        e->decoders[i]->held = 0;
    }
    c->joining = (struct joining){0};
}

void chat_on_elsewhere(struct tdm_chat *c, enum stage_event event)
{
    struct stage_transition t = stage_transition(c->elsewhere.stage, event);
    assert_always(t.possible);
    c->elsewhere.stage = t.next;
    chat_rest_elsewhere(c);
}

void chat_conclude_elsewhere(struct tdm_chat *c, const struct decoder *d, tdm_finish finish)
{
    struct elsewhere *e = &c->elsewhere;
    struct node *node = &e->conversation.nodes[d->node];
    int writing = chat_writing_elsewhere(c);
    node->finish = finish;
    node->stats = d->stats;
    node->stats.end_ns = clock_ns();
    events_post(c->events, &(tdm_event){.kind = TDM_EV_END, .node = d->node, .elsewhere = true, .answer = d->number,
                                        .answers = e->answers, .writing = writing, .lost = d->lost, .finish = finish,
                                        .stats = node->stats});
    if (writing) return;
    e->turns_since_load++;
    chat_on_elsewhere(c, ON_END);
    pthread_cond_broadcast(&c->settled);
}

void chat_end_elsewhere(struct tdm_chat *c, tdm_finish finish)
{
    struct elsewhere *e = &c->elsewhere;
    for (int i = 0; i < e->answers; i++)
        if (e->decoders[i]->writing) chat_end_answer(c, e->decoders[i], finish);
}

void chat_quiesce(struct tdm_chat *c)
{
    c->waiting++;
    while (stage_uses_decoder(c->stage) || stage_uses_prompter(c->stage) || stage_uses_decoder(c->elsewhere.stage))
        pthread_cond_wait(&c->settled, &c->lock);
    c->waiting--;
}

void chat_close_elsewhere(struct tdm_chat *c)
{
    struct elsewhere *e = &c->elsewhere;
    for (int i = 0; i < TDM_ANSWERS_MAX; i++) chat_remove_decoder(&e->decoders[i]);
    conversation_free(&e->conversation);
    free(e->last_prompt.ids);
}

/* ---- Changing places --------------------------------------------------------------------------------------------- */

/* The two conversations change places. No job uses a decoder. */
static void exchange(struct tdm_chat *c)
{
    struct elsewhere *e = &c->elsewhere;
    uint64_t version = c->conversation.version, other = e->conversation.version;
    EXCHANGE(c->conversation, e->conversation);
    EXCHANGE(c->path_start, e->path_start);
    EXCHANGE(c->user_node, e->user_node);
    EXCHANGE(c->reply_node, e->reply_node);
    EXCHANGE(c->last_prompt, e->last_prompt);
    EXCHANGE(c->stats, e->stats);
    EXCHANGE(c->turns_since_load, e->turns_since_load);
    EXCHANGE(c->was_loaded, e->was_loaded);
    EXCHANGE(c->context_warned, e->context_warned);
    EXCHANGE(c->stage, e->stage);
    EXCHANGE(c->pipeline, e->pipeline);
    for (int i = 0; i < TDM_ANSWERS_MAX; i++) EXCHANGE(c->decoders[i], e->decoders[i]);
    EXCHANGE(c->decoder, e->decoder);
    EXCHANGE(c->answers, e->answers);
    EXCHANGE(c->forks, e->forks);
    for (int i = 0; i < TDM_ANSWERS_MAX; i++) {
        if (c->decoders[i]) c->decoders[i]->elsewhere = false;
        if (e->decoders[i]) e->decoders[i]->elsewhere = true;
    }
    c->conversation.version = (version > other ? version : other) + 1; /* the texts that its numbers stand for */
}

/* A place for another conversation, with a decoder that is not in use. */
static tdm_status make_place(struct tdm_chat *c, tdm_error *err)
{
    struct elsewhere *e = &c->elsewhere;
    tdm_status status = e->conversation.nodes ? TDM_OK : conversation_init(&e->conversation, err);
    if (!status) status = chat_add_decoder(c, &e->decoders[0], err);
    if (status) return status;
    e->decoder = e->decoders[0];
    e->pipeline = c->options.pipeline;
    return TDM_OK;
}

/* What is left there is forgotten, but for a decoder to be used again. */
static void empty_place(struct tdm_chat *c)
{
    struct elsewhere *e = &c->elsewhere;
    e->there = false;
    conversation_clear(&e->conversation);
    chat_rest_elsewhere(c);
    for (int i = 1; i < TDM_ANSWERS_MAX; i++) chat_remove_decoder(&e->decoders[i]);
    e->decoder = e->decoders[0];
    e->decoder->node = 0;
    e->decoder->prompt = e->decoder->index = 0;
    e->answers = 0;
    e->path_start = e->user_node = e->reply_node = e->turns_since_load = 0;
    e->was_loaded = e->context_warned = e->forks = false;
    e->last_prompt.n = 0;
    e->stats = (tdm_turn_stats){0};
}

/* What is in front now begins without what belonged to the other one, is told and followed. */
static void settle(struct tdm_chat *c)
{
    int64_t now = clock_ns();
    c->editing = 0;
    c->head_start = false;
    c->evaluated_mark = c->follower.figures.evaluated;
    c->joining = (struct joining){0};
    buffer_clear(&c->queued);
    c->has_queued = false;
    c->queued_answers = 0;
    events_post(c->events, &(tdm_event){.kind = TDM_EV_PATH});
    chat_retarget(c, now);
    unit_wake(chat_unit(c, TDM_DECODE_UNIT));
}

TDM_API tdm_status tdm_chat_leave(tdm_chat *c, tdm_error *err)
{
    struct elsewhere *e = &c->elsewhere;
    tdm_status status = TDM_OK;
    if (chat_on_server(c)) return error_set(err, TDM_E_UNSUPPORTED, "a server writes one reply at a time");
    chat_lock(c);
    chat_quiesce(c);
    if (c->stage != STAGE_DECODE)
        status = error_set(err, TDM_E_BUSY, "no reply is being written");
    else if (c->decoder->unit != TDM_DECODE_UNIT)
        status = error_set(err, TDM_E_UNSUPPORTED, "the pipeline %s decodes on the prefill unit",
                           tdm_pipeline_name(c->pipeline));
    else if (e->there)
        status = error_set(err, TDM_E_BUSY, "another conversation is elsewhere");
    if (!status) status = make_place(c, err);
    if (!status) status = conversation_set_system(&e->conversation, c->conversation.system.bytes,
                                                  c->conversation.system.n, err);
    if (!status) {
        exchange(c);
        e->there = true;
        status = chat_prepare(c, c->options.pipeline, 1, false, err);
        if (status) {
            exchange(c);
            empty_place(c);
        } else {
            events_change_places(c->events, true);
            settle(c);
        }
    }
    chat_unlock(c);
    return status;
}

/* A reply of the turn in front; if it is still written, with all of it that there is, as if it came now. */
static void tell_again(struct tdm_chat *c, struct decoder *d)
{
    const struct node *node = &c->conversation.nodes[d->node];
    tdm_event e = {.kind = TDM_EV_REPLY, .node = d->node, .again = true, .answer = d->number, .answers = c->answers,
                   .stats = d->stats, .tokens = d->stats.reply_tokens, .finish = node->finish};
    const struct buffer *parts[] = {&node->thinking, &node->text};
    events_post(c->events, &e);
    d->lost = 0;
    for (int i = 0; i < 2 && d->writing; i++) {
        if (!parts[i]->n) continue;
        e = (tdm_event){.kind = TDM_EV_TEXT, .node = d->node, .answer = d->number, .answers = c->answers, .id = -1,
                        .thinking = i == 0, .text = parts[i]->bytes, .length = parts[i]->n,
                        .tokens = d->stats.reply_tokens};
        if (!events_post(c->events, &e) && i == 1) d->lost = parts[i]->n;
    }
}

/* A cold prompt, which is no turn, counts too. */
static bool reads_prompt(const struct tdm_chat *c)
{
    return chat_phase(c) == PHASE_PROMPT || (stage_prompts(c->stage) && c->stage != STAGE_IDLE_DROP);
}

static tdm_status check_visit(const struct tdm_chat *c, tdm_error *err)
{
    if (!c->elsewhere.there) return error_set(err, TDM_E_NOT_FOUND, "no conversation is elsewhere");
    return reads_prompt(c) ? error_set(err, TDM_E_BUSY, "a prompt is being read") : TDM_OK;
}

TDM_API tdm_status tdm_chat_visit(tdm_chat *c, bool keep, tdm_error *err)
{
    struct elsewhere *e = &c->elsewhere;
    chat_lock(c);
    tdm_status status = check_visit(c, err);
    if (!status) {
        chat_quiesce(c);
        status = check_visit(c, err); /* a queued message may have been sent */
    }
    if (!status) {
        events_change_places(c->events, keep);
        exchange(c);
        e->there = keep;
        if (!keep) chat_end_elsewhere(c, TDM_STOPPED);
        if (!e->there) empty_place(c);
        settle(c);
        for (int i = 0; chat_writing(c) && i < c->answers; i++) tell_again(c, c->decoders[i]);
    }
    chat_unlock(c);
    return status;
}

TDM_API void tdm_chat_stop_elsewhere(tdm_chat *c)
{
    chat_lock(c);
    chat_end_elsewhere(c, TDM_STOPPED);
    chat_unlock(c);
}

TDM_API void tdm_chat_forget_elsewhere(tdm_chat *c)
{
    chat_lock(c);
    if (c->elsewhere.there) {
        chat_end_elsewhere(c, TDM_STOPPED);
        chat_quiesce(c);
        empty_place(c);
    }
    chat_unlock(c);
}

/* ---- What is seen ------------------------------------------------------------------------------------------------ */

TDM_API void tdm_chat_elsewhere_of(const tdm_chat *c, tdm_elsewhere *out)
{
    const struct elsewhere *e = &c->elsewhere;
    chat_lock(c);
    *out = (tdm_elsewhere){.there = e->there, .prompts = reads_prompt(c),
                           .possible = !chat_on_server(c) && chat_pipeline(c)->decode_unit == TDM_DECODE_UNIT};
    if (e->there) {
        bool room = chat_writing(c) + chat_writing_elsewhere(c) <= TDM_ANSWERS_MAX;
        out->answers = e->answers;
        out->writing = chat_writing_elsewhere(c);
        for (int i = 0; i < e->answers; i++) out->tokens += e->decoders[i]->stats.reply_tokens;
        out->decode_tps = e->decoder->stats.decode_tps;
        out->finish = e->conversation.nodes[e->conversation.leaf].finish;
        out->cost = joining_cost(&c->joining);
        out->every = (int)joining_every(&c->joining, room);
    }
    chat_unlock(c);
}

TDM_API int tdm_chat_nodes_elsewhere(const tdm_chat *c)
{
    chat_lock(c);
    int n = c->elsewhere.there ? c->elsewhere.conversation.n : 0;
    chat_unlock(c);
    return n;
}

TDM_API int tdm_chat_path_elsewhere(const tdm_chat *c, int *nodes, int room)
{
    chat_lock(c);
    int n = c->elsewhere.there ? conversation_path(&c->elsewhere.conversation, nodes, room) : 0;
    chat_unlock(c);
    return n;
}

TDM_API tdm_status tdm_chat_node_elsewhere(const tdm_chat *c, int node, tdm_node *out, tdm_error *err)
{
    chat_lock(c);
    tdm_status status = chat_copy_node(&c->elsewhere.conversation, node, out, err);
    chat_unlock(c);
    return status;
}
