/* The host's part of a pass: checks, tables, submissions, and the states' new lengths. */
#include "engine/gpu/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/gpu/wide.h"

/* ---- Tables ------------------------------------------------------------------------------------------------- */

/* RoPE's angles of all positions below n. */
static tdm_status make_angles(struct gpu_model *m, struct scratch *s, uint32_t n, tdm_error *err)
{
    enum { STEP = 512 };
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

static void fill_run(struct gpu_model *m, struct scratch *s, const struct gpu_run *run, enum page_kind kind,
                     uint32_t index, const struct table_row *first, uint32_t first_row)
{
    const struct gpu_state *state = run->state;
    uint64_t base = state->buffer->block.address, pages_at = s->pages_at + index * pass_pages(&m->options) * 8;
    uint64_t *pages = (uint64_t *)((char *)s->table.mapped + pages_at);
    struct table_run *to = (struct table_run *)((char *)s->table.mapped + s->runs_at) + index;
    *to = (struct table_run){.recurrent = run->kept ? run->kept->after.address : base,
                             .conv_in = base + model_conv_at(m, state->conv),
                             .conv_out = base + model_conv_at(m, !state->conv),
                             .pages = s->table.address + pages_at,
                             .first_row = first_row,
                             .n = run->n,
                             .start = first->position,
                             .limit = m->config.vocab,
                             .logits = run->logits == GPU_LOGITS_BEST ? base + model_logits_at(m)
                                                                      : state->buffer->logits.address,
                             .best = state->buffer->logits.address + model_best_at(m)};
    for (uint32_t i = 0; i < (first->position + run->n + KV_PAGE - 1) / KV_PAGE; i++)
        pages[i] = state->pages[kind][i]->address;
}

uint64_t pass_waiting_place(const struct scratch *s, const struct gpu_state *state, uint32_t position)
{
    return state->headless ? s->unwanted : state_waiting_row(state, position);
}

tdm_status pass_tables(struct gpu_model *m, struct scratch *s, const struct gpu_run *runs, uint32_t n_runs,
                       const struct table_source *source, struct shape *shape, tdm_error *err)
{
    char *table = s->table.mapped;
    struct table_row *row = (struct table_row *)(table + s->rows_at);
    struct table_tile *tile = (struct table_tile *)(table + s->tiles_at);
    float *angles = (float *)(table + s->angles_at);
    uint64_t *h = (uint64_t *)(table + s->h_at);
    uint32_t pairs = m->config.rope_dims / 2, rows = 0, longest = 0;
    for (uint32_t i = 0; i < n_runs; i++) {
        rows += runs[i].n;
        uint32_t end = (source ? source->start : runs[i].state->length) + runs[i].n;
        longest = end > longest ? end : longest;
    }
    tdm_status status = make_angles(m, s, longest, err);
    if (status) return status;
    *shape = (struct shape){.rows = rows, .runs = n_runs, .blocks = 1};
    while (rows <= SPLIT_ROWS && shape->blocks < pass_blocks(longest)) shape->blocks *= 2;
    uint32_t some = record_tile_tokens(m, rows), at = 0;
    for (uint32_t i = 0; i < n_runs; i++) {
        const struct gpu_run *run = &runs[i];
        uint32_t start = source ? source->start : run->state->length, first = at;
        for (uint32_t t = 0; t < run->n; t += some)
            tile[shape->tiles++] = (struct table_tile){i, t, run->n - t < some ? run->n - t : some, 0};
        for (uint32_t t = 0; t < run->n; t++, at++) {
            uint32_t position = start + t;
            row[at] = (struct table_row){i, position, (uint32_t)run->tokens[t], t};
            if (m->config.mtp) h[at] = source ? source->h[at] : pass_waiting_place(s, run->state, position);
            memcpy(angles + (size_t)at * pairs, s->angles + (size_t)position * 2 * pairs, pairs * sizeof *angles);
            memcpy(angles + (size_t)(rows + at) * pairs, s->angles + ((size_t)position * 2 + 1) * pairs,
                   pairs * sizeof *angles);
        }
        fill_run(m, s, run, source ? source->pages : PAGE_LAYERS, i, &row[first], first);
    }
    return TDM_OK;
}

/* Whether the logits of its last token are wanted, and no others. */
static bool wants_last(const struct gpu_run *run)
{
    return run->logits == GPU_LOGITS_LAST || run->logits == GPU_LOGITS_BEST;
}

/* Whether a pass lists the best logits: where a run wants them and none wants others. */
static bool lists_best(const struct gpu_run *runs, uint32_t n_runs)
{
    bool best = false, others = false;
    for (uint32_t i = 0; i < n_runs; i++) {
        best |= runs[i].logits == GPU_LOGITS_BEST;
        others |= runs[i].logits == GPU_LOGITS_LAST || runs[i].logits == GPU_LOGITS_ALL;
    }
    return best && !others;
}

/* The rows whose logits are wanted; returns their number. */
static uint32_t fill_index(struct scratch *s, const struct gpu_run *runs, uint32_t n_runs)
{
    uint32_t *index = (uint32_t *)((char *)s->table.mapped + s->index_at), n = 0, row = 0;
    for (uint32_t i = 0; i < n_runs; row += runs[i++].n) {
        if (wants_last(&runs[i])) index[n++] = row + runs[i].n - 1;
        for (uint32_t t = 0; t < runs[i].n && runs[i].logits == GPU_LOGITS_ALL; t++) index[n++] = row + t;
    }
    return n;
}

/* ---- Commands ----------------------------------------------------------------------------------------------- */

/* One that was not used, or the one that was used longest ago. */
static struct recorded *oldest(struct scratch *s, struct gpu *g)
{
    struct recorded *at = s->recorded;
    if (s->n_recorded < MOST_RECORDED) return &s->recorded[s->n_recorded++];
    for (uint32_t i = 1; i < MOST_RECORDED; i++)
        if (s->recorded[i].used < at->used) at = &s->recorded[i];
    recorded_free(at, g);
    return at;
}

static tdm_status record(struct recording *r, uint32_t first, uint32_t end, bool hidden, uint32_t hidden_row)
{
    struct gpu *g = r->model->gpu;
    tdm_status status = device_begin(g, r->commands, false, r->err);
    if (status) return status;
    if (r->shape.together)
        program_record(r);
    else if (r->shape.head_rows)
        record_head(r);
    else if (r->shape.kind == PASS_REPLAY)
        record_replay(r);
    else if (r->shape.kind != PASS_LAYERS)
        record_mtp(r, r->shape.kind == PASS_ENTRIES);
    else
        record_layers(r, first, end, hidden, hidden_row);
    return r->status ? r->status : device_end(g, r->commands, r->err);
}

/* Those for this shape, recorded before or now; `hidden` ones are not kept. */
tdm_status pass_commands(struct recorded **out, struct gpu_model *m, struct scratch *s, const struct shape *shape,
                         bool hidden, uint32_t hidden_row, tdm_error *err)
{
    uint32_t layers = m->config.layers, parts = s->sliced && !hidden && !shape->head_rows ? layers : 1;
    s->uses++;
    for (uint32_t i = 0; i < s->n_recorded && !hidden; i++)
        if (s->recorded[i].n && !memcmp(&s->recorded[i].shape, shape, sizeof *shape)) {
            *out = &s->recorded[i];
            (*out)->used = s->uses;
            return TDM_OK;
        }
    struct recorded *at = oldest(s, m->gpu);
    at->used = s->uses;
    at->commands = calloc(parts, sizeof(VkCommandBuffer));
    tdm_status status = at->commands ? TDM_OK : error_set(err, TDM_E_NOMEM, "no memory for commands");
    for (uint32_t i = 0; i < parts && !status; i++) {
        status = device_commands(&at->commands[i], m->gpu, err);
        if (status) break;
        at->n = i + 1;
        struct recording r = {.model = m, .s = s, .commands = at->commands[i], .shape = *shape, .err = err};
        status = record(&r, i * layers / parts, (i + 1) * layers / parts, hidden, hidden_row);
    }
    if (status) {
        recorded_free(at, m->gpu);
        return status;
    }
    if (!hidden) at->shape = *shape; /* that of no pass else */
    *out = at;
    return TDM_OK;
}

/* Commands that nobody submits: what they are made of is compiled. */
static tdm_status rehearse(struct gpu_model *m, const struct shape *shape, tdm_error *err)
{
    struct recording r = {.model = m,
                          .s = m->scratch[shape->together ? SCRATCH_SHORT : SCRATCH_LONG],
                          .commands = m->gpu->once,
                          .shape = *shape,
                          .err = err};
    return record(&r, 0, m->config.layers, false, 0);
}

tdm_status gpu_model_prepare(struct gpu_model *m, tdm_error *err)
{
    /* One of each class of sizes: tokens that matmul.comp takes at once, attention; cuts that wide.c chooses. */
    static const uint32_t few[] = {1, 2, 4, 8};
    enum { FEW = sizeof few / sizeof *few };
    tdm_status status = TDM_OK;
    for (uint32_t i = 0, rows = 0; i < FEW + CHOICE_SIZES && rows < m->options.tokens && !status; i++) {
        status = model_progress(m, TDM_STEP_COMPILING_GPU, i, 2 * FEW + CHOICE_SIZES, err);
        rows = i < FEW ? few[i] : wide_sizes[i - FEW];
        if (rows > m->options.tokens) rows = m->options.tokens;
        for (uint32_t blocks = 1; blocks <= (rows <= SPLIT_ROWS ? 2 : 1) && !status; blocks++)
            status = rehearse(m, &(struct shape){.rows = rows, .runs = 1, .tiles = rows, .blocks = blocks}, err);
    }
    for (uint32_t i = 0; i < FEW && !status; i++) {
        status = model_progress(m, TDM_STEP_COMPILING_GPU, FEW + CHOICE_SIZES + i, 2 * FEW + CHOICE_SIZES, err);
        for (uint32_t best = 0; best < 2 && !status; best++)
            status = rehearse(m, &(struct shape){.head_rows = few[i], .best = best}, err);
        for (enum pass_kind kind = PASS_DRAFT; kind <= PASS_ENTRIES && m->config.mtp && !status; kind++)
            status = rehearse(m, &(struct shape){.rows = few[i], .runs = 1, .tiles = few[i], .blocks = 1, .kind = kind},
                              err);
    }
    if (gpu_model_several(m) > 1 && !status)
        status = rehearse(
            m, &(struct shape){.rows = 1, .runs = 1, .together = 1, .head_rows = 1, .best = 1, .several = 2}, err);
    return status;
}

/* ---- The pass ----------------------------------------------------------------------------------------------- */

static tdm_status check(struct gpu_model *m, const struct gpu_run *runs, uint32_t n_runs, tdm_error *err)
{
    uint64_t rows = 0;
    if (n_runs < 1 || n_runs > m->options.runs)
        return error_set(err, TDM_E_ARG, "%u runs in a pass: at most %u", n_runs, m->options.runs);
    assert_always(!runs[0].kept || (n_runs == 1 && runs[0].n <= KEPT_ROWS && runs[0].logits == GPU_LOGITS_ALL));
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

/* Row i of those whose logits were made, from what was read back or from the state itself. */
static void take_logits(const struct gpu_run *runs, uint32_t n_runs, uint32_t i, const float *row, uint32_t vocab)
{
    for (uint32_t r = 0; r < n_runs; r++) {
        uint32_t n = runs[r].logits == GPU_LOGITS_ALL ? runs[r].n : wants_last(&runs[r]);
        if (i >= n) {
            i -= n;
            continue;
        }
        if (runs[r].logits == GPU_LOGITS_ALL) memcpy(runs[r].all + (size_t)i * vocab, row, vocab * sizeof *row);
        if (i + 1 == n && !runs[r].kept && row != runs[r].state->logits)
            memcpy(runs[r].state->logits, row, vocab * sizeof *row);
        return;
    }
}

/* Which scratch a pass takes. */
static struct scratch *scratch_for(struct gpu_model *m, const struct gpu_run *runs, uint32_t n_runs,
                                   const struct gpu_pass_options *options)
{
    bool is_short = !options || !options->hidden;
    for (uint32_t i = 0; i < n_runs; i++) is_short = is_short && runs[i].n <= SHORT_TOKENS;
    return m->scratch[is_short ? SCRATCH_SHORT : SCRATCH_LONG];
}

static int64_t *layer_time(struct scratch *s, uint32_t rows)
{
    uint32_t size = 0;
    while (size + 1 < SIZES && (uint32_t)1 << size < rows) size++;
    return &s->layer_ns[size];
}

/* How the rest of a pass is submitted. */
struct cutting {
    uint32_t layers, at_once; /* of a slice; slices */
};

/* So that all that is submitted takes about as long as a token; before anything was measured that is supposed to be the
 * time of SHORT_TOKENS tokens. */
static struct cutting cut_pass(struct gpu_model *m, struct scratch *s, uint32_t rows)
{
    int64_t layer = *layer_time(s, rows), token = m->token_ns, layers = m->config.layers;
    uint32_t at_once = layer && MOST_FLYING * layer <= token ? MOST_FLYING : 1;
    int64_t some = layer && token ? token / at_once / layer : layers * SHORT_TOKENS / rows;
    return (struct cutting){(uint32_t)(some < 1 ? 1 : some > layers ? layers : some), at_once};
}

/* A time that was measured becomes part of the mean of such times. */
static void count_time(int64_t *mean, int64_t ns)
{
    *mean = *mean ? *mean + (ns - *mean) / 4 : ns;
}

void pass_count_token(struct gpu_model *m, int64_t ns)
{
    int64_t mean = m->token_ns;
    count_time(&mean, ns);
    m->token_ns = mean;
}

/* *alone: nothing is submitted but this, and `own` of the same pass. What was submitted is to be waited for with
 * finish. */
static tdm_status start(struct gpu *g, VkFence fence, const VkCommandBuffer *commands, uint32_t n, uint32_t own,
                        bool *alone, tdm_error *err)
{
    *alone = atomic_fetch_add(&g->in_flight, 1) == (int)own;
    device_lock(g);
    tdm_status status = device_submit(g, fence, commands, n, err);
    device_unlock(g);
    if (status) atomic_fetch_sub(&g->in_flight, 1);
    return status;
}

static tdm_status finish(struct gpu *g, VkFence fence, int64_t likely, tdm_error *err)
{
    tdm_status status = device_wait(g, fence, likely, err);
    atomic_fetch_sub(&g->in_flight, 1);
    return status;
}

tdm_status pass_run(struct gpu_model *m, struct scratch *s, const VkCommandBuffer *commands, uint32_t n,
                    uint32_t tokens, int64_t *alone_ns, tdm_error *err)
{
    int64_t started = clock_ns();
    bool alone;
    tdm_status status = start(m->gpu, s->fence, commands, n, 0, &alone, err);
    int64_t takes = m->token_ns * tokens;
    if (!status) status = finish(m->gpu, s->fence, takes ? started + takes : 0, err);
    if (alone_ns) *alone_ns = alone ? clock_ns() - started : 0;
    return status;
}

static tdm_status submit_slice(struct gpu_model *m, struct scratch *s, const VkCommandBuffer *commands, uint32_t n,
                               tdm_error *err)
{
    struct slice *slice = &s->flying[(s->first_flying + s->n_flying) % MOST_FLYING];
    slice->layers = n;
    slice->start = clock_ns();
    tdm_status status = start(m->gpu, slice->fence, commands, n, s->n_flying, &slice->alone, err);
    s->n_flying += !status;
    return status;
}

/* The oldest one that was submitted. */
static tdm_status wait_for_slice(struct gpu_model *m, struct scratch *s, uint32_t rows, tdm_error *err)
{
    struct slice *slice = &s->flying[s->first_flying];
    tdm_status status = finish(m->gpu, slice->fence, 0, err);
    int64_t end = clock_ns(), began = slice->start > s->slice_end ? slice->start : s->slice_end;
    if (!status && slice->alone) count_time(layer_time(s, rows), (end - began) / slice->layers);
    s->slice_end = end;
    s->first_flying = (s->first_flying + 1) % MOST_FLYING;
    s->n_flying--;
    return status;
}

/* Those that are left; when they were done is not known. */
static tdm_status wait_for_slices(struct gpu_model *m, struct scratch *s, uint32_t rows, tdm_error *err)
{
    tdm_status first = TDM_OK;
    while (s->n_flying) {
        s->flying[s->first_flying].alone = false;
        tdm_status status = wait_for_slice(m, s, rows, first ? NULL : err);
        if (!first) first = status;
    }
    return first;
}

/* Submits the layers of a sliced pass but for the last slice; *done: layers. Some of them may be waited for afterwards,
 * but not after a failure. */
static tdm_status run_slices(struct gpu_model *m, struct scratch *s, const struct recorded *layers,
                             const struct gpu_run *runs, uint32_t n_runs, const struct gpu_pass_options *options,
                             uint32_t *done, tdm_error *err)
{
    uint32_t rows = layers->shape.rows;
    tdm_status status = TDM_OK;
    for (*done = 0; !status;) {
        struct cutting cut = cut_pass(m, s, rows);
        if (*done + cut.layers >= layers->n) return TDM_OK;
        if (is_cancelled(options)) {
            status = error_set(err, TDM_E_CANCELLED, "the pass was cancelled");
            break;
        }
        for (uint32_t i = 0; i < n_runs; i++) runs[i].state->broken = true;
        status = submit_slice(m, s, layers->commands + *done, cut.layers, err);
        *done += cut.layers;
        while (!status && s->n_flying >= cut.at_once) status = wait_for_slice(m, s, rows, err);
    }
    wait_for_slices(m, s, rows, NULL);
    return status;
}

/* The commands for some logits. */
static tdm_status head_commands(VkCommandBuffer *out, struct gpu_model *m, struct scratch *s, uint32_t first,
                                uint32_t rows, bool best, tdm_error *err)
{
    struct recorded *recorded;
    struct shape head = {.head_rows = rows, .head_first = first, .best = best};
    device_lock(m->gpu);
    tdm_status status = pass_commands(&recorded, m, s, &head, false, 0, err);
    device_unlock(m->gpu);
    if (!status) *out = recorded->commands[0];
    return status;
}

/* The pass: its slices, of which the last one goes with the first logits, then the other logits. */
static tdm_status submit(struct gpu_model *m, struct scratch *s, const struct gpu_run *runs, uint32_t n_runs,
                         const struct recorded *layers, uint32_t logits, const struct gpu_pass_options *options,
                         tdm_error *err)
{
    VkCommandBuffer commands[CONFIG_MAX_LAYERS + 2];
    uint32_t n = 0, done = 0, vocab = m->config.vocab;
    bool best = lists_best(runs, n_runs);
    tdm_status status = layers->n > 1 ? run_slices(m, s, layers, runs, n_runs, options, &done, err) : TDM_OK;
    if (runs[0].kept) commands[n++] = runs[0].kept->copy;
    for (; done < layers->n; done++) commands[n++] = layers->commands[done];
    for (uint32_t first = 0, some; !status && (!first || first < logits); first += some) {
        int64_t took;
        some = logits - first < HEAD_ROWS ? logits - first : HEAD_ROWS;
        if (some && !layers->shape.together) status = head_commands(&commands[n++], m, s, first, some, best, err);
        if (!status && is_cancelled(options)) status = error_set(err, TDM_E_CANCELLED, "the pass was cancelled");
        if (status) break;
        for (uint32_t i = 0; i < n_runs; i++) runs[i].state->broken |= !runs[i].kept;
        status = pass_run(m, s, commands, n, layers->shape.rows == 1, &took, err);
        if (!status && layers->shape.together) status = program_check(m, s, err);
        if (!status && layers->shape.rows == 1 && took) pass_count_token(m, took);
        n = 0;
        const float *rows = layers->shape.together ? runs[0].state->logits : s->read.mapped;
        for (uint32_t i = 0; i < some && !status && !best; i++)
            take_logits(runs, n_runs, first + i, rows + (size_t)i * vocab, vocab);
        if (!some) break;
    }
    tdm_status late = wait_for_slices(m, s, layers->shape.rows, status ? NULL : err);
    return status ? status : late;
}

/* The states after a pass that was done. */
static void append(const struct gpu_run *runs, uint32_t n_runs)
{
    bool best = lists_best(runs, n_runs);
    for (uint32_t i = 0; i < n_runs; i++) {
        struct gpu_state *s = runs[i].state;
        if (runs[i].kept) continue;
        memcpy(s->tokens + s->length, runs[i].tokens, runs[i].n * sizeof *s->tokens);
        s->length += runs[i].n;
        s->conv = !s->conv;
        s->logits_valid = runs[i].logits != GPU_LOGITS_NONE;
        s->buffer->away = s->buffer->listed = runs[i].logits == GPU_LOGITS_BEST && best;
        s->broken = false;
    }
}

tdm_status pass_watched(struct gpu_model *m, const struct gpu_run *run, step_watcher *watch, void *ctx,
                        VkQueryPool pool, tdm_error *err)
{
    struct gpu *g = m->gpu;
    struct scratch *s = scratch_for(m, run, 1, NULL);
    struct recording r = {.model = m, .s = s, .commands = g->once, .watch = watch, .watch_ctx = ctx, .err = err};
    tdm_status status = device_check(g, err);
    if (!status) status = check(m, run, 1, err);
    if (!status) status = pass_tables(m, s, run, 1, NULL, &r.shape, err);
    if (!status) status = device_begin(g, g->once, true, err);
    if (status) return status;
    g->vk.CmdResetQueryPool(g->once, pool, 0, WATCHED_QUERIES);
    r.shape.head_rows = fill_index(s, run, 1);
    record_layers(&r, 0, m->config.layers, false, 0);
    if (r.shape.head_rows) record_head(&r);
    status = r.status ? r.status : device_end(g, g->once, err);
    if (!status) status = device_run(g, &g->once, 1, err);
    if (!status) take_logits(run, 1, 0, s->read.mapped, m->config.vocab);
    if (!status) append(run, 1);
    return status;
}

/* The commands that copy the state's recurrent states to where the pass goes on with them. */
static tdm_status kept_copy(struct gpu_kept *k, const struct gpu_state *s, tdm_error *err)
{
    struct gpu *g = k->model->gpu;
    VkBufferCopy region = {0, 0, sizeof(float) * model_recurrent_floats(&k->model->config)};
    tdm_status status = device_begin(g, k->copy, true, err);
    if (status) return status;
    if (region.size) g->vk.CmdCopyBuffer(k->copy, s->buffer->block.buffer, k->after.buffer, 1, &region);
    device_barrier(g, k->copy);
    return device_end(g, k->copy, err);
}

/* Before the first submission: checks, tables, commands. *logits: rows of them. */
static tdm_status prepare(struct gpu_model *m, struct scratch *s, const struct gpu_run *runs, uint32_t n_runs,
                          const struct gpu_pass_options *options, struct recorded **layers, uint32_t *logits,
                          tdm_error *err)
{
    struct shape shape;
    device_lock(m->gpu);
    tdm_status status = device_check(m->gpu, err);
    if (!status) status = check(m, runs, n_runs, err);
    if (!status) status = pass_tables(m, s, runs, n_runs, NULL, &shape, err);
    if (!status) *logits = fill_index(s, runs, n_runs);
    bool hidden = options && options->hidden;
    if (!status && shape.rows == 1 && s->program && s->program->groups && !hidden && !runs[0].kept)
        shape = (struct shape){.rows = 1,
                               .runs = 1,
                               .tiles = 1,
                               .together = 1,
                               .head_rows = *logits,
                               .best = runs[0].logits == GPU_LOGITS_BEST};
    if (!status && runs[0].kept) {
        shape.kept = runs[0].kept->inputs.address;
        status = kept_copy(runs[0].kept, runs[0].state, err);
    }
    if (!status) status = pass_commands(layers, m, s, &shape, hidden, runs[0].n - 1, err);
    device_unlock(m->gpu);
    return status;
}

tdm_status gpu_forward(struct gpu_model *m, const struct gpu_run *runs, uint32_t n_runs,
                       const struct gpu_pass_options *options, tdm_error *err)
{
    struct scratch *s = scratch_for(m, runs, n_runs, options);
    struct recorded *layers;
    uint32_t logits;
    pthread_mutex_lock(&s->busy);
    tdm_status status = prepare(m, s, runs, n_runs, options, &layers, &logits, err);
    if (!status) {
        for (uint32_t i = 0; i < n_runs; i++) runs[i].state->logits_valid &= runs[i].kept != NULL;
        status = submit(m, s, runs, n_runs, layers, logits, options, err);
    }
    if (!status) append(runs, n_runs);
    if (!status && options && options->hidden)
        memcpy(options->hidden, (char *)s->read.mapped + s->hidden_read_at,
               (size_t)(m->config.layers + 1) * m->config.hidden * sizeof(float));
    pthread_mutex_unlock(&s->busy);
    for (uint32_t i = 0; i < n_runs && !status; i++)
        if (!runs[i].kept) status = head_catch_up(runs[i].state, err);
    return status;
}
