/* A model with a team, a pool and a workspace, for the tests of forward passes and states. Every function ends the
 * test as failed, and says why, when it cannot do its work. */
#ifndef TANDEM_TESTS_FORWARD_RIG_H
#define TANDEM_TESTS_FORWARD_RIG_H

#include "engine/forward/forward.h"
#include "tests/engine/kernel/tested.h"

struct rig {
    struct team *team;
    struct source *source;
    struct weights *weights;
    struct pool *pool;
    struct workspace *workspace;
    uint64_t fingerprint;
};

enum { RIG_TOKENS = 256, RIG_RUNS = 8, RIG_CONTEXT = 1100, RIG_MEMBERS = 4 };

/* kernels: a name, or NULL for the best. NULL when it failed. Freed with rig_close. */
struct rig *rig_open(const char *model, const char *kernels, enum kv_type kv, int threads);
void rig_close(struct rig *r);
/* The goldens of the BF16 models (all but tiny-c) were made with RoPE frequencies rounded to bfloat16, as module
 * buffers are when a model is cast. Real checkpoints are run with exact frequencies, which turn tiny-e's tokens far
 * enough that a router chooses otherwise at position 104 of 200: so the frequencies are rounded here, too. */
void rig_round_frequencies(struct rig *r);
/* A second pool of the same model with another key/value type. */
struct pool *rig_pool(const struct rig *r, enum kv_type kv);

struct state *rig_state(const struct rig *r);
struct state *rig_fork(const struct state *s);
/* Appends tokens in dispatches of at most `dispatch`; logits of the last token are kept. */
void rig_eval(struct rig *r, struct state *s, const tdm_id *ids, uint32_t n, uint32_t dispatch);
/* One run; out [n][vocab] or NULL. */
void rig_all_logits(struct rig *r, struct state *s, const tdm_id *ids, uint32_t n, float *out, float *hidden);

/* n ids below vocab drawn from the seed. */
void rig_ids(tdm_id *ids, uint32_t n, uint32_t vocab, uint64_t seed);
uint64_t rig_random(uint64_t *seed);

#endif
