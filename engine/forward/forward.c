/* The driver's part of a forward pass (checks, pages, the plan, the states' new lengths) and what all members run:
 * embedding, the layers with their feed-forward networks, the LM head. attention.c, delta.c and mixture.c have the
 * sublayers. */
#include "engine/forward/forward.h"

#include "engine/base/error.h"
#include "engine/forward/mixture.h"
#include "engine/forward/pass.h"

#include <math.h>
#include <string.h>

void pass_angles(struct pass *p, uint32_t row, uint32_t position)
{
    struct workspace *ws = p->ws;
    size_t pairs = p->w->config.rope_dims / 2;
    for (size_t j = 0; j < pairs; j++) {
        ws->cosine[row * pairs + j] = (float)cos(position * ws->frequency[j]);
        ws->sine[row * pairs + j] = (float)sin(position * ws->frequency[j]);
    }
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
        p->kernels->unpack_row(&p->w->embed, (uint32_t)id, ws->x + begin * pass_stride(c->hidden));
        pass_angles(p, begin, run->state->length + i);
    }
    member_barrier(m);
}

void pass_feed_forward(struct pass *p, struct member *m, const struct layer_weights *layer)
{
    const struct config *c = &p->w->config;
    struct workspace *ws = p->ws;
    const struct matrix *in[] = {&layer->gate, &layer->up}, *down = &layer->down;
    const struct panels *panels =
        pass_panels(p, m, ws->x, pass_stride(c->hidden), NULL, p->rows, layer->post_norm, in, 2);
    struct panel *output = pass_output_panel(p, m, down);

    uint32_t steps = (c->intermediate + PANEL_STEP - 1) / PANEL_STEP, begin, end;
    while (member_share(m, steps, pass_chunk(m, steps), &begin, &end))
        for (uint32_t i = begin; i < end; i++)
            pass_gate_and_up(p, m, &layer->gate, pass_panel(p, panels, &layer->gate), &layer->up,
                             pass_panel(p, panels, &layer->up), p->rows, i * PANEL_STEP,
                             i + 1 < steps ? (i + 1) * PANEL_STEP : c->intermediate, output);
    member_barrier(m);
    pass_products(p, m, pass_output_panels(p, m), &(struct product){down, ws->x, pass_stride(c->hidden), true}, 1);
}

/* Logits of all rows that are wanted, each to its own place: tile by tile, so that a tile's weights are read once. */
static void logits(struct pass *p, struct member *m)
{
    const struct matrix *head = p->w->lm_head;
    struct workspace *ws = p->ws;
    float *tile_out = ws->members[m->index].gate;
    const size_t ld = pass_stride(PANEL_STEP);
    const struct panels *panels =
        pass_panels(p, m, ws->x, pass_stride(p->w->config.hidden), ws->logit_rows, p->n_logit_rows, p->w->final_norm,
                    &head, 1);
    uint32_t tiles = pass_matrix_tiles(head), begin, end;
    uint32_t chunk = pass_chunk(m, tiles);
    while (member_share(m, tiles, chunk, &begin, &end)) {
        for (uint32_t tile = begin; tile < end; tile++) {
            uint32_t r0 = tile * MATRIX_TILE, n = head->rows - r0 < MATRIX_TILE ? head->rows - r0 : MATRIX_TILE;
            struct matrix rows = matrix_rows(head, r0, n);
            const struct panel *panel = pass_panel(p, panels, head);
            if (p->n_logit_rows == 1) {
                p->kernels->matmul(&rows, panel, 0, n, 0, 1, ws->logit_out[0] + r0, 0, false);
                continue;
            }
            p->kernels->matmul(&rows, panel, 0, n, 0, p->n_logit_rows, tile_out, ld, false);
            for (uint32_t i = 0; i < p->n_logit_rows; i++)
                memcpy(ws->logit_out[i] + r0, tile_out + i * ld, n * sizeof(float));
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
        uint32_t i = begin - ws->run_row[r], waiting = s->length - s->entries;
        float *out;
        if (i >= run->n || s->headless)
            continue;
        else if (run->kept)
            out = run->kept->outputs + (size_t)i * c->hidden;
        else if (waiting + run->n <= STATE_WAITING)
            out = s->waiting + (size_t)(waiting + i) * c->hidden;
        else if (i + 1 == run->n)
            out = s->waiting;
        else
            continue;
        p->kernels->rms_norm(out, ws->x + begin * pass_stride(c->hidden), p->w->final_norm, c->hidden, c->rms_eps);
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
        p->kernels->rms_norm(hidden, x, p->w->final_norm, c->hidden, c->rms_eps);
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
        if (c->experts)
            pass_mixture(p, m, layer, i);
        else
            pass_feed_forward(p, m, layer);
        look_for_cancel(p, m);
        member_barrier(m);
    }
    if (atomic_load_explicit(&p->cancelled, memory_order_relaxed)) return;
    keep_hidden(p, m, c->layers);
    if (p->n_logit_rows) logits(p, m);
    if (!c->mtp) return;
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
        assert_always(run->n >= 1 && !run->state->broken && (run->pad == 0 || p->n_runs == 1));
        assert_always(!run->kept || (run->n <= run->kept->room && run->logits == LOGITS_ALL));
        assert_always(run->state->headless || p->w->config.mtp);
        assert_always(pool_kernels(run->state->pool) == p->kernels && (run->logits != LOGITS_ALL || run->all));
        rows += (uint64_t)run->n + run->pad;
        for (uint32_t i = 0; i < run->n; i++)
            if (run->tokens[i] < 0 || (uint32_t)run->tokens[i] >= p->w->config.vocab)
                return error_set(err, TDM_E_ARG, "token id %d: expected 0 to %u", (int)run->tokens[i],
                                 p->w->config.vocab - 1);
    }
    if (rows > ws->max_tokens)
        return error_set(err, TDM_E_ARG, "%llu tokens in a pass: at most %u", (unsigned long long)rows, ws->max_tokens);
    for (uint32_t r = 0; r < p->n_runs; r++) {
        struct state *s = p->runs[r].state;
        assert_always(s->length + (uint64_t)p->runs[r].n <= ws->context || pool_context(s->pool) <= ws->context);
        tdm_status status = state_make_room(s, p->runs[r].n, err);
        if (status) return status;
    }
    return TDM_OK;
}

/* What logits of a run are wanted, and where. */
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
        plan_logits(p, run, p->rows);
        if (!run->kept) {
            s->logits_valid = false;
            memcpy(s->tokens + s->length, run->tokens, run->n * sizeof *run->tokens);
            if (!s->headless) pass_plan_head(p, s, run->n, ws->x + p->rows * ld, ld, true);
        }
        p->rows += run->n + run->pad;
    }
    pass_plan_attention(p, members);
}

/* The state has grown by n tokens, whose outputs wait or have become entries of the MTP head. */
static void grow(struct state *s, uint32_t n)
{
    s->length += n;
    if (!s->headless && s->length - s->entries > STATE_WAITING) s->entries = s->length - 1;
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
        uint64_t pages = (s->length + KV_PAGE - 1) / KV_PAGE;
        bytes += pages * pool_page_bytes(s->pool);
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
    if (c->mtp) pass_fill_head(&a->pass, m);
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
        if (!s->headless) wait_for_head(&runs[r], rows[r], s->length - s->entries + rows[r] > STATE_WAITING);
        grow(s, rows[r]);
        s->logits_valid = true;
    }
}
