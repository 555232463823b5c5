/* The reference set: weights of every type widened exactly to float32, everything else float32, plain C. What golden
 * values are compared with and what the other sets' divergence is measured against. */
#define SET_REFERENCE
#include "engine/kernel/vector/scalar.h"
#include "engine/kernel/sets/set_template.h"
#include "engine/kernel/sets.h"

KERNEL_SET(kernels_reference, "reference");
