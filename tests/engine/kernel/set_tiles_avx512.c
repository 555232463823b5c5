/* The set amx with its tile instructions in C (vector/tiles.h): its code on every CPU with AVX-512. */
#define SET_AMX
#define TILES_IN_C
#include "engine/kernel/vector/avx512.h"
#include "engine/kernel/vector/tiles.h"
#include "engine/kernel/sets/set_template.h"
#include "tests/engine/kernel/tested.h"

KERNEL_SET(kernels_tiles_in_c, "amx in C");
