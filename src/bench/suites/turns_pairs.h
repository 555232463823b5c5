/* The part `pairs` of `tandem bench turns`: the same conversations on every pair of units (pairs.h), at each
 * level of speculation. */
#ifndef TANDEM_SRC_BENCH_TURNS_PAIRS_H
#define TANDEM_SRC_BENCH_TURNS_PAIRS_H

#include "src/bench/report/plan.h"
#include "src/bench/suites/played.h"

typedef struct {
    bench_table *table;
    const bench_pairs *pairs;
    struct {
        bench_played first, alone; /* of the round: its first conversation, with whose tokens the others' are compared;
                                      the one without speculation, with whose decode speed theirs are compared */
        int first_round, alone_round; /* rounds of the two, from 1; 0: none yet */
    } of[BENCH_PAIRS];
} bench_turns_pairs;

/* Adds the table and its rows; none without a GPU. Opens the pairs that have wanted rows. */
tdm_status bench_turns_plan_pairs(bench *b, bench_plan *plan, bench_turns_pairs *x, tdm_error *err);
bench_measure bench_turns_measure_pair; /* ctx: the bench_turns_pairs */
void bench_turns_pairs_conclude(bench_table *t);

#endif
