/* Plans of the benches: which rows a budget has time for, that rows are measured in turns and often enough, and what is
 * said of those left out. */
#include "tests/check.h"

#include <unistd.h>

#include "engine/base/clock.h"
#include "src/bench/bench_plan.h"

static bench b;
static options o;
static char order[200];

/* Each run leaves a letter and takes as long as ctx says, in milliseconds. */
static tdm_status measure(bench *bench_, void *ctx, int row, int round, tdm_error *err)
{
    (void)err;
    (void)round;
    bench_table *t = bench_->tables[0];
    size_t n = strlen(order);
    if (n + 1 < sizeof order) order[n] = (char)('a' + row);
    if (ctx) usleep(1000u * ((const unsigned *)ctx)[row]);
    bench_table_add(t, bench_table_row(t, "%c", 'a' + row), 0, 1);
    return TDM_OK;
}

/* seconds 0: no budget. */
static bench_plan begin(double seconds)
{
    bench_plan p;
    tdm_error err;
    memset(order, 0, sizeof order);
    b = (bench){.o = &o, .runs = 4, .suite = "s", .given = "m", .part_share = 1};
    b.start_ns = clock_ns();
    if (seconds > 0) b.until_ns = b.all_until_ns = b.start_ns + (int64_t)(1e9 * seconds);
    bench_plan_open(&p, bench_new_table(&b, "", "t", "row", "x:ms", &err));
    return p;
}

static void run(bench_plan *p, unsigned *ms)
{
    tdm_error err;
    CHECK_INT(TDM_OK, bench_plan_run(&b, p, measure, ms, &err));
    bench_plan_close(p);
}

static void end(void)
{
    bench_table_free(b.tables[0]);
}

TEST(without_a_budget)
{
    bench_plan p = begin(0);
    bench_plan_add(&b, &p, 1, 0, 1e6, "a");
    bench_plan_skip(&p);
    bench_plan_add(&b, &p, 0, 0, 1e6, "c");
    bench_plan_most(&p, 2);
    CHECK_NEAR(5e6, bench_plan_seconds(&p, false), 0);
    CHECK_NEAR(6e6, bench_plan_seconds(&p, true), 0);
    run(&p, NULL);
    CHECK_STR("acacaa", order); /* in turns, in their order; a four times, c twice */
    CHECK_INT(0, b.tables[0]->n_notes);
    end();
}

TEST(the_most_telling_first)
{
    bench_plan p = begin(100);
    bench_plan_add(&b, &p, 2, 0, 20, "a");  /* 60 s, no longer */
    bench_plan_add(&b, &p, 0, 10, 20, "b"); /* 70 s */
    bench_plan_add(&b, &p, 3, 0, 5, "c");   /* 15 s */
    bench_plan_add(&b, &p, 1, 0, 40, "d");  /* 120 s, never */
    bench_plan_take(&b, &p);
    CHECK(!bench_plan_taken(&p, 0) && bench_plan_taken(&p, 1) && bench_plan_taken(&p, 2) && !bench_plan_taken(&p, 3));
    CHECK(!bench_plan_taken(&p, 4));
    run(&p, NULL);
    CHECK_STR("bcbcbcbc", order);
    REQUIRE(b.tables[0]->n_notes == 2);
    CHECK_STR("left out, the budget has no time for it: a (60 s); d (120 s)", b.tables[0]->notes[0]);
    CHECK_STR("all rows: tandem bench s --budget 5m", b.tables[0]->notes[1]); /* 265 s, and the margin */
    end();
}

TEST(at_least_one_row)
{
    bench_plan p = begin(1);
    b.all_until_ns += INT64_C(60000000000); /* the suite has a second, the whole run a minute more */
    bench_plan_add(&b, &p, 0, 0, 10, "a");
    bench_plan_add(&b, &p, 1, 0, 10, "b");
    run(&p, NULL);
    CHECK(!strncmp("aaa", order, 3) && !strchr(order, 'b'));
    end();
    p = begin(1);
    bench_plan_add(&b, &p, 0, 0, 10, "a"); /* nor has the whole run the time */
    bench_plan_add(&b, &p, 1, 0, 11, "b");
    run(&p, NULL);
    CHECK_STR("", order);
    CHECK_STR("left out, the budget has no time for it: all 2 rows (63 s)", b.tables[0]->notes[0]);
    end();
}

/* Expected to take nothing, b takes too long: it is given up after its first run, and nothing of it is shown. */
TEST(gives_up)
{
    unsigned ms[] = {1, 700};
    bench_plan p = begin(1);
    bench_plan_add(&b, &p, 0, 0, 0, "a");
    bench_plan_add(&b, &p, 1, 0, 0, "b");
    run(&p, ms);
    CHECK(!strncmp("abaa", order, 4) && !strchr(order + 2, 'b'));
    REQUIRE(b.tables[0]->n_rows == 1);
    CHECK_STR("a", b.tables[0]->rows[0].parameter[0]);
    CHECK(b.tables[0]->n_notes && strstr(b.tables[0]->notes[0], ": b (3 s)"));
    end();
}

/* --runs is the most in full as well; lengths beyond the context are named. */
TEST(full_counts_and_contexts)
{
    bench_plan p = begin(0);
    CHECK_INT(30, bench_full_count(&b, 30));
    o.values[OPTION_RUNS].origin = FROM_COMMAND_LINE;
    CHECK_INT(4, bench_full_count(&b, 30));
    CHECK_INT(3, bench_full_count(&b, 3));
    o.values[OPTION_RUNS] = (option_value){0};
    CHECK(bench_fits(&b, b.tables[0], 1 << 30, 0)); /* not known */
    b.info.trained_context = 512;
    CHECK(bench_fits(&b, b.tables[0], 502, 10) && !bench_fits(&b, b.tables[0], 503, 10));
    REQUIRE(b.tables[0]->n_notes == 1);
    CHECK_STR("left out: 503 tokens, beyond the model's context", b.tables[0]->notes[0]);
    bench_plan_close(&p);
    end();
}

TEST_MAIN(T(without_a_budget), T(the_most_telling_first), T(at_least_one_row), T(gives_up), T(full_counts_and_contexts))
