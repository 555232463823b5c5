/* Types of weights: the GPU's logits beside the cores' with the same int8 arithmetic (the set `scalar`). */
#ifndef TANDEM_TESTS_GPU_TYPES_H
#define TANDEM_TESTS_GPU_TYPES_H

#include "tests/engine/gpu/rig.h"

/* Compares a short text, and that single tokens leave what a pass leaves. quant: on loading; TYPE_F32: as stored.
 * tuning: NULL, or that of another kind of device. most: the difference allowed, of the logits' standard deviation. */
void types_compare(const char *model, enum type quant, const struct gpu_tuning *tuning, double most);

#endif
