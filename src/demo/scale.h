/* Another timing for a take: the same keys, words and dispatches at the times that they would have with a larger model
 * on the same machine, and with typing at the shown speed. A pure function.
 *
 *   A dispatch of n tokens takes at least    roof(n) = max(n x operations / the machine's peak,
 *                                                          bytes / the machine's memory speed).
 *   Its time is    measured time + (roof(n) of the model shown - roof(n) of the one measured) / share
 *   where share is the best ratio of roof to time among the measured dispatches: the additional work is done at the
 *   machine's own speed. Other parts of a dispatch's time, such as waiting for a core that another program had, are not
 *   multiplied. A reply's tokens are dispatches of one token. If the machine was not measured, reading is in proportion
 *   to the operations and writing to the bytes, and share stands for the speed of the best dispatch.
 *
 * As in the engine, work waits while its unit is busy: dispatches of one kind that wait together become one, with at
 * most the engine's number of tokens, and a suffix is not read if the draft has changed meanwhile. A unit whose cores
 * were lent in the run lends them whenever it has nothing to do. */
#ifndef TANDEM_SRC_DEMO_SCALE_H
#define TANDEM_SRC_DEMO_SCALE_H

#include "src/demo/take.h"

/* The cost of one token. */
typedef struct {
    double bytes, operations;
    double peak; /* the machine's with this model's arithmetic, operations per second; 0: not known */
} demo_cost;

/* The limit of a dispatch of the measured model. */
typedef enum { DEMO_READS_OPERATIONS, DEMO_READS_BYTES, DEMO_WRITES, DEMO_WORKS } demo_work;

typedef struct {
    demo_cost measured, shown; /* equal: the take's own speed */
    double share[DEMO_WORKS];  /* 0: no such dispatch was measured */
    double memory;             /* bytes per second; 0: not known */
    double typing;             /* factor by which typing is slower than in the run */
    int64_t rest_ns;           /* from the end of a reply to the next message's first key, at least */
    int dispatch;              /* most tokens of one */
} demo_pace;

/* Times of `out` count from rest_ns before its first key; earlier work is left out. */
tdm_status demo_scale(demo_take *out, const demo_take *in, const demo_pace *pace, tdm_error *err);

/* Fills the shares from measured takes. */
void demo_pace_learn(demo_pace *pace, const demo_take *takes, int n);

/* Shows another model, a larger one. If the peak of its arithmetic would make it faster than the measured one, the two
 * peaks are not comparable, since other programs used the machine during one measurement: then both get the same
 * peak. */
void demo_pace_show(demo_pace *pace, const demo_cost *shown);

/* Nanoseconds by which a dispatch of n tokens takes longer than measured. */
double demo_scale_longer(const demo_pace *pace, int n, demo_work work);

#endif
