/* The input that each layer gets of the token, beside the residual stream (struct config, layer_input): of a table with
 * a row for each token, and of what the embedding x yields, input[layer] = (norm(projection(x) / sqrt(hidden)) +
 * table[token] sqrt(width)) / sqrt(2) for all layers before the first. The table is the largest tensor of such models
 * and only one row of it is read for a token: it stays in the file.
 */
#include <math.h>

#include "engine/forward/pass.h"

static size_t inputs_stride(const struct config *c)
{
    return pass_stride((size_t)c->layers * c->layer_input);
}

void pass_read_inputs(struct pass *p, uint32_t row, tdm_id token)
{
    const struct config *c = &p->w->config;
    const struct tensor *table = p->w->input_table;
    unsigned char *raw = p->ws->raw_inputs + row * table->row_bytes;
    float *out = p->ws->inputs + row * inputs_stride(c);
    tdm_error err;
    if (source_copy_rows(p->w->source, table, (uint64_t)token, 1, raw, &err)) {
        if (!atomic_exchange(&p->failed, true)) p->why = err;
        return;
    }
    type_widen(table->type, raw, out, table->cols);
    p->kernels->scale(out, sqrtf((float)c->layer_input), (uint32_t)table->cols);
}

/* The projections of a row, normalised layer by layer, join the table's. */
static void join(const struct pass *p, uint32_t row)
{
    const struct config *c = &p->w->config;
    const uint32_t n = c->layer_input;
    float *projected = p->ws->projected + row * inputs_stride(c), *out = p->ws->inputs + row * inputs_stride(c);
    p->kernels->scale(projected, 1 / sqrtf((float)c->hidden), c->layers * n);
    for (uint32_t i = 0; i < c->layers; i++) pass_norm(p, projected + i * n, projected + i * n, &p->w->input_norm, n);
    p->kernels->add(out, projected, c->layers * n);
    p->kernels->scale(out, sqrtf(0.5f), c->layers * n);
}

void pass_make_inputs(struct pass *p, struct member *m)
{
    const struct config *c = &p->w->config;
    struct workspace *ws = p->ws;
    const struct matrix *projection = &p->w->input_projection;
    const struct panels *panels = pass_panels(p, m, ws->x, pass_stride(c->hidden), NULL, p->rows, NULL, &projection, 1);
    uint32_t begin, end;
    pass_products(p, m, panels, &(struct product){projection, ws->projected, inputs_stride(c), false, NULL}, 1);
    if (m->index == 0 && p->failed) p->cancelled = true;
    member_barrier(m);
    while (member_claim(m, p->rows, 1, &begin, &end)) join(p, begin);
    member_barrier(m);
}

void pass_layer_input(struct pass *p, struct member *m, const struct layer_weights *layer, uint32_t index)
{
    const struct config *c = &p->w->config;
    struct workspace *ws = p->ws;
    const struct matrix *gate = &layer->input.gate, *out = &layer->input.out;
    const struct panels *panels = pass_panels(p, m, ws->x, pass_stride(c->hidden), NULL, p->rows, NULL, &gate, 1);
    struct panel *output = pass_output_panel(p, m, out);
    const struct inner inner = {.gate = gate,
                                .gate_panel = pass_panel(p, panels, gate),
                                .given = ws->inputs + (size_t)index * c->layer_input,
                                .given_ld = inputs_stride(c),
                                .tokens = p->rows};
    uint32_t steps = (c->layer_input + PANEL_STEP - 1) / PANEL_STEP, begin, end;
    while (member_share(m, steps, 1, &begin, &end))
        for (uint32_t i = begin; i < end; i++)
            pass_gate_and_up(p, m, &inner, i * PANEL_STEP, i + 1 < steps ? (i + 1) * PANEL_STEP : c->layer_input,
                             output);
    member_barrier(m);
    pass_add(p, m, pass_output_panels(p, m), out, NULL, &layer->input.out_norm, layer->scale);
}
