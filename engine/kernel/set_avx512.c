/* The AVX-512 set: int8 dot products (VNNI) and bfloat16 products 16 rows at a time. */
#define SET_BF16
#include "engine/kernel/vector_avx512.h"
#include "engine/kernel/set_template.h"
#include "engine/kernel/sets.h"

KERNEL_SET(kernels_avx512, "avx512");
