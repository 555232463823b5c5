/* A unit kept busy: a session that decodes, or prefills repeatedly, alone or while another unit's session works beside
 * it. For benches of what the units do to each other, and of power. */
#ifndef TANDEM_SRC_BENCH_LOOP_H
#define TANDEM_SRC_BENCH_LOOP_H

#include <stdatomic.h>

#include "engine/tandem.h"

enum { BENCH_LOOP_DISPATCH = 32, BENCH_LOOP_PROMPT = 256, BENCH_LOOP_START = 74 };

typedef struct {
    tdm_sequence *session; /* with room for BENCH_LOOP_PROMPT tokens; a decoder's: and `room` more */
    const tdm_id *prompt; /* BENCH_LOOP_PROMPT ids */
    bool decodes;         /* decodes after BENCH_LOOP_START of them; else prefills all, repeatedly */
    int room;             /* a decoder that has filled it starts again */
    int tokens;           /* ends after this many; 0: no limit */
    double at_most_s;     /* ends after this time; 0: when it is stopped */
    atomic_bool stop, running;
    atomic_long done;     /* tokens */
    double seconds;       /* that they took */
    tdm_error err;
    tdm_status status;
} bench_loop;

/* Tokens a second of `measured` while `other` (may be NULL) is at work; the other's in *other_tps. */
tdm_status bench_loop_run(bench_loop *measured, bench_loop *other, double *tps, double *other_tps, tdm_error *err);

#endif
