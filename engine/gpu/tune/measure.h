/* Measurements of a device: what its memory, its dispatches and the products reach, apart from any model, and where the
 * time of a pass goes. Times are the device's own, from timestamps. */
#ifndef TANDEM_GPU_MEASURE_H
#define TANDEM_GPU_MEASURE_H

#include "engine/gpu/gpu.h"

/* Reads `bytes` once with workgroups of `lanes` lanes that have `each` 16-byte loads in flight; seconds. */
tdm_status gpu_measure_read(struct gpu *g, uint64_t bytes, uint32_t lanes, uint32_t each, uint32_t groups,
                            double *seconds, tdm_error *err);

/* Seconds for a dispatch of a workgroup that does next to nothing, with a barrier after it or without. */
tdm_status gpu_measure_dispatch(struct gpu *g, bool barrier, double *seconds, tdm_error *err);
/* Seconds on the host for an empty submission and waiting for it, until the driver wakes the thread or by asking again
 * and again (gpu_tuning.poll_us). */
tdm_status gpu_measure_submission(struct gpu *g, bool polled, double *seconds, tdm_error *err);

/* How a product of many tokens is tiled: a workgroup has as many parts and groups as struct gpu_tuning has at most. Of
 * float types besides (of quants 0): four columns times `quads` lie in shared memory at a time, 4 or 8; 1, 2, 4 or 8
 * teams work on as many segments at once, fewer where there are fewer segments; the four lanes of an output are so far
 * apart, 1 or 8 (shaders/products/tile.comp). parts groups teams is 20 at most. */
struct gpu_variant {
    uint8_t parts, groups, quads, teams, apart;
};
/* Those that are measured when a model with such weights is loaded. */
const struct gpu_variant *gpu_variants(enum type type, uint32_t *n);

struct gpu_product {
    enum type type;
    uint32_t rows, cols, tokens;
    struct gpu_variant variant; /* no parts: by the shader for few tokens, with this tuning */
    struct gpu_tuning tuning;
    double enough;  /* seconds: if a first run takes longer there is no other; 0: four, the shortest counts */
    double seconds; /* for one product, with a barrier after it */
    double bytes;   /* of its weights */
};

/* One product after the other with different matrices, `total` bytes of them so that they come from memory. */
tdm_status gpu_measure_product(struct gpu *g, struct gpu_product *product, uint64_t total, tdm_error *err);

/* What the driver reports of each pipeline that there is (gpu_options.statistics): a name and a number a call, with the
 * shader and its constants before them, as "matmul 3,1,0". It is not called where the driver reports nothing. */
typedef void gpu_statistic(void *ctx, const char *pipeline, const char *name, double value);
void gpu_measure_pipelines(struct gpu *g, gpu_statistic *each, void *ctx);

/* A pass of n tokens step by step, a barrier after each: the time of each kind of step. */
struct gpu_step_time {
    char name[32];
    uint32_t count;
    double seconds;
};
enum { GPU_STEP_KINDS = 64 };
tdm_status gpu_measure_pass(struct gpu_model *m, struct gpu_state *s, const tdm_id *ids, uint32_t n,
                            struct gpu_step_time out[GPU_STEP_KINDS], uint32_t *kinds, tdm_error *err);

/* The same of a pass of one token in one dispatch, after such a pass: how much longer it takes with each operation than
 * without it and those after it. What states hold afterwards is worthless. No kinds: it is dispatched step by step. */
tdm_status gpu_measure_together(struct gpu_model *m, struct gpu_step_time out[GPU_STEP_KINDS], uint32_t *kinds,
                                tdm_error *err);

#endif
