#include "tests/engine/kernel/tested.h"

#include <string.h>

#include "engine/kernel/sets.h"

/* Behind n sets; returns their number then. */
static int with_tiles(const struct kernels *out[TESTED_SETS], int n)
{
    const struct kernels *k;
    if (!kernels_find(&k, "amx-bf16", NULL)) out[n++] = k;
#if defined __x86_64__
    if (!kernels_find(&k, "avx512", NULL)) {
        out[n++] = &kernels_tiles_in_c;
        out[n++] = &kernels_wide_tiles_in_c;
    }
#endif
    return n;
}

int tested_variants(const struct kernels *out[TESTED_SETS])
{
    return with_tiles(out, kernels_variants(out, TESTED_SETS - 3));
}

int tested_available(const struct kernels *out[TESTED_SETS])
{
    return with_tiles(out, kernels_available(out, TESTED_SETS - 3));
}

tdm_status tested_find(const struct kernels **out, const char *name, tdm_error *err)
{
    const struct kernels *tiles[TESTED_SETS];
    int n = with_tiles(tiles, 0);
    for (int i = 0; i < n && name; i++)
        if (!strcmp(name, tiles[i]->name)) {
            *out = tiles[i];
            return TDM_OK;
        }
    return kernels_find(out, name, err);
}
