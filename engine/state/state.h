/* States: everything that a sequence of tokens leaves behind in the model, which other engines call a KV cache
 * (engine/README.md, 'States').
 *
 * A state holds the tokens (ids below 0 are pictures: pads.h), the keys and values of the attention layers in pages of
 * each kind (shape.h), the recurrent and convolution states of the DeltaNet layers, and the logits of the last token if
 * computed. forward() appends tokens. Recurrent states cannot be truncated: where there are some, going back means
 * restoring a fork. A state without them can be cut.
 *
 * When room is made for more tokens, the pages of layers with a window that no later token sees are given back, except
 * those of the last STATE_BACK (shape.h) positions before the window. Copies leave these out, too. So a state has the
 * pages of a kind from first[kind] on, which is at most state_kind_seen. Passes mask by absolute positions, and don't
 * read a page that none of their tokens sees.
 *
 * Where the model has an MTP head, entry p of the head's keys and values is made from the trunk's output h_p (after its
 * final norm) and token p + 1, so the last token's entry has to wait for the next token. Others wait with it, since
 * making several at once is cheaper: `entries` are made, and the rows h of all later positions wait, at most
 * STATE_WAITING. forward() makes entries when more would wait; drafting makes all but the last. A state that passed
 * through a memory that stores nothing for the head is `headless`, and so are its copies, until it is cleared: it works
 * as if there were no head.
 *
 * Invariants, for each kind: the pages from first[kind] to ceil(length / KV_PAGE) are set; all but a partial last one
 * are sealed and may be shared with other states; the partial one has one reference. A page shared by two states at
 * index i implies that they share those pages before it that both have, and the pages at i of all kinds. The head's
 * pages likewise, by entries; entries < length unless both are 0. After a cancelled forward() `broken` is set: the
 * state may then only be cleared, copied over or freed.
 *
 * Threads: one thread at a time per state; a fork may be used by another thread than its origin.
 * In a device's memory the same holds for its pages (memory.h). Copies use memory of the pool, which has been touched
 * before.
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
    bool headless;     /* the model has no head, or the state has nothing for it */
    uint32_t entries;  /* of the MTP head; headless: 0 */
    tdm_id *tokens;    /* [context] */
    uint32_t first[STATE_PAGES]; /* of each kind: the pages before it are not held */
    /* in the host's memory; elsewhere NULL (memory.h) */
    struct page **pages; /* [kind][ceil(context / KV_PAGE)] */
    float *recurrent;    /* [linear layer][value head][slab][key dim][slab width] */
    float *conv;         /* [linear layer][taps-1][channels], oldest input first */
    float *logits;       /* [vocab] */
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

/* Prepares dst as the destination of a crossing (crossing.h): it shares the first full pages of src, of the same pool,
 * except the MTP head's, has their tokens, and is broken. It takes negligible time. */
void state_begin_with(struct state *dst, const struct state *src, uint32_t pages);

/* Allocates pages, the head's too, for n more tokens (TDM_E_CONTEXT beyond the context, TDM_E_NOMEM); length does not
 * change. */
tdm_status state_make_room(struct state *s, uint32_t n, tdm_error *err);

/* Whether s can be cut to its first `length` tokens. A state that is not broken can always be cut to its own length. It
 * can't be cut to less if it has recurrent states, if pages of a window that these tokens need are gone, or if entries
 * of the MTP head would have to be taken back. */
bool state_can_cut(const struct state *s, uint32_t length);
/* Cuts s, which can be cut. Its logits become invalid, unless its length stays. A shared page is copied if it becomes
 * partial; otherwise nothing is copied. On failure (TDM_E_NOMEM) s is unchanged, or broken where a device is lost. */
tdm_status state_cut(struct state *s, uint32_t length, tdm_error *err);

/* Is the whole of s a prefix of ids[0..n)? */
bool state_is_prefix(const struct state *s, const tdm_id *ids, uint32_t n);

/* The number of the first page that two states of one pool don't share; before it they share all pages that both have.
 * 0 if windows leave no page that both have. */
uint32_t state_shared_pages(const struct state *a, const struct state *b);

/* The logits of the last token, which are valid: *out [vocab] until s changes. Fails only where a device is lost. */
tdm_status state_logits(struct state *s, const float **out, tdm_error *err);

/* The first page of a kind that a copy of s has. */
uint32_t state_first_copied(const struct state *s, uint32_t kind);

/* Memory that belongs to this state alone: its buffer and its partial pages. Sealed ones: pool_kind_bytes each. */
size_t state_own_bytes(const struct state *s);

/* In the host's memory: where the i-th attention layer (shape.h, `place`) has the keys, and the values, of a head in a
 * page that is held. */
void *state_keys(const struct state *s, uint32_t layer, uint32_t page, uint32_t kv_head);
void *state_values(const struct state *s, uint32_t layer, uint32_t page, uint32_t kv_head);

/* In the host's memory: the slab [key dim][width] of a head of the i-th linear layer; the taps-1 last inputs
 * [taps-1][channels] of one. */
float *state_slab(const struct state *s, uint32_t layer, uint32_t value_head, uint32_t slab);
float *state_conv(const struct state *s, uint32_t layer);

/* Makes s (cleared first) the state of `length` made-up tokens with random keys, values and recurrent states of this
 * seed: only for measuring the cost of a long context. */
tdm_status state_fill(struct state *s, uint32_t length, uint64_t seed, tdm_error *err);

#endif
