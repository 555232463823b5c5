/* The suites that need no model (suites.h). */
#include "tests/check.h"
#include "tests/src/bench/suites.h"

/* The short form packs the weights once, for the products; the long form measures packing, too. */
TEST(kernels)
{
    CHECK_SUITES(suites_run(getenv("TANDEM_LONG") ? SUITES_FORM "kernels --rows 'q8_0 16' --rows packing"
                                                  : SUITES_FORM "kernels --rows 'q8_0 16'"),
                 {"kernels", 8});
}

TEST(images)
{
    CHECK_SUITES(suites_run(SUITES_FORM "images --rows 320x240"), {"images", 4});
}

TEST_MAIN(T(kernels), T(images))
