/* What the user does to a chat: typing, sending, stopping, going back, branching, and saving what was read.
 *
 * Every tdm_chat_ function takes the lock; the follower sees only a changed target.
 */
#include "engine/base/buffer.h"
#include "engine/chat/chat.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/fnv.h"

static tdm_status busy(const struct tdm_chat *c, const char *what, tdm_error *err)
{
    if (chat_phase(c) == PHASE_IDLE) return TDM_OK;
    return error_set(err, TDM_E_BUSY, "%s: a reply is being written; stop it first", what);
}

/* ---- Typing and sending ------------------------------------------------------------------------------------------ */

/* An edited message stands in the draft at once: what is sent then was not typed, or only in part. Typed again by keys
 * it is a message like any other. */
static bool has_head_start(const struct tdm_chat *c, const char *text, size_t length)
{
    const struct buffer *was = &c->conversation.nodes[c->editing].text;
    if (!c->editing || !length) return false;
    return c->head_start || (c->draft.n == 0 && length == was->n && !memcmp(text, was->bytes, length));
}

/* *typed: it is a time at which a server is told that something is. */
static tdm_status put_draft(struct tdm_chat *c, const char *text, size_t length, bool held, bool *typed, tdm_error *err)
{
    c->head_start = has_head_start(c, text, length);
    buffer_clear(&c->draft);
    tdm_status status = buffer_append(&c->draft, text, length, err);
    c->draft_held = held;
    typing_key(&c->typing, clock_ns());
    /* A token stands for some bytes, but no more than the longest: a text that can't fit is not even looked at. */
    uint32_t context = pool_context(c->side[TDM_DECODE_UNIT].pool);
    c->draft_too_long = length / 128 > context;
    c->draft_tokens = 0;
    /* While a turn is under way the draft is no part of the target, and the decoder keeps the cores that it is lent. */
    bool idle = chat_phase(c) == PHASE_IDLE, counts = idle && chat_level(c) >= TDM_SPEC_DRAFT;
    *typed = idle && length && chat_level(c) > TDM_SPEC_OFF;
    if (counts && pipeline_of(c->options.pipeline)->follows) {
        chat_retarget(c, c->typing.last_ns);
        /* Every token is at least a byte: only a draft with as many bytes as there is room must be counted. */
        if (!held && !c->draft_too_long && c->target.history + length >= context) {
            uint32_t whole = chat_prompt_length(c);
            c->draft_too_long = whole >= context;
            if (c->draft_too_long) c->draft_tokens = whole - c->target.history;
            chat_retarget(c, c->typing.last_ns);
        }
    }
    return status;
}

TDM_API tdm_status tdm_chat_set_draft(tdm_chat *c, const char *text, size_t length, bool held, tdm_error *err)
{
    bool typed;
    chat_lock(c);
    tdm_status status = put_draft(c, text, length, held, &typed, err);
    chat_unlock(c);
    if (typed) chat_warn_server(c);
    return status;
}

static tdm_status queue(struct tdm_chat *c, const char *text, size_t length, int answers, tdm_error *err)
{
    tdm_status status = TDM_OK;
    if (c->has_queued) status = buffer_append(&c->queued, "\n", 1, err);
    if (status == TDM_OK) status = buffer_append(&c->queued, text, length, err);
    if (status) return status;
    c->has_queued = true;
    if (answers > c->queued_answers) c->queued_answers = answers;
    events_post(c->events, &(tdm_event){.kind = TDM_EV_QUEUED, .text = c->queued.bytes, .length = c->queued.n});
    return TDM_OK;
}

static void empty_draft(struct tdm_chat *c)
{
    buffer_clear(&c->draft);
    c->draft_held = c->draft_too_long = c->head_start = false;
    if (chat_phase(c) == PHASE_IDLE) chat_retarget(c, clock_ns()); /* a reply of one token has ended already */
}

/* A message of the current path, and so many answers to it. */
static tdm_status send(struct tdm_chat *c, const char *text, size_t length, int answers, int64_t enter_ns,
                       tdm_error *err)
{
    int user = conversation_add(&c->conversation, c->conversation.leaf, TDM_USER, text, length, err);
    tdm_turn_mark mark = c->head_start ? TDM_HEAD_START : TDM_UNMARKED;
    tdm_status status = user ? chat_begin(c, user, answers, enter_ns, mark, err) : TDM_E_NOMEM;
    if (status && user) {
        conversation_remove_last(&c->conversation);
        chat_retarget(c, clock_ns());
    } else if (status == TDM_OK) {
        c->editing = 0;
        empty_draft(c);
    }
    return status;
}

/* So many answers to the last message of the current path, whatever replies it has. */
static tdm_status send_again(struct tdm_chat *c, int answers, int64_t enter_ns, tdm_error *err)
{
    int user = c->conversation.leaf, before = user;
    if (user && c->conversation.nodes[user].role == TDM_ASSISTANT) user = c->conversation.nodes[user].parent;
    if (!user || c->conversation.nodes[user].role != TDM_USER)
        return error_set(err, TDM_E_NOT_FOUND, "there is no reply to make again");
    c->conversation.leaf = user;
    tdm_status status = chat_begin(c, user, answers, enter_ns, TDM_UNMARKED, err);
    if (status) {
        c->conversation.leaf = before;
        chat_retarget(c, clock_ns());
    } else {
        events_post(c->events, &(tdm_event){.kind = TDM_EV_PATH});
    }
    return status;
}

TDM_API tdm_status tdm_chat_send(tdm_chat *c, const char *text, size_t length, int64_t enter_ns, tdm_error *err)
{
    chat_lock(c);
    tdm_status status = TDM_OK;
    if (chat_phase(c) == PHASE_IDLE)
        status = send(c, text, length, 1, enter_ns, err);
    else if ((status = queue(c, text, length, 1, err)) == TDM_OK)
        empty_draft(c);
    chat_unlock(c);
    return status;
}

TDM_API tdm_status tdm_chat_answers(tdm_chat *c, int answers, const char *text, size_t length, int64_t enter_ns,
                                    tdm_error *err)
{
    if (answers < 1 || answers > TDM_ANSWERS_MAX)
        return error_set(err, TDM_E_ARG, "answers: expected 1 to %d, found %d", TDM_ANSWERS_MAX, answers);
    chat_lock(c);
    bool idle = chat_phase(c) == PHASE_IDLE;
    tdm_status status = idle || text ? TDM_OK : busy(c, "answers", err);
    if (status == TDM_OK && idle)
        status = text ? send(c, text, length, answers, enter_ns, err) : send_again(c, answers, enter_ns, err);
    else if (status == TDM_OK && (status = queue(c, text, length, answers, err)) == TDM_OK)
        empty_draft(c);
    chat_unlock(c);
    return status;
}

TDM_API void tdm_chat_send_now(tdm_chat *c, int64_t enter_ns)
{
    chat_lock(c);
    if (c->has_queued && chat_phase(c) != PHASE_IDLE) {
        struct buffer queued = c->queued;
        c->queued = (struct buffer){0};
        c->has_queued = false; /* so that chat_end does not send it as a queued one */
        chat_end(c, TDM_STOPPED);
        c->queued = queued;
        c->has_queued = true;
        chat_send_queued(c, enter_ns, TDM_CUT);
    }
    chat_unlock(c);
}

TDM_API char *tdm_chat_unqueue(tdm_chat *c)
{
    chat_lock(c);
    char *text = NULL;
    if (c->has_queued) {
        text = strndup(c->queued.n ? c->queued.bytes : "", c->queued.n);
        buffer_clear(&c->queued);
        c->has_queued = false;
        c->queued_answers = 0;
        events_post(c->events, &(tdm_event){.kind = TDM_EV_UNQUEUED});
    }
    chat_unlock(c);
    return text;
}

TDM_API void tdm_chat_stop(tdm_chat *c)
{
    chat_lock(c);
    if (chat_phase(c) != PHASE_IDLE) chat_end(c, TDM_STOPPED);
    chat_unlock(c);
}

TDM_API void tdm_chat_stop_answer(tdm_chat *c, int node)
{
    chat_lock(c);
    struct decoder *d = chat_decoder_of(c, node);
    if (d && d->writing) chat_end_answer(c, d, TDM_STOPPED);
    chat_unlock(c);
}

static bool can_continue(const struct node *node)
{
    return node->role == TDM_ASSISTANT && (node->finish == TDM_STOPPED || node->finish == TDM_LENGTH ||
                                           node->finish == TDM_FAILED || node->finish == TDM_UNFINISHED ||
                                           node->finish == TDM_CONTEXT || node->finish == TDM_REPEATS);
}

TDM_API tdm_status tdm_chat_continue(tdm_chat *c, tdm_error *err)
{
    chat_lock(c);
    tdm_status status = busy(c, "continue", err);
    int leaf = c->conversation.leaf;
    if (status == TDM_OK && !can_continue(&c->conversation.nodes[leaf]))
        status = error_set(err, TDM_E_NOT_FOUND, "there is no stopped reply to continue");
    if (status == TDM_OK)
        status = chat_begin(c, c->conversation.nodes[leaf].parent, 0, clock_ns(), TDM_UNMARKED, err);
    if (status) chat_retarget(c, clock_ns());
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
    c->path_start = left_out;
    events_post(c->events, &(tdm_event){.kind = TDM_EV_PATH});
    chat_retarget(c, clock_ns());
}

TDM_API tdm_status tdm_chat_undo(tdm_chat *c, tdm_error *err)
{
    chat_lock(c);
    tdm_status status = busy(c, "undo", err);
    if (status == TDM_OK && !conversation_undo(&c->conversation))
        status = error_set(err, TDM_E_NOT_FOUND, "there is nothing to undo");
    if (status == TDM_OK) path_changed(c, 0);
    chat_unlock(c);
    return status;
}

TDM_API tdm_status tdm_chat_redo(tdm_chat *c, tdm_error *err)
{
    chat_lock(c);
    tdm_status status = busy(c, "redo", err);
    if (status == TDM_OK && !conversation_redo(&c->conversation))
        status = error_set(err, TDM_E_NOT_FOUND, "there is nothing to redo");
    if (status == TDM_OK) path_changed(c, 0);
    chat_unlock(c);
    return status;
}

static tdm_status check_node(const struct tdm_chat *c, int node, tdm_error *err)
{
    if (node >= 1 && node <= c->conversation.n) return TDM_OK;
    return error_set(err, TDM_E_NOT_FOUND, "no message %d: there are %d", node, c->conversation.n);
}

TDM_API tdm_status tdm_chat_edit(tdm_chat *c, int node, tdm_error *err)
{
    chat_lock(c);
    tdm_status status = busy(c, "edit", err);
    if (status == TDM_OK && node) status = check_node(c, node, err);
    if (status == TDM_OK && node && c->conversation.nodes[node].role != TDM_USER)
        status = error_set(err, TDM_E_ARG, "message %d is no message of yours", node);
    if (status == TDM_OK && (node || c->editing)) {
        if (c->editing) c->conversation.leaf = c->leaf_before_edit;
        c->leaf_before_edit = c->conversation.leaf;
        c->editing = node;
        c->head_start = false;
        if (node) c->conversation.leaf = c->conversation.nodes[node].parent;
        path_changed(c, 0);
    }
    chat_unlock(c);
    return status;
}

TDM_API tdm_status tdm_chat_select(tdm_chat *c, int node, tdm_error *err)
{
    chat_lock(c);
    struct decoder *d = chat_decoder_of(c, node);
    tdm_status status = d && chat_phase(c) == PHASE_DECODE ? TDM_OK : busy(c, "branch", err);
    if (status == TDM_OK) status = check_node(c, node, err);
    if (status == TDM_OK) {
        int left_out = d && chat_phase(c) == PHASE_DECODE ? c->path_start : 0; /* the prompt stays what it is */
        if (d) c->decoder = d;
        c->editing = 0;
        conversation_select(&c->conversation, node);
        path_changed(c, left_out);
    }
    chat_unlock(c);
    return status;
}

TDM_API tdm_status tdm_chat_set_system(tdm_chat *c, const char *text, size_t length, tdm_error *err)
{
    chat_lock(c);
    tdm_status status = busy(c, "system", err);
    if (status == TDM_OK) status = conversation_set_system(&c->conversation, text, length, err);
    if (status == TDM_OK) chat_retarget(c, clock_ns());
    chat_unlock(c);
    return status;
}

static void forget(struct tdm_chat *c)
{
    conversation_clear(&c->conversation);
    c->editing = 0;
    c->turns_since_load = 0;
    c->was_loaded = false;
    c->context_warned = false;
    c->last_prompt.n = 0;
    for (int i = 0; i < c->answers; i++) c->decoders[i]->node = 0;
    if (!stage_uses_decoder(c->stage)) c->decoder->prompt = c->decoder->index = 0;
    c->evaluated_mark = c->follower.figures.evaluated;
}

TDM_API void tdm_chat_clear(tdm_chat *c)
{
    chat_lock(c);
    buffer_clear(&c->queued);
    c->has_queued = false;
    c->queued_answers = 0;
    if (chat_phase(c) != PHASE_IDLE) chat_end(c, TDM_STOPPED);
    forget(c);
    path_changed(c, 0);
    chat_unlock(c);
}

TDM_API tdm_status tdm_chat_load(tdm_chat *c, const char *system, size_t system_length, const tdm_node *nodes, int n,
                                 int leaf, tdm_error *err)
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
    tdm_status status = busy(c, "load", err);
    if (status == TDM_OK) {
        forget(c);
        status = conversation_set_system(&c->conversation, system, system_length, err);
    }
    for (int i = 0; status == TDM_OK && i < n; i++) {
        const tdm_node *from = &nodes[i];
        int node = conversation_add(&c->conversation, from->parent, from->role, from->text, from->length, err);
        if (!node) {
            status = TDM_E_NOMEM;
            break;
        }
        if (from->thinking_length)
            status = conversation_append(&c->conversation, node, true, from->thinking, from->thinking_length, err);
        c->conversation.nodes[node].think = from->thinking_length ? TDM_THINK_ON : TDM_THINK_OFF;
        c->conversation.nodes[node].finish = from->finish;
        c->conversation.nodes[node].time_s = from->time_s;
    }
    if (status == TDM_OK && leaf) conversation_select(&c->conversation, leaf);
    if (status == TDM_OK) c->conversation.leaf = leaf;
    if (status) forget(c);
    c->was_loaded = status == TDM_OK && n > 0;
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
    if (side->place.model->device) hash = fnv_step(hash, side->place.model->device->identity);
    return fnv_step(hash, (uint64_t)pool_kv(side->pool)) ^ side->weights->bytes;
}

/* The best state to be kept: the one before the draft, which is what a resumed session starts from. A checkpoint is
 * copied without the lock, so that no key waits for it: while the follower rests and `saving` is held, none goes. */
static tdm_status copy_to_save(struct tdm_chat *c, struct state **copy, uint64_t *fingerprint, tdm_error *err)
{
    chat_lock(c);
    const struct follower *f = &c->follower;
    while (f->plan.active) pthread_cond_wait(&c->settled, &c->lock); /* an adoption, on the decode unit */
    const struct state *best = checkpoints_find(f->checkpoints, c->target.ids, c->target.history);
    tdm_status status = TDM_OK;
    *fingerprint = state_fingerprint(c);
    if (!best && f->usable && f->length)
        status = state_fork(copy, f->state, err);
    else if (!best)
        status = error_set(err, TDM_E_NOT_FOUND, "nothing was read yet");
    chat_unlock(c);
    return best ? state_fork(copy, best, err) : status;
}

/* What lies in states that are here. */
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
    state_free(c->loaded);
    c->loaded = read;
    bool moves = c->two_pools && stage_uses_decoder(c->stage); /* perhaps the follower's state */
    if (!c->follower.plan.active && !moves) chat_adopt_loaded(c);
    chat_retarget(c, clock_ns());
    chat_unlock(c);
    pthread_mutex_unlock(&c->saving);
    return TDM_OK;
}

/* ---- Comparing --------------------------------------------------------------------------------------------------- */

TDM_API tdm_status tdm_chat_cold(tdm_chat *c, tdm_pipeline pipeline, tdm_error *err)
{
    if ((unsigned)pipeline >= TDM_PIPELINES) return error_set(err, TDM_E_ARG, "no such pipeline");
    if (check_here(c, "cold", err)) return TDM_E_UNSUPPORTED;
    chat_lock(c);
    tdm_status status = busy(c, "cold", err);
    int reply = c->conversation.leaf;
    const struct node *node = &c->conversation.nodes[reply];
    if (status == TDM_OK) status = chat_let_go(c, err);
    if (status == TDM_OK && (!reply || node->role != TDM_ASSISTANT || node->reply.n == 0))
        status = error_set(err, TDM_E_NOT_FOUND, "there is no reply to compare with");
    if (status == TDM_OK) status = chat_begin_cold(c, reply, pipeline, err);
    chat_unlock(c);
    return status;
}
