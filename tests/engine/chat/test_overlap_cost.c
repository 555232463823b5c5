/* The share of its speed that the decoder keeps is told where it means something, and never above 1. */
#include "tests/check.h"

#include "engine/chat/policy/overlap_cost.h"

/* n tokens around `seconds`, spread by `spread` of it to either side. */
static void add(struct overlap_cost *k, bool shared, int n, double seconds, double spread)
{
    for (int i = 0; i < n; i++) overlap_cost_add(k, shared, seconds * (1 + spread * (i % 5 - 2) / 2));
}

TEST(a_share_needs_tokens_of_either_sort)
{
    struct overlap_cost k = {0};
    CHECK(overlap_cost_share(&k) == 0);
    add(&k, false, 200, 0.010, 0);
    CHECK(overlap_cost_share(&k) == 0);
    add(&k, true, OVERLAP_COST_LEAST - 1, 0.0125, 0);
    CHECK(overlap_cost_share(&k) == 0);
    add(&k, true, 1, 0.0125, 0);
    CHECK_NEAR(0.8, overlap_cost_share(&k), 1e-9);
}

TEST(only_the_newest_tokens_count_and_single_ones_do_not_matter)
{
    struct overlap_cost k = {0};
    add(&k, false, 100, 0.010, 0.02);
    add(&k, true, 100, 0.080, 0.02);
    add(&k, true, OVERLAP_COST_TOKENS, 0.0125, 0.02);
    overlap_cost_add(&k, true, 5);
    overlap_cost_add(&k, false, 0.0001);
    CHECK_NEAR(0.8, overlap_cost_share(&k), 0.02);
}

TEST(noise_is_no_figure)
{
    struct overlap_cost k = {0};
    add(&k, false, OVERLAP_COST_TOKENS, 0.010, 0.02);
    add(&k, true, OVERLAP_COST_TOKENS, 0.0125, 0.9);
    CHECK(overlap_cost_share(&k) == 0);
}

TEST(a_share_above_one_is_noise_or_one)
{
    struct overlap_cost k = {0};
    add(&k, false, OVERLAP_COST_TOKENS, 0.0186, 0.02);
    add(&k, true, OVERLAP_COST_TOKENS, 0.010, 0.02);
    CHECK(overlap_cost_share(&k) == 0);
    k = (struct overlap_cost){0};
    add(&k, false, OVERLAP_COST_TOKENS, 0.0101, 0.04);
    add(&k, true, OVERLAP_COST_TOKENS, 0.010, 0.04);
    CHECK(overlap_cost_share(&k) == 1);
}

TEST_MAIN(T(a_share_needs_tokens_of_either_sort), T(only_the_newest_tokens_count_and_single_ones_do_not_matter),
          T(noise_is_no_figure), T(a_share_above_one_is_noise_or_one))
