/* States: everything that a sequence of tokens leaves behind in the model (engine/README.md, 'States').
 *
 * A state holds the tokens, the keys and values of the full-attention layers in pages, the recurrent and convolution
 * states of the DeltaNet layers, and the logits of the last token if computed. forward() appends tokens. Nothing
 * removes them, since recurrent states cannot be truncated: going back means restoring a fork.
 *
 * Where the model has an MTP head, entry p of the head's keys and values is made of the trunk's output h_p (after its
 * final norm) and of token p + 1, so the last token's entry has to wait for the next token. Others wait with it, since
 * entries are cheaper together: `entries` are there, the rows h of all later positions wait, at most STATE_WAITING.
 * forward() makes entries when more would wait, drafting makes all but the last. A state that has been where nothing
 * is kept for the head is `headless`, and so are its copies, until it is cleared: it works as if there were no head.
 *
 * Invariants: pages[0 .. ceil(length / KV_PAGE)) are set; all but a partial last one are sealed and may be shared with
 * other states; the partial one has one reference. A page shared by two states at index i implies that pages 0..i-1
 * are shared as well. The head's pages likewise, by entries; entries < length unless both are 0. After a cancelled
 * forward() `broken` is set: the state may then only be cleared, copied over or freed.
 *
 * Threads: one thread at a time per state; a fork may be used by another thread than its origin.
 * Where the memory is a device's, what is said of pages holds there (memory.h).
 * Copies go through memory of the pool, which has been touched before.
 */
#ifndef TANDEM_STATE_STATE_H
#define TANDEM_STATE_STATE_H

#include "engine/state/pool.h"

enum { STATE_WAITING = 32 };

struct state {
    struct pool *pool;
    uint32_t length;   /* tokens evaluated */
    bool logits_valid; /* logits are those of the last token */
    bool broken;
    bool headless;     /* without a head, or nothing is kept for it */
    tdm_id *tokens; /* [context] */
    /* in the host's memory; elsewhere NULL (memory.h) */
    struct page **pages; /* [ceil(context / KV_PAGE)] */
    float *recurrent;    /* [linear layer][value head][slab][key dim][slab width] */
    float *conv;         /* [linear layer][taps-1][channels], oldest input first */
    float *logits;       /* [vocab] */
    uint32_t entries;    /* of the MTP head; headless: 0 */
    struct page **head_pages; /* [ceil(context / KV_PAGE)] */
    float *waiting;      /* [length - entries][head_width] h of the positions from `entries` on */
};

/* An empty state, recurrent and convolution states zero. */
tdm_status state_new(struct state **out, struct pool *pool, tdm_error *err);
void state_free(struct state *s); /* NULL is allowed */
void state_clear(struct state *s);

/* A new state equal to s, of the same pool: sealed pages shared, the rest copied. */
tdm_status state_fork(struct state **out, const struct state *s, tdm_error *err);
/* Makes dst equal to src (same pool) in the buffers that dst has. On failure dst is unchanged. */
tdm_status state_copy(struct state *dst, const struct state *src, tdm_error *err);

/* Allocates pages, the head's too, for n more tokens (TDM_E_CONTEXT beyond the context, TDM_E_NOMEM); length does not
 * change. */
tdm_status state_make_room(struct state *s, uint32_t n, tdm_error *err);

/* Is the whole of s a prefix of ids[0..n)? */
bool state_is_prefix(const struct state *s, const tdm_id *ids, uint32_t n);

/* Sealed pages that two states of one pool share: the first ones of both. */
uint32_t state_shared_pages(const struct state *a, const struct state *b);

/* The logits of the last token, which are valid: *out [vocab] until s changes. Fails only where a device is lost. */
tdm_status state_logits(struct state *s, const float **out, tdm_error *err);

/* Memory that belongs to this state alone: its buffer and its partial pages. Sealed ones: pool_page_bytes each. */
size_t state_own_bytes(const struct state *s);

/* In the host's memory: the slab [key dim][width] of a head of the i-th linear layer; the taps-1 last inputs
 * [taps-1][channels] of one. */
float *state_slab(const struct state *s, uint32_t layer, uint32_t value_head, uint32_t slab);
float *state_conv(const struct state *s, uint32_t layer);

/* Makes s (cleared first) the state of `length` made-up tokens with keys, values and recurrent states drawn from the
 * seed: for measuring what a long context costs, nothing else. */
tdm_status state_fill(struct state *s, uint32_t length, uint64_t seed, tdm_error *err);

#endif
