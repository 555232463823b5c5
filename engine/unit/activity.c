#include "engine/unit/activity.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fnv.h"

/* A slot is a seqlock: stage 2n means that the spans of n laps have been written to it, 2n+1 that lap n is being
 * written. The fields are atomics with release and acquire order, which makes the usual fences unnecessary: a reader
 * that got a field of a newer span sees the newer stage too. */
struct slot {
    _Alignas(64) _Atomic uint64_t stage;
    _Atomic int64_t start_ns, end_ns;
    _Atomic uint64_t kind_tokens, bytes, first_hash; /* kind and first in the upper half */
};

struct totals {
    _Alignas(64) _Atomic uint64_t spans, tokens, ns, bytes;
};

enum { OPEN_JOB, OPEN_LENT, OPEN_KINDS };

struct activity {
    _Alignas(64) _Atomic uint64_t head;
    struct slot open[OPEN_KINDS]; /* each with one writer at a time; kind SPAN_NONE: nothing is open */
    struct totals totals[SPAN_KINDS];
    struct slot slots[ACTIVITY_SPANS];
};

static void slot_write(struct slot *s, const struct activity_span *span)
{
    atomic_store_explicit(&s->start_ns, span->start_ns, memory_order_release);
    atomic_store_explicit(&s->end_ns, span->end_ns, memory_order_release);
    atomic_store_explicit(&s->kind_tokens, (uint64_t)span->kind << 32 | span->tokens, memory_order_release);
    atomic_store_explicit(&s->bytes, span->bytes, memory_order_release);
    atomic_store_explicit(&s->first_hash, (uint64_t)span->first << 32 | span->ids_hash, memory_order_release);
}

static void slot_read(const struct slot *s, struct activity_span *span)
{
    span->start_ns = atomic_load_explicit(&s->start_ns, memory_order_acquire);
    span->end_ns = atomic_load_explicit(&s->end_ns, memory_order_acquire);
    uint64_t kind_tokens = atomic_load_explicit(&s->kind_tokens, memory_order_acquire);
    span->kind = (enum span_kind)(kind_tokens >> 32);
    span->tokens = (uint32_t)kind_tokens;
    span->bytes = atomic_load_explicit(&s->bytes, memory_order_acquire);
    uint64_t first_hash = atomic_load_explicit(&s->first_hash, memory_order_acquire);
    span->first = (uint32_t)(first_hash >> 32);
    span->ids_hash = (uint32_t)first_hash;
}

static uint64_t slot_stage(const struct slot *s)
{
    return atomic_load_explicit(&s->stage, memory_order_acquire);
}

static void open_set(struct activity *a, enum span_kind kind, const struct activity_span *span)
{
    struct slot *s = &a->open[kind == SPAN_LENT ? OPEN_LENT : OPEN_JOB];
    uint64_t stage = slot_stage(s);
    atomic_store_explicit(&s->stage, stage + 1, memory_order_relaxed);
    slot_write(s, span);
    atomic_store_explicit(&s->stage, stage + 2, memory_order_release);
}

uint32_t activity_hash(const tdm_id *ids, uint32_t n)
{
    uint64_t hash = fnv_bytes(FNV_START, ids, n * sizeof *ids);
    uint32_t short_one = (uint32_t)(hash ^ hash >> 32);
    return short_one ? short_one : 1;
}

struct activity *activity_new(void)
{
    struct activity *a = aligned_alloc(64, sizeof *a);
    if (!a) return NULL;
    memset(a, 0, sizeof *a);
    const struct activity_span none = {.kind = SPAN_NONE};
    open_set(a, SPAN_NONE, &none);
    open_set(a, SPAN_LENT, &none);
    return a;
}

void activity_free(struct activity *a)
{
    free(a);
}

void activity_add(struct activity *a, const struct activity_span *span)
{
    if (span->kind >= SPAN_KINDS) return;
    struct totals *t = &a->totals[span->kind];
    atomic_fetch_add_explicit(&t->spans, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&t->tokens, span->tokens, memory_order_relaxed);
    atomic_fetch_add_explicit(&t->ns, (uint64_t)(span->end_ns - span->start_ns), memory_order_relaxed);
    atomic_fetch_add_explicit(&t->bytes, span->bytes, memory_order_relaxed);

    uint64_t at = atomic_fetch_add_explicit(&a->head, 1, memory_order_relaxed);
    struct slot *s = &a->slots[at % ACTIVITY_SPANS];
    uint64_t stage = at / ACTIVITY_SPANS * 2;
    /* It waits only if another writer has been held up in this very slot for a whole lap of the ring. */
    while (slot_stage(s) != stage) sched_yield();
    atomic_store_explicit(&s->stage, stage + 1, memory_order_relaxed);
    slot_write(s, span);
    atomic_store_explicit(&s->stage, stage + 2, memory_order_release);
}

void activity_begin(struct activity *a, const struct activity_span *span)
{
    if (span->kind >= SPAN_KINDS) return;
    struct activity_span open = *span;
    open.end_ns = 0;
    open_set(a, span->kind, &open);
}

void activity_end(struct activity *a, const struct activity_span *span)
{
    const struct activity_span none = {.kind = SPAN_NONE};
    activity_add(a, span);
    open_set(a, span->kind, &none);
}

uint64_t activity_head(const struct activity *a)
{
    return atomic_load_explicit(&a->head, memory_order_acquire);
}

size_t activity_read(const struct activity *a, uint64_t *at, struct activity_span *out, size_t n, uint64_t *lost)
{
    size_t copied = 0;
    uint64_t head = activity_head(a), missed = 0;
    if (head - *at > ACTIVITY_SPANS && *at < head) {
        missed += head - ACTIVITY_SPANS - *at;
        *at = head - ACTIVITY_SPANS;
    }
    for (; *at < head && copied < n; ++*at) {
        const struct slot *s = &a->slots[*at % ACTIVITY_SPANS];
        uint64_t done = *at / ACTIVITY_SPANS * 2 + 2;
        uint64_t before = slot_stage(s);
        if (before < done) break; /* being written */
        slot_read(s, &out[copied]);
        if (before == done && slot_stage(s) == done)
            copied++;
        else
            missed++; /* a newer lap has taken the slot */
    }
    if (lost) *lost += missed;
    return copied;
}

size_t activity_open_spans(const struct activity *a, struct activity_span out[2])
{
    size_t n = 0;
    for (int k = 0; k < OPEN_KINDS; k++) {
        const struct slot *s = &a->open[k];
        uint64_t stage;
        do {
            stage = slot_stage(s);
            slot_read(s, &out[n]);
        } while (stage % 2 || slot_stage(s) != stage); /* the writer is a few stores away from its end */
        if (out[n].kind != SPAN_NONE) n++;
    }
    return n;
}

struct activity_totals activity_total(const struct activity *a, enum span_kind kind)
{
    const struct totals *t = &a->totals[kind];
    return (struct activity_totals){
        .spans = atomic_load_explicit(&t->spans, memory_order_relaxed),
        .tokens = atomic_load_explicit(&t->tokens, memory_order_relaxed),
        .ns = atomic_load_explicit(&t->ns, memory_order_relaxed),
        .bytes = atomic_load_explicit(&t->bytes, memory_order_relaxed),
    };
}
