/* Exactness on one device, of one model: what the programs test_exact, test_experts_exact, test_family_exact and
 * test_shares compare bit by bit, logits and states. */
#ifndef TANDEM_TESTS_GPU_EXACT_H
#define TANDEM_TESTS_GPU_EXACT_H

#include "tests/engine/forward/rig.h"
#include "tests/engine/gpu/rig.h"

enum { EXACT_LIMIT = 140, EXACT_VOCAB = 512 };

/* A model, and how it is tested. */
struct exact_case {
    const char *name;
    enum kv_type kv;
    uint64_t slice;            /* bytes of a piece of a matrix; 0: as the device has them */
    uint32_t tokens, together; /* of the text; workgroups of a pass in one dispatch */
    uint32_t brief;            /* tokens in the short form, which leaves it out where there are 0 */
};

/* A text, and what the model has of it when it is read in passes of 35 tokens. */
struct exact_text {
    uint32_t tokens;
    tdm_id ids[EXACT_LIMIT];
    float *logits;           /* [tokens][EXACT_VOCAB] */
    struct gpu_state *state; /* after all, with logits */
};
void exact_read(struct gpu_model *m, struct exact_text *e, uint32_t tokens, uint64_t seed);
void exact_drop(struct exact_text *e);
/* Evaluates up to `end` in passes of `size` tokens (0: any); false: a row of logits differs. */
bool exact_follow(struct gpu_model *m, struct gpu_state *s, const struct exact_text *e, uint32_t end, uint32_t size,
                  uint64_t *seed);
/* How many tokens from the end on are read in passes of few: fewer in the short form. */
uint32_t exact_near_end(uint32_t n);

typedef void exact_check(struct gpu_model *m, struct exact_text *e, uint64_t seed);

/* Opens the model at `path` for the case, reads a text, and checks; most: tokens in the short form. */
void exact_with(const struct exact_case *of, const char *path, exact_check *check, uint64_t seed, uint32_t most);
/* The same with each case of n, whose names are paths. */
void exact_each(const struct exact_case *of, size_t n, exact_check *check, uint32_t most);
enum { EXACT_SOME = 48 }; /* tokens that go beyond a page, not a block of attention */

/* Passes of any size give the same. */
exact_check exact_any_split;
/* Several states in one call, each somewhere else in its own text; in the short form one text is long. */
exact_check exact_any_runs;
/* Forks go their own way; copies and what was saved and loaded go on as if nothing had been: at the end of a block of
 * keys and values, and anywhere; in the short form one model's at the one, the next one's at the other. */
exact_check exact_forks;
/* What is refused changes nothing. */
exact_check exact_refusals;

#endif
