/* The scalar set: plain C, any machine. What the other sets are tested against. */
#include "engine/kernel/vector/scalar.h"
#include "engine/kernel/sets/set_template.h"
#include "engine/kernel/sets.h"

KERNEL_SET(kernels_scalar, "scalar");
