/* The AVX-512 set with the matrix unit (AMX): products of int8 and bfloat16 on tiles. */
#define SET_AMX
#include "engine/kernel/vector/avx512.h"
#include "engine/kernel/vector/tiles.h"
#include "engine/kernel/sets/set_template.h"
#include "engine/kernel/sets.h"

KERNEL_SET(kernels_amx, "amx");
/* The same packed weights, widened to bfloat16 for products. */
KERNEL_SET_WITH(kernels_amx_bf16, "amx-bf16", widened_panel_of);
