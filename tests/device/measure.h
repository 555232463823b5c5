/* Measurements that only developers need: the speed of a device's memory and its dispatches, without a model, and the
 * times of a pass's steps. */
#ifndef TANDEM_TESTS_DEVICE_MEASURE_H
#define TANDEM_TESTS_DEVICE_MEASURE_H

#include "engine/gpu/tune/measure.h"

/* Reads `bytes` once with workgroups of `lanes` lanes that have `each` 16-byte loads in flight; seconds. */
tdm_status gpu_measure_read(struct gpu *g, uint64_t bytes, uint32_t lanes, uint32_t each, uint32_t groups,
                            double *seconds, tdm_error *err);

/* Seconds for a dispatch of a workgroup that does next to nothing, with a barrier after it or without. */
tdm_status gpu_measure_dispatch(struct gpu *g, bool barrier, double *seconds, tdm_error *err);
/* Seconds on the host for an empty submission and waiting for it, by the driver's wake-up or by polling
 * (gpu_tuning.poll_us). */
tdm_status gpu_measure_submission(struct gpu *g, bool polled, double *seconds, tdm_error *err);

/* The driver's statistics of each pipeline (gpu_options.statistics): each call has a name and a value, and the
 * pipeline's shader with its constants, "matmul 3,1,0". It is not called if the driver reports nothing. */
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

/* The same for a fused pass of one token, after such a pass: the additional time of each operation, compared with a
 * pass that ends before it. The contents of states are invalid afterwards. *kinds 0: passes are dispatched step by
 * step. */
tdm_status gpu_measure_together(struct gpu_model *m, struct gpu_step_time out[GPU_STEP_KINDS], uint32_t *kinds,
                                tdm_error *err);

#endif
