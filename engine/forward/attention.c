/* Gated full attention: projections, RMS norm and RoPE per head, keys and values into the state's pages, blocks of
 * positions merged in a fixed order, the output gate, o_proj.
 *
 * A work item is (tile of tokens, KV head): it walks all groups of blocks in ascending order. Where a pass has few
 * tokens and a long context, a work item is (tile, KV head, group) and a second phase merges the groups; the merges are
 * the same, so are the bits.
 */
#include "engine/forward/pass.h"

#include <math.h>
#include <string.h>

/* Heads that share a KV head. */
static uint32_t heads_per_kv(const struct config *c)
{
    return c->heads / c->kv_heads;
}

/* Floats from a row to the next of queries with their gates, of keys or values, of what was attended to. */
static size_t q_gate_stride(const struct config *c)
{
    return pass_stride((size_t)c->heads * 2 * c->head_dim);
}

static size_t kv_stride(const struct config *c)
{
    return pass_stride((size_t)c->kv_heads * c->head_dim);
}

static size_t attended_stride(const struct config *c)
{
    return pass_stride((size_t)c->heads * c->head_dim);
}

/* The queries of a tile for a KV head: [token][head of group][head_dim]. */
static float *queries(const struct pass *p, uint32_t kv_head, uint32_t row)
{
    const struct config *c = &p->w->config;
    return p->ws->q + ((size_t)kv_head * p->rows + row) * heads_per_kv(c) * c->head_dim;
}

/* The last position that the i-th row of a run sees: its own; padded rows see what the last real token sees. */
static uint32_t position_of(const struct pass *p, uint32_t r, uint32_t i)
{
    const struct forward_run *run = &p->runs[r];
    return pass_first(p, r) + (i < run->n ? i : run->n - 1);
}

void pass_plan_attention(struct pass *p, uint32_t members)
{
    const struct config *c = &p->w->config;
    struct workspace *ws = p->ws;
    /* Twice as many work items as members where there are enough tokens. */
    uint32_t size = (uint32_t)(((uint64_t)p->rows * c->kv_heads + 2 * members - 1) / (2 * members));
    size = size < 1 ? 1 : size > TILE_TOKENS ? TILE_TOKENS : size;
    p->n_tiles = 0;
    p->split = false;
    p->split_items = 0;
    uint32_t slot = 0;
    for (uint32_t r = 0; r < p->n_runs; r++) {
        const struct forward_run *run = &p->runs[r];
        uint32_t rows = run->n + run->pad;
        for (uint32_t i = 0; i < rows; i += size) {
            struct tile *t = &ws->tiles[p->n_tiles++];
            *t = (struct tile){.run = r, .row = ws->run_row[r] + i, .tokens = rows - i < size ? rows - i : size};
            t->groups = position_of(p, r, i + t->tokens - 1) / (FORWARD_GROUP * KV_PAGE) + 1;
            t->first_slot = slot;
            if (p->rows > SPLIT_TOKENS) continue;
            slot += t->tokens * c->heads * t->groups;
            p->split |= t->groups > 1;
            p->split_items += t->groups * c->kv_heads;
        }
    }
}

void pass_store(struct pass *p, const struct layer_weights *layer, uint32_t index, const struct state *s,
                const struct page *page, uint32_t kv_head, uint32_t row, uint32_t position)
{
    const struct config *c = &p->w->config;
    const struct workspace *ws = p->ws;
    size_t at = row * kv_stride(c) + (size_t)kv_head * c->head_dim, pairs = c->rope_dims / 2;
    p->kernels->rms_norm(ws->k + at, ws->k + at, layer->k_norm, c->head_dim, c->rms_eps);
    p->kernels->rope(ws->k + at, ws->cosine + row * pairs, ws->sine + row * pairs, c->rope_dims);
    p->kernels->kv_store(pool_kv(s->pool), c->head_dim, pool_keys(s->pool, page, index, kv_head),
                         pool_values(s->pool, page, index, kv_head), position % KV_PAGE, ws->k + at, ws->v + at);
}

/* The keys and values of one KV head of a run. */
static void store(struct pass *p, const struct layer_weights *layer, uint32_t index, uint32_t r, uint32_t kv_head)
{
    const struct forward_run *run = &p->runs[r];
    for (uint32_t i = 0; i < run->n; i++) {
        uint32_t position = pass_first(p, r) + i;
        pass_store(p, layer, index, run->state, pass_pages(p, r)[position / KV_PAGE], kv_head, p->ws->run_row[r] + i,
                   position);
    }
}

/* Normalises, rotates and scales the queries of one row. */
static void make_queries(struct pass *p, const struct layer_weights *layer, uint32_t row)
{
    const struct config *c = &p->w->config;
    const struct workspace *ws = p->ws;
    float scale = 1.0f / sqrtf((float)c->head_dim);
    size_t pairs = c->rope_dims / 2;
    for (uint32_t head = 0; head < c->heads; head++) {
        const float *in = ws->q_gate + row * q_gate_stride(c) + (size_t)head * 2 * c->head_dim;
        float *out = queries(p, head / heads_per_kv(c), row) + (size_t)(head % heads_per_kv(c)) * c->head_dim;
        p->kernels->rms_norm(out, in, layer->q_norm, c->head_dim, c->rms_eps);
        p->kernels->rope(out, ws->cosine + row * pairs, ws->sine + row * pairs, c->rope_dims);
        for (uint32_t d = 0; d < c->head_dim; d++) out[d] *= scale;
    }
}

static void prepare(struct pass *p, struct member *m, const struct layer_weights *layer, uint32_t index)
{
    uint32_t stores = p->n_runs * p->w->config.kv_heads, begin, end;
    while (member_claim(m, stores + p->rows, 1, &begin, &end)) {
        if (begin < stores)
            store(p, layer, index, begin / p->w->config.kv_heads, begin % p->w->config.kv_heads);
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

/* Attends one group of blocks for the tokens [0, t->tokens) of a tile that see any of it. Results go to the rows of
 * *out from the first such token on; returns that token (t->tokens when there is none). */
static uint32_t attend_group(struct pass *p, struct member_scratch *own, uint32_t index, const struct tile *t,
                             uint32_t kv_head, uint32_t group, const struct partial *out)
{
    const struct config *c = &p->w->config;
    struct pool *pool = p->runs[t->run].state->pool;
    uint32_t heads = heads_per_kv(c), first_seen = t->tokens;
    uint32_t first_row = t->row - p->ws->run_row[t->run]; /* in the run */
    for (uint32_t b = group * FORWARD_GROUP; b < (group + 1) * FORWARD_GROUP; b++) {
        /* Tokens see ever more: those that see nothing of this block come first, and are left out. */
        uint32_t token = 0;
        while (token < t->tokens && position_of(p, t->run, first_row + token) < b * KV_PAGE) token++;
        if (token == t->tokens) break;
        bool first = first_seen == t->tokens;
        if (first) first_seen = token;
        uint32_t rows = (t->tokens - token) * heads;
        for (uint32_t i = 0; i < rows; i++) {
            uint32_t seen = position_of(p, t->run, first_row + token + i / heads) + 1 - b * KV_PAGE;
            own->visible[i] = (uint8_t)(seen < KV_PAGE ? seen : KV_PAGE);
        }
        struct partial target = from_row(out, token * heads, c->head_dim);
        const struct partial *result = first ? &target : &own->block;
        const struct page *page = pass_pages(p, t->run)[b];
        struct attend attend = {
            .type = pool_kv(pool),
            .head_dim = c->head_dim,
            .rows = rows,
            .q = queries(p, kv_head, t->row + token),
            .visible = own->visible,
            .keys = pool_keys(pool, page, index, kv_head),
            .values = pool_values(pool, page, index, kv_head),
            .max = result->max,
            .sum = result->sum,
            .acc = result->acc,
        };
        p->kernels->attend(&attend);
        if (!first)
            p->kernels->attend_merge(target.max, target.sum, target.acc, result->max, result->sum, result->acc, rows,
                                     c->head_dim);
    }
    return first_seen;
}

/* Divides by the sums, applies the output gate, fills its columns of `output`, the panel that o_proj takes (NULL: they
 * are not whole steps of a panel). */
static void finish(struct pass *p, const struct tile *t, uint32_t kv_head, const struct partial *total,
                   struct panel *output)
{
    const struct config *c = &p->w->config;
    uint32_t heads = heads_per_kv(c);
    for (uint32_t i = 0; i < t->tokens * heads; i++) {
        uint32_t row = t->row + i / heads, head = kv_head * heads + i % heads;
        float *out = p->ws->attended + row * attended_stride(c) + (size_t)head * c->head_dim;
        const float *gate = p->ws->q_gate + row * q_gate_stride(c) + (size_t)(2 * head + 1) * c->head_dim;
        p->kernels->attend_finish(out, total->acc + (size_t)i * c->head_dim, total->sum[i], c->head_dim);
        p->kernels->sigmoid_mul(out, out, gate, c->head_dim);
    }
    uint32_t columns = heads * c->head_dim, c0 = kv_head * columns;
    if (output)
        p->kernels->panel_fill(output, p->ws->attended + c0, attended_stride(c), t->row, t->row + t->tokens, c0,
                               c0 + columns);
}

static void attend_tiles(struct pass *p, struct member *m, uint32_t index, struct panel *output)
{
    const struct config *c = &p->w->config;
    struct member_scratch *own = &p->ws->members[m->index];
    uint32_t heads = heads_per_kv(c), begin, end;
    while (member_claim(m, p->n_tiles * c->kv_heads, 1, &begin, &end)) {
        const struct tile *t = &p->ws->tiles[begin / c->kv_heads];
        uint32_t kv_head = begin % c->kv_heads;
        attend_group(p, own, index, t, kv_head, 0, &own->total);
        for (uint32_t group = 1; group < t->groups; group++) {
            uint32_t token = attend_group(p, own, index, t, kv_head, group, &own->group);
            struct partial a = from_row(&own->total, token * heads, c->head_dim);
            struct partial b = from_row(&own->group, token * heads, c->head_dim);
            p->kernels->attend_merge(a.max, a.sum, a.acc, b.max, b.sum, b.acc, (t->tokens - token) * heads,
                                     c->head_dim);
        }
        finish(p, t, kv_head, &own->total, output);
    }
}

/* Where the partial results of (tile, KV head, group) wait, split attention only. */
static struct partial slot(const struct pass *p, const struct tile *t, uint32_t kv_head, uint32_t group)
{
    const struct config *c = &p->w->config;
    uint32_t rows = t->tokens * heads_per_kv(c);
    return from_row(&p->ws->partials, t->first_slot + (kv_head * t->groups + group) * rows, c->head_dim);
}

static void attend_split(struct pass *p, struct member *m, uint32_t index, struct panel *output)
{
    const struct config *c = &p->w->config;
    struct member_scratch *own = &p->ws->members[m->index];
    uint32_t heads = heads_per_kv(c), begin, end;
    while (member_claim(m, p->split_items, 1, &begin, &end)) {
        const struct tile *t = p->ws->tiles;
        while (begin >= t->groups * c->kv_heads) begin -= t++->groups * c->kv_heads;
        struct partial out = slot(p, t, begin / t->groups, begin % t->groups);
        attend_group(p, own, index, t, begin / t->groups, begin % t->groups, &out);
    }
    member_barrier(m);
    while (member_claim(m, p->n_tiles * c->kv_heads, 1, &begin, &end)) {
        const struct tile *t = &p->ws->tiles[begin / c->kv_heads];
        uint32_t kv_head = begin % c->kv_heads, first_row = t->row - p->ws->run_row[t->run];
        struct partial total = slot(p, t, kv_head, 0);
        for (uint32_t group = 1; group < t->groups; group++) {
            uint32_t token = 0;
            while (position_of(p, t->run, first_row + token) < group * FORWARD_GROUP * KV_PAGE) token++;
            struct partial b = slot(p, t, kv_head, group);
            struct partial from = from_row(&b, token * heads, c->head_dim);
            struct partial a = from_row(&total, token * heads, c->head_dim);
            p->kernels->attend_merge(a.max, a.sum, a.acc, from.max, from.sum, from.acc, (t->tokens - token) * heads,
                                     c->head_dim);
        }
        finish(p, t, kv_head, &total, output);
    }
}

void pass_attention(struct pass *p, struct member *m, const struct layer_weights *layer, uint32_t index)
{
    const struct config *c = &p->w->config;
    struct workspace *ws = p->ws;
    const struct matrix *in[] = {&layer->q, &layer->k, &layer->v};
    const struct panels *panels =
        pass_panels(p, m, ws->x, pass_stride(c->hidden), NULL, p->rows, layer->input_norm, in, 3);
    const struct product project[] = {
        {&layer->q, ws->q_gate, q_gate_stride(c), false},
        {&layer->k, ws->k, kv_stride(c), false},
        {&layer->v, ws->v, kv_stride(c), false},
    };
    pass_products(p, m, panels, project, 3);
    member_barrier(m);

    prepare(p, m, layer, index);
    const struct matrix *out = &layer->o;
    struct panel *output = pass_fills(heads_per_kv(c) * c->head_dim) ? pass_output_panel(p, m, out) : NULL;
    if (p->split)
        attend_split(p, m, index, output);
    else
        attend_tiles(p, m, index, output);
    member_barrier(m);

    panels = output ? pass_output_panels(p, m)
                  : pass_panels(p, m, ws->attended, attended_stride(c), NULL, p->rows, NULL, &out, 1);
    pass_products(p, m, panels, &(struct product){out, ws->x, pass_stride(c->hidden), true}, 1);
    member_barrier(m);
}
