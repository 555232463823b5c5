/* Gated DeltaNet: projections, causal convolution, L2 norm of queries and keys, gates, the gated delta rule per value
 * head and slab, gated norm, out_proj.
 *
 * A work item is (run, key head) with the value heads that it serves: everything between the projections touches only
 * that item's channels and slabs, so there is one phase for it. Padded rows run on copies of the convolution state and
 * the slabs.
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

/* A work item in progress: a key head of a run. The results of its convolution stay in the member's scratch. */
struct head_item {
    struct pass *p;
    struct member_scratch *own;
    const struct layer_weights *layer;
    uint32_t index, run, key_head;
    size_t ld; /* of own->head: queries, keys, then the values of one value head */
    struct panel *output; /* for out_proj: a value head fills its columns; NULL: they are not whole steps */
};

/* Convolves channels [c0, c0+n) of a run's rows, to column `to` of own->head. */
static void convolve(const struct head_item *item, uint32_t c0, uint32_t n, uint32_t to)
{
    const struct forward_run *run = &item->p->runs[item->run];
    const struct config *c = &item->p->w->config;
    struct workspace *ws = item->p->ws;
    uint32_t channels = config_conv_channels(c), taps = c->conv_kernel;
    size_t ld = pass_stride(channels);
    const float *in = ws->qkv + ws->run_row[item->run] * ld;
    float *state = state_conv(run->state, item->index), *out = item->own->head + to;
    item->p->kernels->conv_silu(out, item->ld, in, ld, item->layer->lin_conv, state, channels, taps, c0, c0 + n,
                                run->n);
    if (!run->pad) return;
    for (uint32_t i = 0; i + 1 < taps; i++)
        memcpy(ws->pad_conv + (size_t)i * channels + c0, state + (size_t)i * channels + c0, n * sizeof(float));
    item->p->kernels->conv_silu(out + run->n * item->ld, item->ld, in + run->n * ld, ld, item->layer->lin_conv,
                             ws->pad_conv, channels, taps, c0, c0 + n, run->pad);
}

/* One value head: its gates, the delta rule, the gated norm, its part of the panel. */
static void value_head(const struct head_item *item, uint32_t head)
{
    const struct pass *p = item->p;
    const struct forward_run *run = &p->runs[item->run];
    const struct config *c = &p->w->config;
    struct workspace *ws = p->ws;
    struct member_scratch *own = item->own;
    const struct state_shape *shape = pool_shape(run->state->pool);
    uint32_t key_dim = c->lin_key_dim, rows = run->n + run->pad, row = ws->run_row[item->run];
    size_t heads = c->lin_value_heads, width = pass_stride(heads * c->lin_value_dim), ld = item->ld, past = run->n * ld;
    const float *q = own->head, *k = q + key_dim, *v = k + key_dim;
    float *out = ws->delta + row * width + (size_t)head * c->lin_value_dim;

    p->kernels->delta_gates(own->decay, own->beta, ws->a + row * heads + head, ws->b + row * heads + head, heads,
                            item->layer->lin_rate[head], item->layer->lin_dt_bias[head], rows);
    for (uint32_t s = 0; s < state_shape_slabs(shape); s++) {
        uint32_t columns = state_shape_width(shape, s), column = s * DELTA_SLAB;
        float *slab = state_slab(run->state, item->index, head, s);
        p->kernels->delta_slab(slab, key_dim, columns, q, k, ld, v + column, ld, own->decay, own->beta, 1, out + column,
                               width, run->n);
        if (!run->pad) continue;
        memcpy(own->slab, slab, (size_t)key_dim * columns * sizeof(float));
        p->kernels->delta_slab(own->slab, key_dim, columns, q + past, k + past, ld, v + past + column, ld,
                               own->decay + run->n, own->beta + run->n, 1, out + run->n * width + column, width,
                               run->pad);
    }
    p->kernels->norm_gate(out, width, item->layer->lin_norm, ws->z + row * width + (size_t)head * c->lin_value_dim,
                          width, c->lin_value_dim, c->rms_eps, rows);
    if (item->output)
        p->kernels->panel_fill(item->output, ws->delta + (size_t)head * c->lin_value_dim, width, row, row + rows,
                               head * c->lin_value_dim, (head + 1) * c->lin_value_dim);
}

static void run_item(const struct head_item *item)
{
    const struct config *c = &item->p->w->config;
    const struct kernels *kernels = item->p->kernels;
    uint32_t rows = item->p->runs[item->run].n + item->p->runs[item->run].pad, key_dim = c->lin_key_dim;
    uint32_t k0 = c->lin_key_heads * key_dim, v0 = 2 * k0, served = c->lin_value_heads / c->lin_key_heads;
    float scale = 1.0f / sqrtf((float)key_dim);

    convolve(item, item->key_head * key_dim, key_dim, 0);
    convolve(item, k0 + item->key_head * key_dim, key_dim, key_dim);
    kernels->l2_norm(item->own->head, item->ld, key_dim, 1e-6f, scale, rows);
    kernels->l2_norm(item->own->head + key_dim, item->ld, key_dim, 1e-6f, 1.0f, rows);
    for (uint32_t j = 0; j < served; j++) {
        uint32_t head = served_head(c, item->key_head, j);
        convolve(item, v0 + head * c->lin_value_dim, c->lin_value_dim, 2 * key_dim);
        value_head(item, head);
    }
}

void pass_delta(struct pass *p, struct member *m, const struct layer_weights *layer, uint32_t index)
{
    const struct config *c = &p->w->config;
    struct workspace *ws = p->ws;
    size_t width = pass_stride((size_t)c->lin_value_heads * c->lin_value_dim);
    const struct matrix *in[] = {&layer->lin_qkv, &layer->lin_z, &layer->lin_a, &layer->lin_b};
    const struct panels *panels =
        pass_panels(p, m, ws->x, pass_stride(c->hidden), NULL, p->rows, layer->input_norm, in, 4);
    const struct product project[] = {
        {&layer->lin_qkv, ws->qkv, pass_stride(config_conv_channels(c)), false},
        {&layer->lin_z, ws->z, width, false},
        {&layer->lin_a, ws->a, c->lin_value_heads, false},
        {&layer->lin_b, ws->b, c->lin_value_heads, false},
    };
    pass_products(p, m, panels, project, 4);
    member_barrier(m);

    const struct matrix *out = &layer->lin_out;
    struct panel *output = pass_fills(c->lin_value_dim) ? pass_output_panel(p, m, out) : NULL;
    uint32_t begin, end;
    while (member_claim(m, p->n_runs * c->lin_key_heads, 1, &begin, &end)) {
        struct head_item item = {
            .p = p, .own = &ws->members[m->index], .layer = layer, .index = index, .output = output};
        item.run = begin / c->lin_key_heads;
        item.key_head = begin % c->lin_key_heads;
        item.ld = pass_stride(2 * c->lin_key_dim + c->lin_value_dim);
        run_item(&item);
    }
    member_barrier(m);

    panels = output ? pass_output_panels(p, m) : pass_panels(p, m, ws->delta, width, NULL, p->rows, NULL, &out, 1);
    pass_products(p, m, panels, &(struct product){out, ws->x, pass_stride(c->hidden), true}, 1);
    member_barrier(m);
}
