/* Checkpoints: forks of states kept aside, so that going back costs a copy and not a prefill.
 *
 * Within a budget of bytes. When it is reached, the checkpoint goes whose loss would cost least: the tokens from the
 * next shorter checkpoint of its prefix to it (what would have to be evaluated again), times the positions that it
 * serves (up to the next longer one; kinds that are gone back to often count as more), divided by the square of its age
 * (in additions to the store since it was added or found). Checkpoints added in a row thin out geometrically that way:
 * dense near the end, sparse far back. Pinned ones stay.
 *
 * Bytes count each checkpoint's own memory and every sealed page once, however many checkpoints share it.
 * Threads: one at a time.
 */
#ifndef TANDEM_STATE_CHECKPOINTS_H
#define TANDEM_STATE_CHECKPOINTS_H

#include "engine/state/state.h"

enum checkpoint_kind {
    CHECKPOINT_DISPATCH, /* a dispatch boundary inside the region that can still change */
    CHECKPOINT_TURN,     /* the end of a turn */
    CHECKPOINT_DRAFT,    /* the start of the draft */
    CHECKPOINT_SUFFIX,   /* before the generation suffix */
};

struct checkpoints;

tdm_status checkpoints_new(struct checkpoints **out, uint64_t budget, tdm_error *err);
void checkpoints_free(struct checkpoints *c); /* NULL is allowed; before the pool of its states */
void checkpoints_clear(struct checkpoints *c);
/* Drops at once what a smaller one has no room for. */
void checkpoints_set_budget(struct checkpoints *c, uint64_t budget);

/* Keeps a fork of s, making room first; none is dropped for one that would not fit even alone. One with the same tokens
 * is replaced when s has logits that it lacks, and gets the weightier of both kinds in any case. *kept (may be NULL)
 * tells whether s has a checkpoint now: the budget may be too small. TDM_E_NOMEM: the fork failed. */
tdm_status checkpoints_add(struct checkpoints *c, const struct state *s, enum checkpoint_kind kind, bool *kept,
                           tdm_error *err);

/* The longest checkpoint that is a prefix of ids[0..n), or NULL. It stays the store's and valid until the next call
 * that changes the store. Using it makes it young again. */
const struct state *checkpoints_find(struct checkpoints *c, const tdm_id *ids, uint32_t n);

/* Pins, or unpins, the checkpoint with exactly these tokens; false when there is none. */
bool checkpoints_pin(struct checkpoints *c, const tdm_id *ids, uint32_t n, bool pinned);

/* Removes all that are no prefix of ids[0..n) and not pinned. */
void checkpoints_keep_prefixes(struct checkpoints *c, const tdm_id *ids, uint32_t n);

struct checkpoints_stats {
    uint32_t count, pinned;
    uint64_t bytes, budget;
    uint64_t added, dropped; /* since checkpoints_new */
};
struct checkpoints_stats checkpoints_stats(const struct checkpoints *c);

#endif
