/* Private to engine/gpu: products of many tokens (shaders/products). Quants take matrix units (matrix.comp) where the
 * device has them, through VK_KHR_cooperative_matrix; float types take larger tiles than matmul.comp's (tile.comp).
 *
 * Their bits have to be those of matmul.comp, which computes the same products for fewer tokens. Both use one order of
 * operations, but a driver's compiler is not trusted: before these shaders multiply weights of a kind, they multiply
 * made-up matrices, the results are compared bit by bit, and both shaders are timed. */
#ifndef TANDEM_GPU_GEMM_H
#define TANDEM_GPU_GEMM_H

#include "engine/gpu/device/device.h"
#include "engine/gpu/tune/measure.h"

/* Finds the matrix units that matrix.comp can use, into g->products.units; before the device is made. */
void gemm_find_units(struct gpu *g);
/* Tests at the first call whether products of these weights may take such a shader. One thread at a time calls this and
 * the next functions: it holds g->products.trying, not the device's lock, which is taken for each submission. */
tdm_status gemm_try(struct gpu *g, enum weight_kind kind, tdm_error *err);
/* The same for products that take the rows of experts in batches, for some of the variants; after gemm_try. */
tdm_status gemm_try_experts(struct gpu *g, enum weight_kind kind, tdm_error *err);
/* Measures, after gemm_try, how products with a matrix of this shape are tiled best, and whether matmul.comp is faster,
 * if that wasn't measured before. Other threads may use the device meanwhile: they wait for one submission, and the
 * measurement waits for theirs, so that nothing runs beside it (gpu_measure_product). A number of tokens that is not
 * measured when clock_ns() is `until` gets its neighbour's choice; a shape without any measurement is tiled by a rule.
 * Nothing is measured, and the rule applies to all, if the tuning has gemm_always. */
tdm_status gemm_choose(struct gpu *g, enum weight_kind kind, uint32_t tiles, uint32_t chunks, int64_t until,
                       tdm_error *err);

/* The numbers of tokens for which tilings are measured, ascending: a product of another number is tiled as the next
 * larger one, or the last. */
extern const uint32_t gemm_sizes[CHOICE_SIZES];

/* A type of weights that are stored as this kind. */
extern const enum type gemm_types[WEIGHT_KINDS];
/* Adds a choice, in place of the oldest one if the list is full; nothing happens if the shape has one. */
void gemm_add_choice(struct gpu *g, const struct choice *c);

/* The dispatch of a product: workgroups for the tokens (x) and for the rows (y). */
enum { GEMM_CONSTANTS = 10 };
struct gemm_tiling {
    enum shader shader;
    uint32_t constants[GEMM_CONSTANTS], n, x, y;
    uint32_t tokens; /* of a workgroup, at most */
};
/* For a product with `tiles` of the `all` tiles of a matrix; false: use matmul.comp. */
bool gemm_tile(struct gemm_tiling *out, const struct gpu *g, enum weight_kind kind, uint32_t tokens, uint32_t tiles,
               uint32_t all, uint32_t chunks);
/* For a product with a matrix of each expert, which has `tokens` tokens on average; x is not known. By a rule. */
bool gemm_tile_experts(struct gemm_tiling *out, const struct gpu *g, enum weight_kind kind, uint32_t tokens,
                       uint32_t tiles, uint32_t chunks);
/* The tiling of just this variant; false: the device lacks it, or the shared memory for it. */
bool gemm_tile_as(struct gemm_tiling *out, const struct gpu *g, enum weight_kind kind, uint32_t tokens, uint32_t tiles,
                  uint32_t segments, struct gpu_variant variant);

/* Rewrites a shader's SPIR-V for VK_NV_cooperative_matrix, which older compilers support, to VK_KHR_cooperative_matrix,
 * which drivers support. The caller frees it; NULL: no memory, or not such a shader. (khr.c) */
uint32_t *gemm_khr(const uint32_t *words, size_t bytes, size_t *out_bytes);

#endif
