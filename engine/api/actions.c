/* What the user does to a chat: typing, sending, stopping, going back, branching, and saving what was read.
 *
 * Every tdm_chat_ function takes the lock; the follower sees only a changed target.
 */

#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/chat/answer.h"
#include "engine/chat/chat.h"
#include "engine/chat/reader/adopt.h"
#include "engine/chat/reader/follow.h"
#include "engine/chat/reader/prompt.h"
#include "engine/chat/reader/retarget.h"
#include "engine/chat/remote.h"
#include "engine/chat/turn.h"

static tdm_status busy(const struct tdm_chat *c, const char *what, tdm_error *err)
{
    if (chat_phase(c) == PHASE_IDLE) return TDM_OK;
    return error_set(err, TDM_E_BUSY, "%s: a reply is being written; stop it first", what);
}

/* ---- Typing and sending ------------------------------------------------------------------------------------------ */

/* A message with its pictures. */
struct words {
    const char *text;
    size_t length;
    const tdm_placed_picture *pictures;
    size_t n;
};

/* Pictures at right places, for a model that sees them; a server is asked. */
static tdm_status check_shown(const struct tdm_chat *c, const struct words *w, tdm_error *err)
{
    struct picture_list list;
    tdm_picture_fit fit;
    tdm_status status = picture_list_copy(&list, w->pictures, w->n, w->text, w->length, err);
    picture_list_free(&list);
    for (size_t i = 0; i < w->n && !status && !chat_on_server(c); i++) {
        const struct picture *p = &w->pictures[i].picture->pixels;
        status = tdm_picture_fit_of(c->model, p->width, p->height, (uint32_t)c->options.picture_tokens, &fit, err);
        if (!status && c->model->vision->pad < 0)
            status = error_set(err, TDM_E_UNSUPPORTED, "the model's files don't say which token stands for a picture");
    }
    return status;
}

/* An edited message stands in the draft at once: what is sent then was not typed, or only in part. Typed again by keys
 * it is a message like any other. */
static bool has_head_start(const struct tdm_chat *c, const char *text, size_t length)
{
    const struct buffer *was = &c->front->conversation.nodes[c->front->editing].text;
    if (!c->front->editing || !length) return false;
    return c->reader.head_start || (c->draft.text.n == 0 && length == was->n && !memcmp(text, was->bytes, length));
}

/* *typed: a server is to learn now that the user types. */
static tdm_status put_draft(struct tdm_chat *c, const struct words *w, bool held, bool *typed, tdm_error *err)
{
    const char *text = w->text;
    size_t length = w->length;
    c->reader.head_start = has_head_start(c, text, length);
    buffer_clear(&c->draft.text);
    tdm_status status = buffer_append(&c->draft.text, text, length, err);
    if (!picture_list_equal(&c->draft.pictures, w->pictures, w->n)) {
        struct picture_list was = c->draft.pictures;
        c->draft.pictures = (struct picture_list){0};
        if (!status) status = picture_list_append(&c->draft.pictures, 0, w->pictures, w->n, err);
        picture_list_free(&was);
        unit_wake(chat_unit(c, TDM_PREFILL_UNIT)); /* beside a reply too: they are encoded then */
    }
    c->draft.held = held;
    typing_key(&c->draft.typing, clock_ns());
    /* A token stands for some bytes, but no more than the longest: a text that can't fit is not even looked at. */
    uint32_t context = pool_context(c->side[TDM_DECODE_UNIT].pool);
    c->draft.too_long = length / 128 > context;
    c->draft.tokens = 0;
    /* While a turn is under way the draft is no part of the target, and the decoder keeps the cores that it is lent. */
    bool idle = chat_phase(c) == PHASE_IDLE, counts = idle && chat_level(c) >= TDM_SPEC_DRAFT;
    *typed = idle && (length || w->n) && chat_level(c) > TDM_SPEC_OFF;
    if (counts && pipeline_of(c->options.pipeline)->follows) {
        retarget(c, c->draft.typing.last_ns);
        /* Every token is at least a byte: only a draft with as many bytes as there is room must be counted. */
        if (!held && !c->draft.too_long && c->reader.target.history + length >= context) {
            uint32_t whole = retarget_prompt_length(c);
            c->draft.too_long = whole >= context;
            if (c->draft.too_long) c->draft.tokens = whole - c->reader.target.typed;
            retarget(c, c->draft.typing.last_ns);
        }
    }
    return status;
}

TDM_API tdm_status tdm_chat_set_draft_pictures(tdm_chat *c, const char *text, size_t length,
                                               const tdm_placed_picture *pictures, size_t n, bool held, tdm_error *err)
{
    const struct words w = {text, length, pictures, n};
    bool typed;
    chat_lock(c);
    tdm_status status = check_shown(c, &w, err);
    if (status) {
        chat_unlock(c);
        return status;
    }
    status = put_draft(c, &w, held, &typed, err);
    chat_unlock(c);
    if (typed) remote_warn(c);
    return status;
}

TDM_API tdm_status tdm_chat_set_draft(tdm_chat *c, const char *text, size_t length, bool held, tdm_error *err)
{
    return tdm_chat_set_draft_pictures(c, text, length, NULL, 0, held, err);
}

static tdm_status queue(struct tdm_chat *c, const struct words *w, int answers, tdm_error *err)
{
    struct dialogue *front = c->front;
    tdm_status status = TDM_OK;
    if (front->has_queued) status = buffer_append(&front->queued, "\n", 1, err);
    size_t before = front->queued.n;
    if (status == TDM_OK) status = buffer_append(&front->queued, w->text, w->length, err);
    if (status == TDM_OK) status = picture_list_append(&front->queued_pictures, before, w->pictures, w->n, err);
    if (status) return status;
    front->has_queued = true;
    if (answers > front->queued_answers) front->queued_answers = answers;
    events_post(c->events, &(tdm_event){.kind = TDM_EV_QUEUED, .text = front->queued.bytes, .length = front->queued.n});
    return TDM_OK;
}

static void empty_draft(struct tdm_chat *c)
{
    buffer_clear(&c->draft.text);
    picture_list_free(&c->draft.pictures);
    c->draft.held = c->draft.too_long = c->reader.head_start = false;
    if (chat_phase(c) == PHASE_IDLE) retarget(c, clock_ns()); /* a reply of one token has ended already */
}

/* A message of the current path, and `answers` answers to it. */
static tdm_status send(struct tdm_chat *c, const struct words *w, int answers, int64_t enter_ns, tdm_error *err)
{
    struct dialogue *front = c->front;
    struct picture_list pictures;
    tdm_status copied = picture_list_copy(&pictures, w->pictures, w->n, w->text, w->length, err);
    if (copied) return copied;
    int before = front->conversation.leaf;
    int user = conversation_add(&front->conversation, before, TDM_USER, w->text, w->length, err);
    if (user) conversation_set_pictures(&front->conversation, &pictures);
    picture_list_free(&pictures);
    tdm_turn_mark mark = c->reader.head_start ? TDM_TURN_MARK_HEAD_START : TDM_TURN_MARK_NONE;
    tdm_status status = user ? turn_begin(c, user, answers, enter_ns, mark, err) : TDM_E_NOMEM;
    if (status && user) {
        turn_take_back(c, before);
        retarget(c, clock_ns());
    } else if (status == TDM_OK) {
        front->editing = 0;
        turn_tell_left(c, user, before);
        empty_draft(c);
    }
    return status;
}

/* `answers` answers to the last message of the current path, whatever replies it has. */
static tdm_status send_again(struct tdm_chat *c, int answers, int64_t enter_ns, tdm_error *err)
{
    struct dialogue *front = c->front;
    int user = front->conversation.leaf, before = user;
    if (user && front->conversation.nodes[user].role == TDM_ASSISTANT) user = front->conversation.nodes[user].parent;
    if (!user || front->conversation.nodes[user].role != TDM_USER)
        return error_set(err, TDM_E_NOT_FOUND, "there is no reply to make again");
    conversation_set_leaf(&front->conversation, user);
    tdm_status status = turn_begin(c, user, answers, enter_ns, TDM_TURN_MARK_NONE, err);
    if (status) {
        conversation_set_leaf(&front->conversation, before);
        retarget(c, clock_ns());
    } else {
        events_post(c->events, &(tdm_event){.kind = TDM_EV_PATH});
    }
    return status;
}

/* text NULL: more answers to the last message. */
static tdm_status send_or_queue(struct tdm_chat *c, const struct words *w, int answers, int64_t enter_ns,
                                tdm_error *err)
{
    if (answers < 1 || answers > TDM_ANSWERS_MAX)
        return error_set(err, TDM_E_ARG, "answers: expected 1 to %d, found %d", TDM_ANSWERS_MAX, answers);
    chat_lock(c);
    bool idle = chat_phase(c) == PHASE_IDLE;
    tdm_status status = idle || w->text ? check_shown(c, w, err) : busy(c, "answers", err);
    if (status == TDM_OK && idle)
        status = w->text ? send(c, w, answers, enter_ns, err) : send_again(c, answers, enter_ns, err);
    else if (status == TDM_OK && (status = queue(c, w, answers, err)) == TDM_OK)
        empty_draft(c);
    chat_unlock(c);
    return status;
}

TDM_API tdm_status tdm_chat_send(tdm_chat *c, const char *text, size_t length, int64_t enter_ns, tdm_error *err)
{
    return send_or_queue(c, &(struct words){text ? text : "", length, NULL, 0}, 1, enter_ns, err);
}

TDM_API tdm_status tdm_chat_answers(tdm_chat *c, int answers, const char *text, size_t length, int64_t enter_ns,
                                    tdm_error *err)
{
    return send_or_queue(c, &(struct words){text, length, NULL, 0}, answers, enter_ns, err);
}

TDM_API tdm_status tdm_chat_send_pictures(tdm_chat *c, const char *text, size_t length,
                                          const tdm_placed_picture *pictures, size_t n, int answers, int64_t enter_ns,
                                          tdm_error *err)
{
    return send_or_queue(c, &(struct words){text ? text : "", length, pictures, n}, answers, enter_ns, err);
}

TDM_API void tdm_chat_send_now(tdm_chat *c, int64_t enter_ns)
{
    chat_lock(c);
    struct dialogue *front = c->front;
    if (front->has_queued && chat_phase(c) != PHASE_IDLE) {
        struct buffer queued = front->queued;
        front->queued = (struct buffer){0};
        front->has_queued = false; /* or the turn's end would send it as a queued message */
        answer_end_all(c, c->front, TDM_FINISH_STOPPED);
        front->queued = queued;
        front->has_queued = true;
        turn_send_queued(c, enter_ns, TDM_TURN_MARK_CUT);
    }
    chat_unlock(c);
}

TDM_API char *tdm_chat_unqueue_pictures(tdm_chat *c, tdm_placed_picture **pictures, size_t *n)
{
    chat_lock(c);
    struct dialogue *front = c->front;
    char *text = NULL;
    *pictures = NULL;
    *n = 0;
    if (front->has_queued) {
        text = strndup(front->queued.n ? front->queued.bytes : "", front->queued.n);
        *pictures = front->queued_pictures.at;
        *n = front->queued_pictures.n;
        front->queued_pictures = (struct picture_list){0};
        turn_drop_queued(c, front);
    }
    chat_unlock(c);
    return text;
}

TDM_API char *tdm_chat_unqueue(tdm_chat *c)
{
    struct picture_list pictures;
    char *text = tdm_chat_unqueue_pictures(c, &pictures.at, &pictures.n);
    picture_list_free(&pictures);
    return text;
}

TDM_API void tdm_chat_stop(tdm_chat *c, tdm_which_dialogue which)
{
    chat_lock(c);
    if (which == TDM_BACK)
        answer_end_all(c, c->back, TDM_FINISH_STOPPED);
    else if (chat_phase(c) != PHASE_IDLE)
        answer_end_all(c, c->front, TDM_FINISH_STOPPED);
    chat_unlock(c);
}

TDM_API void tdm_chat_stop_answer(tdm_chat *c, int node)
{
    chat_lock(c);
    struct decoder *d = dialogue_decoder_of(c->front, node);
    if (d && d->writing) answer_end(c, d, TDM_FINISH_STOPPED);
    chat_unlock(c);
}

static bool can_continue(const struct node *node)
{
    return node->role == TDM_ASSISTANT && (node->finish == TDM_FINISH_STOPPED || node->finish == TDM_FINISH_LENGTH ||
                                           node->finish == TDM_FINISH_FAILED || node->finish == TDM_FINISH_UNFINISHED ||
                                           node->finish == TDM_FINISH_CONTEXT || node->finish == TDM_FINISH_REPEATS);
}

TDM_API tdm_status tdm_chat_continue(tdm_chat *c, tdm_error *err)
{
    chat_lock(c);
    tdm_status status = busy(c, "continue", err);
    int leaf = c->front->conversation.leaf;
    if (status == TDM_OK && !can_continue(&c->front->conversation.nodes[leaf]))
        status = error_set(err, TDM_E_NOT_FOUND, "there is no stopped reply to continue");
    if (status == TDM_OK)
        status = turn_begin(c, c->front->conversation.nodes[leaf].parent, 0, clock_ns(), TDM_TURN_MARK_NONE, err);
    if (status) retarget(c, clock_ns());
    chat_unlock(c);
    return status;
}

TDM_API tdm_status tdm_chat_regenerate(tdm_chat *c, int64_t enter_ns, tdm_error *err)
{
    chat_lock(c);
    tdm_status status = busy(c, "regenerate", err);
    if (status == TDM_OK) status = send_again(c, 1, enter_ns, err);
    chat_unlock(c);
    return status;
}

/* ---- Going back and branching ------------------------------------------------------------------------------------ */

static void path_changed(struct tdm_chat *c, int left_out)
{
    c->front->path_start = left_out;
    events_post(c->events, &(tdm_event){.kind = TDM_EV_PATH});
    retarget(c, clock_ns());
}

TDM_API tdm_status tdm_chat_undo(tdm_chat *c, tdm_error *err)
{
    chat_lock(c);
    tdm_status status = busy(c, "undo", err);
    if (status == TDM_OK && !conversation_undo(&c->front->conversation))
        status = error_set(err, TDM_E_NOT_FOUND, "there is nothing to undo");
    if (status == TDM_OK) path_changed(c, 0);
    chat_unlock(c);
    return status;
}

TDM_API tdm_status tdm_chat_redo(tdm_chat *c, tdm_error *err)
{
    chat_lock(c);
    tdm_status status = busy(c, "redo", err);
    if (status == TDM_OK && !conversation_redo(&c->front->conversation))
        status = error_set(err, TDM_E_NOT_FOUND, "there is nothing to redo");
    if (status == TDM_OK) path_changed(c, 0);
    chat_unlock(c);
    return status;
}

static tdm_status check_node(const struct tdm_chat *c, int node, tdm_error *err)
{
    if (node >= 1 && node <= c->front->conversation.n) return TDM_OK;
    return error_set(err, TDM_E_NOT_FOUND, "no message %d: there are %d", node, c->front->conversation.n);
}

TDM_API tdm_status tdm_chat_edit(tdm_chat *c, int node, tdm_error *err)
{
    chat_lock(c);
    struct dialogue *front = c->front;
    tdm_status status = busy(c, "edit", err);
    if (status == TDM_OK && node) status = check_node(c, node, err);
    if (status == TDM_OK && node && front->conversation.nodes[node].role != TDM_USER)
        status = error_set(err, TDM_E_ARG, "message %d is no message of yours", node);
    if (status == TDM_OK && (node || front->editing)) {
        if (front->editing) conversation_set_leaf(&front->conversation, front->leaf_before_edit);
        front->leaf_before_edit = front->conversation.leaf;
        front->editing = node;
        c->reader.head_start = false;
        if (node) conversation_set_leaf(&front->conversation, front->conversation.nodes[node].parent);
        path_changed(c, 0);
    }
    chat_unlock(c);
    return status;
}

TDM_API tdm_status tdm_chat_select(tdm_chat *c, int node, tdm_error *err)
{
    chat_lock(c);
    struct dialogue *front = c->front;
    struct decoder *d = dialogue_decoder_of(front, node);
    tdm_status status = d && chat_phase(c) == PHASE_DECODE ? TDM_OK : busy(c, "branch", err);
    if (status == TDM_OK) status = check_node(c, node, err);
    if (status == TDM_OK) {
        int left_out = d && chat_phase(c) == PHASE_DECODE ? front->path_start : 0; /* the prompt stays what it is */
        if (d) front->decoder = d;
        front->editing = 0;
        conversation_select(&front->conversation, node);
        path_changed(c, left_out);
    }
    chat_unlock(c);
    return status;
}

static void tell_of_system(const struct tdm_chat *c)
{
    if (c->front->conversation.system.n && template_facts(c->model->template)->no_system)
        events_post_line(c->events, TDM_EV_NOTICE,
                         "the model's chat template takes no system prompt: it goes before the first message");
}

TDM_API tdm_status tdm_chat_set_system(tdm_chat *c, const char *text, size_t length, tdm_error *err)
{
    chat_lock(c);
    tdm_status status = busy(c, "system", err);
    if (status == TDM_OK) status = conversation_set_system(&c->front->conversation, text, length, err);
    if (status == TDM_OK) tell_of_system(c);
    if (status == TDM_OK) retarget(c, clock_ns());
    chat_unlock(c);
    return status;
}

static void forget(struct tdm_chat *c)
{
    struct dialogue *front = c->front;
    conversation_clear(&front->conversation);
    front->editing = 0;
    front->turns_since_load = 0;
    front->was_loaded = false;
    front->context_warned = false;
    front->last_prompt.n = 0;
    for (int i = 0; i < front->answers; i++) front->decoders[i]->node = 0;
    if (!stage_uses_decoder(front->stage)) front->decoder->prompt = front->decoder->index = 0;
    c->reader.evaluated_mark = c->reader.follower.figures.evaluated;
}

TDM_API void tdm_chat_clear(tdm_chat *c)
{
    chat_lock(c);
    turn_drop_queued(c, c->front);
    if (chat_phase(c) != PHASE_IDLE) answer_end_all(c, c->front, TDM_FINISH_STOPPED);
    forget(c);
    path_changed(c, 0);
    chat_unlock(c);
}

TDM_API tdm_status tdm_chat_load(tdm_chat *c, const char *system, size_t system_length, const tdm_node *nodes, int n,
                                 int leaf, int64_t begun_s, tdm_error *err)
{
    for (int i = 0; i < n; i++) {
        if (nodes[i].parent < 0 || nodes[i].parent > i)
            return error_set(err, TDM_E_FORMAT, "message %d: expected a parent from 0 to %d, found %d", i + 1, i,
                             nodes[i].parent);
        if (nodes[i].role != TDM_USER && nodes[i].role != TDM_ASSISTANT)
            return error_set(err, TDM_E_FORMAT, "message %d: expected a user or assistant message", i + 1);
    }
    if (leaf < 0 || leaf > n) return error_set(err, TDM_E_FORMAT, "expected a leaf from 0 to %d, found %d", n, leaf);
    chat_lock(c);
    struct dialogue *front = c->front;
    tdm_status status = busy(c, "load", err);
    if (status) {
        chat_unlock(c);
        return status;
    }
    forget(c);
    if (begun_s > 0) front->conversation.begun_s = begun_s;
    status = conversation_set_system(&front->conversation, system, system_length, err);
    for (int i = 0; status == TDM_OK && i < n; i++) {
        const tdm_node *from = &nodes[i];
        struct picture_list pictures;
        status = picture_list_copy(&pictures, from->pictures, from->n_pictures, from->text, from->length, err);
        if (status) break;
        int node = conversation_add(&front->conversation, from->parent, from->role, from->text, from->length, err);
        if (node) conversation_set_pictures(&front->conversation, &pictures);
        picture_list_free(&pictures);
        if (!node) {
            status = TDM_E_NOMEM;
            break;
        }
        if (from->thinking_length)
            status = conversation_append(&front->conversation, node, true, from->thinking, from->thinking_length, err);
        front->conversation.nodes[node].think = from->thinking_length ? TDM_THINK_ON : TDM_THINK_OFF;
        front->conversation.nodes[node].finish = from->finish;
        front->conversation.nodes[node].time_s = from->time_s;
        front->conversation.nodes[node].user = from->user;
    }
    if (status == TDM_OK && leaf) conversation_select(&front->conversation, leaf);
    if (status == TDM_OK) conversation_set_leaf(&front->conversation, leaf);
    if (status) forget(c);
    front->was_loaded = status == TDM_OK && n > 0;
    path_changed(c, 0);
    chat_unlock(c);
    return status;
}

/* ---- Saved states ------------------------------------------------------------------------------------------------ */

/* Everything that a state depends on: the weights, how they are computed with, and how keys and values are kept. */
static uint64_t state_fingerprint(const struct tdm_chat *c)
{
    uint64_t hash = c->model->info.fingerprint;
    const struct side *side = &c->side[TDM_PREFILL_UNIT];
    const char *kernels = side->weights->kernels->name;
    hash = fnv_bytes(hash, kernels, strlen(kernels));
    if (side->residence.model->device) hash = fnv_step(hash, side->residence.model->device->identity);
    return fnv_step(hash, (uint64_t)pool_kv(side->pool)) ^ side->weights->bytes;
}

/* Brings the checkpoints up to the states that there are, and evaluates nothing: the follower takes over a reply that
 * has just ended, and what it has is kept. Its unit, which does so by itself, is paused, and does it for this call. */
static void catch_up(struct tdm_chat *c, struct unit *unit)
{
    struct work work;
    chat_lock(c);
    while (c->reader.follower.plan.active || c->front->stage == STAGE_IDLE_BUSY)
        pthread_cond_wait(&c->settled, &c->lock);
    bool rests = chat_phase(c) == PHASE_IDLE && chat_pipeline(c)->follows && !c->lost;
    bool adopts = rests && adopt_next(c, TDM_PREFILL_UNIT, clock_ns(), &work);
    chat_unlock(c);
    if (adopts) unit_call(unit, &work);
    chat_lock(c);
    bool keeps = rests && !c->reader.follower.plan.active && !c->lost && follow_keep_next(c, &work);
    chat_unlock(c);
    if (keeps) unit_call(unit, &work);
}

/* The best state to be kept: the one before the draft, which is what a resumed session starts from. A checkpoint is
 * copied without the lock, so that no key waits for it: while the follower rests and `saving` is held, none goes. */
static tdm_status copy_to_save(struct tdm_chat *c, struct state **copy, uint64_t *fingerprint, tdm_error *err)
{
    chat_lock(c);
    const struct follower *f = &c->reader.follower;
    while (f->plan.active) pthread_cond_wait(&c->settled, &c->lock); /* an adoption, on the decode unit */
    struct checkpoint_found best = checkpoints_find(f->checkpoints, c->reader.target.ids, c->reader.target.history);
    tdm_status status = TDM_OK;
    *fingerprint = state_fingerprint(c);
    if (!best.state && f->usable && f->length)
        status = state_fork(copy, f->state, err);
    else if (!best.state)
        status = error_set(err, TDM_E_NOT_FOUND, "nothing was read yet");
    chat_unlock(c);
    if (!best.state) return status;
    status = state_fork(copy, best.state, err);
    return status ? status : state_cut(*copy, best.length, err);
}

/* Refuses a chat on a server, which keeps the states itself. */
static tdm_status check_here(const struct tdm_chat *c, const char *what, tdm_error *err)
{
    if (!chat_on_server(c)) return TDM_OK;
    return error_set(err, TDM_E_UNSUPPORTED, "%s: the model is on a server (%s), which keeps its states", what,
                     c->model->server->host);
}

TDM_API tdm_status tdm_chat_save_state(tdm_chat *c, const char *path, tdm_error *err)
{
    if (check_here(c, "save", err)) return TDM_E_UNSUPPORTED;
    struct state *copy = NULL;
    uint64_t fingerprint;
    struct unit *unit = c->machine->units[TDM_PREFILL_UNIT];
    unit_quiesce(unit);
    pthread_mutex_lock(&c->saving);
    catch_up(c, unit);
    tdm_status status = copy_to_save(c, &copy, &fingerprint, err);
    pthread_mutex_unlock(&c->saving);
    unit_resume(unit);
    if (status == TDM_OK) status = statefile_save(path, copy, fingerprint, err);
    state_free(copy);
    return status;
}

/* The file is read beside everything else; what it held takes the follower's place between two of its jobs. */
TDM_API tdm_status tdm_chat_load_state(tdm_chat *c, const char *path, tdm_error *err)
{
    struct state *read = NULL;
    if (check_here(c, "load", err)) return TDM_E_UNSUPPORTED;
    tdm_status status = state_new(&read, c->side[TDM_PREFILL_UNIT].pool, err);
    if (status == TDM_OK) status = statefile_load(path, read, state_fingerprint(c), err);
    if (status) {
        state_free(read);
        return status;
    }
    pthread_mutex_lock(&c->saving);
    chat_lock(c);
    state_free(c->reader.loaded);
    c->reader.loaded = read;
    if (!c->reader.follower.plan.active) follow_adopt_loaded(&c->reader);
    retarget(c, clock_ns());
    chat_unlock(c);
    pthread_mutex_unlock(&c->saving);
    return TDM_OK;
}

/* ---- Comparing --------------------------------------------------------------------------------------------------- */

/* The first token of a reply and the time that it took are those of this chat, and of one turn. */
static tdm_status check_comparable(const struct node *reply, tdm_error *err)
{
    if (reply->role != TDM_ASSISTANT) return error_set(err, TDM_E_NOT_FOUND, "there is no reply to compare with");
    if (reply->continued)
        return error_set(err, TDM_E_NOT_FOUND, "a reply that was gone on with has no first token to compare with");
    if (!reply->reply.n)
        return error_set(err, TDM_E_NOT_FOUND,
                         "of this reply no first token is known: there is nothing to compare with");
    return TDM_OK;
}

TDM_API tdm_status tdm_chat_cold(tdm_chat *c, tdm_pipeline pipeline, tdm_error *err)
{
    if ((unsigned)pipeline >= TDM_PIPELINES) return error_set(err, TDM_E_ARG, "no such pipeline");
    if (check_here(c, "cold", err)) return TDM_E_UNSUPPORTED;
    chat_lock(c);
    tdm_status status = busy(c, "cold", err);
    int reply = c->front->conversation.leaf;
    const struct node *node = &c->front->conversation.nodes[reply];
    if (status == TDM_OK) status = turn_wait_for_stopped_prompt(c, err);
    if (status == TDM_OK) status = check_comparable(node, err);
    if (status == TDM_OK) status = prompt_begin_cold(c, reply, pipeline, err);
    chat_unlock(c);
    return status;
}
