/* The paces: of tokens as a schedule, where what comes late is made up for, and of a stall only so much; and of copies
 * beside a reply, which take so much of the bandwidth. */
#include "tests/check.h"

#include <math.h>

#include "engine/chat/policy/pace.h"

static const int64_t MS = 1000000, START = INT64_C(5000000000);

/* A decoder that takes `took` for a token and wakes `late` for it. */
struct clockwork {
    int64_t now, due;
    double tps;
    int tokens;
};

static struct clockwork first_token(double tps)
{
    return (struct clockwork){.now = START, .due = pace_next(0, START, tps), .tps = tps, .tokens = 1};
}

static void token(struct clockwork *c, int64_t late, int64_t took)
{
    if (c->now < c->due) c->now = c->due + late;
    c->now += took;
    c->due = pace_next(c->due, c->now, c->tps);
    c->tokens++;
}

/* Tokens after the first in each second since it. */
static double rate(const struct clockwork *c)
{
    return (c->tokens - 1) * 1e9 / (double)(c->now - START);
}

TEST(a_token_each_interval)
{
    struct clockwork c = first_token(50);
    CHECK(c.due == START + 20 * MS);
    for (int i = 0; i < 10; i++) token(&c, 0, 3 * MS);
    CHECK(c.now == START + 10 * 20 * MS + 3 * MS);
}

TEST(late_wakes_and_the_decoding_itself_cost_nothing)
{
    struct clockwork c = first_token(60);
    uint32_t seed = 1;
    for (int i = 0; i < 1200; i++) {
        seed = seed * 1664525 + 1013904223;
        token(&c, (int64_t)(seed >> 20) * 3000, 4 * MS + (int64_t)(seed % 20) * MS / 4); /* to 12 ms late, 4 to 9 ms */
    }
    CHECK(rate(&c) > 59.9 && rate(&c) <= 60.01);
    /* Hiccups, each of which takes longer than five tokens have. */
    for (int i = 0; i < 1200; i++) token(&c, i % 40 ? 0 : 90 * MS, 4 * MS);
    CHECK(rate(&c) > 59.5 && rate(&c) <= 60.01);
}

TEST(a_stall_is_made_up_for_only_so_far)
{
    struct clockwork c = first_token(40);
    for (int i = 0; i < 10; i++) token(&c, 0, MS);
    token(&c, 3000 * MS, MS);
    int64_t from = c.now;
    int burst = 0;
    while (c.due <= c.now) {
        token(&c, 0, MS);
        burst++;
    }
    CHECK(burst >= 8 && burst <= PACE_BEHIND_MS * 40 / 1000 + 1);
    CHECK(c.now - from <= burst * MS);
    /* Then as before. */
    for (int i = 0; i < 10; i++) {
        int64_t due = c.due;
        token(&c, 0, MS);
        CHECK(c.now == due + MS && c.due == due + 25 * MS);
    }
}

TEST(a_machine_that_is_too_slow_owes_no_more_and_more)
{
    struct clockwork c = first_token(100);
    for (int i = 0; i < 500; i++) token(&c, 0, 40 * MS);
    CHECK(c.now - c.due <= PACE_BEHIND_MS * MS);
    CHECK(c.tokens == 501 && c.now == START + 10 * MS + (int64_t)500 * 40 * MS);
}

TEST(any_pace_is_taken)
{
    CHECK(pace_next(START, START, 1e12) == START);
    CHECK(pace_next(0, START, 1e-300) > START);
    CHECK(pace_next(START, START, 1e-12) > START);
    CHECK(pace_next(0, 1, 1e9) != 0);
}

/* Several tokens may come at once where they are late, and only so many. */
TEST(what_is_late_may_come_at_once)
{
    CHECK_INT(0, pace_late(0, START, 50));
    CHECK_INT(0, pace_late(START + MS, START, 50));
    CHECK_INT(0, pace_late(START, START + 19 * MS, 50));
    CHECK_INT(1, pace_late(START, START + 21 * MS, 50));
    CHECK_INT(4, pace_late(START, START + 99 * MS, 50));
    CHECK(pace_late(START, INT64_MAX, 1e5) >= 1000000);
    /* A decoder that takes 50 ms for a pass of as many tokens as are late, and one: 40 a second all the same. */
    struct clockwork c = first_token(40);
    for (int i = 0; i < 400; i++) {
        if (c.now < c.due) c.now = c.due;
        uint32_t n = 1 + pace_late(c.due, c.now, c.tps);
        c.now += 50 * MS;
        c.due = pace_next(c.due, c.now, c.tps / n);
        c.tokens += (int)n;
    }
    CHECK(rate(&c) > 39 && rate(&c) <= 40.01);
}

/* The share of decode's bandwidth that copies of so many bytes each have, each taking no time. */
static double share(uint64_t bytes, double gb_s)
{
    int64_t rest = pace_carrying_ns(bytes, (uint64_t)(gb_s * 1e9), 1000000000);
    return 2 * (double)bytes / (double)rest / gb_s;
}

TEST(copies_have_their_share_and_no_more)
{
    static const double speeds[] = {0.5, 20, 400, 3000};
    static const uint64_t sizes[] = {1 << 16, 1 << 20, 100 << 20};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) CHECK(fabs(share(sizes[k], speeds[i]) - 0.01 * PACE_CARRYING_PERCENT) < 1e-3);
}

TEST(nothing_rests_beside_nothing)
{
    CHECK_INT(0, pace_carrying_ns(1 << 20, 0, 0));
    CHECK_INT(0, pace_carrying_ns(1 << 20, 0, 1000));
    CHECK_INT(0, pace_carrying_ns(0, 1000, 1000));
    CHECK(pace_carrying_ns(UINT64_MAX / 4, 1, INT64_MAX) <= INT64_C(60000000000));
}

TEST_MAIN(T(a_token_each_interval), T(late_wakes_and_the_decoding_itself_cost_nothing),
          T(a_stall_is_made_up_for_only_so_far), T(a_machine_that_is_too_slow_owes_no_more_and_more),
          T(any_pace_is_taken), T(what_is_late_may_come_at_once), T(copies_have_their_share_and_no_more),
          T(nothing_rests_beside_nothing))
