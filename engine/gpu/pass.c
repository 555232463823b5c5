/* The host's part of a pass: its scratch, checks, tables, submissions, and the states' new lengths. */
#include "engine/gpu/pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"

/* ---- Scratch ------------------------------------------------------------------------------------------------ */

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

static uint32_t block_count(uint32_t context)
{
    return (context + ATTEND_BLOCK - 1) / ATTEND_BLOCK;
}

/* Everything on the device that one pass needs. */
static void place(struct scratch *s, struct parts *p, const struct config *c, const struct gpu_model_options *o)
{
    uint64_t rows = o->tokens, attended = (uint64_t)c->heads * c->head_dim, kv = (uint64_t)c->kv_heads * c->head_dim;
    uint64_t width = (uint64_t)c->lin_value_heads * c->lin_value_dim, slots = rows * c->experts_used;
    uint32_t head_rows = rows < HEAD_ROWS ? (uint32_t)rows : HEAD_ROWS,
             split = rows < SPLIT_ROWS ? (uint32_t)rows : SPLIT_ROWS;
    s->blocks = block_count(o->context);
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
    s->head = forms(p, head_rows, c->hidden);
    s->hidden = floats(p, pack_chunks(c->hidden) * PACK_COLS);
    s->logits = floats(p, (uint64_t)head_rows * c->vocab);
}

static uint64_t pages_of_context(const struct gpu_model_options *o)
{
    return (o->context + KV_PAGE - 1) / KV_PAGE;
}

uint64_t scratch_bytes(const struct config *c, const struct gpu_model_options *options)
{
    struct scratch s;
    struct parts p = {0};
    place(&s, &p, c, options);
    return p.at;
}

static void place_tables(struct scratch *s, struct parts *p, const struct config *c, const struct gpu_model_options *o)
{
    s->rows_at = part(p, o->tokens * sizeof(struct table_row));
    s->runs_at = part(p, o->runs * sizeof(struct table_run));
    s->tiles_at = part(p, o->tokens * sizeof(struct table_tile));
    s->index_at = part(p, o->tokens * sizeof(uint32_t));
    s->angles_at = floats(p, (uint64_t)o->tokens * c->rope_dims);
    s->pages_at = part(p, o->runs * pages_of_context(o) * sizeof(uint64_t));
}

tdm_status scratch_new(struct gpu_model *m, tdm_error *err)
{
    const struct config *c = &m->config;
    const struct gpu_model_options *o = &m->options;
    assert_always(o->tokens >= 1 && o->runs >= 1 && o->context >= 1);
    struct scratch *s = m->scratch = calloc(1, sizeof *s);
    if (!s) return error_set(err, TDM_E_NOMEM, "no memory for passes");
    struct parts tables = {0};
    place_tables(s, &tables, c, o);
    uint64_t logits = sizeof(float) * (uint64_t)(o->tokens < HEAD_ROWS ? o->tokens : HEAD_ROWS) * c->vocab;
    s->hidden_read_at = logits;
    tdm_status status = block_new(&s->memory, m->gpu, BLOCK_DEVICE, scratch_bytes(c, o), err);
    if (!status) status = block_new(&s->table, m->gpu, BLOCK_TABLE, tables.at, err);
    if (!status)
        status = block_new(&s->read, m->gpu, BLOCK_READ, logits + sizeof(float) * (uint64_t)(c->layers + 1) * c->hidden,
                           err);
    if (status) return status;
    struct parts p = {.address = s->memory.address};
    place(s, &p, c, o);
    s->logits_at = s->logits - s->memory.address;
    return TDM_OK;
}

void scratch_free(struct gpu_model *m)
{
    struct scratch *s = m->scratch;
    struct gpu *g = m->gpu;
    if (!s) return;
    for (uint32_t i = 0; i < s->n_recorded; i++)
        g->vk.FreeCommandBuffers(g->device, g->pool, 1, &s->recorded[i].commands);
    block_free(&s->memory, g);
    block_free(&s->table, g);
    block_free(&s->read, g);
    free(s->angles);
    free(s);
    m->scratch = NULL;
}

/* ---- Tables ------------------------------------------------------------------------------------------------- */

/* RoPE's angles of all positions below n. */
static tdm_status make_angles(struct gpu_model *m, uint32_t n, tdm_error *err)
{
    enum { STEP = 512 };
    struct scratch *s = m->scratch;
    uint32_t pairs = m->config.rope_dims / 2;
    if (n <= s->angle_rows) return TDM_OK;
    n = (n + STEP - 1) / STEP * STEP;
    float *more = realloc(s->angles, (size_t)n * 2 * pairs * sizeof *more);
    if (!more) return error_set(err, TDM_E_NOMEM, "no memory for the angles of %u positions", n);
    s->angles = more;
    for (uint32_t position = s->angle_rows; position < n; position++)
        for (uint32_t j = 0; j < pairs; j++) {
            more[(size_t)position * 2 * pairs + j] = (float)cos(position * m->frequency[j]);
            more[((size_t)position * 2 + 1) * pairs + j] = (float)sin(position * m->frequency[j]);
        }
    s->angle_rows = n;
    return TDM_OK;
}

static void fill_run(struct gpu_model *m, const struct gpu_run *run, uint32_t index, uint32_t first_row)
{
    struct scratch *s = m->scratch;
    const struct gpu_state *state = run->state;
    uint64_t base = state->buffer->block.address, pages_at = s->pages_at + index * pages_of_context(&m->options) * 8;
    uint64_t *pages = (uint64_t *)((char *)s->table.mapped + pages_at);
    struct table_run *to = (struct table_run *)((char *)s->table.mapped + s->runs_at) + index;
    *to = (struct table_run){.recurrent = base,
                             .conv_in = base + model_conv_at(m, state->conv),
                             .conv_out = base + model_conv_at(m, !state->conv),
                             .pages = s->table.address + pages_at,
                             .first_row = first_row,
                             .n = run->n,
                             .start = state->length};
    for (uint32_t i = 0; i < (state->length + run->n + KV_PAGE - 1) / KV_PAGE; i++) pages[i] = state->pages[i]->address;
}

/* What shaders read of this pass; sets the shape. */
static tdm_status fill_tables(struct gpu_model *m, const struct gpu_run *runs, uint32_t n_runs, struct shape *shape,
                              tdm_error *err)
{
    struct scratch *s = m->scratch;
    char *table = s->table.mapped;
    struct table_row *row = (struct table_row *)(table + s->rows_at);
    struct table_tile *tile = (struct table_tile *)(table + s->tiles_at);
    float *angles = (float *)(table + s->angles_at);
    uint32_t pairs = m->config.rope_dims / 2, rows = 0, longest = 0;
    for (uint32_t i = 0; i < n_runs; i++) {
        rows += runs[i].n;
        longest = larger(longest, runs[i].state->length + runs[i].n);
    }
    tdm_status status = make_angles(m, longest, err);
    if (status) return status;
    *shape = (struct shape){.rows = rows, .runs = n_runs, .blocks = 1};
    while (rows <= SPLIT_ROWS && shape->blocks < block_count(longest)) shape->blocks *= 2;
    uint32_t some = record_tile_tokens(m, rows), at = 0;
    for (uint32_t i = 0; i < n_runs; i++) {
        const struct gpu_run *run = &runs[i];
        fill_run(m, run, i, at);
        for (uint32_t t = 0; t < run->n; t += some)
            tile[shape->tiles++] = (struct table_tile){i, t, run->n - t < some ? run->n - t : some, 0};
        for (uint32_t t = 0; t < run->n; t++, at++) {
            uint32_t position = run->state->length + t;
            row[at] = (struct table_row){i, position, (uint32_t)run->tokens[t], t};
            memcpy(angles + (size_t)at * pairs, s->angles + (size_t)position * 2 * pairs, pairs * sizeof *angles);
            memcpy(angles + (size_t)(rows + at) * pairs, s->angles + ((size_t)position * 2 + 1) * pairs,
                   pairs * sizeof *angles);
        }
    }
    return TDM_OK;
}

/* The rows whose logits are wanted; returns their number. */
static uint32_t fill_index(struct gpu_model *m, const struct gpu_run *runs, uint32_t n_runs)
{
    uint32_t *index = (uint32_t *)((char *)m->scratch->table.mapped + m->scratch->index_at), n = 0, row = 0;
    for (uint32_t i = 0; i < n_runs; row += runs[i++].n) {
        if (runs[i].logits == GPU_LOGITS_LAST) index[n++] = row + runs[i].n - 1;
        for (uint32_t t = 0; t < runs[i].n && runs[i].logits == GPU_LOGITS_ALL; t++) index[n++] = row + t;
    }
    return n;
}

/* ---- Commands ----------------------------------------------------------------------------------------------- */

/* Those for this shape, recorded before or now; `hidden` ones are not kept. */
static tdm_status commands_for(VkCommandBuffer *out, struct gpu_model *m, const struct shape *shape, bool hidden,
                               uint32_t hidden_row, tdm_error *err)
{
    struct scratch *s = m->scratch;
    struct recorded *at = NULL;
    s->uses++;
    for (uint32_t i = 0; i < s->n_recorded && !hidden; i++)
        if (!memcmp(&s->recorded[i].shape, shape, sizeof *shape)) {
            s->recorded[i].used = s->uses;
            *out = s->recorded[i].commands;
            return TDM_OK;
        }
    tdm_status status = TDM_OK;
    if (s->n_recorded < MOST_RECORDED) {
        at = &s->recorded[s->n_recorded];
        *at = (struct recorded){0};
        status = device_commands(&at->commands, m->gpu, err);
        if (!status) s->n_recorded++;
    } else {
        at = s->recorded;
        for (uint32_t i = 1; i < MOST_RECORDED; i++)
            if (s->recorded[i].used < at->used) at = &s->recorded[i];
    }
    if (!status) memset(&at->shape, 0, sizeof at->shape);
    if (!status) status = device_begin(m->gpu, at->commands, false, err);
    if (status) return status;
    struct recording r = {.model = m, .s = s, .commands = at->commands, .shape = *shape, .err = err};
    if (shape->head_rows)
        record_head(&r);
    else
        record_pass(&r, hidden, hidden_row);
    status = r.status ? r.status : device_end(m->gpu, at->commands, err);
    if (status) return status;
    if (!hidden) at->shape = *shape;
    at->used = s->uses;
    *out = at->commands;
    return TDM_OK;
}

/* ---- The pass ----------------------------------------------------------------------------------------------- */

static tdm_status check(struct gpu_model *m, const struct gpu_run *runs, uint32_t n_runs, tdm_error *err)
{
    uint64_t rows = 0;
    if (n_runs < 1 || n_runs > m->options.runs)
        return error_set(err, TDM_E_ARG, "%u runs in a pass: at most %u", n_runs, m->options.runs);
    for (uint32_t i = 0; i < n_runs; i++) {
        assert_always(runs[i].n >= 1 && runs[i].state->model == m && !runs[i].state->broken);
        assert_always(runs[i].logits != GPU_LOGITS_ALL || runs[i].all);
        rows += runs[i].n;
        for (uint32_t t = 0; t < runs[i].n; t++)
            if (runs[i].tokens[t] < 0 || (uint32_t)runs[i].tokens[t] >= m->config.vocab)
                return error_set(err, TDM_E_ARG, "token id %d: expected 0 to %u", (int)runs[i].tokens[t],
                                 m->config.vocab - 1);
    }
    if (rows > m->options.tokens)
        return error_set(err, TDM_E_ARG, "%llu tokens in a pass: at most %u", (unsigned long long)rows,
                         m->options.tokens);
    for (uint32_t i = 0; i < n_runs; i++) {
        tdm_status status = state_make_pages(runs[i].state, runs[i].n, err);
        if (status) return status;
    }
    return TDM_OK;
}

static bool is_cancelled(const struct gpu_pass_options *options)
{
    return options && options->cancel && atomic_load_explicit(options->cancel, memory_order_relaxed);
}

/* Row i of those whose logits were made, from what was read back. */
static void take_logits(const struct gpu_run *runs, uint32_t n_runs, uint32_t i, const float *row, uint32_t vocab)
{
    for (uint32_t r = 0; r < n_runs; r++) {
        uint32_t n = runs[r].logits == GPU_LOGITS_ALL ? runs[r].n : runs[r].logits == GPU_LOGITS_LAST;
        if (i >= n) {
            i -= n;
            continue;
        }
        if (runs[r].logits == GPU_LOGITS_ALL) memcpy(runs[r].all + (size_t)i * vocab, row, vocab * sizeof *row);
        if (i + 1 == n) memcpy(runs[r].state->logits, row, vocab * sizeof *row);
        return;
    }
}

/* The pass with the first logits in one submission, then the other logits. */
static tdm_status submit(struct gpu_model *m, const struct gpu_run *runs, uint32_t n_runs, const struct shape *shape,
                         uint32_t logits, const struct gpu_pass_options *options, tdm_error *err)
{
    bool hidden = options && options->hidden;
    VkCommandBuffer commands[2];
    uint32_t n = 0;
    tdm_status status = commands_for(&commands[n++], m, shape, hidden, runs[0].n - 1, err);
    for (uint32_t first = 0, some; !status && (!first || first < logits); first += some) {
        some = logits - first < HEAD_ROWS ? logits - first : HEAD_ROWS;
        struct shape head = {.head_rows = some, .head_first = first};
        if (some) status = commands_for(&commands[n++], m, &head, false, 0, err);
        if (!status && is_cancelled(options)) status = error_set(err, TDM_E_CANCELLED, "the pass was cancelled");
        if (status) break;
        for (uint32_t i = 0; i < n_runs; i++) runs[i].state->broken = true;
        status = device_run(m->gpu, commands, n, err);
        n = 0;
        for (uint32_t i = 0; i < some && !status; i++)
            take_logits(runs, n_runs, first + i, (float *)m->scratch->read.mapped + (size_t)i * m->config.vocab,
                        m->config.vocab);
        if (!some) break;
    }
    return status;
}

/* The states after a pass that was done. */
static void append(const struct gpu_run *runs, uint32_t n_runs)
{
    for (uint32_t i = 0; i < n_runs; i++) {
        struct gpu_state *s = runs[i].state;
        memcpy(s->tokens + s->length, runs[i].tokens, runs[i].n * sizeof *s->tokens);
        s->length += runs[i].n;
        s->conv = !s->conv;
        s->logits_valid = runs[i].logits != GPU_LOGITS_NONE;
        s->broken = false;
    }
}

tdm_status pass_watched(struct gpu_model *m, const struct gpu_run *run, step_watcher *watch, void *ctx,
                        VkQueryPool pool, tdm_error *err)
{
    struct gpu *g = m->gpu;
    struct recording r = {
        .model = m, .s = m->scratch, .commands = g->once, .watch = watch, .watch_ctx = ctx, .err = err};
    tdm_status status = device_check(g, err);
    if (!status) status = check(m, run, 1, err);
    if (!status) status = fill_tables(m, run, 1, &r.shape, err);
    if (!status) status = device_begin(g, g->once, true, err);
    if (status) return status;
    g->vk.CmdResetQueryPool(g->once, pool, 0, WATCHED_QUERIES);
    r.shape.head_rows = fill_index(m, run, 1);
    record_pass(&r, false, 0);
    if (r.shape.head_rows) record_head(&r);
    status = r.status ? r.status : device_end(g, g->once, err);
    if (!status) status = device_run(g, &g->once, 1, err);
    if (!status) take_logits(run, 1, 0, m->scratch->read.mapped, m->config.vocab);
    if (!status) append(run, 1);
    return status;
}

tdm_status gpu_forward(struct gpu_model *m, const struct gpu_run *runs, uint32_t n_runs,
                       const struct gpu_pass_options *options, tdm_error *err)
{
    struct shape shape;
    device_lock(m->gpu);
    tdm_status status = device_check(m->gpu, err);
    if (!status) status = check(m, runs, n_runs, err);
    if (!status) status = fill_tables(m, runs, n_runs, &shape, err);
    if (!status) {
        uint32_t logits = fill_index(m, runs, n_runs);
        for (uint32_t i = 0; i < n_runs; i++) runs[i].state->logits_valid = false;
        status = submit(m, runs, n_runs, &shape, logits, options, err);
    }
    if (!status) append(runs, n_runs);
    if (!status && options && options->hidden)
        memcpy(options->hidden, (char *)m->scratch->read.mapped + m->scratch->hidden_read_at,
               (size_t)(m->config.layers + 1) * m->config.hidden * sizeof(float));
    device_unlock(m->gpu);
    return status;
}
