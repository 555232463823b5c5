/* A kernel set whose functions are timed: the same table with a clock around each. Who passes it to a forward pass
 * instead of the set that it was made of learns where the time goes (`tandem bench pass`); who doesn't pays nothing.
 *
 *     const struct kernels *timed = timed_kernels(k, head);
 *     timed_reset();   ...a pass with `timed`...   timed_read(ns);
 *
 * Matrices packed by the set go with it. There is one timed table, since functions of a table have nothing but their
 * arguments: one measurement at a time, in one process. Functions may run on any number of threads; timed_kernels,
 * timed_reset and timed_read may not run beside them. Each call costs two readings of the CPU's counter, some 20 ns.
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
/* Nanoseconds of all threads together since timed_reset. */
void timed_read(double ns[TIMED_PARTS]);

#endif
