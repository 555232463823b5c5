/* Checkpoints: stored forks of states, so that going back costs a copy instead of a prefill.
 *
 * They have a budget of bytes. When it is exceeded, the checkpoint with the lowest value is dropped. The value is the
 * number of tokens from the next shorter checkpoint of its prefix to it (they would have to be evaluated again), times
 * the number of positions up to the next longer one (those it serves; kinds that are restored often get a bonus),
 * divided by the square of its age (additions to the store since it was added or found). Checkpoints of consecutive
 * dispatches therefore thin out geometrically: dense near the end, sparse far back. If the next longer checkpoint can
 * be cut to a checkpoint's length, that one counts as saving its last token alone, for the logits.
 *
 * Bytes count each checkpoint's own memory and every sealed page once, however many checkpoints share it; of layers
 * with a window a checkpoint has only the last pages (state.h). Threads: one at a time.
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
/* If the budget shrinks, checkpoints are dropped at once until the rest fit. */
void checkpoints_set_budget(struct checkpoints *c, uint64_t budget);

/* Stores a fork of s, dropping others to make room unless s alone exceeds the budget. A checkpoint with the same tokens
 * is replaced if only s has logits; either way the more valuable of both kinds is kept. *kept (may be NULL): whether s
 * now has a checkpoint. TDM_E_NOMEM: the fork failed. */
tdm_status checkpoints_add(struct checkpoints *c, const struct state *s, enum checkpoint_kind kind, bool *kept,
                           tdm_error *err);

/* The checkpoint that holds the longest prefix of ids[0..n): its first `length` tokens are that prefix, and it has no
 * more tokens or can be cut to them. state NULL, length 0: none. It belongs to the store and stays valid until the
 * store changes. Its age becomes 0. */
struct checkpoint_found {
    const struct state *state;
    uint32_t length;
};
struct checkpoint_found checkpoints_find(struct checkpoints *c, const tdm_id *ids, uint32_t n);

struct checkpoints_stats {
    uint32_t count;
    uint64_t bytes, budget;
    uint64_t added, dropped; /* since checkpoints_new */
};
struct checkpoints_stats checkpoints_stats(const struct checkpoints *c);

#endif
