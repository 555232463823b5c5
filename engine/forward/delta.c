/* Gated DeltaNet: projections, causal convolution, L2 norm of queries and keys, gates, the gated delta rule per value
 * head and slab, gated norm, out_proj.
 *
 * A unit of work is (run, key head) with the value heads that it serves: everything between the projections touches
 * that unit's channels and slabs alone, so there is one phase for it. Padded rows run on copies of the convolution
 * state and the slabs.
 */
#include "engine/forward/pass.h"

#include <math.h>
#include <string.h>

/* The j-th of the value heads that a key head serves. */
static uint32_t served_head(const struct config *c, uint32_t key_head, uint32_t j)
{
    return c->value_heads_tiled ? key_head + j * c->lin_key_heads
                                : key_head * (c->lin_value_heads / c->lin_key_heads) + j;
}

/* Convolves channels [c0, c0+n) of a run's rows. */
static void convolve(struct pass *p, const struct layer_weights *layer, uint32_t index, uint32_t r, uint32_t c0,
                     uint32_t n)
{
    const struct forward_run *run = &p->runs[r];
    const struct config *c = &p->w->config;
    struct workspace *ws = p->ws;
    uint32_t channels = config_conv_channels(c), taps = c->conv_kernel;
    size_t at = (size_t)ws->run_row[r] * channels;
    float *state = state_conv(run->state, index);
    p->kernels->conv_silu(ws->mixed + at, channels, ws->qkv + at, channels, layer->lin_conv, state, channels, taps, c0,
                          c0 + n, run->n);
    if (!run->pad) return;
    for (uint32_t i = 0; i + 1 < taps; i++)
        memcpy(ws->pad_conv + (size_t)i * channels + c0, state + (size_t)i * channels + c0, n * sizeof(float));
    at += (size_t)run->n * channels;
    p->kernels->conv_silu(ws->mixed + at, channels, ws->qkv + at, channels, layer->lin_conv, ws->pad_conv, channels,
                          taps, c0, c0 + n, run->pad);
}

/* One value head of a run: its gates, the delta rule, the gated norm. */
static void value_head(struct pass *p, struct member_scratch *own, const struct layer_weights *layer, uint32_t index,
                       uint32_t r, uint32_t key_head, uint32_t head)
{
    const struct forward_run *run = &p->runs[r];
    const struct config *c = &p->w->config;
    struct workspace *ws = p->ws;
    const struct state_shape *shape = pool_shape(run->state->pool);
    uint32_t channels = config_conv_channels(c), rows = run->n + run->pad, row = ws->run_row[r];
    size_t heads = c->lin_value_heads, width = heads * c->lin_value_dim;

    for (uint32_t i = row; i < row + rows; i++) {
        size_t at = i * heads + head;
        p->kernels->delta_gates(ws->decay + at, ws->beta + at, ws->a + at, ws->b + at, layer->lin_rate + head,
                                layer->lin_dt_bias + head, 1);
    }
    const float *mixed = ws->mixed + (size_t)row * channels;
    const float *q = mixed + (size_t)key_head * c->lin_key_dim, *k = q + (size_t)c->lin_key_heads * c->lin_key_dim;
    const float *v = mixed + (size_t)2 * c->lin_key_heads * c->lin_key_dim + (size_t)head * c->lin_value_dim;
    const float *decay = ws->decay + row * heads + head, *beta = ws->beta + row * heads + head;
    float *out = ws->delta + row * width + (size_t)head * c->lin_value_dim;
    for (uint32_t s = 0; s < state_shape_slabs(shape); s++) {
        uint32_t columns = state_shape_width(shape, s), column = s * DELTA_SLAB;
        float *slab = state_slab(run->state, index, head, s);
        p->kernels->delta_slab(slab, c->lin_key_dim, columns, q, k, channels, v + column, channels, decay, beta, heads,
                               out + column, width, run->n);
        if (!run->pad) continue;
        memcpy(own->slab, slab, (size_t)c->lin_key_dim * columns * sizeof(float));
        size_t past = (size_t)run->n * channels;
        p->kernels->delta_slab(own->slab, c->lin_key_dim, columns, q + past, k + past, channels, v + past + column,
                               channels, decay + run->n * heads, beta + run->n * heads, heads,
                               out + run->n * width + column, width, run->pad);
    }
    for (uint32_t i = 0; i < rows; i++)
        p->kernels->norm_gate(out + i * width, out + i * width, layer->lin_norm,
                              ws->z + (row + i) * width + (size_t)head * c->lin_value_dim, c->lin_value_dim,
                              c->rms_eps);
}

static void key_head_unit(struct pass *p, struct member_scratch *own, const struct layer_weights *layer, uint32_t index,
                          uint32_t r, uint32_t key_head)
{
    const struct config *c = &p->w->config;
    struct workspace *ws = p->ws;
    uint32_t channels = config_conv_channels(c), rows = p->runs[r].n + p->runs[r].pad;
    uint32_t q0 = key_head * c->lin_key_dim, k0 = (c->lin_key_heads + key_head) * c->lin_key_dim;
    uint32_t v0 = 2 * c->lin_key_heads * c->lin_key_dim, served = c->lin_value_heads / c->lin_key_heads;
    float scale = 1.0f / sqrtf((float)c->lin_key_dim);

    convolve(p, layer, index, r, q0, c->lin_key_dim);
    convolve(p, layer, index, r, k0, c->lin_key_dim);
    for (uint32_t i = ws->run_row[r]; i < ws->run_row[r] + rows; i++) {
        float *mixed = ws->mixed + (size_t)i * channels;
        p->kernels->l2_norm(mixed + q0, mixed + q0, c->lin_key_dim, 1e-6f, scale);
        p->kernels->l2_norm(mixed + k0, mixed + k0, c->lin_key_dim, 1e-6f, 1.0f);
    }
    for (uint32_t j = 0; j < served; j++) {
        uint32_t head = served_head(c, key_head, j);
        convolve(p, layer, index, r, v0 + head * c->lin_value_dim, c->lin_value_dim);
        value_head(p, own, layer, index, r, key_head, head);
    }
}

void pass_delta(struct pass *p, struct member *m, const struct layer_weights *layer, uint32_t index)
{
    const struct config *c = &p->w->config;
    struct workspace *ws = p->ws;
    size_t width = (size_t)c->lin_value_heads * c->lin_value_dim;
    const struct matrix *in[] = {&layer->lin_qkv, &layer->lin_z, &layer->lin_a, &layer->lin_b};
    const struct panels *panels = pass_panels(p, m, ws->x, c->hidden, NULL, p->rows, layer->input_norm, in, 4);
    const struct product project[] = {
        {&layer->lin_qkv, ws->qkv, config_conv_channels(c), false},
        {&layer->lin_z, ws->z, width, false},
        {&layer->lin_a, ws->a, c->lin_value_heads, false},
        {&layer->lin_b, ws->b, c->lin_value_heads, false},
    };
    pass_products(p, m, panels, project, 4);
    member_barrier(m);

    uint32_t begin, end;
    while (member_claim(m, p->n_runs * c->lin_key_heads, 1, &begin, &end))
        key_head_unit(p, &ws->members[m->index], layer, index, begin / c->lin_key_heads, begin % c->lin_key_heads);
    member_barrier(m);

    const struct matrix *out = &layer->lin_out;
    panels = pass_panels(p, m, ws->delta, width, NULL, p->rows, NULL, &out, 1);
    pass_products(p, m, panels, &(struct product){out, ws->x, c->hidden, true}, 1);
    member_barrier(m);
}
