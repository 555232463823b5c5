/* Exactness on one device: logits and states have the same bits whatever the split of a text into passes, the runs of a
 * pass, slices of the matrices, forks, copies, saved and loaded states. On a dense model with more value than key heads
 * past the boundary of a block of attention, and on a mixture of experts; in the long form in Q8_0 and BF16 each. */
#include "tests/check.h"
#include "tests/engine/gpu/exact.h"

static const struct exact_case models[] = {
    {"tests/goldens/gguf/tiny-a-q8_0.gguf", KV_Q8_0, 0, 140, 1, 132},
    {"tests/goldens/tiny-d", KV_F32, 0, 50, 0, 40}, /* experts take long on cores */
    {"tests/goldens/gguf/tiny-a-bf16.gguf", KV_F32, 64 << 10, 140, 1, 0},
    {"tests/goldens/gguf/tiny-d-q8_0.gguf", KV_F16, 64 << 10, 140, 0, 0},
};
enum { SOME = 48 }; /* tokens that go beyond a page, not a block of attention */

/* most: tokens in the short form. */
static void for_each(exact_check *check, uint32_t most)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (models[i].brief || getenv("TANDEM_LONG")) exact_with(&models[i], models[i].name, check, i + 1, most);
}

TEST(any_split)
{
    for_each(exact_any_split, EXACT_LIMIT);
}

TEST(any_runs)
{
    for_each(exact_any_runs, SOME);
}

TEST(forks)
{
    for_each(exact_forks, SOME);
}

/* Which doesn't depend on the weights: in the short form with one model. */
TEST(refusals)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    for (size_t i = 0; i < (getenv("TANDEM_LONG") ? sizeof models / sizeof *models : 1); i++)
        exact_with(&models[i], models[i].name, exact_refusals, i + 1, SOME);
}

TEST_MAIN(T(any_split), T(any_runs), T(forks), T(refusals))
