/* Which rows of a table are measured, and how often. A suite lists its rows, those that say most first; the plan
 * measures the ones that are asked for round by round, each once a round (A B A B), as long as time is left.
 *
 *     bench_plan p;
 *     bench_plan_open(&p, t);
 *     for (each row) bench_plan_add(b, &p, "%d|%s", tokens, name);
 *     status = bench_plan_run(b, &p, measure, ctx, err);
 *     bench_plan_close(&p);
 *
 * A row that has begun is measured BENCH_LEAST_RUNS times, however late it gets. So rows begin in the first of this
 * many parts of the time that there is; those that did not are named below the table. Later rounds end with the
 * time. */
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
    bool failed; /* out of memory: bench_plan_run says so */
} bench_plan;

/* Measures row `row` once; round 0 is its first. May fill more than one row of the table. */
typedef tdm_status bench_measure(bench *b, void *ctx, int row, int round, tdm_error *err);

void bench_plan_open(bench_plan *p, bench_table *t);
void bench_plan_close(bench_plan *p);
/* The next row, to be measured at most --runs times (bench_plan_most: another number). Rows that --rows does not ask
 * for are never measured; they count, so that a suite may number its rows in any way. */
void bench_plan_add(bench *b, bench_plan *p, const char *name, ...) __attribute__((format(printf, 3, 4)));
/* A row that does not exist here: only its number is taken. */
void bench_plan_skip(bench_plan *p);
/* Of every pair of units, these rows (NULL-terminated); tokens that they need, or NULL. Pairs that are not open, and
 * what their context has no room for, don't exist. */
void bench_plan_add_pairs(bench *b, bench_plan *p, const char *const *rows, const int *lengths);
void bench_plan_most(bench_plan *p, int most); /* of the row added last */
/* The first row is measured whenever another one is: they are held against it. */
void bench_plan_base(bench_plan *p);
/* Is any row asked for? */
bool bench_plan_wanted(const bench_plan *p);

/* TDM_OK also when there is no time for any row. */
tdm_status bench_plan_run(bench *b, bench_plan *p, bench_measure *measure, void *ctx, tdm_error *err);

#endif
