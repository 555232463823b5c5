/* The arithmetic of the benches: medians, percentiles, ratios and when they are refused, numbers as they are shown. */
#include "tests/check.h"

#include "src/bench/report/host.h"
#include "src/bench/report/stats.h"

static figures_row row_of(const double *values, int n)
{
    figures_row row = {0};
    for (int i = 0; i < n; i++) figures_add(&row, values[i]);
    return row;
}

TEST(summary)
{
    double values[100];
    for (int i = 0; i < 100; i++) values[i] = (i * 37) % 100 + 1; /* 1..100 shuffled */
    figures_row row = row_of(values, 100), none = {0};
    bench_summary s = bench_summarise(&row);
    CHECK_INT(100, s.n);
    CHECK_NEAR(50.5, s.median, 1e-12);
    CHECK_NEAR(5, s.p5, 0);
    CHECK_NEAR(95, s.p95, 0);
    figures_row_free(&row);
    row = row_of((double[]){3, 1, 2}, 3);
    s = bench_summarise(&row);
    CHECK_NEAR(2, s.median, 0);
    CHECK_NEAR(1, s.p5, 0);
    CHECK_NEAR(3, s.p95, 0);
    figures_row_free(&row);
    s = bench_summarise(&none);
    CHECK_INT(0, s.n);
    CHECK_NEAR(0, s.median, 0);
}

TEST(ratio)
{
    char text[80];
    bench_summary fast = {.n = 5, .median = 10, .p5 = 9, .p95 = 11}, slow = {.n = 5, .median = 93, .p5 = 92, .p95 = 94};
    bench_ratio r = bench_ratio_of(&slow, &fast);
    CHECK(r.meaningful);
    CHECK_NEAR(9.3, r.ratio, 1e-12);
    CHECK_NEAR(sqrt(0.1 * 0.1 + 1.0 / 93 / 93), r.uncertainty, 1e-12);
    CHECK_STR("9.30x", bench_ratio_text(&r, text, sizeof text));
    fast.p95 = 20; /* half the range is 55 % of the median */
    r = bench_ratio_of(&slow, &fast);
    CHECK(!r.meaningful);
    CHECK_STR("no ratio: the runs spread by 55 %; at least 4.60x", bench_ratio_text(&r, text, sizeof text));
    fast.p95 = 100; /* they overlap */
    r = bench_ratio_of(&slow, &fast);
    CHECK_STR("no ratio: the runs spread by 455 %", bench_ratio_text(&r, text, sizeof text));
    fast = (bench_summary){.n = 2, .median = 10, .p5 = 10, .p95 = 10};
    r = bench_ratio_of(&slow, &fast);
    CHECK(!r.meaningful);
    CHECK_STR("no ratio: fewer than 3 runs", bench_ratio_text(&r, text, sizeof text));
    fast = (bench_summary){.n = 5};
    CHECK(!bench_ratio_of(&slow, &fast).meaningful);
}

TEST(numbers)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},        {0.00042, "0.00042"}, {0.9344, "0.934"}, {0.99951, "1.00"},
                 {9.314, "9.31"}, {9.9951, "10.0"},     {93.14, "93.1"},   {99.96, "100"},
                 {931.4, "931"},  {9310, "9,310"},      {-2.5, "-2.50"}};
    char text[32];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(cases[i].text, bench_number(cases[i].value, text));
}

/* Of the time wanted between two moments, not since the start of the system. */
TEST(stolen_time)
{
    bench_moment a = {.wanted = 1000, .stolen = 900}, b = {.wanted = 1200, .stolen = 950}, unknown = {0};
    CHECK(bench_moment_stolen(&a, &b) == 0.25);
    CHECK(bench_moment_stolen(&a, &a) == -1);
    CHECK(bench_moment_stolen(&unknown, &unknown) == -1);
    bench_moment now;
    bench_host_now(&now);
    CHECK(now.wanted > 0 && now.stolen >= 0 && now.stolen < now.wanted);
}

TEST_MAIN(T(summary), T(ratio), T(numbers), T(stolen_time))
