/* The commands of a pass: which shader runs on what, layer by layer. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/gpu/device/fused.h"
#include "engine/gpu/pass/layer.h"

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
    if (!r->status && !r->fused) r->status = device_pipeline(&pipeline, g, shader, constants, n, r->err);
    if (r->status) return;
    bool wait = has_to_wait(r, reads, writes);
    if (r->fused) {
        fused_add(r, wait, shader, constants, push, push_bytes, x, z);
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

/* What a step of a fused pass makes of heads at once, besides leaving them as they are: activations of the product that
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
    uint32_t most = m->gpu->tuning.attend_rows / config_widest_heads(&m->config).group;
    return rows <= SPLIT_ROWS || most < 1 ? 1 : most;
}

/* A layer's heads. */
struct heads {
    uint32_t kv_heads, head_dim, group; /* group: that share keys */
    uint32_t projected;                 /* floats of a head that q_proj yields */
};

static struct heads heads_of(const struct recording *r, const struct gpu_layer *layer)
{
    const struct config *c = &r->model->config;
    uint32_t i = (uint32_t)(layer - r->model->layers), kv = config_kv_heads(c, i), dim = config_head_dim(c, i);
    return (struct heads){kv, dim, c->attention.heads / kv, (c->attention.gated ? 2 : 1) * dim};
}

/* Where a page has the layer's keys and values. */
static uint32_t layer_bytes(const struct gpu_model *m, uint32_t index)
{
    struct state_place at = m->shape.place[index];
    return (uint32_t)(2 * model_kv_bytes(m, at.kind) * m->shape.kind[at.kind].kv_heads * at.index);
}

/* Its table of the runs, with the pages of its kind. */
static uint64_t runs_of(const struct recording *r, uint32_t index)
{
    const struct gpu_model *m = r->model;
    return layer_table(r, r->s->tables.runs) +
           (uint64_t)m->shape.place[index].kind * m->options.runs * sizeof(struct table_run);
}

/* Whether activations for the product that takes the result were made too. */
static bool attend(struct recording *r, const struct gpu_layer *layer, uint32_t index)
{
    const struct gpu_matrix *out = &layer->matrix[ROLE_O];
    struct heads heads = heads_of(r, layer);
    const struct gpu_model *m = r->model;
    const struct config *c = &m->config;
    const struct config_attention *a = &c->attention;
    const struct scratch *s = r->s;
    bool split = record_splits(&r->shape);
    uint32_t window = m->shape.kind[m->shape.place[index].kind].window;
    struct {
        uint64_t runs, tiles, q, result, partials;
        uint32_t heads, kv_heads, layer_bytes, kv_bytes, blocks, window;
        float cap, doubled;
        uint64_t sinks;
    } push = {runs_of(r, index),
              layer_table(r, s->tables.tiles),
              s->at.q,
              s->at.attended,
              s->at.partials,
              a->heads,
              heads.kv_heads,
              layer_bytes(m, index),
              (uint32_t)model_kv_bytes(m, m->shape.place[index].kind),
              s->blocks,
              window,
              a->cap,
              a->cap != 0 ? 2 / a->cap : 0,
              layer->vector[ROLE_SINKS]};
    uint32_t rows = products_power(heads.group * record_tile_tokens(m, r->shape.rows));
    const uint32_t constants[] = {m->options.kv, heads.head_dim, rows, split, a->cap != 0};
    record_step(r, REGION(Q) | REGION(PAGES), split ? REGION(PARTIALS) : REGION(ATTENDED), SHADER_ATTEND, constants, 5,
                &push, sizeof push, r->shape.tiles, heads.kv_heads, split ? r->shape.blocks : 1);
    if (!split) return false;
    struct {
        uint64_t rows, partials, result;
        uint32_t heads, blocks, window;
        uint64_t gate, to; /* token.comp */
        uint32_t form;
        float scale;
    } merge = {layer_table(r, s->tables.rows),
               s->at.partials,
               s->at.attended,
               a->heads,
               s->blocks,
               window,
               s->at.q_gate,
               0,
               FORM_NONE,
               c->scales.residual};
    bool makes = r->fused && heads.head_dim % PACK_COLS == 0;
    if (makes) merge.form = form_of(out), merge.to = products_taken(&s->at.inner, out);
    record_step(r, REGION(PARTIALS) | (makes ? REGION(Q_GATE) : 0), makes ? REGION(INNER) : REGION(ATTENDED),
                SHADER_MERGE, &heads.head_dim, 1, &merge, r->fused ? sizeof merge : offsetof(typeof(merge), gate),
                a->heads, r->shape.rows, 1);
    return makes;
}

/* The angles that a layer rotates by. */
static uint64_t angles_of(const struct recording *r, const struct gpu_layer *layer)
{
    const struct config *c = &r->model->config;
    return layer_table(r, r->s->tables.angles[c->window[layer - r->model->layers] ? pass_angle_sets(c) - 1 : 0]);
}

/* Queries of this many heads, and keys and values, where the layer has its own, into the pages. */
static void rotate(struct recording *r, const struct gpu_layer *layer, uint32_t index, uint32_t queries)
{
    struct heads heads = heads_of(r, layer);
    const struct gpu_model *m = r->model;
    const struct config *c = &m->config;
    const struct scratch *s = r->s;
    uint32_t rows = r->shape.rows, number = (uint32_t)(layer - m->layers);
    uint32_t keys = layer->matrix[ROLE_K].pieces ? heads.kv_heads : 0;
    struct {
        uint64_t rows, runs, angles, q_gate, k, v, q_norm, k_norm, q;
        uint32_t heads, kv_heads, rope_pairs, n_rows, layer_bytes, kv_bytes;
        float eps, scale;
        uint64_t scales;
        uint32_t query;
    } push = {layer_table(r, s->tables.rows),
              runs_of(r, index),
              angles_of(r, layer),
              s->at.q_gate,
              s->at.k,
              layer->matrix[ROLE_V].pieces ? s->at.v : s->at.k,
              layer->vector[ROLE_Q_NORM],
              layer->vector[ROLE_K_NORM],
              s->at.q,
              queries,
              keys,
              c->unrotated[number] ? 0 : config_rope_dims(c, number) / 2,
              rows,
              layer_bytes(m, index),
              (uint32_t)model_kv_bytes(m, m->shape.place[index].kind),
              c->rms_eps,
              c->attention.scale,
              layer_table(r, s->tables.scales),
              heads.projected};
    const uint32_t constants[] = {m->options.kv, heads.head_dim, layer->vector[ROLE_Q_NORM] != 0,
                                  c->attention.value_norm};
    record_step(r, REGION(Q_GATE) | REGION(K) | REGION(V), REGION(Q) | REGION(PAGES), SHADER_HEADS, constants, 4, &push,
                sizeof push, queries + keys, rows, 1);
}

static void attention(struct recording *r, const struct gpu_layer *layer, uint32_t index)
{
    const struct config *c = &r->model->config;
    const struct config_attention *a = &c->attention;
    const struct scratch *s = r->s;
    struct heads heads = heads_of(r, layer);
    uint32_t rows = r->shape.rows, attended = a->heads * heads.head_dim, keys = heads.kv_heads * heads.head_dim;
    const struct output in[] = {
        {&layer->matrix[ROLE_Q], REGION(Q_GATE), s->at.q_gate, a->heads * heads.projected, false,
         layer->vector[ROLE_Q_BIAS]},
        {&layer->matrix[ROLE_K], REGION(K), s->at.k, keys, false, layer->vector[ROLE_K_BIAS]},
        {&layer->matrix[ROLE_V], REGION(V), s->at.v, keys, false, layer->vector[ROLE_V_BIAS]},
    };
    int projections = layer->matrix[ROLE_V].pieces ? 3 : layer->matrix[ROLE_K].pieces ? 2 : 1;
    struct output out = layer_output(r, layer, ROLE_O, ROLE_O_BIAS, ROLE_ATTENTION_NORM);
    products_of(r, REGION(X), layer_norm_mode(r), layer_norm_of(r, layer, ROLE_INPUT_NORM, ROLE_INPUT_NORM_BIAS),
                &s->at.in, REGION(IN), in, projections, rows);
    rotate(r, layer, index, a->heads);
    if (attend(r, layer, index))
        products_made(r, &out);
    else
        products_of(r, REGION(ATTENDED) | REGION(Q_GATE), a->gated ? ACT_SIGMOID : ACT_PLAIN,
                    (struct act){.x = s->at.attended,
                                 .gate = s->at.q_gate,
                                 .columns = attended,
                                 .ldx = attended,
                                 .ldg = 2 * attended,
                                 .head = heads.head_dim,
                                 .scale = c->scales.residual},
                    &s->at.inner, REGION(INNER), &out, 1, rows);
    layer_add_normed(r, layer, ROLE_ATTENTION_NORM, 0);
}

/* ---- Gated DeltaNet ------------------------------------------------------------------------------------------- */

void record_delta(const struct gpu_model *m, bool whole, uint32_t *slab, uint32_t *parts)
{
    const struct config_delta *d = &m->config.delta;
    *slab = d->value_dim % DELTA_SLAB ? d->value_dim : DELTA_SLAB;
    *parts = 1;
    while (*slab * *parts * 2 <= m->gpu->tuning.delta_lanes && d->key_dim % (8 * *parts) == 0) *parts *= 2;
    if (whole && d->value_dim == PACK_COLS && PACK_COLS / 2 * *parts <= m->gpu->tuning.lanes) *slab = PACK_COLS;
}

/* Where a layer's inputs of convolution and gates lie: in the scratch, or where they are kept. */
struct inputs {
    uint64_t qkv, a, b;
};

static uint64_t kept_floats(const struct config *c)
{
    return (uint64_t)KEPT_ROWS * (config_conv_channels(&c->delta) + 2 * c->delta.value_heads);
}

uint64_t pass_kept_bytes(const struct config *c, uint32_t linear_layers)
{
    return sizeof(float) * kept_floats(c) * linear_layers;
}

static struct inputs inputs_of(const struct recording *r, uint32_t index)
{
    const struct config *c = &r->model->config;
    if (!r->shape.kept) return (struct inputs){r->s->at.qkv, r->s->at.a, r->s->at.b};
    uint64_t qkv = r->shape.kept + sizeof(float) * kept_floats(c) * index;
    uint64_t a = qkv + sizeof(float) * KEPT_ROWS * config_conv_channels(&c->delta);
    return (struct inputs){qkv, a, a + sizeof(float) * KEPT_ROWS * c->delta.value_heads};
}

enum { CONV_ROWS = 4 }; /* of a workgroup of conv.comp */

static void convolution(struct recording *r, const struct gpu_layer *layer, const struct inputs *x,
                        uint32_t conv_floats)
{
    const struct config_delta *d = &r->model->config.delta;
    const struct scratch *s = r->s;
    struct {
        uint64_t rows, runs, qkv, a, b, weights, rate, bias, result, gates;
        uint32_t key_heads, value_heads, key_dim, value_dim, taps, layer_floats, n_rows;
    } push = {
        .rows = layer_table(r, s->tables.rows),
        .runs = layer_table(r, s->tables.runs),
        .qkv = x->qkv,
        .a = x->a,
        .b = x->b,
        .weights = layer->vector[ROLE_LIN_CONV],
        .rate = layer->vector[ROLE_LIN_A_LOG],
        .bias = layer->vector[ROLE_LIN_DT_BIAS],
        .result = s->at.convolved,
        .gates = s->at.gates,
        .key_heads = d->key_heads,
        .value_heads = d->value_heads,
        .key_dim = d->key_dim,
        .value_dim = d->value_dim,
        .taps = d->conv_kernel,
        .layer_floats = conv_floats,
        .n_rows = r->shape.rows,
    };
    record_step(r, REGION(QKV) | REGION(A) | REGION(B), REGION(CONVOLVED) | REGION(GATES) | REGION(CONV), SHADER_CONV,
                &r->model->gpu->tuning.subgroup, 1, &push, sizeof push, 2 * d->key_heads + d->value_heads,
                (r->shape.rows + CONV_ROWS - 1) / CONV_ROWS, 1);
}

/* Lanes of a workgroup for many tokens, so few that a small model has a workgroup for each core. */
enum { DELTAS_LANES = 128 };

/* Convolution and delta rule, in one step where each run has a single token. Whether activations for the product that
 * takes the result were made too. */
static bool rule(struct recording *r, const struct gpu_layer *layer, uint32_t index)
{
    const struct config *c = &r->model->config;
    const struct config_delta *d = &c->delta;
    const struct scratch *s = r->s;
    struct inputs x = inputs_of(r, index);
    bool both = r->shape.rows == r->shape.runs;
    uint32_t conv_floats = index * (d->conv_kernel - 1) * config_conv_channels(d);
    uint32_t parts, slab;
    record_delta(r->model, r->fused, &slab, &parts);
    while (!both && slab % 2 == 0 && slab * parts > DELTAS_LANES) slab /= 2;
    const uint32_t constants[] = {((both ? slab / 2 : slab) * parts + 31) / 32 * 32,
                                  d->key_dim,
                                  d->value_dim,
                                  d->key_dim / parts,
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
        .runs = layer_table(r, s->tables.runs),
        .qkv = both ? x.qkv : s->at.convolved,
        .gates = s->at.gates,
        .result = s->at.delta,
        .key_heads = d->key_heads,
        .value_heads = d->value_heads,
        .tiled = d->value_heads_tiled,
        .layer_floats = index * d->key_dim * d->value_dim * d->value_heads,
        .a = x.a,
        .b = x.b,
        .weights = layer->vector[ROLE_LIN_CONV],
        .rate = layer->vector[ROLE_LIN_A_LOG],
        .bias = layer->vector[ROLE_LIN_DT_BIAS],
        .taps = d->conv_kernel,
        .conv_floats = conv_floats,
        .by = layer->vector[ROLE_LIN_NORM],
        .gate = s->at.z,
        .eps = c->rms_eps,
    };
    bool makes = r->fused && slab == PACK_COLS;
    const struct gpu_matrix *out = &layer->matrix[ROLE_LIN_OUT];
    if (makes) push.form = form_of(out), push.to = products_taken(&s->at.inner, out);
    uint32_t reads = REGION(CONVOLVED) | REGION(GATES), writes = REGION(RECURRENT);
    if (both) reads = REGION(QKV) | REGION(A) | REGION(B), writes |= REGION(CONV);
    reads |= makes ? REGION(Z) : 0, writes |= makes ? REGION(INNER) : REGION(DELTA);
    if (!both) convolution(r, layer, &x, conv_floats);
    record_step(r, reads, writes, both ? SHADER_DELTA : SHADER_DELTAS, constants, 6, &push,
                r->fused ? sizeof push : offsetof(typeof(push), by), d->value_heads, r->shape.runs,
                d->value_dim / slab);
    return makes;
}

static void linear(struct recording *r, const struct gpu_layer *layer, uint32_t index)
{
    const struct config *c = &r->model->config;
    const struct config_delta *d = &c->delta;
    const struct scratch *s = r->s;
    uint32_t rows = r->shape.rows, width = d->value_heads * d->value_dim;
    struct inputs x = inputs_of(r, index);
    const struct output in[] = {
        {&layer->matrix[ROLE_LIN_QKV], REGION(QKV), x.qkv, config_conv_channels(d), false, 0},
        {&layer->matrix[ROLE_LIN_Z], REGION(Z), s->at.z, width, false, 0},
        {&layer->matrix[ROLE_LIN_A], REGION(A), x.a, d->value_heads, false, 0},
        {&layer->matrix[ROLE_LIN_B], REGION(B), x.b, d->value_heads, false, 0},
    };
    struct output out = {&layer->matrix[ROLE_LIN_OUT], REGION(X), s->at.x, c->hidden, true, 0};
    products_of(r, REGION(X), layer_norm_mode(r), layer_norm_of(r, layer, ROLE_INPUT_NORM, ROLE_INPUT_NORM_BIAS),
                &s->at.in, REGION(IN), in, 4, rows);
    if (rule(r, layer, index)) {
        products_made(r, &out);
        return;
    }
    products_of(r, REGION(DELTA) | REGION(Z), ACT_GATED_NORM,
                (struct act){.x = s->at.delta,
                             .by = layer->vector[ROLE_LIN_NORM],
                             .gate = s->at.z,
                             .columns = width,
                             .ldx = width,
                             .ldg = width,
                             .head = d->value_dim,
                             .scale = 1},
                &s->at.inner, REGION(INNER), &out, 1, rows);
}

/* ---- The whole pass ------------------------------------------------------------------------------------------- */

static void embed(struct recording *r, const struct gpu_matrix *w)
{
    const struct config *c = &r->model->config;
    struct {
        uint64_t rows, pieces, result, positions, pads;
        uint32_t piece_tiles, chunks, columns, ldx;
        float scale;
    } push = {layer_table(r, r->s->tables.rows),
              w->table,
              r->s->at.x,
              r->model->positions,
              pass_sees(c) ? layer_table(r, r->s->tables.pads) : 0,
              w->piece_tiles,
              w->chunks,
              c->hidden,
              c->hidden,
              c->scales.embedding};
    record_step(r, 0, REGION(X), SHADER_EMBED, &(uint32_t){w->kind}, 1, &push, sizeof push, w->chunks, r->shape.rows,
                1);
}

/* Keeps the residual stream of a row; after the last layer what the final norm makes of it. */
static void keep_hidden(struct recording *r, uint32_t layer, uint32_t row)
{
    const struct config *c = &r->model->config;
    const struct scratch *s = r->s;
    uint64_t from = s->at.x - s->memory.address, bytes = c->hidden * sizeof(float);
    if (layer < c->layers) {
        record_copy(r, REGION(X), REGION(READ), &s->memory, from + row * bytes, &s->read,
                    s->read_at.hidden + layer * bytes, bytes);
        return;
    }
    struct act norm = layer_norm(r, r->model->final_norm, r->model->final_norm_bias);
    norm.x += row * bytes;
    products_activations(r, REGION(X), REGION(HEAD), layer_norm_mode(r), norm, &(struct forms){s->at.hidden, 0}, NULL,
                         0, true, 1);
    record_copy(r, REGION(HEAD), REGION(READ), &s->memory, s->at.hidden - s->memory.address, &s->read,
                s->read_at.hidden + layer * bytes, bytes);
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
    if (first == 0 && c->layer_input) layer_tell(r);
    for (uint32_t i = first; i < end; i++) {
        const struct gpu_layer *layer = &m->layers[i];
        if (hidden) keep_hidden(r, i, hidden_row);
        if (c->full_attention[i])
            attention(r, layer, attention_layers++);
        else
            linear(r, layer, i - attention_layers);
        layer_feed(r, layer);
    }
    if (hidden && end == c->layers) keep_hidden(r, end, hidden_row);
    if (r->fused) return;
    if (end == c->layers) record_waiting(r);
    if (!r->status) device_barrier(m->gpu, r->commands);
}

void record_waiting(struct recording *r)
{
    const struct config *c = &r->model->config;
    if (c->mtp.there)
        norms(r, REGION(X), REGION(WAITING),
              (struct norm){.from = r->s->at.x,
                            .by = r->model->final_norm,
                            .ld_from = c->hidden,
                            .to_rows = layer_table(r, r->s->tables.h)},
              r->shape.rows);
}

void record_mtp(struct recording *r, bool entries)
{
    const struct gpu_model *m = r->model;
    const struct config *c = &m->config;
    const struct config_attention *a = &c->attention;
    const struct scratch *s = r->s;
    const struct gpu_layer *layer = &m->layers[c->layers];
    uint32_t rows = r->shape.rows, both = 2 * c->hidden;
    uint64_t row_bytes = c->hidden * sizeof(float);
    embed(r, m->mtp.embed);
    norms(r, REGION(X), REGION(QKV),
          (struct norm){.from = s->at.x,
                        .to = s->draft.joined,
                        .ld_from = c->hidden,
                        .ld_to = both,
                        .by = layer->vector[ROLE_MTP_EMBED_NORM]},
          rows);
    norms(r, REGION(WAITING), 0,
          (struct norm){.from_rows = layer_table(r, s->tables.h),
                        .to = s->draft.joined + row_bytes,
                        .ld_to = both,
                        .by = layer->vector[ROLE_MTP_HIDDEN_NORM]},
          rows);
    struct output fc = {&layer->matrix[ROLE_MTP_FC], REGION(X), s->at.x, c->hidden, false, 0};
    products_of(r, REGION(QKV), ACT_PLAIN, (struct act){.x = s->draft.joined, .columns = both, .ldx = both, .scale = 1},
                &s->draft.join, REGION(Z), &fc, 1, rows);
    if (entries) {
        const struct output in[] = {
            {&layer->matrix[ROLE_K], REGION(K), s->at.k, a->kv_heads * a->head_dim, false, layer->vector[ROLE_K_BIAS]},
            {&layer->matrix[ROLE_V], REGION(V), s->at.v, a->kv_heads * a->head_dim, false, layer->vector[ROLE_V_BIAS]},
        };
        products_of(r, REGION(X), layer_norm_mode(r), layer_norm_of(r, layer, ROLE_INPUT_NORM, ROLE_INPUT_NORM_BIAS),
                    &s->at.in, REGION(IN), in, 2, rows);
        rotate(r, layer, m->shape.attention_layers, 0);
    } else {
        attention(r, layer, m->shape.attention_layers);
        layer_feed(r, layer);
        norms(r, REGION(X), REGION(WAITING),
              (struct norm){.from = s->at.x + (rows - 1) * row_bytes, .to = s->draft.h, .by = m->mtp.norm}, 1);
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

/* Soft caps of logits, which are divided by then. */
static void cap(struct recording *r, uint32_t rows)
{
    enum { CAP_BLOCK = 1024 }; /* cap.glsl */
    const struct config *c = &r->model->config;
    float by = c->scales.logit_cap / c->scales.logit_divisor;
    struct {
        uint64_t logits;
        uint32_t vocab;
        float cap, doubled;
    } push = {r->s->at.logits, c->vocab, by, 2 / by};
    record_step(r, REGION(LOGITS), REGION(LOGITS), SHADER_CAP, NULL, 0, &push, sizeof push,
                (c->vocab + CAP_BLOCK - 1) / CAP_BLOCK, rows, 1);
}

void record_head(struct recording *r)
{
    const struct gpu_model *m = r->model;
    const struct config *c = &m->config;
    const struct scratch *s = r->s;
    uint32_t rows = r->shape.head_rows;
    bool layers = r->shape.logits == LOGITS_LAYERS;
    struct act norm = layer_norm(r, layers ? m->final_norm : m->mtp.norm, layers ? m->final_norm_bias : 0);
    norm.scale = 1 / c->scales.logit_divisor;
    norm.index = layer_table(r, s->tables.index) + 4 * (uint64_t)r->shape.head_first;
    const struct gpu_matrix *w = layers                              ? m->head
                                 : r->shape.logits == LOGITS_DRAFTED ? &m->mtp.drafted
                                                                     : m->mtp.lm_head;
    struct output logits = {w, REGION(LOGITS), s->at.logits, c->vocab, false, 0};
    products_of(r, REGION(X), layer_norm_mode(r), norm, &s->at.head, REGION(HEAD), &logits, 1, rows);
    if (c->scales.logit_cap != 0) cap(r, rows);
    if (r->fused) return;
    if (r->shape.topk)
        record_topk(r, NULL, true);
    else
        record_copy(r, REGION(LOGITS), REGION(READ), &s->memory, s->logits_at, &s->read, 0,
                    sizeof(float) * (uint64_t)rows * c->vocab);
    if (!r->status) device_barrier(m->gpu, r->commands);
}
