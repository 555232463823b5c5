/* The AVX2 set. */
#include "engine/kernel/vector/avx2.h"
#include "engine/kernel/sets/set_template.h"
#include "engine/kernel/sets.h"

KERNEL_SET(kernels_avx2, "avx2");
