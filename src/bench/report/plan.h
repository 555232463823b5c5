/* Which rows of a table are measured, and how often. A suite lists its rows, the most important first; the plan
 * measures the wanted ones round by round, each once a round (A B A B), as long as time is left.
 *
 *     bench_plan p;
 *     bench_plan_open(&p, t);
 *     for (each row) bench_plan_add(b, &p, "%d|%s", tokens, name);
 *     status = bench_plan_run(b, &p, measure, ctx, err);
 *     bench_plan_close(&p);
 *
 * A row that has begun is measured BENCH_LEAST_RUNS times, even beyond the time. So new rows begin only in the first
 * 1/BENCH_LEAST_RUNS of the time; rows that did not begin are named below the table. Later rounds end with the time. */
#ifndef TANDEM_SRC_BENCH_PLAN_H
#define TANDEM_SRC_BENCH_PLAN_H

#include "src/bench/bench.h"

typedef struct {
    char name[128]; /* its parameters, as in bench_table_row */
    int most;       /* runs */
    bool wanted;    /* --rows asks for it */
    bool begun;
} bench_planned;

typedef struct {
    bench_table *table;
    bench_planned *rows; /* in the order in which they were added and are measured */
    int n;
    bool failed; /* out of memory: bench_plan_run returns the error */
} bench_plan;

/* Measures row `row` once; round 0 is its first. May fill more than one row of the table. */
typedef tdm_status bench_measure(bench *b, void *ctx, int row, int round, tdm_error *err);

void bench_plan_open(bench_plan *p, bench_table *t);
void bench_plan_close(bench_plan *p);
/* The next row, to be measured at most --runs times (bench_plan_most: another number). Rows that --rows excludes are
 * never measured, but keep their numbers, by which the suite knows its rows. */
void bench_plan_add(bench *b, bench_plan *p, const char *name, ...) __attribute__((format(printf, 3, 4)));
/* Skips a row that does not exist here: it only uses up its number. */
void bench_plan_skip(bench_plan *p);
/* Adds these rows (NULL-terminated) for every pair of units; lengths: tokens that they need, or NULL. Rows of pairs
 * that are not open, or whose context is too small, are skipped. */
void bench_plan_add_pairs(bench *b, bench_plan *p, const char *const *rows, const int *lengths);
void bench_plan_most(bench_plan *p, int most); /* of the row added last */
/* The first row is measured whenever another one is, since the others are compared with it. */
void bench_plan_base(bench_plan *p);
/* Is any row wanted? */
bool bench_plan_wanted(const bench_plan *p);

/* TDM_OK also when there is no time for any row. */
tdm_status bench_plan_run(bench *b, bench_plan *p, bench_measure *measure, void *ctx, tdm_error *err);

#endif
