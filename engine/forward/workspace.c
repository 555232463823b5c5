/* The scratch memory of forward passes: one allocation, measured and then handed out by the same code. */
#include "engine/base/error.h"
#include "engine/forward/mixture.h"
#include "engine/forward/pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Hands out parts of the memory at multiples of 64 bytes; with base NULL only measures. */
struct carver {
    unsigned char *base;
    size_t at;
};

static void *carve(struct carver *c, size_t bytes)
{
    void *p = c->base ? c->base + c->at : NULL;
    c->at += (bytes + 63) & ~(size_t)63;
    return p;
}

static float *carve_floats(struct carver *c, size_t n)
{
    return carve(c, n * sizeof(float));
}

static struct partial carve_partial(struct carver *c, size_t rows, uint32_t head_dim)
{
    struct partial p;
    p.max = carve_floats(c, rows);
    p.sum = carve_floats(c, rows);
    p.acc = carve_floats(c, rows * head_dim);
    return p;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The kinds of panels that the model's matrices take, as bits. */
static unsigned panel_kinds(const struct weights *w)
{
    unsigned kinds = 1u << w->kernels->panel_of(w->lm_head->type);
    for (uint32_t i = 0; i < w->config.layers; i++) {
        const struct matrix *m[WEIGHTS_LAYER_MATRICES];
        int n = weights_layer_matrices(&w->layers[i], m);
        for (int j = 0; j < n; j++) kinds |= 1u << w->kernels->panel_of(m[j]->type);
        for (int j = 0; w->experts && j < EXPERT_PARTS; j++)
            kinds |= 1u << w->kernels->panel_of(w->layers[i].experts->part[j].type);
    }
    return kinds;
}

static void carve_panels(struct carver *c, const struct weights *w, struct panels *panels, uint32_t tokens,
                         uint32_t cols)
{
    unsigned kinds = panel_kinds(w);
    for (int kind = 0; kind < PANEL_KINDS; kind++) {
        if (!(kinds >> kind & 1)) continue;
        void *data = carve(c, w->kernels->panel_bytes(kind, tokens, cols));
        panels->kind[kind] = (struct panel){.kind = kind, .data = data};
    }
}

static void carve_members(struct carver *carver, struct workspace *ws, uint32_t widest)
{
    const struct weights *w = ws->weights;
    const struct config *c = &w->config;
    uint32_t tile_rows = TILE_TOKENS * (c->heads / c->kv_heads);
    struct panels shared = {0}, made = {0};
    carve_panels(carver, w, &shared, ws->max_tokens, widest);
    carve_panels(carver, w, &made, ws->max_tokens, widest);
    struct member_scratch *members = carve(carver, ws->max_members * sizeof *members);
    for (uint32_t i = 0; i < ws->max_members; i++) {
        struct member_scratch s = {.shared = shared, .made = made};
        carve_panels(carver, w, &s.panels, 1, widest);
        s.row = carve_floats(carver, widest);
        s.head = carve_floats(carver, ws->max_tokens * pass_stride(2 * c->lin_key_dim + c->lin_value_dim));
        s.decay = carve_floats(carver, ws->max_tokens);
        s.beta = carve_floats(carver, ws->max_tokens);
        s.gate = carve_floats(carver, ws->room + ws->max_tokens * pass_stride(PANEL_STEP));
        s.up = carve_floats(carver, ws->room + ws->max_tokens * pass_stride(PANEL_STEP));
        if (w->experts && !experts_resident(w->experts)) s.raw = carve(carver, experts_scratch(w->experts));
        s.slab = carve_floats(carver, (size_t)c->lin_key_dim * DELTA_SLAB);
        s.block = carve_partial(carver, tile_rows, c->head_dim);
        s.group = carve_partial(carver, tile_rows, c->head_dim);
        s.total = carve_partial(carver, tile_rows, c->head_dim);
        s.visible = carve(carver, tile_rows);
        carve(carver, 64); /* members' last lines stay apart from what follows */
        if (members) members[i] = s;
    }
    ws->members = members;
}

/* A layer is DeltaNet or attention, then its feed-forward network: their activations share memory. */
static void carve_layer(struct carver *carver, struct workspace *ws)
{
    const struct config *c = &ws->weights->config;
    size_t tokens = ws->max_tokens, channels = config_conv_channels(c), most, start = carver->at;
    size_t value = pass_stride((size_t)c->lin_value_heads * c->lin_value_dim);
    ws->qkv = carve_floats(carver, tokens * pass_stride(channels));
    ws->z = carve_floats(carver, tokens * value);
    ws->delta = carve_floats(carver, tokens * value);
    ws->a = carve_floats(carver, tokens * c->lin_value_heads);
    ws->b = carve_floats(carver, tokens * c->lin_value_heads);
    ws->pad_conv = carve_floats(carver, (size_t)(c->conv_kernel - 1) * channels);
    most = carver->at;

    carver->at = start;
    size_t attended = (size_t)c->heads * c->head_dim, kv = pass_stride((size_t)c->kv_heads * c->head_dim);
    size_t groups = (ws->context + FORWARD_GROUP * KV_PAGE - 1) / (FORWARD_GROUP * KV_PAGE);
    ws->q_gate = carve_floats(carver, tokens * pass_stride(2 * attended));
    ws->k = carve_floats(carver, tokens * kv);
    ws->v = carve_floats(carver, tokens * kv);
    ws->q = carve_floats(carver, tokens * attended);
    ws->attended = carve_floats(carver, tokens * pass_stride(attended));
    ws->partials = carve_partial(carver, SPLIT_TOKENS * c->heads * groups, c->head_dim);
    if (carver->at > most) most = carver->at;

    carver->at = most;
}

/* Memory for panels of together so many rows in at most so many batches. Where a kind takes rows 16 at a time, each batch
 * may have some more. */
static void *carve_batches(struct carver *carver, const struct kernels *k, enum panel_kind kind, size_t rows,
                           size_t batches, uint32_t cols)
{
    enum { ROUND = 16 };
    size_t one = k->panel_bytes(kind, 1, cols), bytes = k->panel_bytes(kind, (uint32_t)rows, cols) + 64 * batches;
    if (k->panel_bytes(kind, ROUND + 1, cols) > (ROUND + 1) * one) bytes += rows / ROUND * ROUND * one;
    return carve(carver, bytes);
}

static void carve_mixture(struct carver *carver, struct workspace *ws)
{
    const struct weights *w = ws->weights;
    const struct config *c = &w->config;
    if (!w->experts) return;
    size_t tokens = ws->max_tokens, rows = tokens * c->experts_used, batches = rows < c->experts ? rows : c->experts;
    struct mixture mix = {0}, *at = carve(carver, sizeof *at);
    mix.router = carve_floats(carver, tokens * pass_stride(c->experts));
    mix.weights = carve_floats(carver, rows + tokens);
    mix.chosen = carve(carver, rows * sizeof *mix.chosen);
    mix.place = carve(carver, (rows + tokens) * sizeof *mix.place);
    mix.counts = carve(carver, c->experts * sizeof *mix.counts);
    mix.members = carve(carver, rows * sizeof *mix.members);
    mix.batches = carve(carver, (batches + 1) * sizeof *mix.batches);
    mix.leases = carve(carver, batches * sizeof *mix.leases);
    mix.wave = carve(carver, (batches + 1) * sizeof *mix.wave);
    mix.out = carve_floats(carver, (rows + tokens) * pass_stride(c->hidden));
    unsigned in = 0, made = 0;
    for (uint32_t i = 0; i < c->layers; i++) {
        const struct layer_weights *layer = &w->layers[i];
        in |= 1u << w->kernels->panel_of(layer->experts->part[EXPERT_GATE].type);
        in |= 1u << w->kernels->panel_of(layer->experts->part[EXPERT_UP].type);
        made |= 1u << w->kernels->panel_of(layer->experts->part[EXPERT_DOWN].type);
        made |= 1u << w->kernels->panel_of(layer->down.type);
    }
    uint32_t widest = larger(c->intermediate, c->expert_intermediate);
    for (int kind = 0; kind < PANEL_KINDS; kind++) {
        if (in >> kind & 1) mix.in[kind] = carve_batches(carver, w->kernels, kind, rows, batches, c->hidden);
        if (made >> kind & 1)
            mix.made[kind] = carve_batches(carver, w->kernels, kind, rows + tokens, batches + 1, widest);
    }
    if (at) *at = mix;
    ws->mixture = at;
}

static void carve_all(struct carver *carver, struct workspace *ws)
{
    const struct config *c = &ws->weights->config;
    size_t tokens = ws->max_tokens, pairs = c->rope_dims / 2;
    ws->room = larger(c->intermediate, c->expert_intermediate);
    uint32_t widest = larger(larger(c->hidden, ws->room),
                             larger(c->heads * c->head_dim, c->lin_value_heads * c->lin_value_dim));
    ws->x = carve_floats(carver, tokens * pass_stride(c->hidden));
    ws->cosine = carve_floats(carver, tokens * pairs);
    ws->sine = carve_floats(carver, tokens * pairs);
    ws->frequency = carve(carver, pairs * sizeof *ws->frequency);
    ws->tiles = carve(carver, tokens * sizeof *ws->tiles);
    ws->run_row = carve(carver, ws->max_runs * sizeof *ws->run_row);
    ws->logit_rows = carve(carver, ws->max_runs * sizeof *ws->logit_rows);
    ws->logit_out = carve(carver, ws->max_runs * sizeof *ws->logit_out);
    carve_layer(carver, ws);
    carve_mixture(carver, ws);
    carve_members(carver, ws, widest);
}

tdm_status workspace_new(struct workspace **out, const struct weights *w, uint32_t max_tokens, uint32_t max_runs,
                         uint32_t max_members, uint32_t context, tdm_error *err)
{
    *out = NULL;
    assert_always(max_tokens >= 1 && max_tokens <= 1 << 16 && max_runs >= 1 && max_runs <= max_tokens && max_members >= 1);
    struct workspace *ws = calloc(1, sizeof *ws);
    if (!ws) return error_set(err, TDM_E_NOMEM, "no memory for a workspace");
    ws->weights = w;
    ws->max_tokens = max_tokens;
    ws->max_runs = max_runs;
    ws->max_members = max_members;
    ws->context = context;
    struct carver carver = {0};
    carve_all(&carver, ws);
    ws->bytes = carver.at;
    ws->memory = mmap(NULL, ws->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ws->memory == MAP_FAILED) {
        tdm_status status = error_set(err, TDM_E_NOMEM, "no memory for a workspace of %zu bytes", ws->bytes);
        free(ws);
        return status;
    }
    madvise(ws->memory, ws->bytes, MADV_HUGEPAGE);
    memset(ws->memory, 0, ws->bytes);
    carver = (struct carver){.base = ws->memory};
    carve_all(&carver, ws);
    for (uint32_t i = 0; i < w->config.rope_dims / 2; i++)
        ws->frequency[i] = pow(w->config.rope_theta, -2.0 * i / w->config.rope_dims);
    *out = ws;
    return TDM_OK;
}

void workspace_free(struct workspace *ws)
{
    if (!ws) return;
    munmap(ws->memory, ws->bytes);
    free(ws);
}

size_t workspace_bytes(const struct workspace *ws)
{
    return ws->bytes;
}

uint32_t workspace_tokens(const struct workspace *ws)
{
    return ws->max_tokens;
}
