/* Private to engine/gpu: products of many tokens by matrix units (shaders/matrix.comp), through
 * VK_KHR_cooperative_matrix.
 *
 * Their bits have to be those of matmul.comp, which does the same products for fewer tokens. Integers are exact, and
 * what follows is written in one order; but what a driver makes of it is not taken on trust: before a kind of weights
 * is multiplied so, made-up matrices were, the results compared bit by bit, and both timed. */
#ifndef TANDEM_GPU_MATRIX_H
#define TANDEM_GPU_MATRIX_H

#include "engine/gpu/device.h"

/* What the device has of what the shader needs, into g->matrix; makes no device yet. */
void matrix_find(struct gpu *g);
/* Whether products of these weights take matrix units; tried at the first time. The device's lock is held. */
tdm_status matrix_try(struct gpu *g, enum weight_kind kind, tdm_error *err);
/* Whether a product of so many tokens takes them, after matrix_try. */
bool matrix_takes(const struct gpu *g, enum weight_kind kind, uint32_t tokens);

/* The dispatch of a product: the shader's constants; workgroups for the tokens (x) and for the rows (y). */
enum { MATRIX_CONSTANTS = 9 };
struct matrix_cut {
    uint32_t constants[MATRIX_CONSTANTS], x, y;
};
/* For the sizes of this product; or with so many parts of N tokens and groups of M rows, if they fit shared memory. */
void matrix_cut(struct matrix_cut *out, const struct gpu *g, const struct gpu_tuning *t, enum weight_kind kind,
                uint32_t tokens, uint32_t tiles, uint32_t segments);
void matrix_cut_so(struct matrix_cut *out, const struct matrix_units *u, enum weight_kind kind, uint32_t tokens,
                   uint32_t tiles, uint32_t segments, uint32_t parts, uint32_t groups);
bool matrix_fits(const struct gpu *g, enum weight_kind kind, uint32_t parts, uint32_t groups);

/* A shader that was compiled for VK_NV_cooperative_matrix, which compilers have long known, in the words of
 * VK_KHR_cooperative_matrix, which drivers have. The caller frees it; NULL: no memory, or not such a shader. (khr.c) */
uint32_t *matrix_khr(const uint32_t *words, size_t bytes, size_t *out_bytes);

#endif
