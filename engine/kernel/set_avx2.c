/* The AVX2 set. */
#include "engine/kernel/vector_avx2.h"
#include "engine/kernel/set_template.h"
#include "engine/kernel/sets.h"

KERNEL_SET(kernels_avx2, "avx2");
