/* Exactness on one device as in test_exact.c, on a mixture of experts, which takes long on cores; in the long form in
 * Q8_0, too. */
#include "tests/check.h"
#include "tests/engine/gpu/exact.h"

static const struct exact_case models[] = {
    {"tests/goldens/tiny-d", KV_F32, 0, 50, 0, 40},
    {"tests/goldens/gguf/tiny-d-q8_0.gguf", KV_F16, 64 << 10, 140, 0, 0},
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

/* Which doesn't depend on the weights: the short form has a dense model alone. */
TEST(refusals)
{
    if (!getenv("TANDEM_LONG")) SKIP("long: set TANDEM_LONG");
    exact_each(models, MODELS, exact_refusals, EXACT_SOME);
}

TEST_MAIN(T(any_split), T(any_runs), T(forks), T(refusals))
