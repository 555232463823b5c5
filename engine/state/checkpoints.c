#include "engine/state/checkpoints.h"

#include "engine/base/error.h"

#include <stdlib.h>
#include <string.h>

struct checkpoint {
    struct state *state;
    enum checkpoint_kind kind;
    uint64_t used;          /* the clock when it was added or last found */
    /* Lengths of the next shorter checkpoint that is a prefix of it (0: none), and of the next longer one that extends
     * it (UINT32_MAX: none). They are kept up to date, so that valuing all checkpoints takes one pass. */
    uint32_t before, after;
    bool spare;      /* the one that `after` is of can be cut to it */
    uint32_t shared; /* pages with the state that is being counted */
};

struct checkpoints {
    struct checkpoint *list; /* in no particular order */
    uint32_t n, room;
    uint64_t bytes; /* of all, kept up to date: a look at the figures costs nothing */
    uint64_t budget, clock, added, dropped;
};

/* Positions added to the span of a checkpoint when it is valued, since some kinds are restored more often than others:
 * the end of a turn by undo, edits and branches; the start of the draft and of the suffix by every key that is
 * typed. */
static const uint32_t extra_span[] = {
    [CHECKPOINT_DISPATCH] = 0, [CHECKPOINT_TURN] = 64, [CHECKPOINT_DRAFT] = 128, [CHECKPOINT_SUFFIX] = 128};

enum { LAST_SPAN = 32 }; /* of a checkpoint that no other one extends */

tdm_status checkpoints_new(struct checkpoints **out, uint64_t budget, tdm_error *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return error_set(err, TDM_E_NOMEM, "no memory for checkpoints");
    (*out)->budget = budget;
    return TDM_OK;
}

/* Are the tokens of a the first ones of b? Those in shared pages need no look. */
static bool is_prefix_of(const struct state *a, const struct state *b)
{
    if (a->length > b->length) return false;
    uint32_t same = state_shared_pages(a, b) * KV_PAGE;
    return !memcmp(a->tokens + same, b->tokens + same, (a->length - same) * sizeof(tdm_id));
}

/* The sealed pages of a kind that s has and no checkpoint other than number `skipped`: each of these shares a range
 * with it. The pages are walked from the end: those that a range covers are skipped, the others are counted. */
static uint32_t pages_alone(const struct checkpoints *c, uint32_t skipped, const struct state *s, uint32_t kind)
{
    uint32_t first = state_first_copied(s, kind), at = s->length / KV_PAGE, alone = 0;
    while (at > first) {
        uint32_t covered = at, below = first;
        for (uint32_t i = 0; i < c->n; i++) {
            const struct checkpoint *other = &c->list[i];
            uint32_t from = other->state->first[kind] > first ? other->state->first[kind] : first;
            if (i == skipped || from >= other->shared) continue;
            if (other->shared >= at && from < covered) covered = from;
            if (other->shared < at && other->shared > below) below = other->shared;
        }
        if (covered == at) {
            alone += at - below;
            covered = below;
        }
        at = covered;
    }
    return alone;
}

/* What s adds to the checkpoints other than number `skipped`: its own memory and the sealed pages that none of them
 * has. */
static uint64_t added_bytes(struct checkpoints *c, uint32_t skipped, const struct state *s)
{
    uint64_t bytes = state_own_bytes(s);
    for (uint32_t i = 0; i < c->n; i++) c->list[i].shared = i == skipped ? 0 : state_shared_pages(c->list[i].state, s);
    for (uint32_t kind = 0; kind < pool_kinds(s->pool); kind++)
        bytes += pages_alone(c, skipped, s, kind) * (uint64_t)pool_kind_bytes(s->pool, kind);
    return bytes;
}

/* s extends the point: is it the next longer one? */
static void offer_longer(struct checkpoint *point, const struct state *s)
{
    if (s->length >= point->after) return;
    point->after = s->length;
    point->spare = state_can_cut(s, point->state->length);
}

/* Number i has come: its neighbours, and whose neighbour it is. */
static void link_neighbours(struct checkpoints *c, uint32_t i)
{
    struct checkpoint *point = &c->list[i];
    const struct state *p = point->state;
    point->before = 0;
    point->after = UINT32_MAX;
    for (uint32_t j = 0; j < c->n; j++) {
        struct checkpoint *other = &c->list[j];
        const struct state *s = other->state;
        if (s->length < p->length && is_prefix_of(s, p)) {
            if (s->length > point->before) point->before = s->length;
            offer_longer(other, p);
        } else if (s->length > p->length && is_prefix_of(p, s)) {
            offer_longer(point, s);
            if (p->length > other->before) other->before = p->length;
        }
    }
}

static void find_longer(struct checkpoints *c, uint32_t skipped, struct checkpoint *point)
{
    const struct state *p = point->state;
    point->after = UINT32_MAX;
    point->spare = false;
    for (uint32_t i = 0; i < c->n; i++) {
        const struct state *s = c->list[i].state;
        if (i != skipped && s->length > p->length && s->length < point->after && is_prefix_of(p, s))
            offer_longer(point, s);
    }
}

/* Number i goes. */
static void unlink_neighbours(struct checkpoints *c, uint32_t i)
{
    const struct checkpoint *point = &c->list[i];
    const struct state *p = point->state;
    for (uint32_t j = 0; j < c->n; j++) {
        struct checkpoint *other = &c->list[j];
        const struct state *s = other->state;
        if (other->before == p->length && is_prefix_of(p, s)) other->before = point->before;
        bool shorter = s->length == point->before && other->after == p->length && is_prefix_of(s, p);
        if (shorter) find_longer(c, i, other);
    }
}

static void drop(struct checkpoints *c, uint32_t i)
{
    unlink_neighbours(c, i);
    c->bytes -= added_bytes(c, i, c->list[i].state);
    state_free(c->list[i].state);
    c->list[i] = c->list[--c->n];
    c->dropped++;
}

void checkpoints_free(struct checkpoints *c)
{
    if (!c) return;
    while (c->n) drop(c, c->n - 1);
    free(c->list);
    free(c);
}

/* What the loss of a checkpoint would cost, by the measure of checkpoints.h. */
static double value(const struct checkpoints *c, const struct checkpoint *point)
{
    uint32_t length = point->state->length;
    double again = point->spare ? 1 : length - point->before;
    double span = (point->after == UINT32_MAX ? LAST_SPAN : point->after - length) + extra_span[point->kind];
    double age = (double)(1 + c->clock - point->used);
    return again * span / (age * age);
}

/* Drops the one whose loss costs least; there is one. */
static void drop_least(struct checkpoints *c)
{
    uint32_t worst = 0;
    double least = value(c, &c->list[0]);
    for (uint32_t i = 1; i < c->n; i++) {
        double v = value(c, &c->list[i]);
        if (v >= least) continue;
        worst = i;
        least = v;
    }
    drop(c, worst);
}

/* Drops checkpoints until s fits. False, and nothing is dropped, where it never would: what is there serves on. */
static bool make_room(struct checkpoints *c, const struct state *s)
{
    if (pool_buffer_bytes(s->pool) + pool_held_bytes(s->pool, s->length) > c->budget) return false;
    while (c->bytes + added_bytes(c, c->n, s) > c->budget) drop_least(c);
    return true;
}

void checkpoints_set_budget(struct checkpoints *c, uint64_t budget)
{
    c->budget = budget;
    while (c->bytes > c->budget) drop_least(c);
}

static struct checkpoint *find_exactly(struct checkpoints *c, const tdm_id *ids, uint32_t n)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->list[i].state->length == n && state_is_prefix(c->list[i].state, ids, n)) return &c->list[i];
    return NULL;
}

tdm_status checkpoints_add(struct checkpoints *c, const struct state *s, enum checkpoint_kind kind, bool *kept,
                           tdm_error *err)
{
    if (kept) *kept = true;
    c->clock++;
    c->added++;
    struct checkpoint *same = find_exactly(c, s->tokens, s->length);
    if (same) {
        if (extra_span[kind] > extra_span[same->kind]) same->kind = kind;
        same->used = c->clock;
        if (same->state->logits_valid || !s->logits_valid) return TDM_OK;
        uint32_t place = (uint32_t)(same - c->list);
        c->bytes -= added_bytes(c, place, same->state);
        tdm_status status = state_copy(same->state, s, err); /* which may share other pages */
        c->bytes += added_bytes(c, place, same->state);
        return status;
    }
    if (c->n == c->room) {
        uint32_t room = c->room ? 2 * c->room : 16;
        struct checkpoint *list = realloc(c->list, room * sizeof *list);
        if (!list) return error_set(err, TDM_E_NOMEM, "no memory for %u checkpoints", room);
        c->list = list;
        c->room = room;
    }
    if (!make_room(c, s)) {
        if (kept) *kept = false;
        return TDM_OK;
    }
    struct state *fork;
    tdm_status status = state_fork(&fork, s, err);
    if (status) return status;
    c->bytes += added_bytes(c, c->n, fork);
    c->list[c->n++] = (struct checkpoint){.state = fork, .kind = kind, .used = c->clock};
    link_neighbours(c, c->n - 1);
    return TDM_OK;
}

/* To how many tokens of s, all of them among ids[0..n), it can be cut, if to more than `least`; else 0. Its tokens
 * before `same` are known to be among them. */
static uint32_t usable_prefix(const struct state *s, const tdm_id *ids, uint32_t n, uint32_t least, uint32_t same)
{
    if (n > s->length) n = s->length;
    if (n <= least || !state_can_cut(s, n)) return 0;
    if (!memcmp(s->tokens + same, ids + same, (n - same) * sizeof *ids)) return n;
    if (!state_can_cut(s, n - 1)) return 0;
    while (s->tokens[same] == ids[same]) same++;
    return same > least && state_can_cut(s, same) ? same : 0;
}

struct checkpoint_found checkpoints_find(struct checkpoints *c, const tdm_id *ids, uint32_t n)
{
    struct checkpoint *longest = NULL;
    uint32_t length = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        struct checkpoint *point = &c->list[i];
        /* Tokens in pages that it shares with the longest so far have been compared. */
        uint32_t same = longest ? state_shared_pages(longest->state, point->state) * KV_PAGE : 0;
        uint32_t usable = usable_prefix(point->state, ids, n, length, same < length ? same : length);
        if (!usable) continue;
        longest = point;
        length = usable;
    }
    if (!longest) return (struct checkpoint_found){NULL, 0};
    longest->used = c->clock;
    return (struct checkpoint_found){longest->state, length};
}

struct checkpoints_stats checkpoints_stats(const struct checkpoints *c)
{
    return (struct checkpoints_stats){
        .count = c->n, .bytes = c->bytes, .budget = c->budget, .added = c->added, .dropped = c->dropped};
}
