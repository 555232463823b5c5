/* Gated DeltaNet: projections, causal convolution, L2 norm of queries and keys, gates, the gated delta rule per value
 * head and slab, gated norm, out_proj.
 *
 * A work item is (run, key head) with the value heads that it serves: everything between the projections touches only
 * that item's channels and slabs, so there is one phase for it. Rows that do not change the state, padded ones and
 * tokens to be verified, run on copies of the convolution state and the slabs. The inputs of tokens to be verified are
 * kept; those that turn out right then go through the same steps again with the state itself.
 */
#include "engine/forward/pass.h"

#include <math.h>
#include <string.h>

/* The j-th of the value heads that a key head serves. */
static uint32_t served_head(const struct config_delta *d, uint32_t key_head, uint32_t j)
{
    return d->value_heads_tiled ? key_head + j * d->key_heads : key_head * (d->value_heads / d->key_heads) + j;
}

/* A work item in progress: a key head of a run. The results of its convolution stay in the member's scratch. */
struct head_item {
    struct pass *p;
    struct member_scratch *own;
    const struct delta_weights *w;
    const struct state *state;
    uint32_t index, key_head;
    uint32_t lasting, spare;  /* rows that change the state; rows after them that do not */
    const float *qkv, *a, *b; /* of the first row */
    float *spare_conv;        /* for rows that do not change the state */
    float *out;               /* of the first row; NULL: only the state is wanted */
    const float *z;
    uint32_t row;             /* the first, in `output` */
    size_t ld;                /* of own->head: queries, keys, then the values of one value head */
    struct panel *output;     /* for out_proj: a value head fills its columns; NULL: they are not whole steps */
};

/* Convolves channels [c0, c0+n) of a run's rows, to column `to` of own->head. */
static void convolve(const struct head_item *item, uint32_t c0, uint32_t n, uint32_t to)
{
    const struct config_delta *d = &item->p->w->config.delta;
    const struct kernels *kernels = item->p->kernels;
    uint32_t channels = config_conv_channels(d), taps = d->conv_kernel;
    size_t ld = pass_stride(channels);
    const float *in = item->qkv, *w = item->w->conv;
    float *state = state_conv(item->state, item->index), *out = item->own->head + to, *spare = item->spare_conv;
    if (item->lasting)
        kernels->conv_silu(out, item->ld, in, ld, w, state, channels, taps, c0, c0 + n, item->lasting);
    if (!item->spare) return;
    for (uint32_t i = 0; i + 1 < taps; i++)
        memcpy(spare + (size_t)i * channels + c0, state + (size_t)i * channels + c0, n * sizeof(float));
    kernels->conv_silu(out + item->lasting * item->ld, item->ld, in + item->lasting * ld, ld, w, spare, channels, taps,
                       c0, c0 + n, item->spare);
}

/* The delta rule for the slab that begins at a column of a value head; out: row 0 of the results. */
static void delta_rule(const struct head_item *item, float *slab, uint32_t columns, uint32_t column, float *out,
                       size_t ldo)
{
    const struct kernels *kernels = item->p->kernels;
    const struct member_scratch *own = item->own;
    uint32_t key_dim = item->p->w->config.delta.key_dim, n = item->lasting;
    size_t ld = item->ld, past = n * ld;
    const float *q = own->head, *k = q + key_dim, *v = k + key_dim + column;
    if (n) kernels->delta_slab(slab, key_dim, columns, q, k, ld, v, ld, own->decay, own->beta, 1, out, ldo, n);
    if (!item->spare) return;
    memcpy(own->slab, slab, (size_t)key_dim * columns * sizeof(float));
    kernels->delta_slab(own->slab, key_dim, columns, q + past, k + past, ld, v + past, ld, own->decay + n,
                        own->beta + n, 1, out + n * ldo, ldo, item->spare);
}

/* One value head: its gates, the delta rule, the gated norm, its part of the panel. */
static void value_head(const struct head_item *item, uint32_t head)
{
    const struct pass *p = item->p;
    const struct config *c = &p->w->config;
    const struct config_delta *d = &c->delta;
    const struct member_scratch *own = item->own;
    const struct state_shape *shape = pool_shape(item->state->pool);
    uint32_t rows = item->lasting + item->spare;
    size_t heads = d->value_heads, width = pass_stride(heads * d->value_dim), first = head * d->value_dim;

    p->kernels->delta_gates(own->decay, own->beta, item->a + head, item->b + head, heads, item->w->rate[head],
                            item->w->dt_bias[head], rows);
    for (uint32_t s = 0; s < state_shape_slabs(shape); s++) {
        uint32_t columns = state_shape_width(shape, s), column = s * DELTA_SLAB;
        float *slab = state_slab(item->state, item->index, head, s);
        if (item->out)
            delta_rule(item, slab, columns, column, item->out + first + column, width);
        else
            delta_rule(item, slab, columns, column, own->gate, pass_stride(PANEL_STEP)); /* not wanted */
    }
    if (!item->out) return;
    p->kernels->norm_gate(item->out + first, width, item->w->norm, item->z + first, width, d->value_dim, c->rms_eps,
                          rows);
    if (item->output)
        p->kernels->panel_fill(item->output, p->ws->delta.out + first, width, item->row, item->row + rows,
                               (uint32_t)first, (uint32_t)first + d->value_dim);
}

static void run_item(const struct head_item *item)
{
    const struct config_delta *d = &item->p->w->config.delta;
    const struct kernels *kernels = item->p->kernels;
    uint32_t rows = item->lasting + item->spare, key_dim = d->key_dim;
    uint32_t k0 = d->key_heads * key_dim, v0 = 2 * k0, served = d->value_heads / d->key_heads;
    float scale = 1.0f / sqrtf((float)key_dim);

    convolve(item, item->key_head * key_dim, key_dim, 0);
    convolve(item, k0 + item->key_head * key_dim, key_dim, key_dim);
    kernels->l2_norm(item->own->head, item->ld, key_dim, 1e-6f, scale, rows);
    kernels->l2_norm(item->own->head + key_dim, item->ld, key_dim, 1e-6f, 1.0f, rows);
    for (uint32_t j = 0; j < served; j++) {
        uint32_t head = served_head(d, item->key_head, j);
        convolve(item, v0 + head * d->value_dim, d->value_dim, 2 * key_dim);
        value_head(item, head);
    }
}

static size_t item_stride(const struct config_delta *d)
{
    return pass_stride(2 * d->key_dim + d->value_dim);
}

/* A key head of run r of the pass. */
static struct head_item pass_item(struct pass *p, struct member *m, const struct delta_weights *w, uint32_t index,
                                  uint32_t r, uint32_t key_head)
{
    const struct config_delta *d = &p->w->config.delta;
    struct workspace *ws = p->ws;
    const struct forward_run *run = &p->runs[r];
    uint32_t row = ws->run_row[r], channels = config_conv_channels(d), lasting = pass_lasting(run);
    size_t width = pass_stride((size_t)d->value_heads * d->value_dim), heads = d->value_heads;
    return (struct head_item){
        .p = p,
        .own = &ws->members[m->index],
        .w = w,
        .state = run->state,
        .index = index,
        .key_head = key_head,
        .lasting = lasting,
        .spare = run->n + run->padding - lasting,
        .qkv = ws->delta.qkv + row * pass_stride(channels),
        .a = ws->delta.a + row * heads,
        .b = ws->delta.b + row * heads,
        .spare_conv = ws->delta.spare_conv + (size_t)r * (d->conv_kernel - 1) * channels,
        .out = ws->delta.out + row * width,
        .z = ws->delta.z + row * width,
        .row = row,
        .ld = item_stride(d),
    };
}

/* ---- Tokens to be verified --------------------------------------------------------------------------------------- */

/* Where a run's rows of a layer are kept. */
static size_t kept_row(const struct forward_kept *k, uint32_t index)
{
    return (size_t)index * k->room;
}

/* Keeps what the item's states are made of. */
static void keep(const struct head_item *item, const struct forward_run *run)
{
    const struct config_delta *d = &item->p->w->config.delta;
    struct forward_kept *k = run->kept;
    uint32_t key_dim = d->key_dim, value_dim = d->value_dim, k0 = d->key_heads * key_dim;
    size_t ld = pass_stride(config_conv_channels(d)), heads = d->value_heads, first = kept_row(k, item->index);
    for (size_t i = 0; i < run->n; i++) {
        const float *in = item->qkv + i * ld;
        float *out = k->qkv + (first + i) * ld;
        memcpy(out + item->key_head * key_dim, in + item->key_head * key_dim, key_dim * sizeof *out);
        memcpy(out + k0 + item->key_head * key_dim, in + k0 + item->key_head * key_dim, key_dim * sizeof *out);
        for (uint32_t j = 0; j < heads / d->key_heads; j++) {
            uint32_t head = served_head(d, item->key_head, j), column = 2 * k0 + head * value_dim;
            memcpy(out + column, in + column, value_dim * sizeof *out);
            k->a[(first + i) * heads + head] = item->a[i * heads + head];
            k->b[(first + i) * heads + head] = item->b[i * heads + head];
        }
    }
}

/* The i-th DeltaNet layer. */
static const struct delta_weights *linear_layer(const struct weights *w, uint32_t i)
{
    for (const struct layer_weights *layer = w->layers;; layer++)
        if (!layer->full_attention && !i--) return &layer->delta;
}

void pass_replay(struct pass *p, struct member *m, const uint32_t *rows)
{
    const struct config_delta *d = &p->w->config.delta;
    uint32_t layers = pool_shape(p->runs[0].state->pool)->linear_layers, each = layers * d->key_heads, begin, end;
    size_t channels = pass_stride(config_conv_channels(d)), heads = d->value_heads;
    while (member_claim(m, p->n_runs * each, 1, &begin, &end)) {
        const struct forward_run *run = &p->runs[begin / each];
        const struct forward_kept *k = run->kept;
        uint32_t index = begin % each / d->key_heads;
        if (!rows[begin / each]) continue;
        struct head_item item = {
            .p = p,
            .own = &p->ws->members[m->index],
            .w = linear_layer(p->w, index),
            .state = run->state,
            .index = index,
            .key_head = begin % d->key_heads,
            .lasting = rows[begin / each],
            .qkv = k->qkv + kept_row(k, index) * channels,
            .a = k->a + kept_row(k, index) * heads,
            .b = k->b + kept_row(k, index) * heads,
            .ld = item_stride(d),
        };
        run_item(&item);
    }
}

/* ---- The layer --------------------------------------------------------------------------------------------------- */

void pass_delta(struct pass *p, struct member *m, const struct layer_weights *layer, uint32_t index)
{
    const struct config *c = &p->w->config;
    const struct config_delta *d = &c->delta;
    const struct delta_weights *w = &layer->delta;
    struct workspace *ws = p->ws;
    size_t width = pass_stride((size_t)d->value_heads * d->value_dim);
    const struct matrix *in[] = {&w->qkv, &w->z, &w->a, &w->b};
    const struct panels *panels =
        pass_panels(p, m, ws->x, pass_stride(c->hidden), NULL, p->rows, &layer->input_norm, in, 4);
    const struct product project[] = {
        {&w->qkv, ws->delta.qkv, pass_stride(config_conv_channels(d)), false, NULL},
        {&w->z, ws->delta.z, width, false, NULL},
        {&w->a, ws->delta.a, d->value_heads, false, NULL},
        {&w->b, ws->delta.b, d->value_heads, false, NULL},
    };
    pass_products(p, m, panels, project, 4);
    member_barrier(m);

    const struct matrix *out = &w->out;
    struct panel *output = pass_fills(d->value_dim) ? pass_output_panel(p, m, out) : NULL;
    uint32_t begin, end;
    while (member_claim(m, p->n_runs * d->key_heads, 1, &begin, &end)) {
        uint32_t r = begin / d->key_heads;
        struct head_item item = pass_item(p, m, w, index, r, begin % d->key_heads);
        item.output = output;
        if (p->runs[r].kept) keep(&item, &p->runs[r]);
        run_item(&item);
    }
    member_barrier(m);

    panels = output ? pass_output_panels(p, m) : pass_panels(p, m, ws->delta.out, width, NULL, p->rows, NULL, &out, 1);
    pass_products(p, m, panels, &(struct product){out, ws->x, pass_stride(c->hidden), true, NULL}, 1);
    member_barrier(m);
}
