/* Attention: projections, RMS norm and RoPE per head, keys and values into the state's pages, blocks of positions
 * merged in a fixed order, the output gate, o_proj; each of it where the layer has it.
 *
 * A window is a matter of absolute positions: of the blocks that it has passed nothing is read, and of the one where it
 * begins not the first positions.
 *
 * A work item is (tile of tokens, KV head): it walks all groups of blocks in ascending order. Where a pass has few
 * tokens and a long context, a work item is (tile, KV head, group) and a second phase merges the groups; the merges are
 * the same, so are the bits.
 */
#include "engine/forward/pass.h"
#include "engine/model/schema/rotary.h"

#include <math.h>
#include <string.h>

/* Heads that share a KV head. */
static uint32_t heads_per_kv(const struct config_attention *a, const struct attention_weights *layer)
{
    return a->heads / layer->kv_heads;
}

/* Values of a head that q_proj yields. */
static uint32_t projected(const struct config_attention *a, const struct attention_weights *layer)
{
    return (a->gated ? 2 : 1) * layer->head_dim;
}

/* Floats from a row to the next of queries, with their gates, of keys or values, of what was attended to. */
static size_t q_gate_stride(const struct config_attention *a, const struct attention_weights *layer)
{
    return pass_stride((size_t)a->heads * projected(a, layer));
}

static size_t kv_stride(const struct attention_weights *layer)
{
    return pass_stride((size_t)layer->kv_heads * layer->head_dim);
}

static size_t attended_stride(const struct config_attention *a, const struct attention_weights *layer)
{
    return pass_stride((size_t)a->heads * layer->head_dim);
}

/* The queries of a tile for a KV head: [token][head of group][head_dim]. */
static float *queries(const struct pass *p, const struct attention_weights *layer, uint32_t kv_head, uint32_t row)
{
    return p->ws->attention.q +
           ((size_t)kv_head * p->rows + row) * heads_per_kv(&p->w->config.attention, layer) * layer->head_dim;
}

/* The last position that the i-th row of a run sees: its own; padded rows see what the last real token sees. */
static uint32_t position_of(const struct pass *p, uint32_t r, uint32_t i)
{
    const struct forward_run *run = &p->runs[r];
    return pass_first(p, r) + (i < run->n ? i : run->n - 1);
}

void pass_plan_attention(struct pass *p, uint32_t members)
{
    const struct config_attention *a = &p->w->config.attention;
    struct workspace *ws = p->ws;
    /* Twice as many work items as members where there are enough tokens. */
    uint32_t size = (uint32_t)(((uint64_t)p->rows * a->kv_heads + 2 * members - 1) / (2 * members));
    size = size < 1 ? 1 : size > TILE_TOKENS ? TILE_TOKENS : size;
    p->n_tiles = 0;
    p->split = false;
    p->split_groups = 0;
    uint32_t slot = 0;
    for (uint32_t r = 0; r < p->n_runs; r++) {
        const struct forward_run *run = &p->runs[r];
        uint32_t rows = run->n + run->padding;
        for (uint32_t i = 0; i < rows; i += size) {
            struct tile *t = &ws->tiles[p->n_tiles++];
            *t = (struct tile){.run = r, .row = ws->run_row[r] + i, .tokens = rows - i < size ? rows - i : size};
            t->groups = position_of(p, r, i + t->tokens - 1) / (FORWARD_GROUP * KV_PAGE) + 1;
            t->first_slot = slot;
            if (p->rows > SPLIT_TOKENS) continue;
            slot += t->tokens * a->heads * t->groups;
            p->split |= t->groups > 1;
            p->split_groups += t->groups;
        }
    }
}

/* Which of the angles the layer rotates by. */
static int angles_of(const struct config *c, const struct attention_weights *layer)
{
    return layer->window && c->rope.window_theta != 0;
}

void pass_store(struct pass *p, const struct attention_weights *layer, uint32_t index, const struct state *s,
                uint32_t kv_head, uint32_t row, uint32_t position)
{
    const struct config *c = &p->w->config;
    const struct config_attention *a = &c->attention;
    const struct workspace *ws = p->ws;
    size_t at = row * kv_stride(layer) + (size_t)kv_head * layer->head_dim, pairs = layer->rope_dims / 2;
    float *key = ws->attention.k + at, *value = ws->attention.v + at;
    const float *v = layer->v.data ? value : key; /* where they are keys: before norm and rotation */
    if (a->value_norm)
        p->kernels->rms_norm(value, v, NULL, layer->head_dim, c->rms_eps);
    else if (v != value)
        memcpy(value, v, layer->head_dim * sizeof *v);
    if (layer->k_norm) p->kernels->rms_norm(key, key, layer->k_norm, layer->head_dim, c->rms_eps);
    if (layer->rotated)
        p->kernels->rope(key, ws->angles.cosine[angles_of(c, layer)] + row * pairs,
                         ws->angles.sine[angles_of(c, layer)] + row * pairs, layer->rope_dims);
    p->kernels->kv_store(pool_kv(s->pool), layer->head_dim, state_keys(s, index, position / KV_PAGE, kv_head),
                         state_values(s, index, position / KV_PAGE, kv_head), position % KV_PAGE, key, value);
}

/* The keys and values of one KV head of a run. */
static void store(struct pass *p, const struct attention_weights *layer, uint32_t index, uint32_t r, uint32_t kv_head)
{
    const struct forward_run *run = &p->runs[r];
    for (uint32_t i = 0; i < run->n; i++) {
        uint32_t position = pass_first(p, r) + i;
        pass_store(p, layer, index, run->state, kv_head, p->ws->run_row[r] + i, position);
    }
}

/* The position of a row of the pass. */
static uint32_t row_position(const struct pass *p, uint32_t row)
{
    uint32_t r = p->n_runs - 1;
    while (p->ws->run_row[r] > row) r--;
    return position_of(p, r, row - p->ws->run_row[r]);
}

/* Normalises, rotates and scales the queries of one row. */
static void make_queries(struct pass *p, const struct attention_weights *layer, uint32_t row)
{
    const struct config *c = &p->w->config;
    const struct config_attention *a = &c->attention;
    const struct workspace *ws = p->ws;
    float scale = a->scale * rotary_query_scale(&c->rope, row_position(p, row));
    size_t pairs = layer->rope_dims / 2;
    const float *cosine = ws->angles.cosine[angles_of(c, layer)] + row * pairs;
    const float *sine = ws->angles.sine[angles_of(c, layer)] + row * pairs;
    for (uint32_t head = 0; head < a->heads; head++) {
        const float *in = ws->attention.q_gate + row * q_gate_stride(a, layer) + (size_t)head * projected(a, layer);
        float *out = queries(p, layer, head / heads_per_kv(a, layer), row) +
                     (size_t)(head % heads_per_kv(a, layer)) * layer->head_dim;
        if (layer->q_norm)
            p->kernels->rms_norm(out, in, layer->q_norm, layer->head_dim, c->rms_eps);
        else
            memcpy(out, in, layer->head_dim * sizeof *out);
        if (layer->rotated) p->kernels->rope(out, cosine, sine, layer->rope_dims);
        for (uint32_t d = 0; d < layer->head_dim; d++) out[d] *= scale;
    }
}

static void prepare(struct pass *p, struct member *m, const struct attention_weights *layer, uint32_t index)
{
    uint32_t stores = layer->k.data ? p->n_runs * layer->kv_heads : 0, begin, end;
    while (member_claim(m, stores + p->rows, 1, &begin, &end)) {
        if (begin < stores)
            store(p, layer, index, begin / layer->kv_heads, begin % layer->kv_heads);
        else
            make_queries(p, layer, begin - stores);
    }
    member_barrier(m);
}

/* Row `row` and after of a partial result. */
static struct partial from_row(const struct partial *a, uint32_t row, uint32_t head_dim)
{
    return (struct partial){a->max + row, a->sum + row, a->acc + (size_t)row * head_dim};
}

/* The first position that a row of a tile's run sees. */
static uint32_t first_seen_by(const struct pass *p, const struct attention_weights *layer, const struct tile *t,
                              uint32_t i)
{
    uint32_t position = position_of(p, t->run, i);
    return layer->window && position >= layer->window ? position + 1 - layer->window : 0;
}

/* The first group of blocks that a tile's tokens see any of: all see some of it or of those behind it. */
static uint32_t first_group(const struct pass *p, const struct attention_weights *layer, const struct tile *t)
{
    return first_seen_by(p, layer, t, t->row - p->ws->run_row[t->run]) / (FORWARD_GROUP * KV_PAGE);
}

/* Attends one group of blocks for the tokens [0, t->tokens) of a tile that see any of it, or whose windows have passed
 * it. Results go to the rows of *out from the first such token on; returns that token (t->tokens when there is none).
 */
static uint32_t attend_group(struct pass *p, struct member_scratch *own, const struct attention_weights *layer,
                             uint32_t index, const struct tile *t, uint32_t kv_head, uint32_t group,
                             const struct partial *out)
{
    const struct config_attention *a = &p->w->config.attention;
    const struct state *s = p->runs[t->run].state;
    uint32_t heads = heads_per_kv(a, layer), first_seen = t->tokens;
    uint32_t first_row = t->row - p->ws->run_row[t->run]; /* in the run */
    for (uint32_t b = group * FORWARD_GROUP; b < (group + 1) * FORWARD_GROUP; b++) {
        /* Tokens see ever more: those that see nothing of this block come first, and are left out. */
        uint32_t token = 0;
        while (token < t->tokens && position_of(p, t->run, first_row + token) < b * KV_PAGE) token++;
        if (token == t->tokens) break;
        if (first_seen_by(p, layer, t, first_row) >= (b + 1) * KV_PAGE) continue;
        bool first = first_seen == t->tokens;
        if (first) first_seen = token;
        uint32_t rows = (t->tokens - token) * heads;
        for (uint32_t i = 0; i < rows; i++) {
            uint32_t seen = position_of(p, t->run, first_row + token + i / heads) + 1 - b * KV_PAGE;
            uint32_t from = first_seen_by(p, layer, t, first_row + token + i / heads);
            uint32_t passed = from > b * KV_PAGE ? from - b * KV_PAGE : 0;
            own->visible[i] = (uint8_t)(passed >= KV_PAGE ? 0 : seen < KV_PAGE ? seen : KV_PAGE);
            own->passed[i] = (uint8_t)(passed < KV_PAGE ? passed : 0);
        }
        struct partial target = from_row(out, token * heads, layer->head_dim);
        const struct partial *result = first ? &target : &own->block;
        struct attend attend = {
            .type = pool_kv(s->pool),
            .head_dim = layer->head_dim,
            .rows = rows,
            .q = queries(p, layer, kv_head, t->row + token),
            .visible = own->visible,
            .keys = state_keys(s, index, b, kv_head),
            .values = state_values(s, index, b, kv_head),
            .max = result->max,
            .sum = result->sum,
            .acc = result->acc,
            .passed = layer->window ? own->passed : NULL,
            .cap = a->cap,
        };
        p->kernels->attend(&attend);
        if (!first)
            p->kernels->attend_merge(target.max, target.sum, target.acc, result->max, result->sum, result->acc, rows,
                                     layer->head_dim);
    }
    return first_seen;
}

/* Divides by the sums, applies the output gate and the scale of what the layer adds, fills its columns of `output`, the
 * panel that o_proj takes (NULL: they are not whole steps of a panel). */
static void finish(struct pass *p, const struct attention_weights *layer, const struct tile *t, uint32_t kv_head,
                   const struct partial *total, struct panel *output)
{
    const struct config *c = &p->w->config;
    const struct config_attention *a = &c->attention;
    uint32_t heads = heads_per_kv(a, layer);
    for (uint32_t i = 0; i < t->tokens * heads; i++) {
        uint32_t row = t->row + i / heads, head = kv_head * heads + i % heads;
        float *out = p->ws->attention.out + row * attended_stride(a, layer) + (size_t)head * layer->head_dim;
        const float *gate = p->ws->attention.q_gate + row * q_gate_stride(a, layer) +
                            (size_t)head * projected(a, layer) + layer->head_dim;
        float sum = total->sum[i];
        if (layer->sinks) sum += expf(layer->sinks[head] - total->max[i]);
        p->kernels->attend_finish(out, total->acc + (size_t)i * layer->head_dim, sum / c->scales.residual,
                                  layer->head_dim);
        if (a->gated) p->kernels->sigmoid_mul(out, out, gate, layer->head_dim);
    }
    uint32_t columns = heads * layer->head_dim, c0 = kv_head * columns;
    if (output)
        p->kernels->panel_fill(output, p->ws->attention.out + c0, attended_stride(a, layer), t->row, t->row + t->tokens,
                               c0, c0 + columns);
}

static void attend_tiles(struct pass *p, struct member *m, const struct attention_weights *layer, uint32_t index,
                         struct panel *output)
{
    struct member_scratch *own = &p->ws->members[m->index];
    uint32_t heads = heads_per_kv(&p->w->config.attention, layer), begin, end;
    while (member_claim(m, p->n_tiles * layer->kv_heads, 1, &begin, &end)) {
        const struct tile *t = &p->ws->tiles[begin / layer->kv_heads];
        uint32_t kv_head = begin % layer->kv_heads, group = first_group(p, layer, t);
        attend_group(p, own, layer, index, t, kv_head, group, &own->total);
        while (++group < t->groups) {
            uint32_t token = attend_group(p, own, layer, index, t, kv_head, group, &own->group);
            struct partial a = from_row(&own->total, token * heads, layer->head_dim);
            struct partial b = from_row(&own->group, token * heads, layer->head_dim);
            p->kernels->attend_merge(a.max, a.sum, a.acc, b.max, b.sum, b.acc, (t->tokens - token) * heads,
                                     layer->head_dim);
        }
        finish(p, layer, t, kv_head, &own->total, output);
    }
}

/* Where the partial results of (tile, KV head, group) wait, split attention only. */
static struct partial slot(const struct pass *p, const struct attention_weights *layer, const struct tile *t,
                           uint32_t kv_head, uint32_t group)
{
    const struct config_attention *a = &p->w->config.attention;
    uint32_t rows = t->tokens * heads_per_kv(a, layer);
    return from_row(&p->ws->attention.partials, t->first_slot + (kv_head * t->groups + group) * rows, layer->head_dim);
}

static void attend_split(struct pass *p, struct member *m, const struct attention_weights *layer, uint32_t index,
                         struct panel *output)
{
    struct member_scratch *own = &p->ws->members[m->index];
    uint32_t heads = heads_per_kv(&p->w->config.attention, layer), begin, end;
    while (member_claim(m, p->split_groups * layer->kv_heads, 1, &begin, &end)) {
        const struct tile *t = p->ws->tiles;
        while (begin >= t->groups * layer->kv_heads) begin -= t++->groups * layer->kv_heads;
        struct partial out = slot(p, layer, t, begin / t->groups, begin % t->groups);
        attend_group(p, own, layer, index, t, begin / t->groups, begin % t->groups, &out);
    }
    member_barrier(m);
    while (member_claim(m, p->n_tiles * layer->kv_heads, 1, &begin, &end)) {
        const struct tile *t = &p->ws->tiles[begin / layer->kv_heads];
        uint32_t kv_head = begin % layer->kv_heads, first_row = t->row - p->ws->run_row[t->run];
        uint32_t group = first_group(p, layer, t);
        struct partial total = slot(p, layer, t, kv_head, group);
        while (++group < t->groups) {
            uint32_t token = 0;
            while (position_of(p, t->run, first_row + token) < group * FORWARD_GROUP * KV_PAGE) token++;
            struct partial b = slot(p, layer, t, kv_head, group);
            struct partial from = from_row(&b, token * heads, layer->head_dim);
            struct partial a = from_row(&total, token * heads, layer->head_dim);
            p->kernels->attend_merge(a.max, a.sum, a.acc, from.max, from.sum, from.acc, (t->tokens - token) * heads,
                                     layer->head_dim);
        }
        finish(p, layer, t, kv_head, &total, output);
    }
}

void pass_attention(struct pass *p, struct member *m, const struct layer_weights *layer, uint32_t index)
{
    const struct config *c = &p->w->config;
    const struct config_attention *a = &c->attention;
    const struct attention_weights *w = &layer->attention;
    struct workspace *ws = p->ws;
    const struct matrix *in[] = {&w->q, &w->k, &w->v};
    int projections = w->v.data ? 3 : w->k.data ? 2 : 1;
    const struct panels *panels =
        pass_panels(p, m, ws->x, pass_stride(c->hidden), NULL, p->rows, &layer->input_norm, in, projections);
    const struct product project[] = {
        {&w->q, ws->attention.q_gate, q_gate_stride(a, w), false, w->q_bias},
        {&w->k, ws->attention.k, kv_stride(w), false, w->k_bias},
        {&w->v, ws->attention.v, kv_stride(w), false, w->v_bias},
    };
    pass_products(p, m, panels, project, projections);
    member_barrier(m);

    prepare(p, m, w, index);
    const struct matrix *out = &w->o;
    struct panel *output = pass_fills(heads_per_kv(a, w) * w->head_dim) ? pass_output_panel(p, m, out) : NULL;
    if (p->split)
        attend_split(p, m, w, index, output);
    else
        attend_tiles(p, m, w, index, output);
    member_barrier(m);

    panels = output ? pass_output_panels(p, m)
                    : pass_panels(p, m, ws->attention.out, attended_stride(a, w), NULL, p->rows, NULL, &out, 1);
    pass_add(p, m, panels, out, w->o_bias, &layer->attention_norm, NULL);
    member_barrier(m);
}
