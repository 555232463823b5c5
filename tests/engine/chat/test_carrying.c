/* Copies beside a reply: what they may take of the bandwidth. */
#include "tests/check.h"

#include <math.h>

#include "engine/chat/policy/carrying.h"

/* The share of decode's bandwidth that copies of so many bytes each have, each taking no time. */
static double share(uint64_t bytes, double gb_s)
{
    int64_t rest = carrying_rest_ns(bytes, (uint64_t)(gb_s * 1e9), 1000000000);
    return 2 * (double)bytes / (double)rest / gb_s;
}

TEST(copies_have_their_share_and_no_more)
{
    static const double speeds[] = {0.5, 20, 400, 3000};
    static const uint64_t sizes[] = {1 << 16, 1 << 20, 100 << 20};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) CHECK(fabs(share(sizes[k], speeds[i]) - 0.01 * CARRYING_PERCENT) < 1e-3);
}

TEST(nothing_rests_beside_nothing)
{
    CHECK_INT(0, carrying_rest_ns(1 << 20, 0, 0));
    CHECK_INT(0, carrying_rest_ns(1 << 20, 0, 1000));
    CHECK_INT(0, carrying_rest_ns(0, 1000, 1000));
    CHECK(carrying_rest_ns(UINT64_MAX / 4, 1, INT64_MAX) <= INT64_C(60000000000));
}

TEST_MAIN(T(copies_have_their_share_and_no_more), T(nothing_rests_beside_nothing))
