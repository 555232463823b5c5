/* Matrices that are quantised on loading (types.h). Those of a mixture of experts and of model files have programs of
 * their own. */
#include "tests/check.h"
#include "tests/engine/gpu/types.h"

/* Exact integers scaled in the same order: what remains are the sums of floats, and a value of an activation here and
 * there that is rounded to the next integer. */
static void quantised(enum type quant, const struct gpu_tuning *tuning)
{
    bool again = quant == TYPE_Q8_0 || quant == TYPE_Q6_K || quant == TYPE_MXFP4; /* others have these */
    if ((tuning || again) && !getenv("TANDEM_LONG")) SKIP("only in the long form");
    const char *path = check_shared("goldens/tiny-c");
    char kept[1024];
    if (!path) return;
    snprintf(kept, sizeof kept, "%s", path);
    types_compare(kept, quant, tuning, 0.005);
}

TEST(q8_0)
{
    quantised(TYPE_Q8_0, NULL);
}
TEST(q4_0)
{
    quantised(TYPE_Q4_0, NULL);
}
TEST(q4_k)
{
    quantised(TYPE_Q4_K, NULL);
}
TEST(q6_k)
{
    quantised(TYPE_Q6_K, NULL);
}
TEST(mxfp4)
{
    quantised(TYPE_MXFP4, NULL);
}
TEST(f16)
{
    quantised(TYPE_F32, NULL); /* as stored */
}

/* Cut as for discrete devices, which takes cores long. */
static const struct gpu_tuning discrete = {8, 16, 8, 512, 256, 8192, 1056, 32, 200, 1, 6, 2, 2, true, 0};
TEST(q8_0_discrete)
{
    quantised(TYPE_Q8_0, &discrete);
}
TEST(q4_k_discrete)
{
    quantised(TYPE_Q4_K, &discrete);
}
TEST(mxfp4_discrete)
{
    quantised(TYPE_MXFP4, &discrete);
}
TEST(f16_discrete)
{
    quantised(TYPE_F32, &discrete);
}

TEST_MAIN(T(q8_0_discrete), T(q4_k_discrete), T(mxfp4_discrete), T(f16_discrete), T(q8_0), T(q4_0), T(q4_k), T(q6_k),
          T(mxfp4), T(f16))
