/* Measurements of a device: the speed of products, by which their tiling is chosen, and what other measurements are
 * made of (tests/device/measure.h). Times are the device's own, from timestamps. */
#ifndef TANDEM_GPU_MEASURE_H
#define TANDEM_GPU_MEASURE_H

#include "engine/gpu/device/device.h"

/* ---- Timestamps -------------------------------------------------------------------------------------------------- */

struct stopwatch {
    struct gpu *gpu;
    VkQueryPool pool;
    uint32_t n, room; /* timestamps taken, and at most */
};
tdm_status stopwatch_new(struct stopwatch *w, struct gpu *g, uint32_t room, tdm_error *err);
void stopwatch_free(struct stopwatch *w);
void stopwatch_stamp(struct stopwatch *w, VkCommandBuffer commands);
/* Waits for the timestamps, w->n of them. */
tdm_status stopwatch_read(struct stopwatch *w, uint64_t *ticks, tdm_error *err);

/* What a measurement records, between two timestamps. */
typedef tdm_status measure_recorded(struct gpu *g, VkCommandBuffer commands, void *ctx, tdm_error *err);

/* The shortest of some runs; there is one only if that takes longer than `enough` seconds. A model may be replying
 * meanwhile: the lock is held for one run at a time, so its tokens come between two of them, and none of them is beside
 * a run, which would be measured as slower than it is. What they leave behind, other weights in the device's cache, is
 * no matter: the matrices of a run are more than a cache holds, or wait for arithmetic. */
tdm_status measure_shortest(struct gpu *g, measure_recorded *record, void *ctx, double enough, double *seconds,
                            tdm_error *err);

void measure_dispatch(struct gpu *g, VkCommandBuffer commands, VkPipeline pipeline, const void *push, uint32_t bytes,
                      uint32_t x, uint32_t y);

/* ---- Products ---------------------------------------------------------------------------------------------------- */

/* A tiling of products of many tokens: parts and groups of a workgroup, as gemm_parts and gemm_groups of struct
 * gpu_tuning limit them. For float types also (0 for quants): quads: 4 or 8 times four columns are in shared memory at
 * a time; teams: 1, 2, 4 or 8 work on as many segments at once, or fewer if there are fewer segments; apart: the
 * distance of the four lanes of an output, 1 or 8 (shaders/products/tile.comp). parts * groups * teams is at most
 * 20. */
struct gpu_variant {
    uint8_t parts, groups, quads, teams, apart;
};
/* The variants that are measured when a model with such weights is loaded. */
const struct gpu_variant *gpu_variants(enum type type, uint32_t *n);

struct gpu_product {
    enum type type;
    uint32_t rows, cols, tokens;
    struct gpu_variant variant; /* parts 0: the shader for few tokens, with this tuning */
    struct gpu_tuning tuning;
    double enough;  /* seconds: if the first run takes longer, it is the only one; 0: four runs, of which the shortest
                       counts */
    double seconds; /* for one product, with a barrier after it */
    double bytes;   /* of its weights */
};

/* One product after the other with different matrices, `total` bytes of them so that they come from memory. */
tdm_status gpu_measure_product(struct gpu *g, struct gpu_product *product, uint64_t total, tdm_error *err);

#endif
