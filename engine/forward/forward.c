/* The driver's part of a forward pass (checks, pages, the plan, the states' new lengths) and what all members run:
 * embedding, the layers with their feed-forward networks, the LM head. attention.c, delta.c and mixture.c have the
 * sublayers. */
#include "engine/forward/forward.h"

#include "engine/base/error.h"
#include "engine/forward/mixture.h"
#include "engine/forward/pass.h"
#include "engine/model/schema/rotary.h"

#include <math.h>
#include <string.h>

/* The position that a pair is rotated by: the one along its axis. */
static uint32_t along(const struct config *c, struct pads_position at, size_t pair)
{
    return pads_axis(&at, c->rope.sections, (uint32_t)pair);
}

void pass_angles(struct pass *p, const struct state *s, uint32_t row, struct pads_position at)
{
    const struct config *c = &p->w->config;
    const struct config_rope_scaling *scaling = &c->rope.scaling;
    struct workspace *ws = p->ws;
    size_t pairs = c->rope.dims / 2, in_windows = rotary_window_pairs(c);
    /* Chosen by the tokens that a state can take, not by its length, so that the keys that it holds never change. */
    const double *frequency = ws->angles.frequency[pool_context(s->pool) > scaling->original];
    for (size_t j = 0; j < pairs; j++) {
        ws->angles.cosine[0][row * pairs + j] = (float)cos(along(c, at, j) * frequency[j]) * scaling->amplitude;
        ws->angles.sine[0][row * pairs + j] = (float)sin(along(c, at, j) * frequency[j]) * scaling->amplitude;
    }
    for (size_t j = 0; j < in_windows && c->rope.window_theta != 0; j++) {
        ws->angles.cosine[1][row * in_windows + j] = (float)cos(at.t * ws->angles.of_windows[j]);
        ws->angles.sine[1][row * in_windows + j] = (float)sin(at.t * ws->angles.of_windows[j]);
    }
}

/* The scale of the embeddings, and learned positions. */
static void place(const struct pass *p, float *x, uint32_t position)
{
    const struct config *c = &p->w->config;
    if (c->scales.embedding != 1) p->kernels->scale(x, c->scales.embedding, c->hidden);
    if (p->w->positions) p->kernels->add(x, p->w->positions + (size_t)position * c->hidden, c->hidden);
}

/* Rows of the residual stream: the embeddings; and the angles of RoPE for their positions. */
static void embed(struct pass *p, struct member *m)
{
    const struct config *c = &p->w->config;
    struct workspace *ws = p->ws;
    uint32_t begin, end;
    while (member_claim(m, p->rows, 1, &begin, &end)) {
        uint32_t r = p->n_runs - 1;
        while (ws->run_row[r] > begin) r--;
        const struct forward_run *run = &p->runs[r];
        uint32_t i = begin - ws->run_row[r];
        /* A padded row repeats the last token; what it is does not matter, what it costs does. */
        tdm_id id = run->tokens[i < run->n ? i : run->n - 1];
        float *x = ws->x + begin * pass_stride(c->hidden);
        if (id < 0) {
            memcpy(x, pads_embedding(id, c->hidden), c->hidden * sizeof *x);
        } else {
            p->kernels->unpack_row(&p->w->embed, (uint32_t)id, x);
            place(p, x, run->state->length + (i < run->n ? i : run->n - 1));
        }
        pass_angles(p, run->state, begin,
                    pads_position(run->tokens, i < run->n ? i : run->n - 1, run->state->length, ws->run_lag[r]));
        if (c->layer_input) pass_read_inputs(p, begin, id < 0 ? 0 : id); /* a picture's pads have those of token 0 */
    }
    member_barrier(m);
    if (c->layer_input) pass_make_inputs(p, m);
}

void pass_feed_forward(struct pass *p, struct member *m, const struct layer_weights *layer)
{
    const struct config *c = &p->w->config;
    const struct feed_weights *feed = &layer->feed;
    struct workspace *ws = p->ws;
    bool gated = feed->gate.data;
    const struct matrix *in[] = {&feed->up, &feed->gate}, *down = &feed->down;
    const struct panels *panels =
        pass_panels(p, m, ws->x, pass_stride(c->hidden), NULL, p->rows, &layer->post_norm, in, gated ? 2 : 1);
    struct panel *output = pass_output_panel(p, m, down);
    const struct inner inner = {.gate = &feed->gate,
                                .up = &feed->up,
                                .gate_panel = gated ? pass_panel(p, panels, &feed->gate) : NULL,
                                .up_panel = pass_panel(p, panels, &feed->up),
                                .gate_bias = feed->gate_bias,
                                .up_bias = feed->up_bias,
                                .tokens = p->rows};

    uint32_t width = down->cols, steps = (width + PANEL_STEP - 1) / PANEL_STEP, begin, end;
    while (member_share(m, steps, pass_chunk(m, steps), &begin, &end))
        for (uint32_t i = begin; i < end; i++)
            pass_gate_and_up(p, m, &inner, i * PANEL_STEP, i + 1 < steps ? (i + 1) * PANEL_STEP : width, output);
    member_barrier(m);
    panels = pass_output_panels(p, m);
    if (layer->mixture.dense_norm.multiplier)
        pass_products(p, m, panels, &(struct product){down, ws->added, pass_stride(c->hidden), false, NULL}, 1);
    else
        pass_add(p, m, panels, down, feed->down_bias, &layer->feed_norm, layer->input.gate.data ? NULL : layer->scale);
}

/* What the model does to its logits. */
static void finish_logits(const struct pass *p, float *logits, uint32_t n)
{
    const struct config_scales *scales = &p->w->config.scales;
    if (scales->logit_cap != 0) p->kernels->soft_cap(logits, scales->logit_cap, n);
    for (uint32_t i = 0; scales->logit_divisor != 1 && i < n; i++) logits[i] /= scales->logit_divisor;
}

/* Logits of all rows that are wanted, each to its own place: tile by tile, so that a tile's weights are read once. */
static void logits(struct pass *p, struct member *m)
{
    const struct matrix *head = p->w->lm_head;
    struct workspace *ws = p->ws;
    float *tile_out = ws->members[m->index].gate;
    const size_t ld = pass_stride(PANEL_STEP);
    const struct panels *panels = pass_panels(p, m, ws->x, pass_stride(p->w->config.hidden), ws->logit_rows,
                                              p->n_logit_rows, &p->w->final_norm, &head, 1);
    uint32_t tiles = pass_matrix_tiles(head), begin, end;
    uint32_t chunk = pass_chunk(m, tiles);
    while (member_share(m, tiles, chunk, &begin, &end)) {
        for (uint32_t tile = begin; tile < end; tile++) {
            uint32_t r0 = tile * MATRIX_TILE, n = head->rows - r0 < MATRIX_TILE ? head->rows - r0 : MATRIX_TILE;
            struct matrix rows = matrix_rows(head, r0, n);
            const struct panel *panel = pass_panel(p, panels, head);
            if (p->n_logit_rows == 1) {
                p->kernels->matmul(&rows, panel, 0, n, 0, 1, ws->logit_out[0] + r0, 0, false);
                finish_logits(p, ws->logit_out[0] + r0, n);
                continue;
            }
            p->kernels->matmul(&rows, panel, 0, n, 0, p->n_logit_rows, tile_out, ld, false);
            for (uint32_t i = 0; i < p->n_logit_rows; i++) {
                finish_logits(p, tile_out + i * ld, n);
                memcpy(ws->logit_out[i] + r0, tile_out + i * ld, n * sizeof(float));
            }
        }
    }
    member_barrier(m);
}

/* Keeps what the MTP head will need of the runs: their outputs, after the final norm. */
static void keep_outputs(struct pass *p, struct member *m)
{
    const struct config *c = &p->w->config;
    struct workspace *ws = p->ws;
    uint32_t begin, end, r = 0;
    while (member_claim(m, p->rows, 1, &begin, &end)) {
        for (r = p->n_runs - 1; ws->run_row[r] > begin;) r--;
        const struct forward_run *run = &p->runs[r];
        const struct state *s = run->state;
        uint32_t i = begin - ws->run_row[r];
        float *out;
        if (i >= run->n || s->headless)
            continue;
        else if (run->kept)
            out = run->kept->outputs + (size_t)i * c->hidden;
        else if (!pass_fills_head(s, run->n))
            out = s->waiting + (size_t)(s->length - s->entries + i) * c->hidden;
        else if (i + 1 == run->n)
            out = s->waiting;
        else
            continue;
        pass_norm(p, out, ws->x + begin * pass_stride(c->hidden), &p->w->final_norm, c->hidden);
    }
}

/* Keeps the residual stream of the first run's last token, for comparisons. */
static void keep_hidden(struct pass *p, struct member *m, uint32_t layer)
{
    float *hidden = p->options ? p->options->hidden : NULL;
    if (!hidden || m->index) return;
    const struct config *c = &p->w->config;
    const float *x = p->ws->x + (p->runs[0].n - 1) * pass_stride(c->hidden);
    hidden += (size_t)layer * c->hidden;
    if (layer < c->layers)
        memcpy(hidden, x, c->hidden * sizeof *x);
    else
        pass_norm(p, hidden, x, &p->w->final_norm, c->hidden);
}

/* Member 0 looks at the caller's flag and passes on what it saw at the next barrier, so that all members agree. */
static void look_for_cancel(struct pass *p, struct member *m)
{
    const atomic_bool *cancel = p->options ? p->options->cancel : NULL;
    if (m->index == 0 && cancel && atomic_load_explicit(cancel, memory_order_relaxed))
        atomic_store_explicit(&p->cancelled, true, memory_order_relaxed);
}

static void pass_member(void *ctx, struct member *m)
{
    struct pass *p = ctx;
    const struct config *c = &p->w->config;
    uint32_t attention_layers = 0, linear_layers = 0;
    look_for_cancel(p, m);
    embed(p, m);
    for (uint32_t i = 0; i < c->layers; i++) {
        const struct layer_weights *layer = &p->w->layers[i];
        if (atomic_load_explicit(&p->cancelled, memory_order_relaxed)) return;
        if (m->index == 0) p->begun = true;
        keep_hidden(p, m, i);
        if (layer->full_attention)
            pass_attention(p, m, layer, attention_layers++);
        else
            pass_delta(p, m, layer, linear_layers++);
        bool dense = !c->experts.count || layer->mixture.dense_norm.multiplier;
        if (dense) pass_feed_forward(p, m, layer);
        if (dense && (c->experts.count || layer->input.gate.data)) member_barrier(m);
        if (c->experts.count) pass_mixture(p, m, layer, i);
        if (layer->input.gate.data) pass_layer_input(p, m, layer, i);
        look_for_cancel(p, m);
        member_barrier(m);
    }
    if (atomic_load_explicit(&p->cancelled, memory_order_relaxed)) return;
    keep_hidden(p, m, c->layers);
    if (p->n_logit_rows) logits(p, m);
    if (!c->mtp.there) return;
    pass_fill_head(p, m);
    keep_outputs(p, m);
}

/* Checks the arguments and gives every state the pages that it will need. */
static tdm_status check(const struct pass *p, uint32_t members, tdm_error *err)
{
    const struct workspace *ws = p->ws;
    assert_always(ws->weights == p->w && members <= ws->max_members && p->n_runs >= 1);
    if (p->n_runs > ws->max_runs)
        return error_set(err, TDM_E_ARG, "%u runs in a pass: at most %u", p->n_runs, ws->max_runs);
    uint64_t rows = 0;
    for (uint32_t r = 0; r < p->n_runs; r++) {
        const struct forward_run *run = &p->runs[r];
        assert_always(run->n >= 1 && !run->state->broken && (run->padding == 0 || p->n_runs == 1));
        assert_always(!run->kept || (run->n <= run->kept->room && run->logits == LOGITS_ALL));
        assert_always(run->state->headless || p->w->config.mtp.there);
        assert_always(pool_kernels(run->state->pool) == p->kernels && (run->logits != LOGITS_ALL || run->all));
        rows += (uint64_t)run->n + run->padding;
        for (uint32_t i = 0; i < run->n; i++) {
            tdm_status status = pads_check(run->tokens[i], p->w->config.vocab, p->w->config.hidden, err);
            assert_always(run->tokens[i] >= 0 || !run->kept);
            if (status) return status;
        }
    }
    if (rows > ws->max_tokens)
        return error_set(err, TDM_E_ARG, "%llu tokens in a pass: at most %u", (unsigned long long)rows, ws->max_tokens);
    for (uint32_t r = 0; r < p->n_runs; r++) {
        struct state *s = p->runs[r].state;
        assert_always(s->length + (uint64_t)p->runs[r].n <= ws->context || pool_context(s->pool) <= ws->context);
        if (p->w->positions && s->length + (uint64_t)p->runs[r].n > p->w->config.positions)
            return error_set(err, TDM_E_CONTEXT, "the model knows %u positions: %u are taken, %u more wanted",
                             p->w->config.positions, s->length, p->runs[r].n);
        tdm_status status = state_make_room(s, p->runs[r].n, err);
        if (status) return status;
    }
    return TDM_OK;
}

/* Plans which logits of a run are wanted, and where they go. */
static void plan_logits(struct pass *p, const struct forward_run *run, uint32_t row)
{
    struct workspace *ws = p->ws;
    uint32_t first = run->logits == LOGITS_ALL ? 0 : run->n - 1;
    for (uint32_t i = first; run->logits != LOGITS_NONE && i < run->n; i++) {
        ws->logit_rows[p->n_logit_rows] = row + i;
        ws->logit_out[p->n_logit_rows++] =
            run->logits == LOGITS_ALL ? run->all + (size_t)i * p->w->config.vocab : run->state->logits;
    }
}

static void plan(struct pass *p, uint32_t members)
{
    struct workspace *ws = p->ws;
    const size_t ld = pass_stride(p->w->config.hidden);
    for (uint32_t r = 0; r < p->n_runs; r++) {
        const struct forward_run *run = &p->runs[r];
        struct state *s = run->state;
        ws->run_row[r] = p->rows;
        ws->run_lag[r] = pads_lag(s->tokens, s->length);
        plan_logits(p, run, p->rows);
        if (!run->kept) {
            s->logits_valid = false;
            memcpy(s->tokens + s->length, run->tokens, run->n * sizeof *run->tokens);
            if (!s->headless) pass_plan_head(p, s, run->n, ws->x + p->rows * ld, ld, true);
        }
        p->rows += run->n + run->padding;
    }
    pass_plan_attention(p, members);
}

/* The state has grown by n tokens, whose outputs wait or have become entries of the MTP head. */
static void grow(struct state *s, uint32_t n)
{
    bool fills = !s->headless && pass_fills_head(s, n);
    s->length += n;
    if (fills) s->entries = s->length - 1;
}

/* The run's tokens now belong to its state. */
static void append(const struct forward_run *run, uint32_t vocab)
{
    struct state *s = run->state;
    grow(s, run->n);
    if (run->logits == LOGITS_ALL)
        memcpy(s->logits, run->all + (size_t)(run->n - 1) * vocab, vocab * sizeof *s->logits);
    s->logits_valid = run->logits != LOGITS_NONE;
}

static uint64_t moved_bytes(const struct pass *p)
{
    uint64_t bytes = p->w->layer_bytes + p->expert_bytes;
    bool head = false;
    for (uint32_t r = 0; r < p->n_runs; r++) {
        const struct state *s = p->runs[r].state;
        const struct state_shape *shape = pool_shape(s->pool);
        bytes += pool_held_bytes(s->pool, s->length);
        bytes += 2 * (state_shape_recurrent_floats(shape) + state_shape_conv_floats(shape)) * sizeof(float);
        head |= p->runs[r].logits != LOGITS_NONE;
    }
    return bytes + (head ? p->w->lm_head->bytes : 0);
}

tdm_status forward(struct team *team, const struct weights *w, struct workspace *ws, const struct forward_run *runs,
                   uint32_t n_runs, const struct forward_options *options, uint64_t *bytes, tdm_error *err)
{
    struct pass p = {.w = w, .kernels = w->kernels, .ws = ws, .runs = runs, .n_runs = n_runs, .options = options};
    tdm_status status = check(&p, (uint32_t)team->count, err);
    if (status) return status;
    plan(&p, (uint32_t)team->count);
    team_run(team, pass_member, &p);
    if (p.cancelled) {
        for (uint32_t r = 0; r < n_runs; r++) runs[r].state->broken = p.begun && !runs[r].kept;
        if (p.failed) return error_set(err, p.why.code, "%s", p.why.text);
        return error_set(err, TDM_E_CANCELLED, "the pass of %u tokens was cancelled", p.rows);
    }
    for (uint32_t r = 0; r < n_runs; r++)
        if (!runs[r].kept) append(&runs[r], w->config.vocab);
    if (bytes) *bytes = moved_bytes(&p);
    return TDM_OK;
}

/* ---- Verified runs ----------------------------------------------------------------------------------------------- */

struct acceptance {
    struct pass pass;
    const uint32_t *rows;
};

static void accept_member(void *ctx, struct member *m)
{
    struct acceptance *a = ctx;
    const struct config *c = &a->pass.w->config;
    uint32_t begin, end;
    pass_replay(&a->pass, m, a->rows);
    member_barrier(m);
    while (member_claim(m, a->pass.n_runs, 1, &begin, &end)) {
        const struct forward_run *run = &a->pass.runs[begin];
        if (a->rows[begin])
            memcpy(run->state->logits, run->all + (size_t)(a->rows[begin] - 1) * c->vocab,
                   c->vocab * sizeof *run->state->logits);
    }
    member_barrier(m);
    if (c->mtp.there) pass_fill_head(&a->pass, m);
}

/* Outputs of the first n tokens of a verified run wait for the MTP head, behind those that do already; `filled`: all of
 * these, and all but the last of the new ones, have become entries. */
static void wait_for_head(const struct forward_run *run, uint32_t n, bool filled)
{
    struct state *s = run->state;
    size_t width = pool_shape(s->pool)->head_width;
    uint32_t waiting = filled ? 0 : s->length - s->entries, from = filled ? n - 1 : 0;
    memcpy(s->waiting + waiting * width, run->kept->outputs + from * width, (n - from) * width * sizeof(float));
}

void forward_accept(struct team *team, const struct weights *w, struct workspace *ws, const struct forward_run *runs,
                    const uint32_t *rows, uint32_t n_runs)
{
    const size_t width = w->config.hidden;
    struct acceptance a = {.pass = {.w = w, .kernels = w->kernels, .ws = ws, .runs = runs, .n_runs = n_runs},
                           .rows = rows};
    for (uint32_t r = 0; r < n_runs; r++) {
        struct state *s = runs[r].state;
        assert_always(runs[r].kept && rows[r] <= runs[r].n);
        memcpy(s->tokens + s->length, runs[r].tokens, rows[r] * sizeof *runs[r].tokens);
        if (!s->headless && rows[r]) pass_plan_head(&a.pass, s, rows[r], runs[r].kept->outputs, width, false);
    }
    team_run(team, accept_member, &a);
    for (uint32_t r = 0; r < n_runs; r++) {
        struct state *s = runs[r].state;
        if (!rows[r]) continue;
        if (!s->headless) wait_for_head(&runs[r], rows[r], pass_fills_head(s, rows[r]));
        grow(s, rows[r]);
        s->logits_valid = true;
    }
}
