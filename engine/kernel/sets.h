/* The kernel sets that this program was built with; which of them the CPU runs is decided in kernels.c. */
#ifndef TANDEM_KERNEL_SETS_H
#define TANDEM_KERNEL_SETS_H

#include "engine/kernel/kernel.h"

extern const struct kernels kernels_reference, kernels_scalar, kernels_avx2, kernels_avx512,
    kernels_avx512_bf16;
extern const struct kernels kernels_neon, kernels_neon_dotprod;

#endif
