#include "engine/gpu/pass/products.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/gpu/pass/gemm.h"

static float eps_of(const struct recording *r, enum act_mode mode)
{
    return mode == ACT_CLAMPED ? r->model->config.feed.limit : r->model->config.rms_eps;
}

void products_activations(struct recording *r, uint32_t reads, uint32_t writes, enum act_mode mode, struct act a,
                          const struct forms *to, const struct gpu_matrix *const *matrices, int n, bool keep_floats,
                          uint32_t rows)
{
    bool floats = keep_floats, records = false;
    for (int i = 0; i < n; i++) {
        if (pack_takes_floats(matrices[i]->kind))
            floats = true;
        else
            records = true;
    }
    a.eps = eps_of(r, mode);
    a.floats = floats ? to->floats : 0;
    a.records = records ? to->records : 0;
    record_step(r, reads, writes, SHADER_ACT,
                (uint32_t[]){mode, r->model->gpu->tuning.lanes, r->model->gpu->tuning.subgroup}, 3, &a, sizeof a, rows,
                1, 1);
}

uint32_t record_segments(const struct gpu_tuning *t, uint32_t chunks)
{
    return chunks < t->segments ? products_power(chunks) : t->segments;
}

void record_matmul(uint32_t constants[MATMUL_CONSTANTS], const struct gpu_tuning *t, enum weight_kind kind,
                   uint32_t tokens, uint32_t segments)
{
    bool staged = !pack_takes_floats(kind) && tokens > 1;
    uint32_t teams = staged && segments > STAGED_TEAMS ? STAGED_TEAMS : segments;
    uint32_t sums = segments * (tokens < 8 ? tokens : 8) * PACK_ROWS / 4,
             records = teams * tokens * (RECORD_BYTES / 16);
    uint32_t own = !staged ? 1 : records > sums ? records : sums;
    const uint32_t all[MATMUL_CONSTANTS] = {kind, tokens, 0, segments, 0, own, t->subgroup, teams};
    memcpy(constants, all, sizeof all);
}

uint64_t products_taken(const struct forms *x, const struct gpu_matrix *w)
{
    return pack_takes_floats(w->kind) ? x->floats : x->records;
}

/* The part of a matrix that piece i has: its first row, how many rows and tiles. */
struct piece_part {
    uint32_t first, rows, tiles;
};

static struct piece_part part_of(const struct gpu_matrix *w, uint32_t i)
{
    uint32_t tiles = w->tiles - i * w->piece_tiles, first = i * w->piece_tiles * PACK_ROWS;
    if (tiles <= w->piece_tiles) return (struct piece_part){first, w->rows - first, tiles};
    return (struct piece_part){first, w->piece_tiles * PACK_ROWS, w->piece_tiles};
}

void products_one(struct recording *r, uint32_t reads, uint32_t writes, const struct gpu_matrix *w,
                  const struct forms *x, uint64_t out, uint32_t ldo, bool add, uint32_t tokens)
{
    const struct gpu *g = r->model->gpu;
    uint32_t segments = record_segments(&g->tuning, w->chunks);
    snprintf(r->product, sizeof r->product, "%s %ux%u", type_info(w->type)->name, w->rows, w->cols);
    for (uint32_t i = 0; i < w->pieces; i++) {
        struct piece_part part = part_of(w, i);
        struct matmul push = {.weights = w->piece[i].address,
                              .x = products_taken(x, w),
                              .result = out + sizeof(float) * (uint64_t)part.first,
                              .tiles = part.tiles,
                              .chunks = w->chunks,
                              .rows = part.rows,
                              .tokens = tokens,
                              .ldo = ldo,
                              .add = add};
        /* Pieces write different rows of the result, so only the first may need a barrier. */
        if (i) reads = writes = 0;
        struct gemm_tiling tiling;
        if (gemm_tile(&tiling, g, w->kind, tokens, part.tiles, w->tiles, w->chunks)) {
            record_step(r, reads, writes, tiling.shader, tiling.constants, tiling.n, &push, sizeof push, tiling.x,
                        tiling.y, 1);
            continue;
        }
        uint32_t at_once = products_power(tokens) < g->tuning.tokens ? products_power(tokens) : g->tuning.tokens;
        uint32_t constants[MATMUL_CONSTANTS];
        record_matmul(constants, &g->tuning, w->kind, at_once, segments);
        record_step(r, reads, writes, SHADER_MATMUL, constants, MATMUL_CONSTANTS, &push, sizeof push,
                    part.tiles < g->tuning.groups ? part.tiles : g->tuning.groups, (tokens + at_once - 1) / at_once, 1);
    }
}

/* Where it is added, or instead of what was there: the product adds to it. chosen: the experts that the rows are of;
 * 0: they have one bias. */
static void put_bias(struct recording *r, const struct output *o, uint64_t chosen, uint32_t rows)
{
    struct {
        uint64_t bias, result;
        uint32_t columns, ld, add;
        float scale;
        uint64_t chosen;
    } push = {o->bias, o->out, o->matrix->rows, o->ldo, o->add, o->add ? r->model->config.scales.residual : 1, chosen};
    if (o->bias)
        record_step(r, chosen ? REGION(CHOSEN) : 0, o->region, SHADER_BIAS, NULL, 0, &push, sizeof push,
                    pack_chunks(push.columns), rows, 1);
}

static bool adds(const struct output *o)
{
    return o->add || o->bias;
}

/* Whether every workgroup of a product can make a single token's activations for itself: with the lanes that act.comp
 * has, and room in its shared memory. */
static bool makes_its_own(const struct recording *r, const struct gpu_matrix *w)
{
    const struct gpu_tuning *t = &r->model->gpu->tuning;
    uint32_t bytes = w->chunks * (pack_takes_floats(w->kind) ? PACK_COLS * sizeof(float) : RECORD_BYTES);
    return t->segments * PACK_ROWS == t->lanes && bytes <= OWN_BYTES;
}

/* A product of one token that begins with its activations. */
static void own_product(struct recording *r, uint32_t reads, enum act_mode mode, const struct act *a,
                        const struct output *o)
{
    const struct gpu_matrix *w = o->matrix;
    const struct gpu_tuning *t = &r->model->gpu->tuning;
    uint32_t quads = w->chunks * (pack_takes_floats(w->kind) ? PACK_COLS / 4 : RECORD_BYTES / 16);
    /* Segments without columns add nothing to a sum, so there may be more than record_segments says. */
    uint32_t constants[MATMUL_CONSTANTS];
    record_matmul(constants, t, w->kind, 1, t->segments);
    constants[MATMUL_SOURCE] = mode + 1;
    constants[MATMUL_OWN] = quads;
    snprintf(r->product, sizeof r->product, "%s %ux%u own", type_info(w->type)->name, w->rows, w->cols);
    for (uint32_t i = 0; i < w->pieces; i++) {
        struct piece_part part = part_of(w, i);
        struct matmul push = {.weights = w->piece[i].address,
                              .x = a->x,
                              .result = o->out + sizeof(float) * (uint64_t)part.first,
                              .tiles = part.tiles,
                              .chunks = w->chunks,
                              .rows = part.rows,
                              .tokens = 1,
                              .ldo = o->ldo,
                              .add = adds(o),
                              .columns = a->columns,
                              .ldx = a->ldx,
                              .ldg = a->ldg,
                              .head = a->head,
                              .eps = eps_of(r, mode),
                              .by = a->by,
                              .gate = a->gate,
                              .index = a->index,
                              .scale = a->scale};
        uint32_t groups = part.tiles < t->own_groups ? part.tiles : t->own_groups;
        record_step(r, i ? 0 : reads, i ? 0 : o->region, SHADER_MATMUL, constants, MATMUL_CONSTANTS, &push, sizeof push,
                    groups, 1, 1);
    }
}

void products_of(struct recording *r, uint32_t reads, enum act_mode mode, struct act a, const struct forms *to,
                 uint32_t made, const struct output *outputs, int n, uint32_t rows)
{
    const struct gpu_matrix *matrices[4];
    /* In one dispatch making them costs a barrier only, which is less than each workgroup takes for this many
     * columns. */
    bool own = rows == 1 && !(r->fused && products_of_elements(mode) && a.columns > r->model->gpu->tuning.own_columns);
    assert_always(n <= 4);
    for (int i = 0; i < n; i++) {
        matrices[i] = outputs[i].matrix;
        own = own && makes_its_own(r, matrices[i]);
        put_bias(r, &outputs[i], 0, rows);
    }
    if (!own) products_activations(r, reads, made, mode, a, to, matrices, n, false, rows);
    for (int i = 0; i < n; i++) {
        const struct output *o = &outputs[i];
        if (own)
            own_product(r, reads, mode, &a, o);
        else
            products_one(r, made, o->region, o->matrix, to, o->out, o->ldo, adds(o), rows);
    }
}

void products_from(struct recording *r, uint32_t reads, const struct forms *x, const struct output *o)
{
    put_bias(r, o, 0, r->shape.rows);
    products_one(r, reads, o->region, o->matrix, x, o->out, o->ldo, adds(o), r->shape.rows);
}

void products_made(struct recording *r, const struct output *o)
{
    products_from(r, REGION(INNER), &r->s->at.inner, o);
}

/* How a product of experts is dispatched: its rows in batches of at most `batch`, or each by itself (1). */
struct expert_tiling {
    struct gemm_tiling shader;
    uint32_t batch, batches;
};

static struct expert_tiling tile_experts(const struct recording *r, const struct gpu_matrix *w, uint32_t slots)
{
    const struct gpu_tuning *t = &r->model->gpu->tuning;
    const uint32_t experts = r->model->config.experts.count, tokens = slots / experts;
    struct expert_tiling c = {.batch = 1, .batches = slots};
    bool wide = gemm_tile_experts(&c.shader, r->model->gpu, w->kind, tokens, w->tiles, w->chunks);
    if (wide)
        c.batch = c.shader.tokens;
    else if (tokens > 1) /* what a batch has room for and lacks takes as long; some experts have more than others */
        c.batch = products_power(tokens + 1) < t->tokens ? products_power(tokens + 1) : t->tokens;
    if (c.batch > 1) c.batches = slots / c.batch + (experts < slots ? experts : slots);
    if (wide) {
        c.shader.x = c.batches;
        return c;
    }
    c.shader.shader = SHADER_MATMUL;
    c.shader.n = MATMUL_CONSTANTS;
    c.shader.x = w->tiles < t->groups ? w->tiles : t->groups;
    c.shader.y = c.batches;
    record_matmul(c.shader.constants, t, w->kind, c.batch, record_segments(t, w->chunks));
    c.shader.constants[MATMUL_EXPERTS] = c.batch > 1 ? 2 : 1;
    return c;
}

static void group(struct recording *r, uint32_t slots, const struct expert_tiling *c)
{
    const struct expert_activations *s = &r->s->experts;
    struct {
        uint64_t chosen, grouped;
        uint32_t rows, experts, batch, batches;
    } push = {s->chosen, s->grouped, slots, r->model->config.experts.count, c->batch, c->batches};
    record_step(r, REGION(CHOSEN), REGION(CHOSEN), SHADER_GROUP, NULL, 0, &push, sizeof push, 1, 1, 1);
}

void products_bias_of_experts(struct recording *r, const struct output *o, uint32_t slots)
{
    put_bias(r, o, r->s->experts.chosen, slots);
}

void products_of_experts(struct recording *r, uint32_t reads, const struct forms *x, const struct output *o,
                         uint32_t slots, uint32_t each, uint32_t *batch)
{
    const struct gpu_matrix *w = o->matrix;
    const struct expert_tiling c = tile_experts(r, w, slots);
    struct matmul push = {.weights = w->table,
                          .x = products_taken(x, w),
                          .result = o->out,
                          .chosen = c.batch > 1 ? r->s->experts.grouped : r->s->experts.chosen,
                          .tiles = w->tiles,
                          .chunks = w->chunks,
                          .rows = w->rows,
                          .tokens = slots,
                          .ldo = o->ldo,
                          .add = adds(o),
                          .each = each};
    if (c.batch > 1 && c.batch != *batch) group(r, slots, &c);
    *batch = c.batch;
    snprintf(r->product, sizeof r->product, "experts %ux%u", w->rows, w->cols);
    record_step(r, reads | REGION(CHOSEN), o->region, c.shader.shader, c.shader.constants, c.shader.n, &push,
                sizeof push, c.shader.x, c.shader.y, 1);
}
