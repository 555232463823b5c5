#include "tests/engine/kernel/tested.h"

#include <string.h>

#include "engine/kernel/sets.h"

/* Behind n sets; returns their number then. */
static int with_tiles(const struct kernels *out[TESTED_SETS], int n)
{
#if defined __x86_64__
    const struct kernels *avx512;
    if (!kernels_find(&avx512, "avx512", NULL)) out[n++] = &kernels_tiles_in_c;
#else
    (void)out;
#endif
    return n;
}

int tested_variants(const struct kernels *out[TESTED_SETS])
{
    return with_tiles(out, kernels_variants(out, TESTED_SETS - 1));
}

int tested_available(const struct kernels *out[TESTED_SETS])
{
    return with_tiles(out, kernels_available(out, TESTED_SETS - 1));
}

tdm_status tested_find(const struct kernels **out, const char *name, tdm_error *err)
{
    const struct kernels *tiles[TESTED_SETS];
    if (!name || !with_tiles(tiles, 0) || strcmp(name, tiles[0]->name)) return kernels_find(out, name, err);
    *out = tiles[0];
    return TDM_OK;
}
