/* Which rows of a table a budget has time for, and how often each is measured. A suite lists its rows with what a run
 * of each will take (src/bench/bench_cost.h: known work at the speed that the machine has just shown); the plan takes
 * the most telling ones whose least number of runs fits, names the others below the table with the time that they would
 * need, and measures those taken round by round, each once a round (A B A B), as long as time is left.
 *
 *     bench_plan p;
 *     bench_plan_open(&p, t);
 *     for (each row) bench_plan_add(&p, rank, once_s, run_s, "%d|%s", tokens, name);
 *     status = bench_plan_run(b, &p, measure, ctx, err);
 *     bench_plan_close(&p);
 *
 * An expectation may be wrong: rows that turn out to be too long after their first run are given up, from the least
 * telling on, so that the whole run ends within its budget. A row has BENCH_LEAST_RUNS runs or is not in the table. */
#ifndef TANDEM_SRC_BENCH_PLAN_H
#define TANDEM_SRC_BENCH_PLAN_H

#include "src/bench/bench.h"

typedef struct {
    char name[128];       /* its parameters, as in bench_table_row */
    int rank;             /* the lower, the more telling; rows of one rank in the order in which they were added */
    double once_s, run_s; /* expected: before the first run, and each run */
    int most;             /* runs */
    bool wanted;          /* --rows asks for it */
    bool taken;
    double took_s;        /* its last run; 0: none yet */
} bench_planned;

typedef struct {
    bench_table *table;
    bench_planned *rows; /* in the order in which they were added and are measured */
    int n;
    bool decided, given_up;
    bool failed; /* out of memory: bench_plan_run says so */
} bench_plan;

/* Measures row `row` once; round 0 is its first. May fill more than one row of the table. */
typedef tdm_status bench_measure(bench *b, void *ctx, int row, int round, tdm_error *err);

void bench_plan_open(bench_plan *p, bench_table *t);
void bench_plan_close(bench_plan *p);
/* The next row, to be measured at most --runs times (bench_plan_most: another number). Rows that --rows does not ask
 * for are never measured; they count, so that a suite may number its rows as it likes. */
void bench_plan_add(bench *b, bench_plan *p, int rank, double once_s, double run_s, const char *name, ...)
    __attribute__((format(printf, 6, 7)));
/* A row that does not exist here: only its number is taken. */
void bench_plan_skip(bench_plan *p);
void bench_plan_most(bench_plan *p, int most); /* of the row added last */
/* The first row is measured whenever another one is: they are held against it. */
void bench_plan_base(bench_plan *p);

/* What the least number of runs of all wanted rows takes; full: all their runs. */
double bench_plan_seconds(const bench_plan *p, bool full);
/* Decides which rows are measured. bench_plan_run does it where it was not done before. */
void bench_plan_take(bench *b, bench_plan *p);
bool bench_plan_taken(const bench_plan *p, int row);

/* TDM_OK also when no row fits. */
tdm_status bench_plan_run(bench *b, bench_plan *p, bench_measure *measure, void *ctx, tdm_error *err);

#endif
