/* The reference set: weights of every type widened exactly to float32, everything else float32, plain C. Golden values
 * are compared with it, and the divergence of the other sets is measured against it. */
#define SET_REFERENCE
#include "engine/kernel/vector/scalar.h"
#include "engine/kernel/sets/set_template.h"
#include "engine/kernel/sets.h"

KERNEL_SET(kernels_reference, "reference");
