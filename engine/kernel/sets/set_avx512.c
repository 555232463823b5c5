/* The AVX-512 set: int8 dot products (VNNI) 16 rows at a time, BF16 weights by widening. */
#include "engine/kernel/vector/avx512.h"
#include "engine/kernel/sets/set_template.h"
#include "engine/kernel/sets.h"

KERNEL_SET(kernels_avx512, "avx512");
