/* The NEON set for CPUs with the dot product and the int8 matrix extensions. */
#include "engine/kernel/vector/neon.h"
#include "engine/kernel/sets/set_template.h"
#include "engine/kernel/sets.h"

KERNEL_SET(kernels_neon_i8mm, "neon");
