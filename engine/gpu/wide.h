/* Private to engine/gpu: products of many tokens. Quants take matrix units (shaders/matrix.comp) where the device has
 * them, through VK_KHR_cooperative_matrix; float types take larger tiles than matmul.comp's (shaders/tile.comp).
 *
 * Their bits have to be those of matmul.comp, which does the same products for fewer tokens. Everything is written in
 * one order; but what a driver makes of it is not taken on trust: before a kind of weights is multiplied so, made-up
 * matrices were, the results compared bit by bit, and both timed. */
#ifndef TANDEM_GPU_WIDE_H
#define TANDEM_GPU_WIDE_H

#include "engine/gpu/device.h"
#include "engine/gpu/measure.h"

/* What the device has of what matrix.comp needs, into g->matrix; makes no device yet. */
void wide_find_units(struct gpu *g);
/* Whether products of these weights may take such a shader; tried at the first time. The device's lock is held. */
tdm_status wide_try(struct gpu *g, enum weight_kind kind, tdm_error *err);
/* Measures, after wide_try, how products with a matrix of this shape are cut best, and whether they are, if that wasn't
 * measured before. What is not measured when clock_ns() is `until` is as its neighbour; a shape of which nothing is
 * goes by a rule. Nothing is measured, and all are cut by the rule, where the tuning has wide_always. */
tdm_status wide_choose(struct gpu *g, enum weight_kind kind, uint32_t tiles, uint32_t chunks, int64_t until,
                       tdm_error *err);

/* The numbers of tokens for which it is measured, ascending: a product of others is cut as the next larger one, or the
 * last. */
extern const uint32_t wide_sizes[CHOICE_SIZES];

/* A type of weights that are stored as this kind. */
extern const enum type wide_types[WEIGHT_KINDS];
/* In place of the oldest one, where there are too many; nothing where there is one of that shape. */
void wide_add_choice(struct gpu *g, const struct choice *c);

/* The dispatch of a product: workgroups for the tokens (x) and for the rows (y). */
enum { WIDE_CONSTANTS = 9 };
struct wide_cut {
    enum shader shader;
    uint32_t constants[WIDE_CONSTANTS], n, x, y;
};
/* For a product with `tiles` of the tiles of a matrix that has `all`; false: matmul.comp does it. */
bool wide_cut(struct wide_cut *out, const struct gpu *g, enum weight_kind kind, uint32_t tokens, uint32_t tiles,
              uint32_t all, uint32_t chunks);
/* In just this way; false: the device does not have it, or not the shared memory. */
bool wide_cut_so(struct wide_cut *out, const struct gpu *g, enum weight_kind kind, uint32_t tokens, uint32_t tiles,
                 uint32_t segments, struct gpu_way way);

/* A shader that was compiled for VK_NV_cooperative_matrix, which compilers have long known, in the words of
 * VK_KHR_cooperative_matrix, which drivers have. The caller frees it; NULL: no memory, or not such a shader. (khr.c) */
uint32_t *wide_khr(const uint32_t *words, size_t bytes, size_t *out_bytes);

#endif
