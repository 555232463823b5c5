/* The pairs of units that a bench compares where there is a GPU: cores + cores, GPU + cores, cores + GPU, GPU + GPU,
 * PREFILL first. The GPU is the one that --prefill-unit or --decode-unit names, else the first that is no software
 * device; without one there are no pairs. The machines stay open, with the model on the GPU, from their first use to
 * the model's last suite: copying it there takes longer than most measurements. One thread. */
#ifndef TANDEM_SRC_BENCH_PAIRS_H
#define TANDEM_SRC_BENCH_PAIRS_H

#include "engine/tandem.h"
#include "src/bench/bench_cost.h"

typedef struct bench_table bench_table;

enum { BENCH_PAIRS = 4, BENCH_PAIR_DISPATCH = 128 /* tokens of a session's pass on a GPU */ };

typedef struct {
    const char *name;                 /* "GPU+cores" */
    bool gpu[TDM_UNITS];              /* is the unit one? */
    tdm_machine *machine;
    tdm_session *session[TDM_UNITS];  /* they keep the model where the units compute */
    bench_cost cost;                  /* a dispatch of PREFILL, a token of DECODE */
} bench_pair;

typedef struct {
    bool opened;
    int n, context; /* tokens of the sessions, and of the chats that share the model with them */
    bench_pair pair[BENCH_PAIRS];
    int n_notes;
    char notes[BENCH_PAIRS][200]; /* why one is missing */
} bench_pairs;

/* Finds the GPU for b->host and the report; "" where there is none. */
void bench_pairs_find_gpu(bench *b);
/* Is there a GPU, and do the options ask for "pairs NAME ROW" of any pair? */
bool bench_pairs_wanted(const bench *b, const char *row);
/* The pairs for the running model, opened if they aren't. What can't be opened is left out, with a note below the table
 * t. n is 0 without a GPU. TDM_E_CANCELLED and what else ends a bench is returned. */
tdm_status bench_pairs_open(bench *b, bench_table *t, const bench_pairs **out, tdm_error *err);
void bench_pairs_close(bench_pairs *p);

#endif
