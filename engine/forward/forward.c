/* The driver's part of a forward pass (checks, pages, the plan, the states' new lengths) and what all members run:
 * embedding, the layers with their feed-forward networks, the LM head. attention.c, delta.c and mixture.c have the
 * sublayers. */
#include "engine/forward/forward.h"

#include "engine/base/error.h"
#include "engine/forward/mixture.h"
#include "engine/forward/pass.h"

#include <math.h>
#include <string.h>

/* Rows of the residual stream: the embeddings; and the angles of RoPE for their positions, in double precision. */
static void embed(struct pass *p, struct member *m)
{
    const struct config *c = &p->w->config;
    struct workspace *ws = p->ws;
    uint32_t begin, end, pairs = c->rope_dims / 2;
    while (member_claim(m, p->rows, 1, &begin, &end)) {
        uint32_t r = p->n_runs - 1;
        while (ws->run_row[r] > begin) r--;
        const struct forward_run *run = &p->runs[r];
        uint32_t i = begin - ws->run_row[r];
        /* A padded row repeats the last token; what it is does not matter, what it costs does. */
        tdm_id id = run->tokens[i < run->n ? i : run->n - 1];
        p->kernels->unpack_row(&p->w->embed, (uint32_t)id, ws->x + begin * pass_stride(c->hidden));
        double position = run->state->length + i;
        for (uint32_t j = 0; j < pairs; j++) {
            ws->cosine[(size_t)begin * pairs + j] = (float)cos(position * ws->frequency[j]);
            ws->sine[(size_t)begin * pairs + j] = (float)sin(position * ws->frequency[j]);
        }
    }
    member_barrier(m);
}

/* x += down(silu(gate(n)) * up(n)). Without the last barrier, which pass_member adds. */
static void feed_forward(struct pass *p, struct member *m, const struct layer_weights *layer)
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

/* Logits of single rows, each to its own place: tile by tile, so that a tile's weights are read once. */
static void head_rows(struct pass *p, struct member *m)
{
    const struct matrix *head = p->w->lm_head;
    struct workspace *ws = p->ws;
    const struct panels *panels =
        pass_panels(p, m, ws->x, pass_stride(p->w->config.hidden), ws->logit_rows, p->n_logit_rows, p->w->final_norm,
                    &head, 1);
    uint32_t tiles = pass_matrix_tiles(head), begin, end;
    uint32_t chunk = pass_chunk(m, tiles);
    while (member_share(m, tiles, chunk, &begin, &end)) {
        for (uint32_t tile = begin; tile < end; tile++) {
            uint32_t r0 = tile * MATRIX_TILE, r1 = r0 + MATRIX_TILE < head->rows ? r0 + MATRIX_TILE : head->rows;
            for (uint32_t i = 0; i < p->n_logit_rows; i++)
                p->kernels->matmul(head, pass_panel(p, panels, head), r0, r1, i, i + 1, ws->logit_out[i], 0, false);
        }
    }
    member_barrier(m);
}

/* Logits of all tokens of a run. */
static void head_run(struct pass *p, struct member *m, uint32_t r)
{
    const struct config *c = &p->w->config;
    const struct matrix *head = p->w->lm_head;
    const struct forward_run *run = &p->runs[r];
    const float *x = p->ws->x + p->ws->run_row[r] * pass_stride(c->hidden);
    const struct panels *panels =
        pass_panels(p, m, x, pass_stride(c->hidden), NULL, run->n, p->w->final_norm, &head, 1);
    pass_products(p, m, panels, &(struct product){head, run->all, c->vocab, false}, 1);
    member_barrier(m);
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
            feed_forward(p, m, layer);
        look_for_cancel(p, m);
        member_barrier(m);
    }
    if (atomic_load_explicit(&p->cancelled, memory_order_relaxed)) return;
    keep_hidden(p, m, c->layers);
    if (p->n_logit_rows) head_rows(p, m);
    for (uint32_t r = 0; r < p->n_runs; r++)
        if (p->runs[r].logits == LOGITS_ALL) head_run(p, m, r);
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

static void plan(struct pass *p, uint32_t members)
{
    struct workspace *ws = p->ws;
    for (uint32_t r = 0; r < p->n_runs; r++) {
        ws->run_row[r] = p->rows;
        p->rows += p->runs[r].n + p->runs[r].pad;
        p->runs[r].state->logits_valid = false;
        if (p->runs[r].logits != LOGITS_LAST) continue;
        ws->logit_rows[p->n_logit_rows] = ws->run_row[r] + p->runs[r].n - 1;
        ws->logit_out[p->n_logit_rows++] = p->runs[r].state->logits;
    }
    pass_plan_attention(p, members);
}

/* The run's tokens now belong to its state. */
static void append(const struct forward_run *run, uint32_t vocab)
{
    struct state *s = run->state;
    memcpy(s->tokens + s->length, run->tokens, run->n * sizeof *run->tokens);
    s->length += run->n;
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
        for (uint32_t r = 0; r < n_runs; r++) runs[r].state->broken = p.begun;
        return error_set(err, TDM_E_CANCELLED, "the pass of %u tokens was cancelled", p.rows);
    }
    for (uint32_t r = 0; r < n_runs; r++) append(&runs[r], w->config.vocab);
    if (bytes) *bytes = moved_bytes(&p);
    return TDM_OK;
}
