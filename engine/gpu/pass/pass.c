/* The host's part of a pass: checks, tables, submissions, and the states' new lengths. */
#include "engine/gpu/device/fused.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/gpu/pass/gemm.h"
#include "engine/model/schema/rotary.h"
#include "engine/state/pads.h"

/* ---- Tables ------------------------------------------------------------------------------------------------- */

/* RoPE's angles of one set, of all positions below n. */
static tdm_status make_set(struct gpu_model *m, struct scratch *s, uint32_t set, uint32_t n, tdm_error *err)
{
    uint32_t pairs = pass_angle_pairs(&m->config, set);
    const double *frequency = m->frequency[set];
    float amplitude = set ? 1 : m->config.rope.scaling.amplitude;
    float *more = realloc(s->angles[set], (size_t)n * 2 * pairs * sizeof *more);
    if (!more) return error_set(err, TDM_E_NOMEM, "no memory for the angles of %u positions", n);
    s->angles[set] = more;
    for (uint32_t position = s->angle_rows; position < n; position++)
        for (uint32_t j = 0; j < pairs; j++) {
            more[(size_t)position * 2 * pairs + j] = (float)cos(position * frequency[j]) * amplitude;
            more[((size_t)position * 2 + 1) * pairs + j] = (float)sin(position * frequency[j]) * amplitude;
        }
    return TDM_OK;
}

static tdm_status make_angles(struct gpu_model *m, struct scratch *s, uint32_t n, tdm_error *err)
{
    enum { STEP = 512 };
    tdm_status status = TDM_OK;
    if (n <= s->angle_rows || !m->config.rope.dims) return TDM_OK;
    n = (n + STEP - 1) / STEP * STEP;
    for (uint32_t set = 0; set < pass_angle_sets(&m->config) && !status; set++) status = make_set(m, s, set, n, err);
    if (!status) s->angle_rows = n;
    return status;
}

/* Those of a row of this many, which is at this position. */
static void fill_angles(const struct gpu_model *m, const struct scratch *s, uint32_t row, uint32_t rows,
                        struct pads_position at)
{
    for (uint32_t set = 0; set < pass_angle_sets(&m->config); set++) {
        uint32_t pairs = pass_angle_pairs(&m->config, set);
        if (!pairs) continue;
        float *to = (float *)((char *)s->table.mapped + s->tables.angles[set]);
        for (uint32_t j = 0; j < pairs; j++) {
            const float *from = s->angles[set] + (size_t)pads_axis(&at, m->config.rope.sections, j) * 2 * pairs + j;
            to[(size_t)row * pairs + j] = from[0];
            to[(size_t)(rows + row) * pairs + j] = from[pairs];
        }
    }
}

/* The inputs of the layers by a row's token. */
static tdm_status fill_told(const struct gpu_model *m, const struct scratch *s, uint32_t row, tdm_id token,
                            tdm_error *err)
{
    const struct config *c = &m->config;
    if (!c->layer_input) return TDM_OK;
    const struct tensor *t = source_tensor(m->inputs.source, ROLE_INPUT_TABLE, 0);
    float *to = (float *)((char *)s->table.mapped + s->tables.told) + (size_t)row * t->cols;
    tdm_status status = source_copy_rows(m->inputs.source, t, token < 0 ? 0 : (uint64_t)token, 1, s->raw_inputs, err);
    if (status) return status;
    type_widen(t->type, s->raw_inputs, to, t->cols);
    for (uint64_t i = 0; i < t->cols; i++) to[i] *= sqrtf((float)c->layer_input);
    return TDM_OK;
}

/* A run in the table of a kind of pages. */
static void fill_run(struct gpu_model *m, struct scratch *s, const struct gpu_run *run, uint32_t kind, uint32_t index,
                     const struct table_row *first, uint32_t first_row)
{
    const struct gpu_state *state = run->state;
    uint64_t base = state->buffer->block.address, place = (uint64_t)kind * m->options.runs + index,
             pages_at = s->tables.pages + place * pass_pages(&m->options) * 8;
    uint64_t *pages = (uint64_t *)((char *)s->table.mapped + pages_at);
    struct gpu_page **held = state->pages[kind];
    struct table_run *to = (struct table_run *)((char *)s->table.mapped + s->tables.runs) + place;
    *to = (struct table_run){.recurrent = run->kept ? run->kept->after.address : base,
                             .conv_in = base + model_conv_at(m, state->conv),
                             .conv_out = base + model_conv_at(m, !state->conv),
                             .pages = s->table.address + pages_at,
                             .first_row = first_row,
                             .n = run->n,
                             .start = first->position,
                             .limit = m->config.vocab,
                             .logits = run->logits == GPU_LOGITS_TOPK ? base + model_logits_at(m)
                                                                      : state->buffer->logits.address,
                             .topk = state->buffer->logits.address + model_topk_at(m)};
    /* There are none where no layer is attention. In the place of one that a window has passed another one stands, of
     * which nothing counts. */
    for (uint32_t i = 0; held && i < (first->position + run->n + KV_PAGE - 1) / KV_PAGE; i++) {
        const struct gpu_page *page = held[i < state->first[kind] ? state->first[kind] : i];
        pages[i] = page ? page->address : 0;
    }
}

/* Of a pass of the layers, in the tables of all their kinds; there is one where they are none. */
static void fill_runs(struct gpu_model *m, struct scratch *s, const struct gpu_run *run, bool head, uint32_t index,
                      const struct table_row *first, uint32_t first_row)
{
    uint32_t kinds = m->shape.kinds;
    if (head) fill_run(m, s, run, kinds, index, first, first_row);
    for (uint32_t kind = 0; !head && kind < (kinds ? kinds : 1); kind++)
        fill_run(m, s, run, kind, index, first, first_row);
}

uint64_t pass_waiting_place(const struct scratch *s, const struct gpu_state *state, uint32_t position)
{
    return state->headless ? s->draft.unwanted : state_waiting_row(state, position);
}

/* A row's token as shaders take it: of a picture its embedding goes to the row's place. */
static uint32_t fill_token(const struct gpu_model *m, const struct scratch *s, uint32_t row, tdm_id token)
{
    const uint32_t pad = 0x80000000u, hidden = m->config.hidden;
    if (token >= 0) return (uint32_t)token;
    memcpy((float *)((char *)s->table.mapped + s->tables.pads) + (size_t)row * hidden, pads_embedding(token, hidden),
           hidden * sizeof(float));
    return pad;
}

/* The position of the t-th row of a run; those of the MTP head may be of tokens that the state doesn't have yet. lag:
 * before the first row. */
static struct pads_position position_of(const struct gpu_run *run, bool head, uint32_t start, uint32_t t, uint32_t lag)
{
    const struct gpu_state *state = run->state;
    if (!head) return pads_position(run->tokens, t, start, lag);
    if (start + t < state->length) return pads_position(state->tokens + start, t, start, lag);
    uint32_t at = start + t - pads_lag(state->tokens, state->length);
    return (struct pads_position){at, at, at};
}

tdm_status pass_tables(struct gpu_model *m, struct scratch *s, const struct gpu_run *runs, uint32_t n_runs,
                       const struct table_source *source, struct shape *shape, tdm_error *err)
{
    char *table = s->table.mapped;
    struct table_row *row = (struct table_row *)(table + s->tables.rows);
    struct table_tile *tile = (struct table_tile *)(table + s->tables.tiles);
    float *scales = (float *)(table + s->tables.scales);
    uint64_t *h = (uint64_t *)(table + s->tables.h);
    uint32_t rows = 0, longest = 0;
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
    for (uint32_t i = 0; i < n_runs && !status; i++) {
        const struct gpu_run *run = &runs[i];
        uint32_t start = source ? source->start : run->state->length, first = at;
        uint32_t known = start < run->state->length ? start : run->state->length;
        uint32_t lag = pads_lag(run->state->tokens, known);
        for (uint32_t t = 0; t < run->n; t += some)
            tile[shape->tiles++] = (struct table_tile){i, t, run->n - t < some ? run->n - t : some, 0};
        for (uint32_t t = 0; t < run->n && !status; t++, at++) {
            uint32_t position = start + t;
            row[at] = (struct table_row){i, position, fill_token(m, s, at, run->tokens[t]), t};
            scales[at] = rotary_query_scale(&m->config.rope, position);
            if (m->config.mtp.there) h[at] = source ? source->h[at] : pass_waiting_place(s, run->state, position);
            fill_angles(m, s, at, rows, position_of(run, source && source->head, start, t, lag));
            status = fill_told(m, s, at, run->tokens[t], err);
        }
        fill_runs(m, s, run, source && source->head, i, &row[first], first);
    }
    return status;
}

/* Whether the logits of its last token are wanted, and no others. */
static bool wants_last(const struct gpu_run *run)
{
    return run->logits == GPU_LOGITS_LAST || run->logits == GPU_LOGITS_TOPK;
}

/* Whether a pass lists the best logits: where a run wants them and none wants others. */
static bool lists_topk(const struct gpu_run *runs, uint32_t n_runs)
{
    bool topk = false, others = false;
    for (uint32_t i = 0; i < n_runs; i++) {
        topk |= runs[i].logits == GPU_LOGITS_TOPK;
        others |= runs[i].logits == GPU_LOGITS_LAST || runs[i].logits == GPU_LOGITS_ALL;
    }
    return topk && !others;
}

/* The rows whose logits are wanted; returns their number. */
static uint32_t fill_index(struct scratch *s, const struct gpu_run *runs, uint32_t n_runs)
{
    uint32_t *index = (uint32_t *)((char *)s->table.mapped + s->tables.index), n = 0, row = 0;
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
    if (s->n_recorded < MAX_RECORDED) return &s->recorded[s->n_recorded++];
    for (uint32_t i = 1; i < MAX_RECORDED; i++)
        if (s->recorded[i].used < at->used) at = &s->recorded[i];
    recorded_free(at, s, g);
    return at;
}

static tdm_status record(struct recording *r, uint32_t first, uint32_t end, bool hidden, uint32_t hidden_row)
{
    struct gpu *g = r->model->gpu;
    tdm_status status = device_begin(g, r->commands, false, r->err);
    if (status) return status;
    if (r->shape.fused)
        fused_record(r);
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
        status = device_commands(&at->commands[i], m->gpu, s->pool, err);
        if (status) break;
        at->n = i + 1;
        struct recording r = {.model = m, .s = s, .commands = at->commands[i], .shape = *shape, .err = err};
        status = record(&r, i * layers / parts, (i + 1) * layers / parts, hidden, hidden_row);
    }
    if (status) {
        recorded_free(at, s, m->gpu);
        return status;
    }
    if (!hidden) at->shape = *shape; /* that of no pass else */
    *out = at;
    return TDM_OK;
}

/* Records commands that are not submitted, so that what they are made of is compiled. */
static tdm_status rehearse(struct gpu_model *m, VkCommandBuffer commands, const struct shape *shape, tdm_error *err)
{
    struct scratch *s = m->scratch[shape->fused ? SCRATCH_SHORT : SCRATCH_LONG];
    struct recording r = {.model = m, .s = s, .commands = commands, .shape = *shape, .err = err};
    pthread_mutex_lock(&s->busy);
    tdm_status status = record(&r, 0, m->config.layers, false, 0);
    pthread_mutex_unlock(&s->busy);
    return status;
}

static tdm_status rehearse_all(struct gpu_model *m, VkCommandBuffer commands, tdm_error *err)
{
    /* One of each class of sizes: tokens that matmul.comp takes at once, attention; tilings that gemm.c chooses. */
    static const uint32_t few[] = {1, 2, 4, 8};
    enum { FEW = sizeof few / sizeof *few };
    tdm_status status = TDM_OK;
    for (uint32_t i = 0, rows = 0; i < FEW + CHOICE_SIZES && rows < m->options.tokens && !status; i++) {
        status = model_progress(m, TDM_STEP_COMPILING_GPU, i, 2 * FEW + CHOICE_SIZES, err);
        rows = i < FEW ? few[i] : gemm_sizes[i - FEW];
        if (rows > m->options.tokens) rows = m->options.tokens;
        for (uint32_t blocks = 1; blocks <= (rows <= SPLIT_ROWS ? 2 : 1) && !status; blocks++)
            status =
                rehearse(m, commands, &(struct shape){.rows = rows, .runs = 1, .tiles = rows, .blocks = blocks}, err);
    }
    /* Between the two largest sizes experts have batches of a size that neither has (gemm_tile_experts). */
    uint32_t between = gemm_sizes[CHOICE_SIZES - 1] / 2;
    if (m->config.experts.count && between < m->options.tokens && !status)
        status = rehearse(m, commands, &(struct shape){.rows = between, .runs = 1, .tiles = between, .blocks = 1}, err);
    for (uint32_t i = 0; i < FEW && !status; i++) {
        status = model_progress(m, TDM_STEP_COMPILING_GPU, FEW + CHOICE_SIZES + i, 2 * FEW + CHOICE_SIZES, err);
        for (uint32_t topk = 0; topk < 2 && !status; topk++)
            status = rehearse(m, commands, &(struct shape){.head_rows = few[i], .topk = topk}, err);
        for (enum pass_kind kind = PASS_DRAFT; kind <= PASS_ENTRIES && m->config.mtp.there && !status; kind++)
            status =
                rehearse(m, commands,
                         &(struct shape){.rows = few[i], .runs = 1, .tiles = few[i], .blocks = 1, .kind = kind}, err);
    }
    if (gpu_model_burst(m) > 1 && !status)
        status = rehearse(
            m, commands, &(struct shape){.rows = 1, .runs = 1, .fused = 1, .head_rows = 1, .topk = 1, .burst = 2}, err);
    return status;
}

tdm_status gpu_model_prepare(struct gpu_model *m, tdm_error *err)
{
    struct lane lane;
    tdm_status status = lane_open(&lane, m->gpu, m->gpu->family, err);
    if (!status) status = rehearse_all(m, lane.commands, err);
    lane_close(&lane, m->gpu);
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
        for (uint32_t t = 0; t < runs[i].n; t++) {
            tdm_status status = pads_check(runs[i].tokens[t], m->config.vocab, m->config.hidden, err);
            if (status) return status;
            assert_always(runs[i].tokens[t] >= 0 || (pass_sees(&m->config) && !runs[i].kept));
        }
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
    return &s->flight.layer_ns[size];
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
    uint32_t at_once = layer && MAX_FLYING * layer <= token ? MAX_FLYING : 1;
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

tdm_status pass_run(struct gpu_model *m, struct scratch *s, const VkCommandBuffer *commands, uint32_t n,
                    uint32_t tokens, int64_t *alone_ns, tdm_error *err)
{
    struct start start;
    tdm_status status = device_start(&start, m->gpu, s->fence, commands, n, 0, err);
    int64_t takes = m->token_ns * tokens;
    if (!status) status = device_finish(m->gpu, s->fence, takes ? start.at + takes : 0, err);
    if (alone_ns) *alone_ns = start.alone ? clock_ns() - start.at : 0;
    return status;
}

static tdm_status submit_slice(struct gpu_model *m, struct scratch *s, const VkCommandBuffer *commands, uint32_t n,
                               tdm_error *err)
{
    struct slice *slice = &s->flight.slices[(s->flight.first + s->flight.n) % MAX_FLYING];
    slice->layers = n;
    tdm_status status = device_start(&slice->start, m->gpu, slice->fence, commands, n, s->flight.n, err);
    s->flight.n += !status;
    return status;
}

/* The oldest one that was submitted. */
static tdm_status wait_for_slice(struct gpu_model *m, struct scratch *s, uint32_t rows, tdm_error *err)
{
    struct slice *slice = &s->flight.slices[s->flight.first];
    tdm_status status = device_finish(m->gpu, slice->fence, 0, err);
    int64_t end = clock_ns(), began = slice->start.at > s->flight.end ? slice->start.at : s->flight.end;
    if (!status && slice->start.alone) count_time(layer_time(s, rows), (end - began) / slice->layers);
    s->flight.end = end;
    s->flight.first = (s->flight.first + 1) % MAX_FLYING;
    s->flight.n--;
    return status;
}

/* Those that are left; when they were done is not known. */
static tdm_status wait_for_slices(struct gpu_model *m, struct scratch *s, uint32_t rows, tdm_error *err)
{
    tdm_status first = TDM_OK;
    while (s->flight.n) {
        s->flight.slices[s->flight.first].start.alone = false;
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
        while (!status && s->flight.n >= cut.at_once) status = wait_for_slice(m, s, rows, err);
    }
    wait_for_slices(m, s, rows, NULL);
    return status;
}

/* The commands for some logits. */
static tdm_status head_commands(VkCommandBuffer *out, struct gpu_model *m, struct scratch *s, uint32_t first,
                                uint32_t rows, bool topk, tdm_error *err)
{
    struct recorded *recorded;
    struct shape head = {.head_rows = rows, .head_first = first, .topk = topk};
    tdm_status status = pass_commands(&recorded, m, s, &head, false, 0, err);
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
    bool topk = lists_topk(runs, n_runs);
    tdm_status status = layers->n > 1 ? run_slices(m, s, layers, runs, n_runs, options, &done, err) : TDM_OK;
    if (runs[0].kept) commands[n++] = runs[0].kept->copy;
    for (; done < layers->n; done++) commands[n++] = layers->commands[done];
    for (uint32_t first = 0, some; !status && (!first || first < logits); first += some) {
        int64_t took;
        some = logits - first < HEAD_ROWS ? logits - first : HEAD_ROWS;
        if (some && !layers->shape.fused) status = head_commands(&commands[n++], m, s, first, some, topk, err);
        if (!status && is_cancelled(options)) status = error_set(err, TDM_E_CANCELLED, "the pass was cancelled");
        if (status) break;
        for (uint32_t i = 0; i < n_runs; i++) runs[i].state->broken |= !runs[i].kept;
        status = pass_run(m, s, commands, n, layers->shape.rows == 1, &took, err);
        if (!status && layers->shape.fused) status = fused_check(m, s, err);
        if (!status && layers->shape.rows == 1 && took) pass_count_token(m, took);
        n = 0;
        const float *rows = layers->shape.fused ? runs[0].state->logits : s->read.mapped;
        for (uint32_t i = 0; i < some && !status && !topk; i++)
            take_logits(runs, n_runs, first + i, rows + (size_t)i * vocab, vocab);
        if (!some) break;
    }
    tdm_status late = wait_for_slices(m, s, layers->shape.rows, status ? NULL : err);
    return status ? status : late;
}

/* The states after a pass that was done. */
static void append(const struct gpu_run *runs, uint32_t n_runs)
{
    bool topk = lists_topk(runs, n_runs);
    for (uint32_t i = 0; i < n_runs; i++) {
        struct gpu_state *s = runs[i].state;
        if (runs[i].kept) continue;
        memcpy(s->tokens + s->length, runs[i].tokens, runs[i].n * sizeof *s->tokens);
        s->length += runs[i].n;
        s->conv = !s->conv;
        s->logits_valid = runs[i].logits != GPU_LOGITS_NONE;
        s->buffer->away = s->buffer->listed = runs[i].logits == GPU_LOGITS_TOPK && topk;
        s->broken = false;
    }
}

/* With the scratch and a lane's commands and fence. */
static tdm_status run_watched(struct recording *r, const struct gpu_run *run, VkQueryPool pool, VkFence fence,
                              tdm_error *err)
{
    struct gpu_model *m = r->model;
    struct gpu *g = m->gpu;
    struct start start;
    tdm_status status = device_check(g, err);
    if (!status) status = check(m, run, 1, err);
    if (!status) status = pass_tables(m, r->s, run, 1, NULL, &r->shape, err);
    if (!status) status = device_begin(g, r->commands, true, err);
    if (status) return status;
    g->vk.CmdResetQueryPool(r->commands, pool, 0, WATCHED_QUERIES);
    r->shape.head_rows = fill_index(r->s, run, 1);
    record_layers(r, 0, m->config.layers, false, 0);
    if (r->shape.head_rows) record_head(r);
    status = r->status ? r->status : device_end(g, r->commands, err);
    if (!status) status = device_start(&start, g, fence, &r->commands, 1, 0, err);
    if (!status) status = device_finish(g, fence, 0, err);
    if (!status) take_logits(run, 1, 0, r->s->read.mapped, m->config.vocab);
    if (!status) append(run, 1);
    return status;
}

tdm_status pass_watched(struct gpu_model *m, const struct gpu_run *run, step_watcher *watch, void *ctx,
                        VkQueryPool pool, tdm_error *err)
{
    struct scratch *s = scratch_for(m, run, 1, NULL);
    struct lane lane;
    tdm_status status = lane_open(&lane, m->gpu, m->gpu->family, err);
    struct recording r = {.model = m, .s = s, .commands = lane.commands, .watch = watch, .watch_ctx = ctx, .err = err};
    pthread_mutex_lock(&s->busy);
    if (!status) status = run_watched(&r, run, pool, lane.fence, err);
    pthread_mutex_unlock(&s->busy);
    lane_close(&lane, m->gpu);
    return status;
}

/* The commands that copy the state's recurrent states to where the pass goes on with them. */
static tdm_status kept_copy(struct gpu_kept *k, const struct gpu_state *s, tdm_error *err)
{
    struct gpu *g = k->model->gpu;
    VkBufferCopy region = {0, 0, sizeof(float) * state_shape_recurrent_floats(&k->model->shape)};
    device_lock(g); /* its pool's */
    tdm_status status = device_begin(g, k->copy, true, err);
    if (!status) {
        if (region.size) g->vk.CmdCopyBuffer(k->copy, s->buffer->block.buffer, k->after.buffer, 1, &region);
        device_barrier(g, k->copy);
        status = device_end(g, k->copy, err);
    }
    device_unlock(g);
    return status;
}

/* Before the first submission: checks, tables, commands. *logits: rows of them. */
static tdm_status prepare(struct gpu_model *m, struct scratch *s, const struct gpu_run *runs, uint32_t n_runs,
                          const struct gpu_pass_options *options, struct recorded **layers, uint32_t *logits,
                          tdm_error *err)
{
    struct shape shape;
    tdm_status status = device_check(m->gpu, err);
    if (!status) status = check(m, runs, n_runs, err);
    if (!status) status = pass_tables(m, s, runs, n_runs, NULL, &shape, err);
    if (!status) *logits = fill_index(s, runs, n_runs);
    bool hidden = options && options->hidden;
    if (!status && shape.rows == 1 && s->fused && s->fused->groups && !hidden && !runs[0].kept)
        shape = (struct shape){.rows = 1,
                               .runs = 1,
                               .tiles = 1,
                               .fused = 1,
                               .head_rows = *logits,
                               .topk = runs[0].logits == GPU_LOGITS_TOPK};
    if (!status && runs[0].kept) {
        shape.kept = runs[0].kept->inputs.address;
        status = kept_copy(runs[0].kept, runs[0].state, err);
    }
    return status ? status : pass_commands(layers, m, s, &shape, hidden, runs[0].n - 1, err);
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
        memcpy(options->hidden, (char *)s->read.mapped + s->read_at.hidden,
               (size_t)(m->config.layers + 1) * m->config.hidden * sizeof(float));
    pthread_mutex_unlock(&s->busy);
    for (uint32_t i = 0; i < n_runs && !status; i++)
        if (!runs[i].kept) status = head_catch_up(runs[i].state, err);
    return status;
}
