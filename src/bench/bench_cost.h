/* What work will take, in seconds, by the speeds that one model has just shown on this machine: for plans
 * (bench_plan.h) and for the progress line, not for tables. */
#ifndef TANDEM_SRC_BENCH_COST_H
#define TANDEM_SRC_BENCH_COST_H

#include "engine/tandem.h"

typedef struct bench bench;

typedef struct {
    double load_s;     /* what opening the model took */
    double one_s;      /* a dispatch of one token, all cores lent */
    double dispatch_s; /* one of BENCH_LOOP_DISPATCH tokens */
} bench_cost;

/* Measures both dispatches with the model that is open. */
tdm_status bench_cost_measure(bench *b, tdm_error *err);

/* The same by these sessions, which are cleared: dispatches of the one, single tokens of the other. */
tdm_status bench_cost_of(bench *b, tdm_session *prefill, tdm_session *decode, bench_cost *out, tdm_error *err);

/* n tokens in dispatches of `dispatch`. */
double bench_cost_prefill(const bench *b, int n, int dispatch);
double bench_cost_decode(const bench *b, int n);

#endif
