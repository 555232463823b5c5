/* `tandem bench kernels`: products of each weight type for 1 to 128 tokens beside the machine's own ceilings. */
#ifndef TANDEM_SRC_BENCH_KERNELS_H
#define TANDEM_SRC_BENCH_KERNELS_H

#include <stdbool.h>
#include <stdio.h>

#include "engine/kernel/kernel.h"

struct bench_kernels_options {
    const struct kernels *kernels; /* the set to measure */
    const int *cpus;               /* the cores to use, one thread each */
    int threads;
    const enum type *types;        /* NULL: Q8_0, Q4_K, Q6_K, BF16, F16, F32 */
    int type_count;
    bool packing;                  /* also how fast weights are packed */
    bool json;
};

/* Prints a table (or one JSON object a line) to out; what else went wrong is in err. */
tdm_status bench_kernels(const struct bench_kernels_options *o, FILE *out, tdm_error *err);

#endif
