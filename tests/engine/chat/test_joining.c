/* Replies in the background slow those in front by at most a fifth: by what was measured they join every pass or every
 * n-th. */
#include "tests/check.h"

#include "engine/chat/policy/joining.h"

/* n passes as they come, of so many seconds with and without them; returns how many they joined. */
static int play(struct joining *j, int n, bool room, double alone_s, double joined_s)
{
    int joined = 0;
    for (int i = 0; i < n; i++) {
        bool due = joining_due(j, room);
        joining_passed(j, due);
        joining_count(j, due, due ? joined_s : alone_s);
        joined += due;
    }
    return joined;
}

TEST(until_something_is_measured_every_second_pass)
{
    struct joining j = {0};
    CHECK(joining_cost(&j) == 0);
    CHECK_INT(2, joining_every(&j, true));
    CHECK_INT(2, play(&j, 5, true, 1, 1.1));
    CHECK(joining_cost(&j) == 0);
    CHECK_INT(1, play(&j, 1, true, 1, 1.1));
    CHECK_NEAR(1.1, joining_cost(&j), 1e-9);
}

TEST(where_it_costs_little_they_join_every_pass_but_a_few)
{
    struct joining j = {0};
    play(&j, 10, true, 1, 1.19);
    CHECK_INT(1, joining_every(&j, true));
    int joined = play(&j, 1000, true, 1, 1.19);
    CHECK(joined > 970 && joined < 1000); /* some are without them, to be measured */
}

TEST(where_it_costs_more_the_mean_stays_within_a_fifth)
{
    for (double cost = 1.25; cost < 8; cost *= 1.3) {
        struct joining j = {0};
        play(&j, 10, true, 1, cost);
        int n = 2000, joined = play(&j, n, true, 1, cost);
        double slowed = (joined * cost + (n - joined)) / n;
        CHECK(slowed <= 1.2001);
        CHECK(slowed > 1.1);
    }
}

TEST(it_follows_what_changes)
{
    struct joining j = {0};
    play(&j, 100, true, 1, 1.1);
    CHECK_INT(1, joining_every(&j, true));
    play(&j, 500, true, 1, 1.9);
    CHECK_INT(5, joining_every(&j, true)); /* ceil(0.9 / 0.2) */
    play(&j, 500, true, 1, 1.1);
    CHECK_INT(1, joining_every(&j, true));
    joining_count(&j, true, 1000); /* held up once */
    CHECK(joining_cost(&j) < 1.3);
}

TEST(a_pass_that_is_faster_costs_nothing)
{
    struct joining j = {0};
    play(&j, 20, true, 1, 0.9);
    CHECK_NEAR(1, joining_cost(&j), 1e-9);
    CHECK_INT(1, joining_every(&j, true));
}

TEST(without_room_they_have_every_fifth_pass)
{
    struct joining j = {0};
    CHECK_INT(5, joining_every(&j, false));
    CHECK_INT(20, play(&j, 100, false, 1, 1));
}

TEST_MAIN(T(until_something_is_measured_every_second_pass), T(where_it_costs_little_they_join_every_pass_but_a_few),
          T(where_it_costs_more_the_mean_stays_within_a_fifth), T(it_follows_what_changes),
          T(a_pass_that_is_faster_costs_nothing), T(without_room_they_have_every_fifth_pass))
