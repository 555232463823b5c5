/* Exactness on one device: logits and states have the same bits whatever the split of a text into passes, the runs of a
 * pass, slices of the matrices, forks, copies, saved and loaded states. On a dense model with more value than key heads
 * past the boundary of a block of attention; in the long form in Q8_0 and BF16. */
#include "tests/check.h"
#include "tests/engine/gpu/exact.h"

static const struct exact_case models[] = {
    {"tests/goldens/gguf/tiny-a-q8_0.gguf", KV_Q8_0, 0, 140, 1, 132},
    {"tests/goldens/gguf/tiny-a-bf16.gguf", KV_F32, 64 << 10, 140, 1, 0},
};
enum { MODELS = sizeof models / sizeof *models };

TEST(any_split)
{
    exact_each(models, MODELS, exact_any_split, EXACT_LIMIT);
}

TEST(any_runs)
{
    exact_each(models, MODELS, exact_any_runs, EXACT_SOME);
}

TEST(forks)
{
    exact_each(models, MODELS, exact_forks, EXACT_SOME);
}

TEST(refusals)
{
    exact_each(models, MODELS, exact_refusals, EXACT_SOME);
}

TEST_MAIN(T(any_split), T(any_runs), T(forks), T(refusals))
