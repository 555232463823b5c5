/* The scratch of passes: what one pass needs on the device besides states and weights. There are two, so that a
 * reply's tokens don't wait for a long pass: short passes take the second one, and get at the queue between two slices
 * of a long one. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/gpu/program.h"

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
    uint64_t rows = s->tokens, attended = (uint64_t)c->heads * c->head_dim, kv = (uint64_t)c->kv_heads * c->head_dim;
    uint64_t width = (uint64_t)c->lin_value_heads * c->lin_value_dim, slots = rows * c->experts_used;
    uint32_t head_rows = rows < HEAD_ROWS ? (uint32_t)rows : HEAD_ROWS,
             split = rows < SPLIT_ROWS ? (uint32_t)rows : SPLIT_ROWS;
    s->blocks = pass_blocks(o->context);
    s->x = floats(p, rows * c->hidden);
    s->in = forms(p, rows, c->hidden);
    s->inner = forms(p, rows, larger(c->intermediate, larger((uint32_t)attended, (uint32_t)width)));
    s->qkv = floats(p, rows * config_conv_channels(c));
    s->convolved = floats(p, rows * config_conv_channels(c));
    s->z = floats(p, rows * width);
    s->delta = floats(p, rows * width);
    s->a = floats(p, rows * c->lin_value_heads);
    s->b = floats(p, rows * c->lin_value_heads);
    s->gates = floats(p, 2 * rows * c->lin_value_heads);
    s->q_gate = floats(p, 2 * rows * attended);
    s->k = floats(p, rows * kv);
    s->v = floats(p, rows * kv);
    s->q = floats(p, rows * attended);
    s->attended = floats(p, rows * attended);
    s->partials = floats(p, (uint64_t)split * c->heads * s->blocks * (c->head_dim + 2));
    s->gate = floats(p, rows * c->intermediate);
    s->up = floats(p, rows * c->intermediate);
    s->router = floats(p, rows * c->experts);
    s->chosen = floats(p, slots);
    s->shares = floats(p, slots + rows);
    s->expert_gate = floats(p, slots * c->expert_intermediate);
    s->expert_up = floats(p, slots * c->expert_intermediate);
    s->expert_inner = forms(p, slots, c->expert_intermediate);
    s->expert_out = floats(p, slots * c->hidden);
    s->shared_out = floats(p, c->experts ? rows * c->hidden : 0);
    uint64_t both = c->mtp ? 2 * (uint64_t)c->hidden : 0;
    s->joined = floats(p, rows * both);
    s->join = forms(p, both ? rows : 0, (uint32_t)both);
    s->head_h = floats(p, c->hidden);
    s->unwanted = floats(p, c->hidden);
    s->head = forms(p, head_rows, c->hidden);
    s->hidden = floats(p, pack_chunks(c->hidden) * PACK_COLS);
    s->logits = floats(p, (uint64_t)head_rows * c->vocab);
    s->tops = part(p, (uint64_t)head_rows * BEST_BLOCKS * 8);
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

static void place_tables(struct scratch *s, struct parts *p, const struct config *c, const struct gpu_model_options *o)
{
    s->rows_at = part(p, (s->tokens + 1) * sizeof(struct table_row)); /* where a reply's last token is drawn to */
    s->runs_at = part(p, o->runs * sizeof(struct table_run));
    s->tiles_at = part(p, s->tokens * sizeof(struct table_tile));
    s->index_at = part(p, s->tokens * sizeof(uint32_t));
    s->h_at = part(p, s->tokens * sizeof(uint64_t));
    s->angles_at = floats(p, (uint64_t)s->tokens * c->rope_dims);
    s->stops_at = part(p, (1 + CONFIG_MAX_STOPS) * sizeof(uint32_t));
    s->pages_at = part(p, o->runs * pass_pages(o) * sizeof(uint64_t));
}

void scratch_move_tables(struct scratch *s, const struct config *c, int n)
{
    s->rows_at += (uint64_t)(n * (int)sizeof(struct table_row));
    s->runs_at += (uint64_t)(n * (int)sizeof(struct table_run));
    s->angles_at += (uint64_t)(n * (int)(c->rope_dims * sizeof(float)));
    s->h_at += (uint64_t)(n * (int)sizeof(uint64_t));
}

uint32_t scratch_several(const struct gpu_model *m, const struct scratch *s)
{
    uint32_t most = m->options.runs < s->tokens ? m->options.runs : s->tokens;
    return most < GPU_SEVERAL ? most : GPU_SEVERAL;
}

/* All but the struct. */
static tdm_status fill(struct scratch *s, struct gpu_model *m, tdm_error *err)
{
    const struct config *c = &m->config;
    struct parts tables = {0}, measured = {0};
    place_tables(s, &tables, c, &m->options);
    place(s, &measured, c, &m->options);
    uint64_t logits = sizeof(float) * (uint64_t)(s->tokens < HEAD_ROWS ? s->tokens : HEAD_ROWS) * c->vocab;
    s->hidden_read_at = logits;
    s->broken_read_at = logits + sizeof(float) * (uint64_t)(c->layers + 1) * c->hidden;
    s->drawn_read_at = s->broken_read_at + sizeof(uint32_t);
    tdm_status status = device_fence(&s->fence, m->gpu, err);
    for (int i = 0; i < MOST_FLYING && s->sliced && !status; i++)
        status = device_fence(&s->flying[i].fence, m->gpu, err);
    if (!status) status = block_new(&s->memory, m->gpu, BLOCK_DEVICE, measured.at, err);
    if (!status) status = block_new(&s->table, m->gpu, BLOCK_TABLE, tables.at, err);
    if (!status)
        status = block_new(&s->read, m->gpu, BLOCK_READ, s->drawn_read_at + GPU_SEVERAL * sizeof(uint32_t), err);
    if (status) return status;
    struct parts p = {.address = s->memory.address};
    place(s, &p, c, &m->options);
    s->logits_at = s->logits - s->memory.address;
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
        if (!status && use == SCRATCH_SHORT) status = program_new(m, s, err);
    }
    return status;
}

void recorded_free(struct recorded *r, struct gpu *g)
{
    if (r->n) g->vk.FreeCommandBuffers(g->device, g->pool, r->n, r->commands);
    free(r->commands);
    *r = (struct recorded){0};
}

static void free_one(struct scratch *s, struct gpu *g)
{
    for (uint32_t i = 0; i < s->n_recorded; i++) recorded_free(&s->recorded[i], g);
    program_free(s->program, g);
    block_free(&s->memory, g);
    block_free(&s->table, g);
    block_free(&s->read, g);
    if (s->fence) g->vk.DestroyFence(g->device, s->fence, NULL);
    for (int i = 0; i < MOST_FLYING; i++)
        if (s->flying[i].fence) g->vk.DestroyFence(g->device, s->flying[i].fence, NULL);
    pthread_mutex_destroy(&s->busy);
    free(s->angles);
    free(s);
}

void scratch_free(struct gpu_model *m)
{
    for (int use = 0; use < SCRATCHES; use++) {
        if (m->scratch[use]) free_one(m->scratch[use], m->gpu);
        m->scratch[use] = NULL;
    }
}
