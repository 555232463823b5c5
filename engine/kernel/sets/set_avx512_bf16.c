/* The AVX-512 set for CPUs whose bfloat16 products are faster than float32 ones (kernels.c says which). */
#define SET_BF16
#define SET_EXPANDED /* measured on Zen 4 (engine/kernel/README.md) */
#include "engine/kernel/vector/avx512.h"
#include "engine/kernel/sets/set_template.h"
#include "engine/kernel/sets.h"

KERNEL_SET(kernels_avx512_bf16, "avx512");
