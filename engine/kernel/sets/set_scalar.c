/* The scalar set: plain C, any machine. The other sets are tested against it. */
#include "engine/kernel/vector/scalar.h"
#include "engine/kernel/sets/set_template.h"
#include "engine/kernel/sets.h"

KERNEL_SET(kernels_scalar, "scalar");
