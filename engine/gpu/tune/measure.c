#include "engine/gpu/tune/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/gpu/device/fused.h"
#include "engine/gpu/pass/gemm.h"

/* ---- Timestamps -------------------------------------------------------------------------------------------------- */

struct stopwatch {
    struct gpu *gpu;
    VkQueryPool pool;
    uint32_t n, room;
};

static tdm_status stopwatch_new(struct stopwatch *w, struct gpu *g, uint32_t room, tdm_error *err)
{
    *w = (struct stopwatch){.gpu = g, .room = room};
    VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = room};
    VkResult result = g->vk.CreateQueryPool(g->device, &info, NULL, &w->pool);
    return result ? device_failed(g, result, "vkCreateQueryPool", err) : TDM_OK;
}

static void stopwatch_free(struct stopwatch *w)
{
    if (w->pool) w->gpu->vk.DestroyQueryPool(w->gpu->device, w->pool, NULL);
}

static void stamp(struct stopwatch *w, VkCommandBuffer commands)
{
    assert_always(w->n < w->room);
    w->gpu->vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, w->pool, w->n++);
}

static tdm_status stopwatch_read(struct stopwatch *w, uint64_t *ticks, tdm_error *err)
{
    VkResult result = w->gpu->vk.GetQueryPoolResults(w->gpu->device, w->pool, 0, w->n, w->n * sizeof *ticks, ticks,
                                                     sizeof *ticks, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    return result ? device_failed(w->gpu, result, "vkGetQueryPoolResults", err) : TDM_OK;
}

/* What a measurement records, between two timestamps. */
typedef tdm_status repeated(struct gpu *g, VkCommandBuffer commands, void *ctx, tdm_error *err);

/* One run, with the lock and no other work on the device: what was submitted is waited for first, and nothing can be
 * submitted until it is done. */
static tdm_status time_alone(struct stopwatch *w, repeated *record, void *ctx, tdm_error *err)
{
    struct gpu *g = w->gpu;
    tdm_status status = device_settle(g, err);
    if (!status) status = device_begin(g, g->once, true, err);
    if (status) return status;
    w->n = 0;
    g->vk.CmdResetQueryPool(g->once, w->pool, 0, 2);
    stamp(w, g->once);
    status = record(g, g->once, ctx, err);
    stamp(w, g->once);
    if (!status) status = device_end(g, g->once, err);
    return status ? status : device_run(g, &g->once, 1, err);
}

/* The shortest of some runs; there is one only if that takes longer than `enough` seconds. A model may be replying
 * meanwhile: the lock is held for one run at a time, so its tokens come between two of them, and none of them is beside
 * a run, which would be measured as slower than it is. What they leave behind, other weights in the device's cache, is
 * no matter: the matrices of a run are more than a cache holds, or wait for arithmetic. */
static tdm_status shortest(struct gpu *g, repeated *record, void *ctx, double enough, double *seconds, tdm_error *err)
{
    enum { RUNS = 4 };
    struct stopwatch w;
    tdm_status status = stopwatch_new(&w, g, 2, err);
    *seconds = 1e9;
    for (int i = 0; i < RUNS && !status && (!i || *seconds <= enough); i++) {
        uint64_t ticks[2];
        device_lock(g);
        status = time_alone(&w, record, ctx, err);
        device_unlock(g);
        if (!status) status = stopwatch_read(&w, ticks, err);
        double s = status ? 0 : (double)(ticks[1] - ticks[0]) * (double)g->tick_ns / 1e9;
        if (!status && s < *seconds) *seconds = s;
    }
    stopwatch_free(&w);
    return status;
}

static void dispatch(struct gpu *g, VkCommandBuffer commands, VkPipeline pipeline, const void *push, uint32_t bytes,
                     uint32_t x, uint32_t y)
{
    g->vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    g->vk.CmdPushConstants(commands, g->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, bytes, push);
    g->vk.CmdDispatch(commands, x, y, 1);
}

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
        dispatch(g, commands, r->pipeline, &r->push, sizeof r->push, r->groups, 1);
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
    if (!status) status = shortest(g, record_reading, r, INFINITY, seconds, err);
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

/* ---- Products ---------------------------------------------------------------------------------------------------- */

struct measured {
    VkPipeline pipeline;
    struct matmul push;
    uint64_t first, stride;
    uint32_t matrices, groups, times_y;
};

static tdm_status record_products(struct gpu *g, VkCommandBuffer commands, void *ctx, tdm_error *err)
{
    (void)err;
    struct measured *p = ctx;
    for (uint32_t i = 0; i < p->matrices; i++) {
        p->push.weights = p->first + i * p->stride;
        dispatch(g, commands, p->pipeline, &p->push, sizeof p->push, p->groups, p->times_y);
        device_barrier(g, commands);
    }
    return TDM_OK;
}

/* Which shader does it, with how many workgroups. */
static tdm_status cut_product(struct measured *p, struct gpu *g, const struct gpu_product *product,
                              enum weight_kind kind, uint32_t tiles, uint32_t segments, tdm_error *err)
{
    const struct gpu_tuning *t = &product->tuning;
    uint32_t constants[MATMUL_CONSTANTS], at_once = 1;
    if (product->variant.parts) {
        struct gemm_tiling tiling;
        if (!gemm_tile_as(&tiling, g, kind, product->tokens, tiles, segments, product->variant))
            return error_set(err, TDM_E_UNSUPPORTED, "%u parts and %u groups are not there", product->variant.parts,
                             product->variant.groups);
        p->groups = tiling.x;
        p->times_y = tiling.y;
        return device_pipeline(&p->pipeline, g, tiling.shader, tiling.constants, tiling.n, err);
    }
    while (at_once < product->tokens && at_once < t->tokens) at_once *= 2;
    p->groups = tiles < t->groups ? tiles : t->groups;
    p->times_y = (product->tokens + at_once - 1) / at_once;
    record_matmul(constants, &g->tuning, kind, at_once, segments);
    return device_pipeline(&p->pipeline, g, SHADER_MATMUL, constants, MATMUL_CONSTANTS, err);
}

tdm_status gpu_measure_product(struct gpu *g, struct gpu_product *product, uint64_t total, tdm_error *err)
{
    enum weight_kind kind = pack_kind(product->type);
    uint32_t tiles = (product->rows + PACK_ROWS - 1) / PACK_ROWS, chunks = pack_chunks(product->cols);
    uint64_t bytes = tiles * (uint64_t)pack_tile_bytes(kind, product->cols);
    struct measured p = {.stride = bytes, .matrices = (uint32_t)(total / bytes ? total / bytes : 1)};
    struct block weights = {0}, x = {0}, out = {0};
    tdm_status status = block_new(&weights, g, BLOCK_DEVICE, p.matrices * bytes, err);
    if (!status)
        status =
            block_new(&x, g, BLOCK_DEVICE, (uint64_t)product->tokens * chunks * PACK_COLS * sizeof(float) * 2, err);
    if (!status)
        status = block_new(&out, g, BLOCK_DEVICE, (uint64_t)product->tokens * product->rows * sizeof(float), err);
    if (!status) status = device_clear(g, &weights, err);
    if (!status) status = device_clear(g, &x, err);
    uint32_t segments = record_segments(&product->tuning, chunks);
    if (!status) status = cut_product(&p, g, product, kind, tiles, segments, err);
    p.first = weights.address;
    p.push = (struct matmul){.x = x.address,
                             .result = out.address,
                             .tiles = tiles,
                             .chunks = chunks,
                             .rows = product->rows,
                             .tokens = product->tokens,
                             .ldo = product->rows};
    double enough = product->enough > 0 ? product->enough * p.matrices : INFINITY;
    if (!status) status = shortest(g, record_products, &p, enough, &product->seconds, err);
    product->seconds /= p.matrices;
    product->bytes = (double)bytes;
    block_free(&weights, g);
    block_free(&x, g);
    block_free(&out, g);
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
    stamp(&s->watch, r->commands);
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
        status = shortest(m->gpu, record_operations, &some, INFINITY, &seconds, err);
        name_operation(name, &p->ops[i]);
        struct gpu_step_time *to = &out[kind_named(out, kinds, name)];
        to->count++;
        to->seconds += seconds - before;
        before = seconds;
    }
    return status;
}
