#include "engine/gpu/device/fused.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/gpu/pass/products.h"

enum {
    TRIED_BARRIERS = 16,
    TRIED_PATIENCE = 1 << 17, /* looks at a counter: some tens of milliseconds */
    PATIENCE = 1 << 23,       /* seconds */
    COUNTERS_BYTES = 256,
    STOPPED_AT = 8, /* behind the two counters; a word, then the counter of topk.comp */
    ALIGNED = 256,  /* at most what lies between two matrices (model.c) */
    SECTOR = 64,    /* bytes that memory gives at once (token.comp) */
};

/* ---- Operations ------------------------------------------------------------------------------------------------ */

static struct fused_op *grow(struct fused *p)
{
    if (p->n == p->room) {
        uint32_t room = p->room ? 2 * p->room : 256;
        struct fused_op *more = realloc(p->ops, room * sizeof *more);
        if (!more) return NULL;
        p->ops = more;
        p->room = room;
    }
    p->ops[p->n] = (struct fused_op){0};
    return &p->ops[p->n++];
}

static void need_pool(struct fused *p, uint32_t quads)
{
    if (p->pool < quads) p->pool = quads;
}

/* Whether two products have the same activations. */
static bool same_activations(const struct fused_op *a, const struct fused_op *b)
{
    struct matmul x, y;
    memcpy(&x, a->push, sizeof x);
    memcpy(&y, b->push, sizeof y);
    return b->what == DO_PRODUCT && a->mode == b->mode && x.x == y.x && x.by == y.by && x.gate == y.gate &&
           x.columns == y.columns && pack_takes_floats(a->kind) == pack_takes_floats(b->kind);
}

/* Makes a product's matrix one of those of the product before it, where they have all else in common. */
static bool joins(struct fused_op *before, const struct fused_op *op)
{
    struct matmul x, y;
    uint32_t n = 0;
    memcpy(&x, before->push, sizeof x);
    memcpy(&y, op->push, sizeof y);
    while (n < 3 && before->more[n][4]) n++;
    if (op->fresh || n == 3 || before->kind != op->kind || x.add != y.add) return false;
    memcpy(&before->more[n][0], &y.weights, sizeof y.weights);
    memcpy(&before->more[n][2], &y.result, sizeof y.result);
    before->more[n][4] = y.tiles;
    before->more[n][5] = y.rows;
    before->tiles += y.tiles;
    return true;
}

/* constants: of matmul.comp. */
static void add_product(struct fused *p, const struct gpu *g, struct fused_op *op, const uint32_t *constants)
{
    struct fused_op *before = p->n > 1 ? op - 1 : NULL;
    struct matmul push;
    memcpy(&push, op->push, sizeof push);
    if (constants[MATMUL_EXPERTS]) p->unfit = true;
    uint32_t segments = record_segments(&g->tuning, push.chunks);
    op->kind = constants[0];
    op->mode = constants[MATMUL_SOURCE] ? constants[MATMUL_SOURCE] - 1 : MODE_MADE;
    op->tiles = push.tiles;
    while (1u << op->segments < segments) op->segments++;
    op->fresh = op->barrier || !before || !same_activations(op, before);
    if (op->barrier) p->tiles = 0;
    op->start = p->tiles % (p->groups * (g->tuning.lanes / PACK_ROWS / segments));
    p->tiles += push.tiles;
    p->kinds |= 1u << op->kind;
    p->modes |= 1u << op->mode;
    need_pool(p, push.chunks * (pack_takes_floats(op->kind) ? PACK_COLS / 4 : RECORD_BYTES / 16));
    if (before && joins(before, op)) p->n--;
}

void fused_add(struct recording *r, bool barrier, enum shader shader, const uint32_t *constants, const void *push,
               uint32_t push_bytes, uint32_t x, uint32_t z)
{
    static const int whats[SHADERS] = {
        [SHADER_EMBED] = DO_EMBED + 1,   [SHADER_MATMUL] = DO_PRODUCT + 1, [SHADER_HEADS] = DO_HEADS + 1,
        [SHADER_ATTEND] = DO_ATTEND + 1, [SHADER_MERGE] = DO_MERGE + 1,    [SHADER_DELTA] = DO_DELTA + 1,
        [SHADER_ACT] = DO_ACT + 1,       [SHADER_BIAS] = DO_BIAS + 1,      [SHADER_ADDED] = DO_ADDED + 1,
        [SHADER_CAP] = DO_CAP + 1};
    struct fused *p = r->fused;
    struct fused_op *op = grow(p);
    if (!op) {
        r->status = error_set(r->err, TDM_E_NOMEM, "no memory for the steps of a pass");
        return;
    }
    assert_always(push_bytes <= sizeof op->push);
    *op = (struct fused_op){.barrier = barrier, .x = shader == SHADER_MATMUL ? 0 : x, .z = z};
    memcpy(op->push, push, push_bytes);
    if (!whats[shader])
        p->unfit = true;
    else
        op->what = (uint32_t)whats[shader] - 1, p->whats |= 1u << op->what;
    if (shader == SHADER_MATMUL) add_product(p, r->model->gpu, op, constants);
    if (shader == SHADER_HEADS) p->normed = constants[2];
    if (shader == SHADER_EMBED) op->kind = constants[0], p->kinds |= 1u << op->kind;
    uint32_t lanes = r->model->gpu->tuning.lanes; /* quads too: of the chunks that a workgroup makes at once, 32 each */
    if (shader == SHADER_ACT) {                   /* by chunks: a norm is of a whole row */
        op->mode = constants[0];
        p->unfit = p->unfit || !products_of_elements(op->mode);
        p->modes |= 1u << op->mode;
        need_pool(p, lanes);
    }
    if (shader == SHADER_DELTA) {
        uint32_t slab, parts;
        record_delta(r->model, true, &slab, &parts);
        p->unfit = p->unfit || slab / 2 * parts > lanes;
        need_pool(p, parts * slab / 2); /* sums of shares, then chunks */
        need_pool(p, lanes);
    }
    if (shader == SHADER_MERGE) need_pool(p, lanes + r->model->config.attention.head_dim / 4);
    if (shader == SHADER_ATTEND) { /* head_dim, rows: token.comp's places in shared memory */
        p->capped = constants[4];
        uint32_t head = constants[1], rows = constants[2], wide = head > ATTEND_BLOCK ? head : ATTEND_BLOCK;
        need_pool(p, (rows * (head + ATTEND_BLOCK + 4 * wide + 8 + 1) + 3) / 4);
    }
}

uint64_t fused_stopped(const struct fused *p)
{
    return p->counters.address + STOPPED_AT;
}

/* ---- Trying ---------------------------------------------------------------------------------------------------- */

struct token_push {
    uint64_t fused, counters, runs, trouble, stopped;
    uint32_t first, end, barriers, patience;
};

static void dispatch(struct gpu *g, VkCommandBuffer commands, const struct fused *p, const struct token_push *push)
{
    g->vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->pipeline);
    g->vk.CmdPushConstants(commands, g->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof *push, push);
    g->vk.CmdDispatch(commands, p->groups, 1, 1);
    device_barrier(g, commands);
}

static struct token_push token_push_of(const struct fused *p, uint32_t list, uint32_t end, uint32_t patience)
{
    return (struct token_push){.fused = p->list.address + list * p->n * sizeof *p->ops,
                               .counters = p->counters.address,
                               .runs = p->runs + list * sizeof(struct table_run),
                               .trouble = p->trouble,
                               .stopped = list ? fused_stopped(p) : 0,
                               .end = end,
                               .patience = patience};
}

static tdm_status meet(struct fused *p, struct gpu *g, tdm_error *err)
{
    struct token_push push = token_push_of(p, 0, 0, TRIED_PATIENCE);
    push.barriers = TRIED_BARRIERS;
    tdm_status status = device_settle(g, err);
    if (!status) status = device_begin(g, g->once, true, err);
    if (status) return status;
    dispatch(g, g->once, p, &push);
    status = device_end(g, g->once, err);
    return status ? status : device_run(g, &g->once, 1, err);
}

/* Whether p->groups workgroups meet. Another's work, which could keep cores from some of them, is waited for first. */
static tdm_status try_barriers(struct fused *p, struct gpu *g, bool *met, tdm_error *err)
{
    tdm_status status = device_clear(g, &p->counters, err);
    if (status) return status;
    device_lock(g);
    status = meet(p, g, err);
    device_unlock(g);
    *met = !status && !*p->troubled;
    return status;
}

/* A dimension of layers that the model may not have: the shader has memory for them all the same. */
static uint32_t some(uint32_t n)
{
    return n ? n : 4;
}

static tdm_status make_pipeline(struct fused *p, struct gpu_model *m, tdm_error *err)
{
    const struct config *c = &m->config;
    const struct config_attention *a = &c->attention;
    const struct config_delta *d = &c->delta;
    const struct gpu_tuning *t = &m->gpu->tuning;
    uint32_t slab, parts, rows = 1;
    record_delta(m, true, &slab, &parts);
    while (rows < a->heads / a->kv_heads) rows *= 2;
    const uint32_t constants[] = {t->lanes,
                                  t->subgroup,
                                  p->kinds,
                                  p->pool,
                                  m->options.kv,
                                  a->head_dim,
                                  rows,
                                  some(d->key_dim),
                                  some(d->value_dim),
                                  some(d->key_dim / parts),
                                  slab,
                                  p->whats,
                                  p->normed,
                                  a->gated,
                                  p->modes,
                                  p->capped};
    return device_pipeline(&p->pipeline, m->gpu, SHADER_TOKEN, constants, sizeof constants / sizeof *constants, err);
}

/* Shared memory of token.comp: what it declares, a little rounded up. */
static uint32_t shared_bytes(const struct fused *p, const struct gpu_model *m)
{
    const struct config *c = &m->config;
    uint32_t slab, parts, lanes = m->gpu->tuning.lanes;
    record_delta(m, true, &slab, &parts);
    return p->pool * 16 + 4 * 4 + 3 * lanes * 4 + 4 * 64 * 2 + 256 * 4 + 64 * 4 + c->attention.head_dim * 4 +
           (2 * some(c->delta.key_dim) + 3 * slab + parts) * 4 + 64;
}

/* ---- Making ---------------------------------------------------------------------------------------------------- */

/* Logits go where the run's state has them: results become offsets. */
static void to_the_state(struct fused_op *op, const struct scratch *s)
{
    struct matmul push;
    if (op->what != DO_PRODUCT) return;
    memcpy(&push, op->push, sizeof push);
    push.result -= s->at.logits;
    memcpy(op->push, &push, sizeof push);
    for (uint32_t i = 0; i < 3 && op->more[i][4]; i++) {
        uint64_t result;
        memcpy(&result, &op->more[i][2], sizeof result);
        result -= s->at.logits;
        memcpy(&op->more[i][2], &result, sizeof result);
    }
    op->x = 1;
}

/* The weights of the next operation, as far as they lie in one piece; those that have one input do. */
static void read_ahead(struct fused_op *op, const struct fused_op *next)
{
    struct matmul push;
    memcpy(&push, next->push, sizeof push);
    if (next->what != DO_PRODUCT) return;
    uint64_t tile = (uint64_t)push.chunks * pack_chunk_bytes(next->kind), end = push.weights + push.tiles * tile;
    for (uint32_t i = 0; i < 3 && next->more[i][4]; i++) {
        uint64_t weights;
        memcpy(&weights, next->more[i], sizeof weights);
        if (weights < end || weights - end >= ALIGNED) break;
        end = weights + next->more[i][4] * tile;
    }
    memcpy(op->ahead, &push.weights, sizeof push.weights);
    op->ahead[2] = (uint32_t)((end - push.weights) / SECTOR);
}

/* That of the token in this place of a submission: it has tables of its own. */
static tdm_status make_list(struct fused *p, struct gpu_model *m, struct scratch *s, uint32_t list, tdm_error *err)
{
    struct recording r = {
        .model = m, .s = s, .fused = p, .shape = {.rows = 1, .runs = 1, .tiles = 1, .blocks = 2}, .err = err};
    p->n = p->tiles = 0;
    p->list_at = list;
    scratch_move_tables(s, &m->config, (int)list);
    record_layers(&r, 0, m->config.layers, false, 0);
    p->layers = p->n;
    r.shape.head_rows = 1;
    record_head(&r);
    for (uint32_t i = p->layers; i < p->n; i++) to_the_state(&p->ops[i], s);
    for (uint32_t i = 0; i + 1 < p->n; i++) read_ahead(&p->ops[i], &p->ops[i + 1]);
    scratch_move_tables(s, &m->config, -(int)list);
    return r.status;
}

static tdm_status upload(struct fused *p, struct gpu_model *m, struct scratch *s, tdm_error *err)
{
    struct gpu *g = m->gpu;
    uint64_t bytes = p->n * sizeof *p->ops;
    tdm_status status = block_new(&p->list, g, BLOCK_DEVICE, p->lists * bytes, err);
    for (uint32_t i = 0; i < p->lists && !status; i++) {
        if (i > 0) status = make_list(p, m, s, i, err);
        if (!status) status = device_write(g, &p->list, i * bytes, p->ops, bytes, err);
    }
    return status;
}

tdm_status fused_new(struct gpu_model *m, struct scratch *s, tdm_error *err)
{
    struct gpu *g = m->gpu;
    bool met = false;
    if (!g->tuning.fused_workgroups) return TDM_OK;
    struct fused *p = s->fused = calloc(1, sizeof *p);
    if (!p) return error_set(err, TDM_E_NOMEM, "no memory for the steps of a pass");
    p->groups = g->tuning.fused_workgroups;
    p->runs = s->table.address + s->tables.runs;
    p->trouble = s->read.address + s->read_at.broken;
    p->troubled = (uint32_t *)((char *)s->read.mapped + s->read_at.broken);
    *p->troubled = 0;
    p->lists = scratch_several(m, s);
    tdm_status status = block_new(&p->counters, g, BLOCK_DEVICE, COUNTERS_BYTES, err);
    if (!status) status = make_list(p, m, s, 0, err);
    if (status) return status;
    /* The shader has heads of one shape, and no sinks. */
    p->unfit = p->unfit || role_exists(&m->config, ROLE_SINKS, 0) || m->config.attention.window_head_dim ||
               m->config.attention.window_kv_heads || m->config.attention.value_norm;
    p->unfit = p->unfit || shared_bytes(p, m) > g->shared_bytes;
    if (!p->unfit) status = upload(p, m, s, err);
    if (!p->unfit && !status) status = make_pipeline(p, m, err);
    if (!p->unfit && !status) status = try_barriers(p, g, &met, err);
    if (!met) p->groups = 0;
    return status;
}

void fused_free(struct fused *p, struct gpu *g)
{
    if (!p) return;
    block_free(&p->list, g);
    block_free(&p->counters, g);
    free(p->ops);
    free(p);
}

uint32_t gpu_model_fused_workgroups(const struct gpu_model *m)
{
    const struct scratch *s = m->scratch[SCRATCH_SHORT];
    return s->fused ? s->fused->groups : 0;
}

/* ---- Passes ---------------------------------------------------------------------------------------------------- */

uint32_t gpu_model_burst(const struct gpu_model *m)
{
    const struct fused *p = m->scratch[SCRATCH_SHORT]->fused;
    return p && p->groups ? p->lists : 1;
}

void fused_dispatch(struct gpu *g, VkCommandBuffer commands, const struct fused *p, uint32_t list, uint32_t first,
                    uint32_t end)
{
    struct token_push push = token_push_of(p, list, end, PATIENCE);
    push.first = first;
    dispatch(g, commands, p, &push);
}

void fused_record(struct recording *r)
{
    struct fused *p = r->s->fused;
    uint32_t n = r->shape.burst ? r->shape.burst : 1;
    for (uint32_t i = 0; i < n; i++) {
        p->list_at = i;
        fused_dispatch(r->model->gpu, r->commands, p, i, 0, r->shape.head_rows ? p->n : p->layers);
        scratch_move_tables(r->s, &r->model->config, (int)i);
        if (r->shape.topk) record_topk(r, p, i + 1 == n);
        record_waiting(r);
        scratch_move_tables(r->s, &r->model->config, -(int)i);
        if (!r->status && r->written) device_barrier(r->model->gpu, r->commands);
        r->written = r->read = 0;
    }
}

tdm_status fused_check(struct gpu_model *m, struct scratch *s, tdm_error *err)
{
    return *s->fused->troubled ? device_failed(m->gpu, VK_TIMEOUT, "a barrier of all workgroups", err) : TDM_OK;
}
