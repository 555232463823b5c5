/* The NEON set for any 64-bit ARM. */
#include "engine/kernel/vector/neon.h"
#include "engine/kernel/sets/set_template.h"
#include "engine/kernel/sets.h"

KERNEL_SET(kernels_neon, "neon");
