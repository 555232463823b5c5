/* A kernel set whose functions are timed: the same table with a clock around each function. A forward pass with it
 * shows where the time goes (`tandem bench pass`); without it timing costs nothing.
 *
 *     const struct kernels *timed = timed_kernels(k, head);
 *     timed_reset();   ...a pass with `timed`...   timed_read(ns);
 *
 * It takes matrices packed by the original set. Functions of a table have no context argument, so there is one timed
 * table per process: one measurement at a time. Its functions may run on any number of threads, but not concurrently
 * with timed_kernels, timed_reset and timed_read. Each call costs two readings of the CPU's counter, some 20 ns.
 */
#ifndef TANDEM_KERNEL_TIMED_H
#define TANDEM_KERNEL_TIMED_H

#include "engine/kernel/kernel.h"

enum timed_part {
    TIMED_PRODUCTS,
    TIMED_HEAD,        /* the product with the matrix `head` */
    TIMED_QUANTISING,  /* filling panels of activations, whatever their kind */
    TIMED_DELTA,       /* the delta rule */
    TIMED_CONVOLUTION, /* with its silu */
    TIMED_NORMS,       /* norms, gates, rotation */
    TIMED_SILU,        /* of the feed-forward part */
    TIMED_ATTENTION,   /* storing keys and values, attending, merging */
    TIMED_EMBEDDING,
    TIMED_PARTS
};

const struct kernels *timed_kernels(const struct kernels *k, const struct matrix *head);

void timed_reset(void);
/* Nanoseconds since timed_reset, summed over all threads. */
void timed_read(double ns[TIMED_PARTS]);

#endif
