/* The kernel sets that tests run: those that this CPU has, amx-bf16 too, and where it has AVX-512 "amx in C" and
 * "amx-bf16 in C", these sets with their tile instructions in C. */
#ifndef TANDEM_TESTS_KERNEL_TESTED_H
#define TANDEM_TESTS_KERNEL_TESTED_H

#include "engine/kernel/kernel.h"

enum { TESTED_SETS = 12 };

extern const struct kernels kernels_tiles_in_c, kernels_wide_tiles_in_c; /* for CPUs with AVX-512 */

/* As kernels_variants, kernels_available and kernels_find, with those sets; the first two return how many there are. */
int tested_variants(const struct kernels *out[TESTED_SETS]);
int tested_available(const struct kernels *out[TESTED_SETS]);
tdm_status tested_find(const struct kernels **out, const char *name, tdm_error *err);

#endif
