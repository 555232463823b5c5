/* A mixture of experts that is quantised on loading (types.h). */
#include "tests/check.h"
#include "tests/engine/gpu/types.h"

/* All that its experts and its projections have. */
TEST(mxfp4_mixture)
{
    types_compare("tests/goldens/tiny-d", TYPE_MXFP4, NULL, 0.005);
}

TEST_MAIN(T(mxfp4_mixture))
