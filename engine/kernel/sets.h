/* The kernel sets that this program was built with; which of them the CPU runs is decided in kernels.c. */
#ifndef TANDEM_KERNEL_SETS_H
#define TANDEM_KERNEL_SETS_H

#include "engine/kernel/kernel.h"

/* Every table that this CPU runs, best last. Sets of one name, of which the last is what the name stands for, follow
 * each other: tests run them all. */
int kernels_variants(const struct kernels **out, int room);

extern const struct kernels kernels_reference, kernels_scalar, kernels_avx2, kernels_avx2_vnni,
    kernels_avx512, kernels_avx512_bf16, kernels_amx;
extern const struct kernels kernels_neon, kernels_neon_dotprod, kernels_neon_i8mm;
/* Made at the first call: it takes most of its functions from the reference set. */
const struct kernels *kernels_blas(void);

#endif
