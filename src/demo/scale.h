/* Another timing for a take: the same keys, words and dispatches as they would come with a larger model on the same
 * machine, and with the user's typing as slow as it is shown. A pure function.
 *
 *   A dispatch of n tokens takes at least    roof(n) = max(n x operations / the machine's peak,
 *                                                          bytes / the machine's memory speed).
 *   Its time is    what was measured + (roof(n) of the model shown - roof(n) of the one measured) / share
 *   where share is what the best of the measured dispatches reached of their roof: the additional work at the machine's
 *   own speed. What else a dispatch took, such as waiting for a core that another program had, is not multiplied. A
 *   reply's tokens are dispatches of one token. Where the machine was not measured, reading is in proportion to the
 *   operations and writing to the bytes, and share stands for the speed of the best.
 *
 * Work that is not done yet when more of it comes waits for its unit, as the engine would have it: dispatches of one
 * kind that wait together become one, of as many tokens as the engine's at most, and the end of a prompt that the draft
 * has overtaken is not read. A unit whose cores were lent in the run lends them whenever it has nothing to do. */
#ifndef TANDEM_SRC_DEMO_SCALE_H
#define TANDEM_SRC_DEMO_SCALE_H

#include "src/demo/take.h"

/* What one token takes. */
typedef struct {
    double bytes, operations;
    double peak; /* the machine's with this model's arithmetic, operations per second; 0: not known */
} demo_cost;

/* What limits a dispatch of the model that was measured. */
typedef enum { DEMO_READS_OPERATIONS, DEMO_READS_BYTES, DEMO_WRITES, DEMO_WORKS } demo_work;

typedef struct {
    demo_cost measured, shown; /* equal: the take's own speed */
    double share[DEMO_WORKS];  /* 0: no such dispatch was measured */
    double memory;             /* bytes per second; 0: not known */
    double typing;             /* times as slow as it was typed in the run */
    int64_t rest_ns;           /* from the end of a reply to the next message's first key, at least */
    int dispatch;              /* most tokens of one */
} demo_pace;

/* Times of `out` count from its first key less rest_ns; what was done before that is left out. */
tdm_status demo_scale(demo_take *out, const demo_take *in, const demo_pace *pace, tdm_error *err);

/* Fills the shares from what was measured. */
void demo_pace_learn(demo_pace *pace, const demo_take *takes, int n);

/* Shows another model, a larger one. Where its arithmetic's peak would make it the quicker one, the peaks were not
 * measured alike, as on a machine that others used meanwhile: then it computes as fast as the one measured. */
void demo_pace_show(demo_pace *pace, const demo_cost *shown);

/* Nanoseconds that a dispatch of n tokens takes longer than it was measured. */
double demo_scale_longer(const demo_pace *pace, int n, demo_work work);

#endif
