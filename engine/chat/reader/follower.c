#include "engine/chat/reader/follower.h"

#include <stdlib.h>
#include <string.h>

#include "engine/backend/server.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"

/* Tokens between two checkpoints while a long history or message is evaluated. */
enum { KEEP_EVERY = 256 };
/* A dispatch is split at the start of an earlier turn, for a checkpoint, only if that part has this many tokens. */
enum { WORTH_SPLITTING = 16 };
/* A dispatch of fewer tokens is limited by memory bandwidth: multiplying this many with weights takes about as long as
 * reading the weights. */
enum { FEW_TOKENS = 8 };
/* One more token in a dispatch that reads no more weights for it costs about 1/MARGIN of the time of a token. To cancel
 * a dispatch costs as much: a layer and a copy. */
enum { MARGIN = 16 };
/* The most tokens of a dispatch while a reply decodes, with experts: fewer would touch nearly as many of them. */
enum { MAX_WHILE_DECODING = 128 };
/* The same on a device. With smaller dispatches fewer tokens would be left to be read after a reply, but each dispatch
 * reads all weights, from the memory that a reply on the same device reads them from. */
enum { MAX_WHILE_DECODING_DEVICE = 64 };
/* This many tokens are not worth a checkpoint of their own while a turn waits. */
enum { TOO_CLOSE = 16 };

tdm_status follower_init(struct follower *f, struct evaluator *evaluator, struct state *state,
                         struct checkpoints *checkpoints, uint32_t dispatch, tdm_error *err)
{
    *f = (struct follower){.weights = evaluator->model->weights, .evaluator = evaluator, .state = state,
                           .checkpoints = checkpoints, .usable = true,
                           .whole = evaluator->model->backend == &backend_server};
    follower_set_dispatch(f, dispatch);
    f->path = malloc(pool_context(state->pool) * sizeof *f->path);
    if (!f->path) return error_set(err, TDM_E_NOMEM, "no memory for the follower");
    f->kept = checkpoints_stats(checkpoints);
    f->budget = f->kept.budget;
    return TDM_OK;
}

void follower_free(struct follower *f)
{
    checkpoints_free(f->checkpoints);
    state_free(f->state);
    evaluator_free(f->evaluator);
    free(f->path);
    *f = (struct follower){0};
}

void follower_renew(struct follower *f, struct evaluator *evaluator, struct state *state,
                    struct checkpoints *checkpoints)
{
    assert_always(!f->plan.active);
    checkpoints_free(f->checkpoints);
    state_free(f->state);
    evaluator_free(f->evaluator);
    f->evaluator = evaluator;
    f->state = state;
    f->checkpoints = checkpoints;
    f->kept = checkpoints_stats(checkpoints);
    f->budget = f->kept.budget;
    f->external = 0;
    f->length = 0;
    f->usable = true;
}

void follower_set_dispatch(struct follower *f, uint32_t dispatch)
{
    assert_always(!f->plan.active);
    f->dispatch = f->whole ? pool_context(f->state->pool) : dispatch;
    uint32_t most = f->evaluator->model->backend->dispatch ? MAX_WHILE_DECODING_DEVICE
                    : f->weights->experts                  ? MAX_WHILE_DECODING
                                                           : f->dispatch;
    f->max_while_decoding = f->dispatch < most ? f->dispatch : most;
}

/* Does a dispatch of n tokens take the time in which its weights are read? */
static bool is_short(const struct follower *f, uint32_t n)
{
    return n * weights_pass_bytes(f->weights, 1) <= FEW_TOKENS * weights_pass_bytes(f->weights, n);
}

uint32_t follower_covered(const struct follower *f, const struct target *t)
{
    return target_common_prefix(t, f->path, f->length);
}

uint32_t follower_in_state(const struct follower *f, const struct target *t)
{
    return f->usable ? target_common_prefix(t, f->path, f->length) : 0;
}

uint32_t follower_reachable(struct follower *f, const struct target *t)
{
    assert_always(!f->plan.active);
    uint32_t here = follower_in_state(f, t);
    if (f->usable && here == f->length && here == t->n) return here;
    uint32_t there = checkpoints_find(f->checkpoints, t->ids, t->n).length;
    return f->usable && here > there && state_can_cut(f->state, here) ? here : there;
}

bool follower_is_ready(const struct follower *f, const struct target *t)
{
    return t->complete && !f->plan.active && f->usable && f->length == t->n && f->state->logits_valid &&
           target_common_prefix(t, f->path, f->length) == t->n;
}

/* Can its state be cut to its first n tokens, of which there are some? */
static bool can_go_back(const struct follower *f, uint32_t n)
{
    return f->usable && n > 0 && state_can_cut(f->state, n);
}

/* Where the next dispatch from `from` ends at the latest: not beyond a place that is worth a checkpoint. */
static uint32_t split_at_turns(const struct target *t, uint32_t from, uint32_t end)
{
    for (uint32_t i = 0; i < t->n_turns; i++) {
        uint32_t turn = t->turns[i];
        if (turn <= from || turn >= end) continue;
        if (turn == t->history || turn - from >= WORTH_SPLITTING) return turn;
    }
    return end;
}

/* Where it takes two dispatches to the end in any case, the last one begins with the suffix: the state before it is
 * where the follower goes on after the hand-over. One that began within the suffix would leave it further back. */
static uint32_t split_at_suffix(const struct target *t, uint32_t from, uint32_t end, uint32_t dispatch)
{
    bool within = end < t->n && from < t->draft && t->draft < end;
    return t->complete && within && t->n - t->draft <= dispatch ? t->draft : end;
}

static bool starts_a_turn(const struct target *t, uint32_t place)
{
    for (uint32_t i = 0; i < t->n_turns; i++)
        if (t->turns[i] == place) return true;
    return false;
}

static enum span_kind kind_of(const struct target *t, uint32_t from, uint32_t end)
{
    if (t->complete && end == t->n) return SPAN_SUFFIX;
    return from >= t->history ? SPAN_DRAFT : SPAN_HISTORY;
}

/* Makes the plan the active one. */
static void begin(struct follower *f, const struct target *t, const struct follower_plan *plan)
{
    memcpy(f->path, t->ids, (plan->from + plan->n) * sizeof *f->path);
    f->length = plan->from;
    f->usable = true;
    f->plan = *plan;
    f->plan.start_ns = clock_ns();
    atomic_store(&f->cancel, false);
    atomic_store(&f->expedited, false);
}

/* Where the evaluation of what is wanted begins, and how the state gets there. Returns the best checkpoint. */
static struct checkpoint_found begin_at(const struct follower *f, const struct target *t, struct follower_plan *plan)
{
    uint32_t here = follower_in_state(f, t);
    /* A complete target needs the logits of its last token: a state at its end without them is one step too far. */
    bool extends = f->usable && here == f->length && here < t->n;
    struct checkpoint_found kept = checkpoints_find(f->checkpoints, t->ids, t->n);
    bool whole = kept.length == t->n && kept.length == kept.state->length;
    if (kept.length == t->n && t->complete && !(whole && kept.state->logits_valid))
        kept = checkpoints_find(f->checkpoints, t->ids, t->n - 1);
    uint32_t back = here < t->n || !t->complete ? here : t->n - 1;
    if (extends ? kept.length <= here : back >= kept.length && can_go_back(f, back)) {
        plan->from = extends ? here : back;
    } else if (kept.state) {
        plan->restore = kept.state;
        plan->from = kept.length;
    } else {
        plan->clear = true;
    }
    return kept;
}

/* Everything wanted is there; a state that runs past an open target is left alone until it has to go on. */
static bool has_all(const struct follower *f, const struct target *t)
{
    return t->complete ? follower_is_ready(f, t) : f->usable && follower_in_state(f, t) == t->n;
}

uint32_t follower_begins_at(const struct follower *f, const struct target *t)
{
    struct follower_plan plan = {0};
    if (t->n == 0 || has_all(f, t)) return t->n;
    begin_at(f, t, &plan);
    return plan.from;
}

bool follower_plan(struct follower *f, const struct target *t, bool decoding, bool urgent)
{
    assert_always(!f->plan.active);
    if (t->n == 0 || t->n > pool_context(f->state->pool)) return false;
    if (has_all(f, t)) return false;

    struct follower_plan plan = {.active = true};
    struct checkpoint_found kept = begin_at(f, t, &plan);
    uint32_t most = decoding ? f->max_while_decoding : f->dispatch, end = plan.from + most;
    if (end > t->n) end = t->n;
    if (!f->whole) end = urgent ? split_at_suffix(t, plan.from, end, most) : split_at_turns(t, plan.from, end);
    plan.n = end - plan.from;
    /* Compared with what is wanted, not with what fits before the next turn: a short rest of an old turn must not delay
     * the remainder. */
    if (decoding && !t->complete && t->n - plan.from < most) return false;

    plan.logits = t->complete && end == t->n;
    plan.kind = kind_of(t, plan.from, end);
    /* The draft may change, and the suffix of a prompt certainly will; a message that was sent does not. */
    bool temporary = (plan.from > t->history && !urgent) || plan.logits;
    bool near = urgent && kept.state && plan.from - kept.length <= TOO_CLOSE;
    if (plan.from > 0 && !plan.restore && temporary && plan.n > 0 && !near) {
        plan.keep_before = true;
        plan.kind_before = plan.logits ? CHECKPOINT_SUFFIX : CHECKPOINT_DISPATCH;
    }
    if (plan.n == 0) {
        plan.keep_after = false;
    } else if (starts_a_turn(t, end)) {
        plan.keep_after = true;
        plan.kind_after = end == t->history ? CHECKPOINT_DRAFT : CHECKPOINT_TURN;
    } else if (plan.logits && !urgent) {
        plan.keep_after = true; /* there is time: a new sample, or taking back the next key, will cost nothing */
        plan.kind_after = CHECKPOINT_SUFFIX;
    } else if ((end < t->history || urgent) && end / KEEP_EVERY != plan.from / KEEP_EVERY) {
        plan.keep_after = true;
        plan.kind_after = CHECKPOINT_DISPATCH;
    }
    begin(f, t, &plan);
    return true;
}

bool follower_plan_adoption(struct follower *f, const struct target *t, const struct state *other, uint32_t least)
{
    assert_always(!f->plan.active && least > 0 && other->pool == f->state->pool);
    if (other->broken || !state_is_prefix(other, t->ids, t->n)) return false;
    if (other->length < follower_reachable(f, t) + least) return false;
    begin(f, t, &(struct follower_plan){.active = true, .restore = other, .from = other->length});
    return true;
}

bool follower_plan_checkpoint(struct follower *f, const struct target *t)
{
    assert_always(!f->plan.active);
    uint32_t here = follower_in_state(f, t);
    if (!here || here < f->length || here > t->history) return false;
    if (checkpoints_find(f->checkpoints, t->ids, t->history).length >= here) return false;
    enum checkpoint_kind kind = here == t->history ? CHECKPOINT_DRAFT : CHECKPOINT_TURN;
    begin(f, t, &(struct follower_plan){.active = true, .keep_before = true, .kind_before = kind, .from = here});
    return true;
}

void follower_hold(struct follower *f)
{
    assert_always(!f->plan.active && f->usable);
    f->plan = (struct follower_plan){.active = true, .from = f->length, .start_ns = clock_ns()};
    atomic_store(&f->cancel, false);
    atomic_store(&f->expedited, false);
}

void follower_cancel_if_stale(struct follower *f, const struct target *t)
{
    if (!f->plan.active || f->plan.joined || t->n == 0) return;
    uint32_t end = f->plan.from + f->plan.n;
    if (target_common_prefix(t, f->path, end) < end) atomic_store(&f->cancel, true);
}

void follower_expedite(struct follower *f, const struct target *t, int64_t now_ns)
{
    /* If a small dispatch runs, it may be faster to cancel it and to evaluate all that remains in one dispatch, since
     * both read all weights. */
    const struct follower_plan *plan = &f->plan;
    follower_cancel_if_stale(f, t);
    atomic_store(&f->expedited, true);
    bool kept = plan->keep_before || plan->restore || plan->clear;
    bool joins = plan->from + plan->n < t->n && t->n - plan->from <= f->dispatch;
    if (!plan->active || plan->n == 0 || !is_short(f, plan->n) || !kept || !joins) return;
    uint32_t next = t->n - plan->from - plan->n;
    double own = weights_pass_bytes(f->weights, plan->n);
    double takes = (double)f->figures.short_ns * own / weights_pass_bytes(f->weights, f->figures.short_n);
    double left = takes - (double)(now_ns - plan->start_ns);
    /* What the next dispatch reads in addition for these tokens, and the work on them. */
    double more = weights_pass_bytes(f->weights, plan->n + next) - weights_pass_bytes(f->weights, next);
    double work = weights_pass_bytes(f->weights, 1) * (plan->n + 1) / MARGIN;
    if (left > takes * (more + work) / own) atomic_store(&f->cancel, true);
}

static void keep(struct follower *f, enum checkpoint_kind kind, struct activity *activity)
{
    struct activity_span span = {.start_ns = clock_ns(), .kind = SPAN_CHECKPOINT, .bytes = state_own_bytes(f->state)};
    bool kept;
    /* A checkpoint that can't be kept costs work later, never correctness. */
    if (checkpoints_add(f->checkpoints, f->state, kind, &kept, NULL) || !kept) {
        f->plan.unkept = true;
        return;
    }
    span.end_ns = clock_ns();
    activity_add(activity, &span);
}

tdm_status follower_perform(struct follower *f, struct team *team, struct activity *activity,
                            struct activity_span *span, tdm_error *err)
{
    const struct follower_plan *plan = &f->plan;
    assert_always(plan->active);
    if (plan->clear) state_clear(f->state);
    if (plan->restore) {
        struct activity_span restore = {
            .start_ns = clock_ns(), .kind = SPAN_RESTORE, .bytes = state_own_bytes(plan->restore)};
        tdm_status status = state_copy(f->state, plan->restore, err);
        if (status) return status;
        restore.end_ns = clock_ns();
        activity_add(activity, &restore);
    }
    if (f->state->length > plan->from) {
        tdm_status status = state_cut(f->state, plan->from, err);
        if (status) return status;
    }
    if (plan->keep_before) keep(f, plan->kind_before, activity);
    if (plan->n == 0) {
        span->kind = SPAN_NONE;
        return TDM_OK;
    }
    struct forward_run run = {.state = f->state, .tokens = f->path + plan->from, .n = plan->n,
                              .logits = plan->logits ? LOGITS_LAST : LOGITS_NONE};
    struct forward_options options = {.cancel = &f->cancel};
    span->start_ns = clock_ns();
    tdm_status status = evaluator_forward(team, f->evaluator, &run, 1, &options, &span->bytes, err);
    span->end_ns = clock_ns();
    span->tokens = status ? 0 : plan->n;
    span->first = plan->from;
    span->ids_hash = status ? 0 : activity_hash(run.tokens, plan->n);
    bool waited_for = plan->logits && atomic_load(&f->expedited);
    if (status == TDM_OK && plan->keep_after && !waited_for) keep(f, plan->kind_after, activity);
    return status;
}

void follower_done(struct follower *f, tdm_status status, int64_t took_ns)
{
    assert_always(f->plan.active);
    f->plan.active = false;
    f->kept = checkpoints_stats(f->checkpoints);
    f->figures.unkept += f->plan.unkept;
    if (status == TDM_OK) {
        f->length = f->plan.from + f->plan.n;
        f->usable = true;
        f->figures.evaluated += f->plan.n;
        if (f->plan.logits && f->plan.n) {
            f->figures.suffixes++;
            f->figures.suffix_ns = took_ns;
        } else if (f->plan.n && is_short(f, f->plan.n)) {
            f->figures.short_ns = took_ns;
            f->figures.short_n = f->plan.n;
        }
        return;
    }
    if (status == TDM_E_CANCELLED) f->figures.cancelled++;
    f->usable = !f->plan.restore && !f->plan.clear && !f->state->broken && f->state->length == f->length;
    if (!f->usable) f->length = 0;
}

struct state *follower_take(struct follower *f, struct state *other)
{
    assert_always(!f->plan.active);
    struct state *ready = f->state;
    f->state = other;
    f->usable = false;
    f->length = 0;
    return ready;
}

void follower_adopt_checkpoint(struct follower *f, const struct target *t)
{
    assert_always(!f->plan.active);
    if (f->usable) return;
    f->length = checkpoints_find(f->checkpoints, t->ids, t->n).length;
    if (f->length) memcpy(f->path, t->ids, f->length * sizeof *f->path);
}

void follower_set_budget(struct follower *f, uint64_t checkpoint_bytes)
{
    assert_always(!f->plan.active);
    bool less = checkpoint_bytes < f->budget;
    f->budget = checkpoint_bytes;
    follower_count_external(f, f->external);
    if (less) pool_give_back(f->state->pool);
    f->kept = checkpoints_stats(f->checkpoints);
}

void follower_count_external(struct follower *f, uint64_t bytes)
{
    f->external = bytes;
    checkpoints_set_budget(f->checkpoints, f->budget > bytes ? f->budget - bytes : 0);
}

void follower_adopt(struct follower *f, struct state *s)
{
    assert_always(!f->plan.active);
    state_free(f->state);
    f->state = s;
    f->length = f->state->length;
    f->usable = !f->state->broken;
    memcpy(f->path, f->state->tokens, f->length * sizeof *f->path);
    if (f->length) checkpoints_add(f->checkpoints, f->state, CHECKPOINT_TURN, NULL, NULL);
    f->kept = checkpoints_stats(f->checkpoints);
}
