/* The kernel sets of this build; kernels.c decides which of them the CPU runs. */
#ifndef TANDEM_KERNEL_SETS_H
#define TANDEM_KERNEL_SETS_H

#include "engine/kernel/kernel.h"

/* Every table that this CPU runs, best last. Several may have one name, which selects the last of them; they are
 * adjacent. For tests, which run all. */
int kernels_variants(const struct kernels **out, int room);

extern const struct kernels kernels_reference, kernels_scalar, kernels_avx2, kernels_avx2_vnni,
    kernels_avx512, kernels_avx512_bf16, kernels_amx, kernels_amx_bf16;
extern const struct kernels kernels_neon, kernels_neon_dotprod, kernels_neon_i8mm;
/* Loads OpenBLAS at the first call; most of the set's functions are those of the reference set. TDM_E_NOT_FOUND: the
 * library is not installed; later calls do not look again. */
tdm_status kernels_blas(const struct kernels **out, tdm_error *err);

#endif
