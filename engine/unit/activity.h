/* Activity: a ring of spans that records what a unit did and does, with totals. The monitor, the trace file, the
 * benchmarks and the tests that count tokens all read it.
 *
 * Writers take no lock, do not wait for readers and never allocate: a span costs some ten atomic operations. Any thread
 * may add spans; most come from the unit's driver. Readers copy without delaying writers; a span that was overwritten
 * before it was read is counted as lost. Totals lose nothing. */
#ifndef TANDEM_UNIT_ACTIVITY_H
#define TANDEM_UNIT_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/tandem.h"

/* The public kinds, and none. */
enum span_kind {
    SPAN_HISTORY = TDM_SPAN_HISTORY,       /* prefill of past turns and of the reply being decoded */
    SPAN_DRAFT = TDM_SPAN_DRAFT,           /* prefill of the draft */
    SPAN_SUFFIX = TDM_SPAN_SUFFIX,         /* prefill of the end of the message with the generation suffix */
    SPAN_PROMPT = TDM_SPAN_PROMPT,         /* prefill after Enter, in pipelines that do not follow */
    SPAN_DECODE = TDM_SPAN_DECODE,         /* one token of a reply */
    SPAN_HANDOVER = TDM_SPAN_HANDOVER,     /* a state moves to the decode unit and its first token is sampled */
    SPAN_CHECKPOINT = TDM_SPAN_CHECKPOINT, /* a state is stored as a checkpoint */
    SPAN_RESTORE = TDM_SPAN_RESTORE,       /* a checkpoint is restored */
    SPAN_PICTURE = TDM_SPAN_PICTURE,           /* a picture, or a part of one, is encoded */
    SPAN_LENT = TDM_SPAN_LENT,             /* the unit's cores work for another unit */
    SPAN_CARRY = TDM_SPAN_CARRY,           /* a part of a state is copied to the decode unit's memory */
    SPAN_KINDS = TDM_SPAN_KINDS,
    SPAN_NONE = SPAN_KINDS, /* work that is not recorded (loading, benchmarks of kernels) */
};

struct activity_span {
    int64_t start_ns, end_ns; /* of clock_ns(); end_ns is 0 while the span is open */
    enum span_kind kind;
    uint32_t tokens;          /* evaluated or decoded in it */
    uint64_t bytes;           /* read from memory for it: weights, keys and values, states; of copies: bytes copied */
    uint32_t first, ids_hash; /* position of the first token in its sequence; activity_hash of all, 0: unknown */
};

struct activity_totals {
    uint64_t spans, tokens, ns, bytes;
};

/* A hash of token ids; never 0. A span holds no text: the owner of the sequence finds the text by this hash. */
uint32_t activity_hash(const tdm_id *ids, uint32_t n);

struct activity;

/* Spans that the ring holds. */
enum { ACTIVITY_SPANS = 8192 };

/* NULL: out of memory. */
struct activity *activity_new(void);
void activity_free(struct activity *a);

/* ---- Writing ------------------------------------------------------------------------------------------------- */

/* Records a finished span. SPAN_NONE is ignored. */
void activity_add(struct activity *a, const struct activity_span *s);

/* Publishes a span that has begun; activity_end replaces it by the finished one, whose fields may all differ. One
 * SPAN_LENT and one span of the other kinds may be open at a time, each pair of calls from one thread at a time.
 * SPAN_NONE is ignored; an end without a begin only adds the span. */
void activity_begin(struct activity *a, const struct activity_span *s);
void activity_end(struct activity *a, const struct activity_span *s);

/* ---- Reading, from any thread -------------------------------------------------------------------------------- */

/* The number of spans added so far: the position after the newest. */
uint64_t activity_head(const struct activity *a);

/* Copies at most n finished spans from position *at on, in the order of their ends; advances *at past the last one
 * and adds the number of overwritten ones to *lost (may be NULL). For the newest n start at activity_head() - n. */
size_t activity_read(const struct activity *a, uint64_t *at, struct activity_span *out, size_t n, uint64_t *lost);

/* Copies the open spans (0 to 2); returns how many. */
size_t activity_open_spans(const struct activity *a, struct activity_span out[2]);

/* Finished spans of one kind since the start. While writers are active, the fields may be of different moments. */
struct activity_totals activity_total(const struct activity *a, enum span_kind kind);

#endif
