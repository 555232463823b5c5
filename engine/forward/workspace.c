/* The scratch memory of forward passes: one allocation, measured and then handed out by the same code. */
#include "engine/base/error.h"
#include "engine/forward/mixture.h"
#include "engine/forward/pass.h"
#include "engine/model/schema/rotary.h"
#include "engine/os/pages.h"

#include <stdlib.h>
#include <string.h>

/* Hands out parts of the memory at multiples of 64 bytes; with base NULL only measures. */
struct arena {
    unsigned char *base;
    size_t at;
};

static void *arena_take(struct arena *c, size_t bytes)
{
    void *p = c->base ? c->base + c->at : NULL;
    c->at += (bytes + 63) & ~(size_t)63;
    return p;
}

static float *arena_floats(struct arena *c, size_t n)
{
    return arena_take(c, n * sizeof(float));
}

static struct partial arena_partial(struct arena *c, size_t rows, uint32_t head_dim)
{
    struct partial p;
    p.max = arena_floats(c, rows);
    p.sum = arena_floats(c, rows);
    p.acc = arena_floats(c, rows * head_dim);
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
    if (w->config.mtp.there) {
        kinds |= 1u << w->kernels->panel_of(w->head.fc.type);
        kinds |= 1u << w->kernels->panel_of(w->head.lm_head->type);
    }
    for (uint32_t i = 0; i < config_blocks(&w->config); i++) {
        const struct matrix *m[WEIGHTS_LAYER_MATRICES];
        int n = weights_layer_matrices(&w->layers[i], m);
        for (int j = 0; j < n; j++) kinds |= 1u << w->kernels->panel_of(m[j]->type);
        for (int j = 0; w->experts && j < EXPERT_PARTS; j++)
            kinds |= 1u << w->kernels->panel_of(w->layers[i].mixture.experts->part[j].type);
    }
    return kinds;
}

static void place_panels(struct arena *c, const struct weights *w, struct panels *panels, uint32_t tokens,
                         uint32_t cols)
{
    unsigned kinds = panel_kinds(w);
    for (int kind = 0; kind < PANEL_KINDS; kind++) {
        if (!(kinds >> kind & 1)) continue;
        void *data = arena_take(c, w->kernels->panel_bytes(kind, tokens, cols));
        panels->kind[kind] = (struct panel){.kind = kind, .data = data};
    }
}

static uint32_t widest_feed(const struct config *c)
{
    return larger(larger(c->feed.intermediate, c->feed.shared_intermediate), c->experts.intermediate);
}

static void place_members(struct arena *arena, struct workspace *ws, uint32_t widest)
{
    const struct weights *w = ws->weights;
    const struct config *c = &w->config;
    const struct config_delta *d = &c->delta;
    const struct config_heads most = config_widest_heads(c);
    uint32_t tile_rows = TILE_TOKENS * most.group;
    struct panels shared = {0}, output = {0};
    place_panels(arena, w, &shared, ws->max_tokens, widest);
    place_panels(arena, w, &output, ws->max_tokens, widest);
    struct member_scratch *members = arena_take(arena, ws->max_members * sizeof *members);
    for (uint32_t i = 0; i < ws->max_members; i++) {
        struct member_scratch s = {.shared = shared, .output = output};
        place_panels(arena, w, &s.panels, 1, widest);
        s.row = arena_floats(arena, widest);
        s.head = arena_floats(arena, ws->max_tokens * pass_stride(2 * d->key_dim + d->value_dim));
        s.decay = arena_floats(arena, ws->max_tokens);
        s.beta = arena_floats(arena, ws->max_tokens);
        s.gate = arena_floats(arena, ws->room + ws->max_tokens * pass_stride(PANEL_STEP));
        s.up = arena_floats(arena, ws->room + ws->max_tokens * pass_stride(PANEL_STEP));
        if (w->experts && !experts_resident(w->experts)) s.raw = arena_take(arena, experts_scratch(w->experts));
        s.slab = arena_floats(arena, (size_t)d->key_dim * DELTA_SLAB);
        s.block = arena_partial(arena, tile_rows, most.head_dim);
        s.group = arena_partial(arena, tile_rows, most.head_dim);
        s.total = arena_partial(arena, tile_rows, most.head_dim);
        s.visible = arena_take(arena, tile_rows);
        s.passed = arena_take(arena, tile_rows);
        arena_take(arena, 64); /* members' last lines stay apart from what follows */
        if (members) members[i] = s;
    }
    ws->members = members;
}

/* A layer is DeltaNet or attention, then its feed-forward network: their activations share memory. */
static void place_layer(struct arena *arena, struct workspace *ws)
{
    const struct config *c = &ws->weights->config;
    const struct config_attention *a = &c->attention;
    const struct config_delta *d = &c->delta;
    struct delta_space *delta = &ws->delta;
    struct attention_space *attention = &ws->attention;
    size_t tokens = ws->max_tokens, channels = config_conv_channels(d), most, start = arena->at;
    size_t value = pass_stride((size_t)d->value_heads * d->value_dim);
    delta->qkv = arena_floats(arena, tokens * pass_stride(channels));
    delta->z = arena_floats(arena, tokens * value);
    delta->out = arena_floats(arena, tokens * value);
    delta->a = arena_floats(arena, tokens * d->value_heads);
    delta->b = arena_floats(arena, tokens * d->value_heads);
    delta->spare_conv = arena_floats(arena, (size_t)ws->max_runs * (d->conv_kernel - 1) * channels);
    most = arena->at;

    arena->at = start;
    const struct config_heads heads = config_widest_heads(c);
    size_t attended = (size_t)a->heads * heads.head_dim, kv = pass_stride(heads.keys);
    size_t groups = (ws->context + FORWARD_GROUP * KV_PAGE - 1) / (FORWARD_GROUP * KV_PAGE);
    attention->k = arena_floats(arena, tokens * kv);
    attention->v = arena_floats(arena, tokens * kv);
    size_t behind = arena->at;
    attention->q_gate = arena_floats(arena, tokens * pass_stride((a->gated ? 2 : 1) * attended));
    attention->q = arena_floats(arena, tokens * attended);
    attention->out = arena_floats(arena, tokens * pass_stride(attended));
    attention->partials = arena_partial(arena, SPLIT_TOKENS * a->heads * groups, heads.head_dim);
    if (arena->at > most) most = arena->at;

    if (c->layer_input) {
        arena->at = start; /* before the first layer */
        ws->projected = arena_floats(arena, tokens * pass_stride((size_t)c->layers * c->layer_input));
        if (arena->at > most) most = arena->at;
    }

    arena->at = behind; /* the head's entries need k and v, too */
    if (c->mtp.there) {
        ws->head.concat = arena_floats(arena, tokens * pass_stride(2 * (size_t)c->hidden));
        ws->head.x = arena_floats(arena, tokens * pass_stride(c->hidden));
        if (arena->at > most) most = arena->at;
    }

    arena->at = most;
}

/* Memory for panels of together `rows` rows in at most `batches` batches. Where a kind takes rows 16 at a time, each
 * batch may have some more. */
static void *place_batches(struct arena *arena, const struct kernels *k, enum panel_kind kind, size_t rows,
                           size_t batches, uint32_t cols)
{
    enum { ROUND = 16 };
    size_t one = k->panel_bytes(kind, 1, cols), bytes = k->panel_bytes(kind, (uint32_t)rows, cols) + 64 * batches;
    if (k->panel_bytes(kind, ROUND + 1, cols) > (ROUND + 1) * one) bytes += rows / ROUND * ROUND * one;
    return arena_take(arena, bytes);
}

static void place_mixture(struct arena *arena, struct workspace *ws)
{
    const struct weights *w = ws->weights;
    const struct config *c = &w->config;
    const struct config_experts *e = &c->experts;
    if (!w->experts) return;
    size_t tokens = ws->max_tokens, rows = tokens * e->used, batches = rows < e->count ? rows : e->count;
    struct mixture mix = {0}, *at = arena_take(arena, sizeof *at);
    mix.router = arena_floats(arena, tokens * pass_stride(e->count));
    mix.weights = arena_floats(arena, rows + tokens);
    mix.chosen = arena_take(arena, rows * sizeof *mix.chosen);
    mix.place = arena_take(arena, (rows + tokens) * sizeof *mix.place);
    mix.counts = arena_take(arena, e->count * sizeof *mix.counts);
    mix.members = arena_take(arena, rows * sizeof *mix.members);
    mix.batches = arena_take(arena, (batches + 1) * sizeof *mix.batches);
    mix.leases = arena_take(arena, batches * sizeof *mix.leases);
    mix.wave = arena_take(arena, (batches + 1) * sizeof *mix.wave);
    mix.out = arena_floats(arena, (rows + tokens) * pass_stride(c->hidden));
    mix.yields = e->used + (w->layers[0].mixture.shared_gate != NULL);
    unsigned in = 0, inner = 0;
    for (uint32_t i = 0; i < config_blocks(c); i++) {
        const struct layer_weights *layer = &w->layers[i];
        in |= 1u << w->kernels->panel_of(layer->mixture.experts->part[EXPERT_GATE].type);
        in |= 1u << w->kernels->panel_of(layer->mixture.experts->part[EXPERT_UP].type);
        inner |= 1u << w->kernels->panel_of(layer->mixture.experts->part[EXPERT_DOWN].type);
        if (layer->feed.down.data) inner |= 1u << w->kernels->panel_of(layer->feed.down.type);
    }
    uint32_t widest = widest_feed(c);
    for (int kind = 0; kind < PANEL_KINDS; kind++) {
        if (in >> kind & 1) mix.in[kind] = place_batches(arena, w->kernels, kind, rows, batches, c->hidden);
        if (inner >> kind & 1)
            mix.inner[kind] = place_batches(arena, w->kernels, kind, rows + tokens, batches + 1, widest);
    }
    if (at) *at = mix;
    ws->mixture = at;
}

/* What the MTP head needs beside a layer's activations. */
static void place_head(struct arena *arena, struct workspace *ws)
{
    size_t runs = ws->max_runs;
    ws->head.h = arena_floats(arena, runs * ws->weights->config.hidden);
    ws->head.pieces = arena_take(arena, 2 * runs * sizeof *ws->head.pieces);
    ws->head.runs = arena_take(arena, runs * sizeof *ws->head.runs);
    ws->head.first = arena_take(arena, runs * sizeof *ws->head.first);
    ws->head.of = arena_take(arena, runs * sizeof *ws->head.of);
    ws->head.best = arena_take(arena, ws->max_members * runs * sizeof *ws->head.best);
}

static void place_all(struct arena *arena, struct workspace *ws)
{
    const struct config *c = &ws->weights->config;
    size_t tokens = ws->max_tokens, pairs[] = {c->rope.dims / 2, rotary_window_pairs(c)};
    ws->room = larger(widest_feed(c), c->layer_input);
    uint32_t widest = larger(larger(c->hidden, ws->room), larger(c->attention.heads * config_widest_heads(c).head_dim,
                                                                 c->delta.value_heads * c->delta.value_dim));
    if (c->mtp.there) widest = larger(widest, 2 * c->hidden);
    ws->x = arena_floats(arena, tokens * pass_stride(c->hidden));
    for (int i = 0; i < (c->rope.window_theta != 0 ? 2 : 1); i++) {
        ws->angles.cosine[i] = arena_floats(arena, tokens * pairs[i]);
        ws->angles.sine[i] = arena_floats(arena, tokens * pairs[i]);
    }
    ws->angles.of_windows = arena_take(arena, pairs[1] * sizeof(double));
    if (ws->weights->layers[0].attention_norm.multiplier || ws->weights->layers[0].feed_norm.multiplier)
        ws->added = arena_floats(arena, tokens * pass_stride(c->hidden));
    if (c->layer_input) {
        ws->inputs = arena_floats(arena, tokens * pass_stride((size_t)c->layers * c->layer_input));
        ws->raw_inputs = arena_take(arena, tokens * ws->weights->input_table->row_bytes);
    }
    for (int i = 0; i < 2; i++) ws->angles.frequency[i] = arena_take(arena, pairs[0] * sizeof(double));
    ws->tiles = arena_take(arena, tokens * sizeof *ws->tiles);
    ws->run_row = arena_take(arena, ws->max_runs * sizeof *ws->run_row);
    ws->run_lag = arena_take(arena, ws->max_runs * sizeof *ws->run_lag);
    ws->logit_rows = arena_take(arena, tokens * sizeof *ws->logit_rows);
    ws->logit_out = arena_take(arena, tokens * sizeof *ws->logit_out);
    if (c->mtp.there) place_head(arena, ws);
    place_layer(arena, ws);
    place_mixture(arena, ws);
    place_members(arena, ws, widest);
}

tdm_status workspace_new(struct workspace **out, const struct weights *w, uint32_t max_tokens, uint32_t max_runs,
                         uint32_t max_members, uint32_t context, tdm_error *err)
{
    *out = NULL;
    assert_always(max_tokens >= 1 && max_tokens <= 1 << 16 && max_runs >= 1 && max_runs <= max_tokens &&
                  max_members >= 1);
    struct workspace *ws = calloc(1, sizeof *ws);
    if (!ws) return error_set(err, TDM_E_NOMEM, "no memory for a workspace");
    ws->weights = w;
    ws->max_tokens = max_tokens;
    ws->max_runs = max_runs;
    ws->max_members = max_members;
    ws->context = context;
    struct arena arena = {0};
    place_all(&arena, ws);
    ws->bytes = arena.at;
    ws->memory = pages_map(ws->bytes);
    if (!ws->memory) {
        tdm_status status = error_set(err, TDM_E_NOMEM, "no memory for a workspace of %zu bytes", ws->bytes);
        free(ws);
        return status;
    }
    memset(ws->memory, 0, ws->bytes);
    arena = (struct arena){.base = ws->memory};
    place_all(&arena, ws);
    rotary_frequencies(&w->config.rope, w->config.rope.scaling.original, ws->angles.frequency[0]);
    rotary_frequencies(&w->config.rope, UINT32_MAX, ws->angles.frequency[1]);
    rotary_window_frequencies(&w->config, ws->angles.of_windows);
    *out = ws;
    return TDM_OK;
}

void workspace_free(struct workspace *ws)
{
    if (!ws) return;
    pages_unmap(ws->memory, ws->bytes);
    free(ws);
}

tdm_status forward_kept_new(struct forward_kept **out, const struct weights *w, uint32_t rows, tdm_error *err)
{
    const struct config *c = &w->config;
    struct state_shape shape = state_shape_of(c);
    size_t layer_rows = (size_t)shape.linear_layers * rows, heads = layer_rows * c->delta.value_heads;
    size_t qkv = layer_rows * pass_stride(config_conv_channels(&c->delta)),
           outputs = c->mtp.there ? (size_t)rows * c->hidden : 0;
    size_t bytes = sizeof **out + (qkv + 2 * heads + outputs) * sizeof(float);
    struct forward_kept *k = *out = malloc(bytes);
    if (!k) return error_set(err, TDM_E_NOMEM, "no memory for %u tokens to verify", rows);
    memset(k, 0, bytes); /* touched before it is needed */
    k->room = rows;
    k->qkv = (float *)(k + 1);
    k->a = k->qkv + qkv;
    k->b = k->a + heads;
    k->outputs = k->b + heads;
    return TDM_OK;
}

void forward_kept_free(struct forward_kept *k)
{
    free(k);
}
