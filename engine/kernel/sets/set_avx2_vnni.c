/* The AVX2 set for CPUs that also have AVX-VNNI: one instruction for four int8 products a lane. */
#include "engine/kernel/vector/avx2.h"
#include "engine/kernel/sets/set_template.h"
#include "engine/kernel/sets.h"

KERNEL_SET(kernels_avx2_vnni, "avx2");
