/* The commands of a pass: which shader runs on what, layer by layer. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/gpu/wide.h"
#include "engine/gpu/program.h"

/* Whether there is a barrier before the next step: where it reads what was written since the last one, or writes what
 * was read or written. */
static bool has_to_wait(struct recording *r, uint32_t reads, uint32_t writes)
{
    bool wait = r->written & (reads | writes) || r->read & writes;
    if (wait) r->written = r->read = 0;
    r->written |= writes;
    r->read |= reads;
    return wait;
}

void record_step(struct recording *r, uint32_t reads, uint32_t writes, enum shader shader, const uint32_t *constants,
                 uint32_t n, const void *push, uint32_t push_bytes, uint32_t x, uint32_t y, uint32_t z)
{
    struct gpu *g = r->model->gpu;
    VkPipeline pipeline;
    if (!r->status && !r->program) r->status = device_pipeline(&pipeline, g, shader, constants, n, r->err);
    if (r->status) return;
    bool wait = has_to_wait(r, reads, writes);
    if (r->program) {
        program_add(r, wait, shader, constants, push, push_bytes, x, z);
        return;
    }
    if (wait) device_barrier(g, r->commands);
    g->vk.CmdBindPipeline(r->commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    g->vk.CmdPushConstants(r->commands, g->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes, push);
    g->vk.CmdDispatch(r->commands, x, y, z);
    bool is_product = shader == SHADER_MATMUL || shader == SHADER_MATRIX || shader == SHADER_TILE;
    if (r->watch) r->watch(r->watch_ctx, r, is_product ? r->product : shader_codes[shader].name);
}

void record_copy(struct recording *r, uint32_t reads, uint32_t writes, const struct block *from, uint64_t from_at,
                 const struct block *to, uint64_t to_at, uint64_t bytes)
{
    struct gpu *g = r->model->gpu;
    if (r->status) return;
    if (has_to_wait(r, reads, writes)) device_barrier(g, r->commands);
    VkBufferCopy region = {from_at, to_at, bytes};
    g->vk.CmdCopyBuffer(r->commands, from->buffer, to->buffer, 1, &region);
}

/* ---- Pieces of layers --------------------------------------------------------------------------------------- */

/* The smallest power of two that is no less. */
static uint32_t power(uint32_t n)
{
    uint32_t p = 1;
    while (p < n) p *= 2;
    return p;
}

struct act {
    uint64_t x, by, gate, floats, records, index;
    uint32_t columns, ldx, ldg, head;
    float eps;
};

/* Activations in the forms that these matrices take. */
static void activations(struct recording *r, uint32_t reads, uint32_t writes, enum act_mode mode, struct act a,
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
    a.eps = r->model->config.rms_eps;
    a.floats = floats ? to->floats : 0;
    a.records = records ? to->records : 0;
    record_step(r, reads, writes, SHADER_ACT,
                (uint32_t[]){mode, r->model->gpu->tuning.lanes, r->model->gpu->tuning.subgroup}, 3, &a, sizeof a, rows,
                1, 1);
}

uint32_t record_segments(const struct gpu_tuning *t, uint32_t chunks)
{
    return chunks < t->segments ? power(chunks) : t->segments;
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

/* Where activations lie in the form that a matrix takes. */
static uint64_t taken(const struct forms *x, const struct gpu_matrix *w)
{
    return pack_takes_floats(w->kind) ? x->floats : x->records;
}

/* out[t][ldo] = (or +=) W x, for `tokens` rows. */
static void product(struct recording *r, uint32_t reads, uint32_t writes, const struct gpu_matrix *w,
                    const struct forms *x, uint64_t out, uint32_t ldo, bool add, uint32_t tokens)
{
    const struct gpu *g = r->model->gpu;
    uint32_t segments = record_segments(&g->tuning, w->chunks);
    snprintf(r->product, sizeof r->product, "%s %ux%u", type_info(w->type)->name, w->rows, w->cols);
    for (uint32_t i = 0; i < w->pieces; i++) {
        uint32_t first = i * w->piece_tiles * PACK_ROWS, rows = w->rows - first;
        uint32_t tiles = w->tiles - i * w->piece_tiles;
        if (tiles > w->piece_tiles) tiles = w->piece_tiles, rows = tiles * PACK_ROWS;
        struct matmul push = {.weights = w->piece[i].address,
                              .x = taken(x, w),
                              .result = out + sizeof(float) * (uint64_t)first,
                              .tiles = tiles,
                              .chunks = w->chunks,
                              .rows = rows,
                              .tokens = tokens,
                              .ldo = ldo,
                              .add = add};
        /* Pieces write different rows of the result, so only the first may need a barrier. */
        if (i) reads = writes = 0;
        struct wide_cut cut;
        if (wide_cut(&cut, g, w->kind, tokens, tiles, w->tiles, w->chunks)) {
            record_step(r, reads, writes, cut.shader, cut.constants, cut.n, &push, sizeof push, cut.x, cut.y, 1);
            continue;
        }
        uint32_t at_once = power(tokens) < g->tuning.tokens ? power(tokens) : g->tuning.tokens;
        uint32_t constants[MATMUL_CONSTANTS];
        record_matmul(constants, &g->tuning, w->kind, at_once, segments);
        record_step(r, reads, writes, SHADER_MATMUL, constants, MATMUL_CONSTANTS, &push, sizeof push,
                    tiles < g->tuning.groups ? tiles : g->tuning.groups, (tokens + at_once - 1) / at_once, 1);
    }
}

/* A product of several that have one input. */
struct output {
    const struct gpu_matrix *matrix;
    uint32_t region;
    uint64_t out;
    uint32_t ldo;
    bool add;
};

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
        uint32_t first = i * w->piece_tiles * PACK_ROWS, rows = w->rows - first;
        uint32_t tiles = w->tiles - i * w->piece_tiles;
        if (tiles > w->piece_tiles) tiles = w->piece_tiles, rows = tiles * PACK_ROWS;
        struct matmul push = {.weights = w->piece[i].address,
                              .x = a->x,
                              .result = o->out + sizeof(float) * (uint64_t)first,
                              .tiles = tiles,
                              .chunks = w->chunks,
                              .rows = rows,
                              .tokens = 1,
                              .ldo = o->ldo,
                              .add = o->add,
                              .columns = a->columns,
                              .ldx = a->ldx,
                              .ldg = a->ldg,
                              .head = a->head,
                              .eps = r->model->config.rms_eps,
                              .by = a->by,
                              .gate = a->gate,
                              .index = a->index};
        uint32_t groups = tiles < t->own_groups ? tiles : t->own_groups;
        record_step(r, i ? 0 : reads, i ? 0 : o->region, SHADER_MATMUL, constants, MATMUL_CONSTANTS, &push, sizeof push,
                    groups, 1, 1);
    }
}

/* Products of the same activations; those are made first, in `to` (region `made`), or by each product. */
static void products(struct recording *r, uint32_t reads, enum act_mode mode, struct act a, const struct forms *to,
                     uint32_t made, const struct output *outputs, int n, uint32_t rows)
{
    const struct gpu_matrix *matrices[4];
    /* In one dispatch making them costs a barrier only, which is less than each workgroup takes for so many columns. */
    bool own = rows == 1 && !(r->program && mode == ACT_SILU && a.columns > r->model->gpu->tuning.own_columns);
    assert_always(n <= 4);
    for (int i = 0; i < n; i++) {
        matrices[i] = outputs[i].matrix;
        own = own && makes_its_own(r, matrices[i]);
    }
    if (!own) activations(r, reads, made, mode, a, to, matrices, n, false, rows);
    for (int i = 0; i < n; i++) {
        const struct output *o = &outputs[i];
        if (own)
            own_product(r, reads, mode, &a, o);
        else
            product(r, made, o->region, o->matrix, to, o->out, o->ldo, o->add, rows);
    }
}

/* A product whose activations were made by the step before, in `inner`. */
static void made_product(struct recording *r, const struct output *o)
{
    product(r, REGION(INNER), o->region, o->matrix, &r->s->inner, o->out, o->ldo, o->add, r->shape.rows);
}

/* The same with the matrix of the expert that was chosen for each of `slots` results; `each` of them have one input. */
static void expert_product(struct recording *r, uint32_t reads, uint32_t writes, const struct gpu_matrix *w,
                           const struct forms *x, uint64_t out, uint32_t slots, uint32_t each)
{
    uint32_t most_groups = r->model->gpu->tuning.groups;
    uint32_t constants[MATMUL_CONSTANTS];
    record_matmul(constants, &r->model->gpu->tuning, w->kind, 1, record_segments(&r->model->gpu->tuning, w->chunks));
    constants[MATMUL_EXPERTS] = 1;
    struct matmul push = {.weights = w->table,
                          .x = taken(x, w),
                          .result = out,
                          .chosen = r->s->chosen,
                          .tiles = w->tiles,
                          .chunks = w->chunks,
                          .rows = w->rows,
                          .tokens = slots,
                          .ldo = w->rows,
                          .each = each};
    snprintf(r->product, sizeof r->product, "experts %ux%u", w->rows, w->cols);
    record_step(r, reads | REGION(CHOSEN), writes, SHADER_MATMUL, constants, MATMUL_CONSTANTS, &push, sizeof push,
                w->tiles < most_groups ? w->tiles : most_groups, slots, 1);
}

static uint64_t table(const struct recording *r, uint64_t at)
{
    return r->s->table.address + at;
}

/* The activations of a layer's input. */
static struct act norm_of(const struct recording *r, uint64_t multipliers)
{
    uint32_t hidden = r->model->config.hidden;
    return (struct act){.x = r->s->x, .by = multipliers, .columns = hidden, .ldx = hidden};
}

/* What a step of a program makes of heads at once, besides leaving them as they are: activations of the product that
 * takes them (shaders/token.comp). */
enum form { FORM_NONE, FORM_FLOATS, FORM_RECORDS };

static enum form form_of(const struct gpu_matrix *w)
{
    return pack_takes_floats(w->kind) ? FORM_FLOATS : FORM_RECORDS;
}

/* ---- Full attention ----------------------------------------------------------------------------------------- */

bool record_splits(const struct shape *shape)
{
    return shape->rows <= SPLIT_ROWS && shape->blocks > 1;
}

uint32_t record_tile_tokens(const struct gpu_model *m, uint32_t rows)
{
    uint32_t group = m->config.heads / m->config.kv_heads, most = m->gpu->tuning.attend_rows / group;
    return rows <= SPLIT_ROWS || most < 1 ? 1 : most;
}

/* out: the product that takes the result. Whether activations for it were made too. */
static bool attend(struct recording *r, uint32_t index, const struct gpu_matrix *out)
{
    const struct gpu_model *m = r->model;
    const struct config *c = &m->config;
    const struct scratch *s = r->s;
    bool split = record_splits(&r->shape);
    uint32_t group = c->heads / c->kv_heads;
    struct {
        uint64_t runs, tiles, q, result, partials;
        uint32_t heads, kv_heads, layer_bytes, kv_bytes, blocks, unused;
    } push = {table(r, s->runs_at),
              table(r, s->tiles_at),
              s->q,
              s->attended,
              s->partials,
              c->heads,
              c->kv_heads,
              (uint32_t)(index * 2 * model_kv_bytes(m) * c->kv_heads),
              (uint32_t)model_kv_bytes(m),
              s->blocks,
              0};
    uint32_t rows = power(group * record_tile_tokens(m, r->shape.rows));
    const uint32_t constants[] = {m->options.kv, c->head_dim, rows, split};
    record_step(r, REGION(Q) | REGION(PAGES), split ? REGION(PARTIALS) : REGION(ATTENDED), SHADER_ATTEND, constants, 4,
                &push, sizeof push, r->shape.tiles, c->kv_heads, split ? r->shape.blocks : 1);
    if (!split) return false;
    struct {
        uint64_t rows, partials, result;
        uint32_t heads, blocks;
        uint64_t gate, to; /* token.comp */
        uint32_t form;
    } merge = {table(r, s->rows_at), s->partials, s->attended, c->heads, s->blocks, s->q_gate, 0, FORM_NONE};
    bool makes = r->program && c->head_dim % PACK_COLS == 0;
    if (makes) merge.form = form_of(out), merge.to = taken(&s->inner, out);
    record_step(r, REGION(PARTIALS) | (makes ? REGION(Q_GATE) : 0), makes ? REGION(INNER) : REGION(ATTENDED),
                SHADER_MERGE, &c->head_dim, 1, &merge, r->program ? sizeof merge : offsetof(typeof(merge), gate),
                c->heads, r->shape.rows, 1);
    return makes;
}

/* Queries of so many heads, and keys and values into the pages. */
static void rotate(struct recording *r, const struct gpu_layer *layer, uint32_t index, uint32_t heads)
{
    const struct gpu_model *m = r->model;
    const struct config *c = &m->config;
    const struct scratch *s = r->s;
    uint32_t rows = r->shape.rows;
    struct {
        uint64_t rows, runs, angles, q_gate, k, v, q_norm, k_norm, q;
        uint32_t heads, kv_heads, rope_pairs, n_rows, layer_bytes, kv_bytes;
        float eps, scale;
    } push = {table(r, s->rows_at),
              table(r, s->runs_at),
              table(r, s->angles_at),
              s->q_gate,
              s->k,
              s->v,
              layer->vector[ROLE_Q_NORM],
              layer->vector[ROLE_K_NORM],
              s->q,
              heads,
              c->kv_heads,
              c->rope_dims / 2,
              rows,
              (uint32_t)(index * 2 * model_kv_bytes(m) * c->kv_heads),
              (uint32_t)model_kv_bytes(m),
              c->rms_eps,
              1.0f / sqrtf((float)c->head_dim)};
    const uint32_t constants[] = {m->options.kv, c->head_dim};
    record_step(r, REGION(Q_GATE) | REGION(K) | REGION(V), REGION(Q) | REGION(PAGES), SHADER_HEADS, constants, 2, &push,
                sizeof push, heads + c->kv_heads, rows, 1);
}

static void attention(struct recording *r, const struct gpu_layer *layer, uint32_t index)
{
    const struct config *c = &r->model->config;
    const struct scratch *s = r->s;
    uint32_t rows = r->shape.rows, attended = c->heads * c->head_dim;
    const struct output in[] = {
        {&layer->matrix[ROLE_Q], REGION(Q_GATE), s->q_gate, 2 * attended, false},
        {&layer->matrix[ROLE_K], REGION(K), s->k, c->kv_heads * c->head_dim, false},
        {&layer->matrix[ROLE_V], REGION(V), s->v, c->kv_heads * c->head_dim, false},
    };
    struct output out = {&layer->matrix[ROLE_O], REGION(X), s->x, c->hidden, true};
    products(r, REGION(X), ACT_NORM, norm_of(r, layer->vector[ROLE_INPUT_NORM]), &s->in, REGION(IN), in, 3, rows);
    rotate(r, layer, index, c->heads);
    if (attend(r, index, out.matrix)) {
        made_product(r, &out);
        return;
    }
    products(r, REGION(ATTENDED) | REGION(Q_GATE), ACT_SIGMOID,
             (struct act){.x = s->attended,
                          .gate = s->q_gate,
                          .columns = attended,
                          .ldx = attended,
                          .ldg = 2 * attended,
                          .head = c->head_dim},
             &s->inner, REGION(INNER), &out, 1, rows);
}

/* ---- Gated DeltaNet ------------------------------------------------------------------------------------------- */

void record_delta(const struct gpu_model *m, bool whole, uint32_t *slab, uint32_t *parts)
{
    const struct config *c = &m->config;
    *slab = c->lin_value_dim % DELTA_SLAB ? c->lin_value_dim : DELTA_SLAB;
    *parts = 1;
    while (*slab * *parts * 2 <= m->gpu->tuning.delta_lanes && c->lin_key_dim % (8 * *parts) == 0) *parts *= 2;
    if (whole && c->lin_value_dim == PACK_COLS && PACK_COLS / 2 * *parts <= m->gpu->tuning.lanes) *slab = PACK_COLS;
}

/* Where a layer's inputs of convolution and gates lie: in the scratch, or where they are kept. */
struct inputs {
    uint64_t qkv, a, b;
};

static uint64_t kept_floats(const struct config *c)
{
    return (uint64_t)KEPT_ROWS * (config_conv_channels(c) + 2 * c->lin_value_heads);
}

uint64_t pass_kept_bytes(const struct config *c, uint32_t linear_layers)
{
    return sizeof(float) * kept_floats(c) * linear_layers;
}

static struct inputs inputs_of(const struct recording *r, uint32_t index)
{
    const struct config *c = &r->model->config;
    if (!r->shape.kept) return (struct inputs){r->s->qkv, r->s->a, r->s->b};
    uint64_t qkv = r->shape.kept + sizeof(float) * kept_floats(c) * index;
    uint64_t a = qkv + sizeof(float) * KEPT_ROWS * config_conv_channels(c);
    return (struct inputs){qkv, a, a + sizeof(float) * KEPT_ROWS * c->lin_value_heads};
}

enum { CONV_ROWS = 4 }; /* of a workgroup of conv.comp */

static void convolution(struct recording *r, const struct gpu_layer *layer, const struct inputs *x,
                        uint32_t conv_floats)
{
    const struct config *c = &r->model->config;
    const struct scratch *s = r->s;
    struct {
        uint64_t rows, runs, qkv, a, b, weights, rate, bias, result, gates;
        uint32_t key_heads, value_heads, key_dim, value_dim, taps, layer_floats, n_rows;
    } push = {
        .rows = table(r, s->rows_at),
        .runs = table(r, s->runs_at),
        .qkv = x->qkv,
        .a = x->a,
        .b = x->b,
        .weights = layer->vector[ROLE_LIN_CONV],
        .rate = layer->vector[ROLE_LIN_A_LOG],
        .bias = layer->vector[ROLE_LIN_DT_BIAS],
        .result = s->convolved,
        .gates = s->gates,
        .key_heads = c->lin_key_heads,
        .value_heads = c->lin_value_heads,
        .key_dim = c->lin_key_dim,
        .value_dim = c->lin_value_dim,
        .taps = c->conv_kernel,
        .layer_floats = conv_floats,
        .n_rows = r->shape.rows,
    };
    record_step(r, REGION(QKV) | REGION(A) | REGION(B), REGION(CONVOLVED) | REGION(GATES) | REGION(CONV), SHADER_CONV,
                &r->model->gpu->tuning.subgroup, 1, &push, sizeof push, 2 * c->lin_key_heads + c->lin_value_heads,
                (r->shape.rows + CONV_ROWS - 1) / CONV_ROWS, 1);
}

/* Lanes of a workgroup for many tokens, so few that a small model has a workgroup for each core. */
enum { DELTAS_LANES = 128 };

/* Convolution and delta rule, in one step where each run has a single token. Whether activations for the product that
 * takes the result were made too. */
static bool rule(struct recording *r, const struct gpu_layer *layer, uint32_t index)
{
    const struct config *c = &r->model->config;
    const struct scratch *s = r->s;
    struct inputs x = inputs_of(r, index);
    bool both = r->shape.rows == r->shape.runs;
    uint32_t conv_floats = index * (c->conv_kernel - 1) * config_conv_channels(c);
    uint32_t parts, slab;
    record_delta(r->model, r->program, &slab, &parts);
    while (!both && slab % 2 == 0 && slab * parts > DELTAS_LANES) slab /= 2;
    const uint32_t constants[] = {((both ? slab / 2 : slab) * parts + 31) / 32 * 32,
                                  c->lin_key_dim,
                                  c->lin_value_dim,
                                  c->lin_key_dim / parts,
                                  slab,
                                  r->model->gpu->tuning.subgroup};
    struct {
        uint64_t runs, qkv, gates, result;
        uint32_t key_heads, value_heads, tiled, layer_floats;
        uint64_t a, b, weights, rate, bias;
        uint32_t taps, conv_floats;
        uint64_t by, gate, to; /* token.comp */
        float eps;
        uint32_t form;
    } push = {
        .runs = table(r, s->runs_at),
        .qkv = both ? x.qkv : s->convolved,
        .gates = s->gates,
        .result = s->delta,
        .key_heads = c->lin_key_heads,
        .value_heads = c->lin_value_heads,
        .tiled = c->value_heads_tiled,
        .layer_floats = index * c->lin_key_dim * c->lin_value_dim * c->lin_value_heads,
        .a = x.a,
        .b = x.b,
        .weights = layer->vector[ROLE_LIN_CONV],
        .rate = layer->vector[ROLE_LIN_A_LOG],
        .bias = layer->vector[ROLE_LIN_DT_BIAS],
        .taps = c->conv_kernel,
        .conv_floats = conv_floats,
        .by = layer->vector[ROLE_LIN_NORM],
        .gate = s->z,
        .eps = c->rms_eps,
    };
    bool makes = r->program && slab == PACK_COLS;
    const struct gpu_matrix *out = &layer->matrix[ROLE_LIN_OUT];
    if (makes) push.form = form_of(out), push.to = taken(&s->inner, out);
    uint32_t reads = REGION(CONVOLVED) | REGION(GATES), writes = REGION(RECURRENT);
    if (both) reads = REGION(QKV) | REGION(A) | REGION(B), writes |= REGION(CONV);
    reads |= makes ? REGION(Z) : 0, writes |= makes ? REGION(INNER) : REGION(DELTA);
    if (!both) convolution(r, layer, &x, conv_floats);
    record_step(r, reads, writes, both ? SHADER_DELTA : SHADER_DELTAS, constants, 6, &push,
                r->program ? sizeof push : offsetof(typeof(push), by), c->lin_value_heads, r->shape.runs,
                c->lin_value_dim / slab);
    return makes;
}

static void linear(struct recording *r, const struct gpu_layer *layer, uint32_t index)
{
    const struct config *c = &r->model->config;
    const struct scratch *s = r->s;
    uint32_t rows = r->shape.rows, width = c->lin_value_heads * c->lin_value_dim;
    struct inputs x = inputs_of(r, index);
    const struct output in[] = {
        {&layer->matrix[ROLE_LIN_QKV], REGION(QKV), x.qkv, config_conv_channels(c), false},
        {&layer->matrix[ROLE_LIN_Z], REGION(Z), s->z, width, false},
        {&layer->matrix[ROLE_LIN_A], REGION(A), x.a, c->lin_value_heads, false},
        {&layer->matrix[ROLE_LIN_B], REGION(B), x.b, c->lin_value_heads, false},
    };
    struct output out = {&layer->matrix[ROLE_LIN_OUT], REGION(X), s->x, c->hidden, true};
    products(r, REGION(X), ACT_NORM, norm_of(r, layer->vector[ROLE_INPUT_NORM]), &s->in, REGION(IN), in, 4, rows);
    if (rule(r, layer, index)) {
        made_product(r, &out);
        return;
    }
    products(r, REGION(DELTA) | REGION(Z), ACT_GATED_NORM,
             (struct act){.x = s->delta,
                          .by = layer->vector[ROLE_LIN_NORM],
                          .gate = s->z,
                          .columns = width,
                          .ldx = width,
                          .ldg = width,
                          .head = c->lin_value_dim},
             &s->inner, REGION(INNER), &out, 1, rows);
}

/* ---- Feed-forward networks ------------------------------------------------------------------------------------ */

/* gate and up of the normalised input, then down of both; it adds to x, or, in a mixture, goes to its own place. */
static void feed_forward(struct recording *r, const struct gpu_layer *layer)
{
    const struct config *c = &r->model->config;
    const struct scratch *s = r->s;
    uint32_t rows = r->shape.rows;
    const struct output in[] = {{&layer->matrix[ROLE_GATE], REGION(GATE), s->gate, c->intermediate, false},
                                {&layer->matrix[ROLE_UP], REGION(UP), s->up, c->intermediate, false}};
    struct output down = {&layer->matrix[ROLE_DOWN], REGION(X), s->x, c->hidden, true};
    if (c->experts) {
        down = (struct output){down.matrix, REGION(SHARED_OUT), s->shared_out, c->hidden, false};
        for (int i = 0; i < 2; i++)
            product(r, REGION(IN), in[i].region, in[i].matrix, &s->in, in[i].out, in[i].ldo, false, rows);
    } else {
        products(r, REGION(X), ACT_NORM, norm_of(r, layer->vector[ROLE_POST_NORM]), &s->in, REGION(IN), in, 2, rows);
    }
    products(
        r, REGION(GATE) | REGION(UP), ACT_SILU,
        (struct act){
            .x = s->gate, .gate = s->up, .columns = c->intermediate, .ldx = c->intermediate, .ldg = c->intermediate},
        &s->inner, REGION(INNER), &down, 1, rows);
}

static void mixture(struct recording *r, const struct gpu_layer *layer)
{
    const struct config *c = &r->model->config;
    const struct scratch *s = r->s;
    uint32_t rows = r->shape.rows, slots = rows * c->experts_used, width = c->expert_intermediate;
    const struct gpu_matrix *down = &layer->matrix[ROLE_EXPERTS_DOWN];
    const struct gpu_matrix *in[] = {&layer->matrix[ROLE_GATE], &layer->matrix[ROLE_UP],
                                     &layer->matrix[ROLE_EXPERTS_GATE], &layer->matrix[ROLE_EXPERTS_UP]};
    activations(r, REGION(X), REGION(IN), ACT_NORM, norm_of(r, layer->vector[ROLE_POST_NORM]), &s->in, in, 4, true,
                rows);
    product(r, REGION(IN), REGION(ROUTER), &layer->matrix[ROLE_ROUTER], &s->in, s->router, c->experts, false, rows);
    struct {
        uint64_t logits, x, shared_gate, chosen, shares;
        uint32_t experts, used, columns, ldx;
    } choose = {s->router,       s->in.floats, layer->vector[ROLE_SHARED_GATE],   s->chosen, s->shares, c->experts,
                c->experts_used, c->hidden,    pack_chunks(c->hidden) * PACK_COLS};
    record_step(r, REGION(ROUTER) | REGION(IN), REGION(CHOSEN), SHADER_CHOOSE, NULL, 0, &choose, sizeof choose, rows, 1,
                1);
    expert_product(r, REGION(IN), REGION(EXPERT_GATE), &layer->matrix[ROLE_EXPERTS_GATE], &s->in, s->expert_gate, slots,
                   c->experts_used);
    expert_product(r, REGION(IN), REGION(EXPERT_UP), &layer->matrix[ROLE_EXPERTS_UP], &s->in, s->expert_up, slots,
                   c->experts_used);
    feed_forward(r, layer);
    activations(r, REGION(EXPERT_GATE) | REGION(EXPERT_UP), REGION(EXPERT_INNER), ACT_SILU,
                (struct act){.x = s->expert_gate, .gate = s->expert_up, .columns = width, .ldx = width, .ldg = width},
                &s->expert_inner, &down, 1, false, slots);
    expert_product(r, REGION(EXPERT_INNER), REGION(EXPERT_OUT), down, &s->expert_inner, s->expert_out, slots, 1);
    struct {
        uint64_t x, experts, shared_expert, shares;
        uint32_t columns, used;
    } mix = {s->x, s->expert_out, s->shared_out, s->shares, c->hidden, c->experts_used};
    record_step(r, REGION(EXPERT_OUT) | REGION(SHARED_OUT) | REGION(CHOSEN), REGION(X), SHADER_MIX, NULL, 0, &mix,
                sizeof mix, (c->hidden + 127) / 128, rows, 1);
}

/* ---- The whole pass ------------------------------------------------------------------------------------------- */

static void embed(struct recording *r, const struct gpu_matrix *w)
{
    const struct config *c = &r->model->config;
    struct {
        uint64_t rows, pieces, result;
        uint32_t piece_tiles, chunks, columns, ldx;
    } push = {table(r, r->s->rows_at), w->table, r->s->x, w->piece_tiles, w->chunks, c->hidden, c->hidden};
    record_step(r, 0, REGION(X), SHADER_EMBED, &(uint32_t){w->kind}, 1, &push, sizeof push, w->chunks, r->shape.rows,
                1);
}

/* Keeps the residual stream of a row; after the last layer what the final norm makes of it. */
static void keep_hidden(struct recording *r, uint32_t layer, uint32_t row)
{
    const struct config *c = &r->model->config;
    const struct scratch *s = r->s;
    uint64_t from = s->x - s->memory.address, bytes = c->hidden * sizeof(float);
    if (layer < c->layers) {
        record_copy(r, REGION(X), REGION(READ), &s->memory, from + row * bytes, &s->read,
                    s->hidden_read_at + layer * bytes, bytes);
        return;
    }
    activations(
        r, REGION(X), REGION(HEAD), ACT_NORM,
        (struct act){.x = s->x + row * bytes, .by = r->model->final_norm, .columns = c->hidden, .ldx = c->hidden},
        &(struct forms){s->hidden, 0}, NULL, 0, true, 1);
    record_copy(r, REGION(HEAD), REGION(READ), &s->memory, s->hidden - s->memory.address, &s->read,
                s->hidden_read_at + layer * bytes, bytes);
}

/* RMS norms of rows of the residual stream's width (norm.comp). */
struct norm {
    uint64_t from, to, by, from_rows, to_rows;
    uint32_t columns, ld_from, ld_to;
    float eps;
};

static void norms(struct recording *r, uint32_t reads, uint32_t writes, struct norm n, uint32_t rows)
{
    n.columns = r->model->config.hidden;
    n.eps = r->model->config.rms_eps;
    record_step(r, reads, writes, SHADER_NORM, NULL, 0, &n, sizeof n, rows, 1, 1);
}

void record_layers(struct recording *r, uint32_t first, uint32_t end, bool hidden, uint32_t hidden_row)
{
    const struct gpu_model *m = r->model;
    const struct config *c = &m->config;
    uint32_t attention_layers = 0;
    for (uint32_t i = 0; i < first; i++) attention_layers += c->full_attention[i];
    if (first == 0) embed(r, &m->embed);
    for (uint32_t i = first; i < end; i++) {
        const struct gpu_layer *layer = &m->layers[i];
        if (hidden) keep_hidden(r, i, hidden_row);
        if (c->full_attention[i])
            attention(r, layer, attention_layers++);
        else
            linear(r, layer, i - attention_layers);
        if (c->experts)
            mixture(r, layer);
        else
            feed_forward(r, layer);
    }
    if (hidden && end == c->layers) keep_hidden(r, end, hidden_row);
    if (r->program) return;
    if (end == c->layers) record_waiting(r);
    if (!r->status) device_barrier(m->gpu, r->commands);
}

void record_waiting(struct recording *r)
{
    const struct config *c = &r->model->config;
    if (c->mtp)
        norms(r, REGION(X), REGION(WAITING),
              (struct norm){
                  .from = r->s->x, .by = r->model->final_norm, .ld_from = c->hidden, .to_rows = table(r, r->s->h_at)},
              r->shape.rows);
}

void record_mtp(struct recording *r, bool entries)
{
    const struct gpu_model *m = r->model;
    const struct config *c = &m->config;
    const struct scratch *s = r->s;
    const struct gpu_layer *layer = &m->layers[c->layers];
    uint32_t rows = r->shape.rows, both = 2 * c->hidden;
    uint64_t row_bytes = c->hidden * sizeof(float);
    embed(r, m->head_embed);
    norms(r, REGION(X), REGION(QKV),
          (struct norm){.from = s->x,
                        .to = s->joined,
                        .ld_from = c->hidden,
                        .ld_to = both,
                        .by = layer->vector[ROLE_MTP_EMBED_NORM]},
          rows);
    norms(r, REGION(WAITING), 0,
          (struct norm){.from_rows = table(r, s->h_at),
                        .to = s->joined + row_bytes,
                        .ld_to = both,
                        .by = layer->vector[ROLE_MTP_HIDDEN_NORM]},
          rows);
    struct output fc = {&layer->matrix[ROLE_MTP_FC], REGION(X), s->x, c->hidden, false};
    products(r, REGION(QKV), ACT_PLAIN, (struct act){.x = s->joined, .columns = both, .ldx = both}, &s->join, REGION(Z),
             &fc, 1, rows);
    if (entries) {
        const struct output in[] = {
            {&layer->matrix[ROLE_K], REGION(K), s->k, c->kv_heads * c->head_dim, false},
            {&layer->matrix[ROLE_V], REGION(V), s->v, c->kv_heads * c->head_dim, false},
        };
        products(r, REGION(X), ACT_NORM, norm_of(r, layer->vector[ROLE_INPUT_NORM]), &s->in, REGION(IN), in, 2, rows);
        rotate(r, layer, 0, 0);
    } else {
        attention(r, layer, 0);
        if (c->experts)
            mixture(r, layer);
        else
            feed_forward(r, layer);
        norms(r, REGION(X), REGION(WAITING),
              (struct norm){.from = s->x + (rows - 1) * row_bytes, .to = s->head_h, .by = m->head_norm}, 1);
    }
    if (!r->status) device_barrier(m->gpu, r->commands);
}

void record_replay(struct recording *r)
{
    const struct gpu_model *m = r->model;
    for (uint32_t i = 0, index = 0; i < m->config.layers; i++)
        if (!m->config.full_attention[i]) rule(r, &m->layers[i], index++);
    if (!r->status) device_barrier(m->gpu, r->commands);
}

void record_head(struct recording *r)
{
    const struct gpu_model *m = r->model;
    const struct config *c = &m->config;
    const struct scratch *s = r->s;
    uint32_t rows = r->shape.head_rows;
    bool layers = r->shape.logits == LOGITS_LAYERS;
    struct act norm = norm_of(r, layers ? m->final_norm : m->head_norm);
    norm.index = table(r, s->index_at) + 4 * (uint64_t)r->shape.head_first;
    const struct gpu_matrix *w = layers ? m->head : r->shape.logits == LOGITS_DRAFTED ? &m->drafted : m->head_lm;
    struct output logits = {w, REGION(LOGITS), s->logits, c->vocab, false};
    products(r, REGION(X), ACT_NORM, norm, &s->head, REGION(HEAD), &logits, 1, rows);
    if (r->program) return;
    if (r->shape.best)
        record_best(r, NULL, true);
    else
        record_copy(r, REGION(LOGITS), REGION(READ), &s->memory, s->logits_at, &s->read, 0,
                    sizeof(float) * (uint64_t)rows * c->vocab);
    if (!r->status) device_barrier(m->gpu, r->commands);
}
