/* The scratch of passes: what one pass needs on the device besides states and weights. There are two, so that a
 * reply's tokens don't wait for a long pass: short passes take the second one, and get at the queue between two slices
 * of a long one. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/gpu/device/fused.h"
#include "engine/model/schema/schema.h"

/* Hands out parts of a block; without an address it only measures. */
struct parts {
    uint64_t address, at;
};

static uint64_t part(struct parts *p, uint64_t bytes)
{
    uint64_t at = p->at;
    p->at = (at + bytes + 255) & ~(uint64_t)255;
    return p->address + at;
}

static uint64_t floats(struct parts *p, uint64_t n)
{
    return part(p, n * sizeof(float));
}

static struct forms forms(struct parts *p, uint64_t rows, uint32_t columns)
{
    struct forms f;
    f.floats = floats(p, rows * pack_chunks(columns) * PACK_COLS);
    f.records = part(p, rows * pack_chunks(columns) * RECORD_BYTES);
    return f;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Tokens of the passes of a scratch, at most. */
static uint32_t tokens_of(enum scratch_use use, const struct gpu_model_options *o)
{
    uint32_t most = o->runs * SHORT_TOKENS;
    return use == SCRATCH_SHORT && most < o->tokens ? most : o->tokens;
}

/* Everything on the device that one pass needs. */
static void place(struct scratch *s, struct parts *p, const struct config *c, const struct gpu_model_options *o)
{
    const struct config_experts *e = &c->experts;
    const struct config_attention *a = &c->attention;
    const struct config_delta *d = &c->delta;
    const struct config_heads widest = config_widest_heads(c);
    uint64_t rows = s->tokens, attended = (uint64_t)a->heads * widest.head_dim, kv = widest.keys;
    uint64_t width = (uint64_t)d->value_heads * d->value_dim, slots = rows * e->used;
    uint32_t head_rows = rows < HEAD_ROWS ? (uint32_t)rows : HEAD_ROWS,
             split = rows < SPLIT_ROWS ? (uint32_t)rows : SPLIT_ROWS;
    uint32_t feeds = larger(c->feed.intermediate, larger(c->feed.shared_intermediate, c->layer_input));
    s->blocks = pass_blocks(o->context);
    s->at.x = floats(p, rows * c->hidden);
    s->at.in = forms(p, rows, c->hidden);
    s->at.inner = forms(p, rows, larger(feeds, larger((uint32_t)attended, (uint32_t)width)));
    s->at.qkv = floats(p, rows * config_conv_channels(d));
    s->at.convolved = floats(p, rows * config_conv_channels(d));
    s->at.z = floats(p, rows * width);
    s->at.delta = floats(p, rows * width);
    s->at.a = floats(p, rows * d->value_heads);
    s->at.b = floats(p, rows * d->value_heads);
    s->at.gates = floats(p, 2 * rows * d->value_heads);
    s->at.q_gate = floats(p, (a->gated ? 2 : 1) * rows * attended);
    s->at.k = floats(p, rows * kv);
    s->at.v = floats(p, rows * kv);
    s->at.q = floats(p, rows * attended);
    s->at.attended = floats(p, rows * attended);
    s->at.partials = floats(p, (uint64_t)split * a->heads * s->blocks * (widest.head_dim + 2));
    s->at.inputs = floats(p, rows * c->layers * c->layer_input);
    s->at.added = floats(p, role_exists(c, ROLE_ATTENTION_NORM, 0) ? rows * c->hidden : 0);
    s->at.gate = floats(p, rows * feeds);
    s->at.up = floats(p, rows * feeds);
    s->experts.router = floats(p, rows * e->count);
    s->experts.chosen = floats(p, slots);
    s->experts.grouped = part(p, e->count ? 4 * (slots + 3) + 16 * (slots + e->count) : 0);
    s->experts.shares = floats(p, slots + rows);
    s->experts.gate = floats(p, slots * e->intermediate);
    s->experts.up = floats(p, slots * e->intermediate);
    s->experts.inner = forms(p, slots, e->intermediate);
    s->experts.out = floats(p, slots * c->hidden);
    s->experts.shared_out = floats(p, e->count ? rows * c->hidden : 0);
    uint64_t both = c->mtp.there ? 2 * (uint64_t)c->hidden : 0;
    s->draft.joined = floats(p, rows * both);
    s->draft.join = forms(p, both ? rows : 0, (uint32_t)both);
    s->draft.h = floats(p, c->hidden);
    s->draft.unwanted = floats(p, c->hidden);
    s->at.head = forms(p, head_rows, c->hidden);
    s->at.hidden = floats(p, pack_chunks(c->hidden) * PACK_COLS);
    s->at.logits = floats(p, (uint64_t)head_rows * c->vocab);
    s->at.tops = part(p, (uint64_t)head_rows * TOPK_BLOCKS * 8);
}

uint64_t scratch_bytes(const struct config *c, const struct gpu_model_options *options)
{
    uint64_t bytes = 0;
    for (int use = 0; use < SCRATCHES; use++) {
        struct scratch s = {.tokens = tokens_of((enum scratch_use)use, options)};
        struct parts p = {0};
        place(&s, &p, c, options);
        bytes += p.at;
    }
    return bytes;
}

bool pass_sees(const struct config *c)
{
    return c->schema && c->schema->sections;
}

static void place_tables(struct scratch *s, struct parts *p, const struct gpu_model *m)
{
    const struct config *c = &m->config;
    const struct gpu_model_options *o = &m->options;
    uint64_t runs = (uint64_t)pass_run_tables(m) * o->runs;
    s->tables.rows = part(p, (s->tokens + 1) * sizeof(struct table_row)); /* where a reply's last token is drawn to */
    s->tables.runs = part(p, runs * sizeof(struct table_run));
    s->tables.tiles = part(p, s->tokens * sizeof(struct table_tile));
    s->tables.index = part(p, s->tokens * sizeof(uint32_t));
    s->tables.h = part(p, s->tokens * sizeof(uint64_t));
    for (uint32_t set = 0; set < pass_angle_sets(c); set++)
        s->tables.angles[set] = floats(p, (uint64_t)s->tokens * 2 * pass_angle_pairs(c, set));
    s->tables.scales = floats(p, s->tokens);
    s->tables.pads = floats(p, pass_sees(c) ? (uint64_t)s->tokens * c->hidden : 0);
    s->tables.told = floats(p, (uint64_t)s->tokens * c->layers * c->layer_input);
    s->tables.stops = part(p, (1 + CONFIG_MAX_STOPS) * sizeof(uint32_t));
    s->tables.pages = part(p, runs * pass_pages(o) * sizeof(uint64_t));
}

void scratch_move_tables(struct scratch *s, const struct config *c, int n)
{
    s->tables.rows += (uint64_t)(n * (int)sizeof(struct table_row));
    s->tables.runs += (uint64_t)(n * (int)sizeof(struct table_run));
    for (uint32_t set = 0; set < pass_angle_sets(c); set++)
        s->tables.angles[set] += (uint64_t)(n * (int)(2 * pass_angle_pairs(c, set) * sizeof(float)));
    s->tables.scales += (uint64_t)(n * (int)sizeof(float));
    s->tables.h += (uint64_t)(n * (int)sizeof(uint64_t));
}

uint32_t scratch_several(const struct gpu_model *m, const struct scratch *s)
{
    uint32_t most = m->options.runs < s->tokens ? m->options.runs : s->tokens;
    return most < GPU_BURST ? most : GPU_BURST;
}

/* All but the struct. */
static tdm_status fill(struct scratch *s, struct gpu_model *m, tdm_error *err)
{
    const struct config *c = &m->config;
    struct parts tables = {0}, measured = {0};
    place_tables(s, &tables, m);
    place(s, &measured, c, &m->options);
    uint64_t logits = sizeof(float) * (uint64_t)(s->tokens < HEAD_ROWS ? s->tokens : HEAD_ROWS) * c->vocab;
    s->read_at.hidden = logits;
    s->read_at.broken = logits + sizeof(float) * (uint64_t)(c->layers + 1) * c->hidden;
    s->read_at.sampled = s->read_at.broken + sizeof(uint32_t);
    tdm_status status = device_pool(&s->pool, m->gpu, m->gpu->family, err);
    if (!status) status = device_fence(&s->fence, m->gpu, err);
    for (int i = 0; i < MAX_FLYING && s->sliced && !status; i++)
        status = device_fence(&s->flight.slices[i].fence, m->gpu, err);
    if (!status) status = block_new(&s->memory, m->gpu, BLOCK_DEVICE, measured.at, err);
    if (!status) status = block_new(&s->table, m->gpu, BLOCK_TABLE, tables.at, err);
    if (!status)
        status = block_new(&s->read, m->gpu, BLOCK_READ, s->read_at.sampled + GPU_BURST * sizeof(uint32_t), err);
    if (!status && c->layer_input &&
        !(s->raw_inputs = malloc(source_tensor(m->inputs.source, ROLE_INPUT_TABLE, 0)->row_bytes)))
        status = error_set(err, TDM_E_NOMEM, "no memory for a row of inputs");
    if (status) return status;
    struct parts p = {.address = s->memory.address};
    place(s, &p, c, &m->options);
    s->logits_at = s->at.logits - s->memory.address;
    return TDM_OK;
}

tdm_status scratch_new(struct gpu_model *m, tdm_error *err)
{
    const struct gpu_model_options *o = &m->options;
    tdm_status status = TDM_OK;
    assert_always(o->tokens >= 1 && o->runs >= 1 && o->context >= 1);
    for (int use = 0; use < SCRATCHES && !status; use++) {
        struct scratch *s = m->scratch[use] = calloc(1, sizeof *s);
        if (!s) return error_set(err, TDM_E_NOMEM, "no memory for passes");
        pthread_mutex_init(&s->busy, NULL);
        s->tokens = tokens_of((enum scratch_use)use, o);
        s->sliced = use == SCRATCH_LONG;
        status = fill(s, m, err);
    }
    return status;
}

tdm_status scratch_finish(struct gpu_model *m, tdm_error *err)
{
    return fused_new(m, m->scratch[SCRATCH_SHORT], err);
}

void recorded_free(struct recorded *r, struct scratch *s, struct gpu *g)
{
    if (r->n) g->vk.FreeCommandBuffers(g->device, s->pool, r->n, r->commands);
    free(r->commands);
    *r = (struct recorded){0};
}

static void free_one(struct scratch *s, struct gpu *g)
{
    for (uint32_t i = 0; i < s->n_recorded; i++) recorded_free(&s->recorded[i], s, g);
    fused_free(s->fused, g);
    block_free(&s->memory, g);
    block_free(&s->table, g);
    block_free(&s->read, g);
    if (s->fence) g->vk.DestroyFence(g->device, s->fence, NULL);
    if (s->pool) g->vk.DestroyCommandPool(g->device, s->pool, NULL);
    for (int i = 0; i < MAX_FLYING; i++)
        if (s->flight.slices[i].fence) g->vk.DestroyFence(g->device, s->flight.slices[i].fence, NULL);
    pthread_mutex_destroy(&s->busy);
    for (int set = 0; set < 2; set++) free(s->angles[set]);
    free(s->raw_inputs);
    free(s);
}

void scratch_free(struct gpu_model *m)
{
    for (int use = 0; use < SCRATCHES; use++) {
        if (m->scratch[use]) free_one(m->scratch[use], m->gpu);
        m->scratch[use] = NULL;
    }
}
