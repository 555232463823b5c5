/* The suites with pairs of units (suites.h), one of which is a GPU. */
#include "tests/check.h"
#include "engine/gpu/gpu.h"
#include "tests/src/bench/suites.h"

/* Pairs of units, with a GPU that is named; with short replies, where it may be cores that play one. */
TEST(pairs)
{
    struct gpu_info info;
    if (gpu_list(&info, 1) < 1) SKIP("no GPU");
    CHECK_SUITES(suites_run(SUITES_FORM SUITES_TINY
                            "turns handover crossover power -n 4 --prefill-unit gpu --rows 'pairs cores+GPU off' "
                            "--rows 'pairs cores+GPU full' --rows 'pairs GPU+cores 64' "
                            "--rows 'pairs cores+GPU 28'"),
                 {"turns", 19}, {"handover", 8}, {"crossover", 3}, {"power", 0 /* none without sensors */});
}

TEST_MAIN(T(pairs))
