/* The pairs of units that a bench compares where there is a GPU, PREFILL first: cores + cores, GPU + cores, cores +
 * GPU, GPU + GPU, and with two GPUs one GPU + the other. The first GPU is the one that --prefill-unit or --decode-unit
 * names, otherwise the first that is not a software device. The other is a second one that --decode-unit names,
 * otherwise the next of the same kind. Without a GPU there are no pairs. The machines stay open, with the model on the
 * GPU, from their first use to the model's last suite, since copying the model there takes longer than most
 * measurements. One thread. */
#ifndef TANDEM_SRC_BENCH_PAIRS_H
#define TANDEM_SRC_BENCH_PAIRS_H

#include "engine/tandem.h"

typedef struct bench bench;
typedef struct bench_table bench_table;

enum { BENCH_PAIRS = 5, BENCH_PAIR_DISPATCH = 128 /* tokens of a session's pass on a GPU */ };

typedef struct {
    const char *name;                 /* "GPU+cores" */
    bool gpu[TDM_UNITS];              /* is the unit a GPU? */
    bool other;                       /* DECODE is the other GPU */
    bool tried;
    char missing[200];                /* why it can't be opened */
    tdm_machine *machine;             /* NULL: not open */
    tdm_sequence *session[TDM_UNITS]; /* they keep the model where the units compute */
} bench_pair;

/* Do both units have one memory? */
static inline bool bench_pair_shares(const bench_pair *p)
{
    return p->gpu[0] == p->gpu[1] && !p->other;
}

typedef struct {
    int context; /* tokens of the sessions, and of the chats that share the model with them */
    bench_pair pair[BENCH_PAIRS];
} bench_pairs;

/* Finds the GPU for b->host and the report; "": there is none. */
void bench_pairs_find_gpu(bench *b);
/* Is there a GPU, and do the options ask for "pairs NAME ROW" of any pair and one of these rows (NULL-terminated)? */
bool bench_pairs_wanted(const bench *b, const char *const *rows);
/* Opens, for the running model, the pairs with such a wanted row. Pairs that can't be opened are left out, with a note
 * below the table t. TDM_E_CANCELLED ends the bench. */
tdm_status bench_pairs_open(bench *b, bench_table *t, const char *const *rows, const bench_pairs **out,
                            tdm_error *err);
void bench_pairs_close(bench_pairs *p);

#endif
