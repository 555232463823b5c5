#include "engine/gpu/tune/measure.h"

#include <math.h>

#include "engine/base/error.h"
#include "engine/gpu/device/fused.h"
#include "engine/gpu/pass/gemm.h"

/* ---- Timestamps -------------------------------------------------------------------------------------------------- */

tdm_status stopwatch_new(struct stopwatch *w, struct gpu *g, uint32_t room, tdm_error *err)
{
    *w = (struct stopwatch){.gpu = g, .room = room};
    VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = room};
    VkResult result = g->vk.CreateQueryPool(g->device, &info, NULL, &w->pool);
    return result ? device_failed(g, result, "vkCreateQueryPool", err) : TDM_OK;
}

void stopwatch_free(struct stopwatch *w)
{
    if (w->pool) w->gpu->vk.DestroyQueryPool(w->gpu->device, w->pool, NULL);
}

void stopwatch_stamp(struct stopwatch *w, VkCommandBuffer commands)
{
    assert_always(w->n < w->room);
    w->gpu->vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, w->pool, w->n++);
}

tdm_status stopwatch_read(struct stopwatch *w, uint64_t *ticks, tdm_error *err)
{
    VkResult result = w->gpu->vk.GetQueryPoolResults(w->gpu->device, w->pool, 0, w->n, w->n * sizeof *ticks, ticks,
                                                     sizeof *ticks, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    return result ? device_failed(w->gpu, result, "vkGetQueryPoolResults", err) : TDM_OK;
}

/* One run, with the lock and no other work on the device: what was submitted is waited for first, and nothing can be
 * submitted until it is done. */
static tdm_status time_alone(struct stopwatch *w, measure_recorded *record, void *ctx, tdm_error *err)
{
    struct gpu *g = w->gpu;
    tdm_status status = device_settle(g, err);
    if (!status) status = device_begin(g, g->once, true, err);
    if (status) return status;
    w->n = 0;
    g->vk.CmdResetQueryPool(g->once, w->pool, 0, 2);
    stopwatch_stamp(w, g->once);
    status = record(g, g->once, ctx, err);
    stopwatch_stamp(w, g->once);
    if (!status) status = device_end(g, g->once, err);
    return status ? status : device_run(g, &g->once, 1, err);
}

tdm_status measure_shortest(struct gpu *g, measure_recorded *record, void *ctx, double enough, double *seconds,
                            tdm_error *err)
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

void measure_dispatch(struct gpu *g, VkCommandBuffer commands, VkPipeline pipeline, const void *push, uint32_t bytes,
                      uint32_t x, uint32_t y)
{
    g->vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    g->vk.CmdPushConstants(commands, g->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, bytes, push);
    g->vk.CmdDispatch(commands, x, y, 1);
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
        measure_dispatch(g, commands, p->pipeline, &p->push, sizeof p->push, p->groups, p->times_y);
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
    if (!status) status = measure_shortest(g, record_products, &p, enough, &product->seconds, err);
    product->seconds /= p.matrices;
    product->bytes = (double)bytes;
    block_free(&weights, g);
    block_free(&x, g);
    block_free(&out, g);
    return status;
}
