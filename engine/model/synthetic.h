/* Synthetic models: real dimensions, generated weights, no file. They are for measuring times, which depend on shapes
 * alone.
 *
 * Element i (row-major) of the tensor with checkpoint name n: h = FNV-1a(n), 64 bits; z = (i + 1) * 0x9E3779B97F4A7C15
 * + h, through the finaliser of splitmix64; u = (z >> 40) / 2^24; r = (u - 0.5) * 3.4641016 (uniform with variance 1);
 * then by kind of tensor the float32 value below, rounded to bfloat16. Every stored type is made from the bfloat16
 * value.
 */
#ifndef TANDEM_MODEL_SYNTHETIC_H
#define TANDEM_MODEL_SYNTHETIC_H

#include <stddef.h>
#include <stdint.h>

struct recipe {
    uint64_t hash; /* of the name */
    enum { RECIPE_LINEAR, RECIPE_LOG } kind;
    float base, scale, divisor; /* LINEAR: (base + scale r) / divisor; LOG: log(0.01 + 15.99 u) */
};

/* The recipe of the tensor with this checkpoint name ("model.layers.0.mlp.gate_proj.weight") and row length. Declared
 * here for tests, which compare single elements with values computed elsewhere. */
struct recipe synthetic_recipe(const char *name, uint64_t cols);
/* Elements [first, first + n) as float32 (values of bfloat16). */
void synthetic_fill(const struct recipe *r, uint64_t first, float *out, size_t n);

#endif
