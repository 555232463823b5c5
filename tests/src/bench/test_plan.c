/* Plans of the benches: which rows are measured, in turns and how often, and what is said of those left out. */
#include "tests/check.h"

#include "engine/base/clock.h"
#include "src/bench/report/plan.h"

static bench b;
static options o;
static char order[200];

/* Time passes for the plan alone: everything of the bench lies earlier. A sleep takes longer where a machine is busy.
 */
static void pass(bench *of, unsigned seconds)
{
    int64_t ns = INT64_C(1000000000) * seconds;
    of->start_ns -= ns;
    of->until_ns -= ns;
    of->all_until_ns -= ns;
}

/* Each run leaves a letter and takes as long as ctx says, in seconds. */
static tdm_status measure(bench *bench_, void *ctx, int row, int round, tdm_error *err)
{
    (void)err;
    (void)round;
    bench_table *t = bench_->tables[0];
    size_t n = strlen(order);
    if (n + 1 < sizeof order) order[n] = (char)('a' + row);
    if (ctx) pass(bench_, ((const unsigned *)ctx)[row]);
    bench_table_add(t, bench_table_row(t, "%c", 'a' + row), 0, 1);
    return TDM_OK;
}

/* seconds 0: no budget. */
static bench_plan begin(double seconds)
{
    bench_plan p;
    tdm_error err;
    memset(order, 0, sizeof order);
    b = (bench){.o = &o, .runs = 4, .suite = "s", .model_option = "m", .start_ns = clock_ns()};
    if (seconds > 0) b.until_ns = b.all_until_ns = b.start_ns + (int64_t)(1e9 * seconds);
    bench_plan_open(&p, bench_new_table(&b, "", "t", "row", "x:ms", &err));
    return p;
}

/* taken: by a run of each row, in seconds; NULL: none. */
static void run(bench_plan *p, unsigned *taken)
{
    tdm_error err;
    CHECK_INT(TDM_OK, bench_plan_run(&b, p, measure, taken, &err));
    bench_plan_close(p);
}

static void end(void)
{
    bench_table_free(b.tables[0]);
}

TEST(without_a_budget)
{
    bench_plan p = begin(0);
    CHECK(!bench_plan_wanted(&p));
    bench_plan_add(&b, &p, "a");
    bench_plan_skip(&p);
    bench_plan_add(&b, &p, "c");
    bench_plan_most(&p, 2);
    CHECK(bench_plan_wanted(&p) && b.any_row_wanted);
    run(&p, NULL);
    CHECK_STR("acacaa", order); /* in turns, in their order; a four times, c twice */
    CHECK_INT(0, b.tables[0]->n_notes);
    end();
}

/* Rows begin in the first third of the time; the others are named in one line, as far as it has room. */
TEST(left_out)
{
    unsigned taken[9] = {150, 150, 150};
    bench_plan p = begin(700); /* the second row begins after 150 s, the third would after 300 */
    bench_plan_add(&b, &p, "a|x");
    bench_plan_add(&b, &p, "b");
    bench_plan_add(&b, &p, "c|y");
    for (int i = 0; i < 6; i++) bench_plan_add(&b, &p, "%060d", i);
    run(&p, taken);
    CHECK_STR("ababab", order); /* three times each, longer than there was time */
    REQUIRE(b.tables[0]->n_notes == 1);
    const char *note = b.tables[0]->notes[0];
    CHECK(!strncmp("left out, the budget has no time for it: c y; 0000", note, 50));
    CHECK(strstr(note, "00002; 3 more"));
    end();
}

/* A suite has its first row however late it is, if the whole run has time; more than the least rounds only in time. */
TEST(at_least_one_row)
{
    unsigned taken[] = {300, 0};
    bench_plan p = begin(200);
    b.all_until_ns += INT64_C(3600000000000);
    pass(&b, 300);
    bench_plan_add(&b, &p, "a");
    bench_plan_add(&b, &p, "b");
    run(&p, taken);
    CHECK_STR("aaa", order);
    CHECK_STR("left out, the budget has no time for it: b", b.tables[0]->notes[0]);
    end();
    p = begin(100);
    pass(&b, 200);
    bench_plan_add(&b, &p, "a");
    run(&p, taken);
    CHECK_STR("", order);
    CHECK_STR("left out, the budget has no time for it: a", b.tables[0]->notes[0]);
    end();
}

/* Rows that --rows does not ask for keep their numbers; what they are held against is measured with them. */
TEST(asked_for)
{
    char *texts[] = {"b"};
    o.values[OPTION_ROWS] = (option_value){.list = texts, .n = 1};
    bench_plan p = begin(0);
    bench_plan_add(&b, &p, "a");
    CHECK(!bench_plan_wanted(&p) && !b.any_row_wanted);
    bench_plan_add(&b, &p, "x|b");
    bench_plan_add(&b, &p, "c");
    bench_plan_base(&p);
    run(&p, NULL);
    CHECK_STR("abababab", order);
    CHECK_INT(0, b.tables[0]->n_notes);
    o.values[OPTION_ROWS] = (option_value){0};
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

TEST_MAIN(T(without_a_budget), T(left_out), T(at_least_one_row), T(asked_for), T(full_counts_and_contexts))
