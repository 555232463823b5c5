#include "engine/gpu/pass/layer.h"

#include <math.h>
#include <string.h>

/* ---- Inputs and outputs of sublayers ---------------------------------------------------------------------------- */

uint64_t layer_table(const struct recording *r, uint64_t at)
{
    return r->s->table.address + at;
}

struct act layer_norm(const struct recording *r, uint64_t multipliers, uint64_t bias)
{
    uint32_t hidden = r->model->config.hidden;
    return (struct act){.x = r->s->at.x, .by = multipliers, .gate = bias, .columns = hidden, .ldx = hidden, .scale = 1};
}

struct act layer_norm_of(const struct recording *r, const struct gpu_layer *layer, enum role norm, enum role bias)
{
    return layer_norm(r, layer->vector[norm], layer->vector[bias]);
}

enum act_mode layer_norm_mode(const struct recording *r)
{
    return r->model->config.norm == CONFIG_NORM_LAYER ? ACT_LAYER_NORM : ACT_NORM;
}

static enum act_mode feed_mode(const struct recording *r)
{
    static const enum act_mode modes[] = {[CONFIG_FEED_SILU] = ACT_SILU,
                                          [CONFIG_FEED_GELU] = ACT_GELU,
                                          [CONFIG_FEED_GELU_GATED] = ACT_GELU_GATED,
                                          [CONFIG_FEED_CLAMPED] = ACT_CLAMPED};
    return modes[r->model->config.feed.kind];
}

struct output layer_output(const struct recording *r, const struct gpu_layer *layer, enum role matrix, enum role bias,
                           enum role norm)
{
    const struct scratch *s = r->s;
    bool at_once = !layer->vector[norm];
    return (struct output){&layer->matrix[matrix],
                           at_once ? REGION(X) : REGION(SHARED_OUT),
                           at_once ? s->at.x : s->at.added,
                           r->model->config.hidden,
                           at_once,
                           layer->vector[bias]};
}

void layer_add_normed(struct recording *r, const struct gpu_layer *layer, enum role norm, uint64_t scale)
{
    const struct config *c = &r->model->config;
    const struct gpu_tuning *t = &r->model->gpu->tuning;
    struct {
        uint64_t x, from, by;
        uint32_t columns;
        float eps;
        uint64_t scale;
    } push = {r->s->at.x, r->s->at.added, layer->vector[norm], c->hidden, c->rms_eps, scale};
    if (push.by)
        record_step(r, REGION(SHARED_OUT), REGION(X), SHADER_ADDED, (uint32_t[]){t->lanes, t->subgroup}, 2, &push,
                    sizeof push, r->shape.rows, 1, 1);
}

/* ---- Feed-forward networks ------------------------------------------------------------------------------------ */

/* Of all that the layer yields, where nothing comes behind its feed-forward network; 0: none. */
static uint64_t scale_of(const struct gpu_layer *layer)
{
    return layer->matrix[ROLE_INPUT_GATE].pieces ? 0 : layer->vector[ROLE_LAYER_SCALE];
}

/* gate and up of the normalised input, or up alone, then down of both; it adds to x, or goes to a place of its own: the
 * shared expert of a mixture, whose input's activations are there, or a network beside the experts. */
static void feed_forward(struct recording *r, const struct gpu_layer *layer, bool shared)
{
    const struct config *c = &r->model->config;
    const struct scratch *s = r->s;
    uint32_t rows = r->shape.rows, width = layer->matrix[ROLE_DOWN].cols;
    const struct output both[] = {
        {&layer->matrix[ROLE_GATE], REGION(GATE), s->at.gate, width, false, layer->vector[ROLE_GATE_BIAS]},
        {&layer->matrix[ROLE_UP], REGION(UP), s->at.up, width, false, layer->vector[ROLE_UP_BIAS]}};
    bool gated = layer->matrix[ROLE_GATE].pieces;
    const struct output *in = gated ? both : both + 1;
    struct output down = layer_output(r, layer, ROLE_DOWN, ROLE_DOWN_BIAS, ROLE_FEED_NORM);
    if (shared) {
        down = (struct output){down.matrix, REGION(SHARED_OUT), s->experts.shared_out, c->hidden, false, 0};
        for (int i = 0; i < 1 + gated; i++)
            products_one(r, REGION(IN), in[i].region, in[i].matrix, &s->at.in, in[i].out, in[i].ldo, false, rows);
    } else {
        products_of(r, REGION(X), layer_norm_mode(r), layer_norm_of(r, layer, ROLE_POST_NORM, ROLE_POST_NORM_BIAS),
                    &s->at.in, REGION(IN), in, 1 + gated, rows);
    }
    products_of(r, (gated ? REGION(GATE) : 0) | REGION(UP), feed_mode(r),
                (struct act){.x = gated ? s->at.gate : s->at.up,
                             .gate = s->at.up,
                             .columns = width,
                             .ldx = width,
                             .ldg = width,
                             .scale = c->experts.count ? 1 : c->scales.residual},
                &s->at.inner, REGION(INNER), &down, 1, rows);
    if (!c->experts.count) layer_add_normed(r, layer, ROLE_FEED_NORM, scale_of(layer));
}

/* What the experts yield, and the shared one, is added to x. */
static void add_experts(struct recording *r, const struct gpu_layer *layer)
{
    const struct config *c = &r->model->config;
    const struct scratch *s = r->s;
    uint32_t has_shared = layer->vector[ROLE_SHARED_GATE] != 0;
    struct {
        uint64_t x, experts, shared_expert, shares;
        uint32_t columns, used;
        float scale;
    } mix = {s->at.x,   s->experts.out,  s->experts.shared_out, s->experts.shares,
             c->hidden, c->experts.used, c->scales.residual};
    record_step(r, REGION(EXPERT_OUT) | REGION(SHARED_OUT) | REGION(CHOSEN), REGION(X), SHADER_MIX, &has_shared, 1,
                &mix, sizeof mix, (c->hidden + 127) / 128, r->shape.rows, 1);
}

/* The same of experts beside a dense network: each of both is normalised, then their sum. */
static void add_both(struct recording *r, const struct gpu_layer *layer)
{
    const struct config *c = &r->model->config;
    const struct scratch *s = r->s;
    const struct gpu_tuning *t = &r->model->gpu->tuning;
    struct {
        uint64_t x, experts, shares, dense, by_experts, by_dense, by_both, scale;
        uint32_t columns, used;
        float eps;
    } push = {s->at.x,
              s->experts.out,
              s->experts.shares,
              s->at.added,
              layer->vector[ROLE_EXPERTS_OUT_NORM],
              layer->vector[ROLE_DENSE_NORM],
              layer->vector[ROLE_FEED_NORM],
              scale_of(layer),
              c->hidden,
              c->experts.used,
              c->rms_eps};
    record_step(r, REGION(EXPERT_OUT) | REGION(SHARED_OUT) | REGION(CHOSEN),
                REGION(EXPERT_OUT) | REGION(SHARED_OUT) | REGION(X), SHADER_BESIDE, (uint32_t[]){t->lanes, t->subgroup},
                2, &push, sizeof push, r->shape.rows, 1, 1);
}

static void mixture(struct recording *r, const struct gpu_layer *layer)
{
    const struct config *c = &r->model->config;
    const struct config_experts *e = &c->experts;
    const struct scratch *s = r->s;
    uint32_t rows = r->shape.rows, slots = rows * e->used, width = e->intermediate;
    const struct output router = {&layer->matrix[ROLE_ROUTER],    REGION(ROUTER), s->experts.router, e->count, false,
                                  layer->vector[ROLE_ROUTER_BIAS]};
    const struct output gate = {
        &layer->matrix[ROLE_EXPERTS_GATE],    REGION(EXPERT_GATE), s->experts.gate, width, false,
        layer->vector[ROLE_EXPERTS_GATE_BIAS]};
    const struct output up = {&layer->matrix[ROLE_EXPERTS_UP],    REGION(EXPERT_UP), s->experts.up, width, false,
                              layer->vector[ROLE_EXPERTS_UP_BIAS]};
    const struct output down = {
        &layer->matrix[ROLE_EXPERTS_DOWN],    REGION(EXPERT_OUT), s->experts.out, c->hidden, false,
        layer->vector[ROLE_EXPERTS_DOWN_BIAS]};
    uint32_t has_shared = layer->vector[ROLE_SHARED_GATE] != 0, batch = 0;
    bool apart = layer->vector[ROLE_ROUTER_NORM]; /* the router and the experts have norms of their own */
    const struct gpu_matrix *in[] = {gate.matrix, up.matrix, &layer->matrix[ROLE_GATE], &layer->matrix[ROLE_UP]};
    products_activations(r, REGION(X), REGION(IN), layer_norm_mode(r),
                         layer_norm_of(r, layer, apart ? ROLE_ROUTER_NORM : ROLE_POST_NORM, ROLE_POST_NORM_BIAS),
                         &s->at.in, in,
                         apart        ? 0
                         : has_shared ? 4
                                      : 2,
                         true, rows);
    products_from(r, REGION(IN), &s->at.in, &router);
    struct {
        uint64_t logits, x, shared_gate, chosen, shares, scale;
        uint32_t experts, used, columns, ldx;
    } choose = {s->experts.router,
                s->at.in.floats,
                layer->vector[ROLE_SHARED_GATE],
                s->experts.chosen,
                s->experts.shares,
                layer->vector[ROLE_EXPERTS_SCALE],
                e->count,
                e->used,
                c->hidden,
                pack_chunks(c->hidden) * PACK_COLS};
    record_step(r, REGION(ROUTER) | REGION(IN), REGION(CHOSEN), SHADER_CHOOSE,
                (uint32_t[]){has_shared, e->norm_topk, r->model->gpu->tuning.subgroup}, 3, &choose, sizeof choose, rows,
                1, 1);
    if (apart)
        products_activations(r, REGION(X), REGION(IN), layer_norm_mode(r),
                             layer_norm_of(r, layer, ROLE_EXPERTS_IN_NORM, ROLE_POST_NORM_BIAS), &s->at.in, in, 2,
                             false, rows);
    /* All before the first product, so that none of these waits for another. */
    products_bias_of_experts(r, &gate, slots);
    products_bias_of_experts(r, &up, slots);
    products_bias_of_experts(r, &down, slots);
    products_of_experts(r, REGION(IN), &s->at.in, &gate, slots, e->used, &batch);
    products_of_experts(r, REGION(IN), &s->at.in, &up, slots, e->used, &batch);
    if (has_shared) feed_forward(r, layer, true);
    products_activations(
        r, REGION(EXPERT_GATE) | REGION(EXPERT_UP), REGION(EXPERT_INNER), feed_mode(r),
        (struct act){
            .x = s->experts.gate, .gate = s->experts.up, .columns = width, .ldx = width, .ldg = width, .scale = 1},
        &s->experts.inner, &down.matrix, 1, false, slots);
    products_of_experts(r, REGION(EXPERT_INNER), &s->experts.inner, &down, slots, 1, &batch);
    if (layer->vector[ROLE_DENSE_NORM])
        add_both(r, layer);
    else
        add_experts(r, layer);
}

/* ---- Inputs of layers by the token ------------------------------------------------------------------------------ */

/* The residual stream as it is. */
static struct act plain(const struct recording *r)
{
    uint32_t hidden = r->model->config.hidden;
    return (struct act){.x = r->s->at.x, .columns = hidden, .ldx = hidden, .scale = 1};
}

/* Of all layers, before the first. */
void layer_tell(struct recording *r)
{
    const struct gpu_model *m = r->model;
    const struct config *c = &m->config;
    const struct scratch *s = r->s;
    uint32_t rows = r->shape.rows;
    struct output projected = {&m->inputs.projection, REGION(Z), s->at.inputs, c->layers * c->layer_input, false, 0};
    struct {
        uint64_t projected, told, by;
        uint32_t width;
        float before, eps;
    } push = {s->at.inputs,   layer_table(r, s->tables.told), m->inputs.norm,
              c->layer_input, 1 / sqrtf((float)c->hidden),    c->rms_eps};
    products_of(r, REGION(X), ACT_PLAIN, plain(r), &s->at.in, REGION(IN), &projected, 1, rows);
    record_step(r, REGION(Z), REGION(Z), SHADER_INPUTS, (uint32_t[]){m->gpu->tuning.lanes, m->gpu->tuning.subgroup}, 2,
                &push, sizeof push, c->layers, rows, 1);
}

static void layer_input(struct recording *r, const struct gpu_layer *layer)
{
    const struct config *c = &r->model->config;
    const struct scratch *s = r->s;
    uint32_t rows = r->shape.rows, n = c->layer_input, number = (uint32_t)(layer - r->model->layers);
    struct output gate = {&layer->matrix[ROLE_INPUT_GATE], REGION(GATE), s->at.gate, n, false, 0};
    struct output out = layer_output(r, layer, ROLE_INPUT_OUT, ROLE_DOWN_BIAS, ROLE_INPUT_OUT_NORM);
    out.bias = 0;
    products_of(r, REGION(X), ACT_PLAIN, plain(r), &s->at.in, REGION(IN), &gate, 1, rows);
    products_of(r, REGION(GATE) | REGION(Z), feed_mode(r),
                (struct act){.x = s->at.gate,
                             .gate = s->at.inputs + sizeof(float) * (uint64_t)number * n,
                             .columns = n,
                             .ldx = n,
                             .ldg = c->layers * n,
                             .scale = c->scales.residual},
                &s->at.inner, REGION(INNER), &out, 1, rows);
    layer_add_normed(r, layer, ROLE_INPUT_OUT_NORM, layer->vector[ROLE_LAYER_SCALE]);
}

/* All of a layer behind its attention. */
void layer_feed(struct recording *r, const struct gpu_layer *layer)
{
    if (!r->model->config.experts.count || layer->vector[ROLE_DENSE_NORM]) feed_forward(r, layer, false);
    if (r->model->config.experts.count) mixture(r, layer);
    if (layer->matrix[ROLE_INPUT_GATE].pieces) layer_input(r, layer);
}
