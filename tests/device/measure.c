#include "tests/device/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/gpu/device/fused.h"
#include "engine/gpu/pass/gemm.h"

/* ---- Memory and dispatches --------------------------------------------------------------------------------------- */

struct reading {
    VkPipeline pipeline;
    struct {
        uint64_t from, result;
        uint32_t quads, unused;
    } push;
    uint32_t groups, times;
    bool barrier;
};

static tdm_status record_reading(struct gpu *g, VkCommandBuffer commands, void *ctx, tdm_error *err)
{
    (void)err;
    const struct reading *r = ctx;
    for (uint32_t i = 0; i < r->times; i++) {
        measure_dispatch(g, commands, r->pipeline, &r->push, sizeof r->push, r->groups, 1);
        if (r->barrier) device_barrier(g, commands);
    }
    return TDM_OK;
}

static tdm_status read_some(struct gpu *g, uint64_t bytes, uint32_t lanes, uint32_t each, struct reading *r,
                            double *seconds, tdm_error *err)
{
    struct block block, result;
    uint64_t piece = (uint64_t)lanes * each * 16;
    bytes = bytes / piece ? bytes / piece * piece : piece;
    tdm_status status = block_new(&block, g, BLOCK_DEVICE, bytes, err);
    if (status) return status;
    status = block_new(&result, g, BLOCK_DEVICE, 256, err);
    if (!status) status = device_clear(g, &block, err);
    if (!status) status = device_pipeline(&r->pipeline, g, SHADER_READ, (uint32_t[]){lanes, each}, 2, err);
    r->push.from = block.address;
    r->push.result = result.address;
    r->push.quads = (uint32_t)(bytes / 16);
    if (!status) status = measure_shortest(g, record_reading, r, INFINITY, seconds, err);
    block_free(&block, g);
    block_free(&result, g);
    return status;
}

tdm_status gpu_measure_read(struct gpu *g, uint64_t bytes, uint32_t lanes, uint32_t each, uint32_t groups,
                            double *seconds, tdm_error *err)
{
    struct reading r = {.groups = groups, .times = 1};
    return read_some(g, bytes, lanes, each, &r, seconds, err);
}

tdm_status gpu_measure_dispatch(struct gpu *g, bool barrier, double *seconds, tdm_error *err)
{
    struct reading r = {.groups = 1, .times = 500, .barrier = barrier};
    tdm_status status = read_some(g, 1, 64, 1, &r, seconds, err);
    *seconds /= r.times;
    return status;
}

tdm_status gpu_measure_submission(struct gpu *g, bool polled, double *seconds, tdm_error *err)
{
    enum { TIMES = 50 };
    device_lock(g);
    tdm_status status = device_begin(g, g->once, false, err);
    if (!status) status = device_end(g, g->once, err);
    int64_t start = clock_ns();
    for (int i = 0; i < TIMES && !status; i++) {
        struct start one;
        status = device_start(&one, g, g->fence, &g->once, 1, 0, err);
        if (!status) status = device_finish(g, g->fence, polled ? clock_ns() : 0, err);
    }
    *seconds = (double)(clock_ns() - start) / 1e9 / TIMES;
    device_unlock(g);
    return status;
}

/* ---- Pipelines --------------------------------------------------------------------------------------------------- */

static double number_of(const VkPipelineExecutableStatisticKHR *s)
{
    switch (s->format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
        return s->value.b32;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
        return (double)s->value.i64;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
        return (double)s->value.u64;
    default:
        return s->value.f64;
    }
}

void gpu_measure_pipelines(struct gpu *g, gpu_statistic *each, void *ctx)
{
    enum { LIMIT = 32 };
    for (uint32_t i = 0; i < g->n_pipelines && g->statistics; i++) {
        const struct pipeline *p = &g->pipelines[i];
        VkPipelineExecutableStatisticKHR all[LIMIT];
        VkPipelineExecutableInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
                                            .pipeline = p->handle};
        uint32_t n = LIMIT;
        char name[200];
        int at = snprintf(name, sizeof name, "%s", shader_codes[p->shader].name);
        for (uint32_t c = 0; c < MAX_CONSTANTS && at < (int)sizeof name - 12; c++)
            at += snprintf(name + at, sizeof name - (size_t)at, "%c%u", c ? ',' : ' ', p->constants[c]);
        for (uint32_t s = 0; s < LIMIT; s++)
            all[s] = (VkPipelineExecutableStatisticKHR){.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR};
        VkResult result = g->vk.GetPipelineExecutableStatisticsKHR(g->device, &info, &n, all);
        for (uint32_t s = 0; s < n && (!result || result == VK_INCOMPLETE); s++)
            each(ctx, name, all[s].name, number_of(&all[s]));
    }
}

/* ---- A pass, step by step ---------------------------------------------------------------------------------------- */

struct steps {
    struct stopwatch watch;
    uint8_t kind[WATCHED_QUERIES];
    struct gpu_step_time *out;
    uint32_t kinds;
};

/* The place of a kind of step; the last one also has those that there is no room for. */
static uint32_t kind_named(struct gpu_step_time *out, uint32_t *kinds, const char *name)
{
    uint32_t k = 0;
    while (k < *kinds && strcmp(out[k].name, name)) k++;
    if (k < *kinds || k == GPU_STEP_KINDS) return k < GPU_STEP_KINDS ? k : GPU_STEP_KINDS - 1;
    out[k] = (struct gpu_step_time){0};
    snprintf(out[k].name, sizeof out[k].name, "%s", name);
    return (*kinds)++;
}

/* Called after each step. */
static void after_step(void *ctx, struct recording *r, const char *name)
{
    struct steps *s = ctx;
    if (s->watch.n >= s->watch.room) return;
    s->kind[s->watch.n] = (uint8_t)kind_named(s->out, &s->kinds, name);
    device_barrier(r->model->gpu, r->commands);
    stopwatch_stamp(&s->watch, r->commands);
}

static tdm_status sum_up(struct steps *s, tdm_error *err)
{
    uint64_t *ticks = calloc(s->watch.n, sizeof *ticks);
    if (!ticks) return error_set(err, TDM_E_NOMEM, "no memory for timestamps");
    tdm_status status = stopwatch_read(&s->watch, ticks, err);
    for (uint32_t i = 1; i < s->watch.n && !status; i++) {
        struct gpu_step_time *to = &s->out[s->kind[i]];
        to->count++;
        to->seconds += (double)(ticks[i] - ticks[i - 1]) * (double)s->watch.gpu->tick_ns / 1e9;
    }
    free(ticks);
    return status;
}

tdm_status gpu_measure_pass(struct gpu_model *m, struct gpu_state *state, const tdm_id *ids, uint32_t n,
                            struct gpu_step_time out[GPU_STEP_KINDS], uint32_t *kinds, tdm_error *err)
{
    struct gpu *g = m->gpu;
    struct steps *s = calloc(1, sizeof *s);
    if (!s) return error_set(err, TDM_E_NOMEM, "no memory for timestamps");
    s->out = out;
    tdm_status status = stopwatch_new(&s->watch, g, WATCHED_QUERIES, err);
    struct gpu_run run = {.state = state, .tokens = ids, .n = n, .logits = GPU_LOGITS_LAST};
    if (!status) status = pass_watched(m, &run, after_step, s, s->watch.pool, err);
    if (!status) status = sum_up(s, err);
    *kinds = s->kinds;
    stopwatch_free(&s->watch);
    free(s);
    return status;
}

/* ---- A pass in one dispatch, up to each operation ---------------------------------------------------------------- */

struct some_operations {
    const struct fused *fused;
    uint32_t end;
};

static tdm_status record_operations(struct gpu *g, VkCommandBuffer commands, void *ctx, tdm_error *err)
{
    const struct some_operations *some = ctx;
    (void)err;
    fused_dispatch(g, commands, some->fused, 0, 0, some->end);
    return TDM_OK;
}

static void name_operation(char out[32], const struct fused_op *op)
{
    static const char *const names[] = {"embed", "product", "heads", "attend", "merge", "delta", "act"};
    struct matmul push;
    memcpy(&push, op->push, sizeof push);
    if (op->what == DO_PRODUCT)
        snprintf(out, 32, "%ux%u%s", op->tiles * PACK_ROWS, push.chunks * PACK_COLS, op->barrier ? "" : " no barrier");
    else
        snprintf(out, 32, "%s", names[op->what]);
}

tdm_status gpu_measure_together(struct gpu_model *m, struct gpu_step_time out[GPU_STEP_KINDS], uint32_t *kinds,
                                tdm_error *err)
{
    const struct fused *p = m->scratch[SCRATCH_SHORT]->fused;
    tdm_status status = TDM_OK;
    double before = 0;
    *kinds = 0;
    for (uint32_t i = 0; p && p->groups && i < p->n && !status; i++) {
        struct some_operations some = {p, i + 1};
        double seconds;
        char name[32];
        status = measure_shortest(m->gpu, record_operations, &some, INFINITY, &seconds, err);
        name_operation(name, &p->ops[i]);
        struct gpu_step_time *to = &out[kind_named(out, kinds, name)];
        to->count++;
        to->seconds += seconds - before;
        before = seconds;
    }
    return status;
}
