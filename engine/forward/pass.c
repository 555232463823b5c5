#include "engine/forward/pass.h"

uint32_t pass_matrix_tiles(const struct matrix *m)
{
    return (m->rows + MATRIX_TILE - 1) / MATRIX_TILE;
}

uint32_t pass_chunk(const struct member *m, uint32_t tiles)
{
    /* Several chunks a member, so that a slower one can take fewer; at most 8 tiles, so that the last ones to finish
     * don't wait long. */
    uint32_t chunk = tiles / ((uint32_t)m->count * 8);
    return chunk < 1 ? 1 : chunk > 8 ? 8 : chunk;
}

void pass_norm(const struct pass *p, float *out, const float *x, const struct norm *norm, uint32_t n)
{
    if (p->w->config.norm == CONFIG_NORM_LAYER)
        p->kernels->layer_norm(out, x, norm->multiplier, norm->bias, n, p->w->config.rms_eps);
    else
        p->kernels->rms_norm(out, x, norm->multiplier, n, p->w->config.rms_eps);
}

const struct panels *pass_panels(struct pass *p, struct member *m, const float *x, size_t ldx, const uint32_t *index,
                                 uint32_t rows, const struct norm *norm, const struct matrix *const *matrices, int n)
{
    struct workspace *ws = p->ws;
    struct member_scratch *own = &ws->members[m->index];
    /* The members' views of the shared panels point to the same data: no member writes what another reads. */
    struct panels *panels = rows > 1 ? &own->shared : &own->panels;
    uint32_t cols = matrices[0]->cols;
    struct panel *wanted[PANEL_KINDS];
    int kinds = 0;
    for (int i = 0; i < n; i++) {
        struct panel *panel = &panels->kind[p->kernels->panel_of(matrices[i]->type)];
        bool there = false;
        for (int j = 0; j < kinds; j++) there |= wanted[j] == panel;
        if (there) continue;
        panel->tokens = rows;
        panel->cols = cols;
        wanted[kinds++] = panel;
    }

    enum { MAX_ROWS = 8 };
    uint32_t begin = 0, end = 1;
    bool more = rows == 1 || member_share(m, rows, MAX_ROWS, &begin, &end);
    while (more) {
        for (uint32_t i = begin; i < end; i++) {
            const float *row = x + (index ? index[i] : i) * ldx;
            if (norm) {
                pass_norm(p, own->row, row, norm, cols);
                row = own->row;
            }
            /* One row at a time, so the row's place does not count: ldx 0. */
            for (int j = 0; j < kinds; j++) p->kernels->panel_fill(wanted[j], row, 0, i, i + 1, 0, cols);
        }
        more = rows > 1 && member_share(m, rows, MAX_ROWS, &begin, &end);
    }
    if (rows > 1) member_barrier(m);
    return panels;
}

void pass_add(struct pass *p, struct member *m, const struct panels *panels, const struct matrix *matrix,
              const float *bias, const struct norm *norm, const float *scale)
{
    struct workspace *ws = p->ws;
    const uint32_t n = p->w->config.hidden;
    const size_t ld = pass_stride(n);
    float *row = ws->members[m->index].row;
    uint32_t begin, end;
    bool normalised = norm->multiplier;
    pass_products(p, m, panels, &(struct product){matrix, normalised ? ws->added : ws->x, ld, !normalised, bias}, 1);
    if (!normalised && !scale) return;
    member_barrier(m);
    while (member_claim(m, p->rows, 1, &begin, &end)) {
        float *x = ws->x + begin * ld;
        if (normalised) {
            pass_norm(p, row, ws->added + begin * ld, norm, n);
            p->kernels->add(x, row, n);
        }
        if (scale) p->kernels->scale(x, *scale, n);
    }
    member_barrier(m);
}

struct panel *pass_output_panel(struct pass *p, struct member *m, const struct matrix *matrix)
{
    struct panel *panel = &p->ws->members[m->index].output.kind[p->kernels->panel_of(matrix->type)];
    panel->tokens = p->rows;
    panel->cols = matrix->cols;
    return panel;
}

/* What is added to the residual stream has its scale. */
static void add_bias(const struct pass *p, const struct product *product, uint32_t r0, uint32_t r1, uint32_t tokens)
{
    float scale = product->add ? p->w->config.scales.residual : 1;
    for (uint32_t t = 0; t < tokens; t++) {
        float *out = product->out + t * product->ldo;
        if (scale == 1)
            p->kernels->add(out + r0, product->bias + r0, r1 - r0);
        else
            for (uint32_t r = r0; r < r1; r++) out[r] += scale * product->bias[r];
    }
}

void pass_products(struct pass *p, struct member *m, const struct panels *panels, const struct product *products, int n)
{
    uint32_t tiles = 0, begin, end;
    for (int i = 0; i < n; i++) tiles += pass_matrix_tiles(products[i].matrix);
    uint32_t chunk = pass_chunk(m, tiles);
    while (member_share(m, tiles, chunk, &begin, &end)) {
        uint32_t first = 0; /* of the product's tiles */
        for (int i = 0; i < n && first < end; i++) {
            const struct matrix *w = products[i].matrix;
            uint32_t count = pass_matrix_tiles(w);
            uint32_t from = begin > first ? begin - first : 0, to = end - first < count ? end - first : count;
            first += count;
            if (from >= to) continue;
            const struct panel *panel = pass_panel(p, panels, w);
            uint32_t r1 = to * MATRIX_TILE < w->rows ? to * MATRIX_TILE : w->rows;
            p->kernels->matmul(w, panel, from * MATRIX_TILE, r1, 0, panel->tokens, products[i].out, products[i].ldo,
                               products[i].add);
            if (products[i].bias) add_bias(p, &products[i], from * MATRIX_TILE, r1, panel->tokens);
        }
    }
}

static const float no_bias[PANEL_STEP];

/* gate = g sigmoid(1.702 g) * (u + 1), g and u being gate and up within the limit. */
static void clamped(const struct pass *p, float *gate, const float *up, uint32_t n)
{
    const float limit = p->w->config.feed.limit;
    float by[PANEL_STEP] = {0};
    for (uint32_t i = 0; i < n; i++) {
        gate[i] = gate[i] < limit ? gate[i] : limit;
        by[i] = 1.702f * gate[i];
    }
    p->kernels->sigmoid_mul(gate, gate, by, n);
    for (uint32_t i = 0; i < n; i++) {
        float u = up[i] < limit ? up[i] : limit;
        gate[i] *= (u > -limit ? u : -limit) + 1;
    }
}

/* Rows of one token: gate (unset without one) and up become what down takes; returns where it is. */
static float *combine(const struct pass *p, const struct inner *inner, uint32_t token, float *gate, float *up,
                      uint32_t r0, uint32_t n)
{
    const struct config *c = &p->w->config;
    float *out = gate;
    if (c->feed.kind == CONFIG_FEED_GELU) {
        p->kernels->gelu_tanh(up, inner->up_bias + r0, n);
        out = up;
    } else {
        const float *by = inner->up ? up : inner->given + token * inner->given_ld + r0;
        if (inner->gate_bias) p->kernels->add(gate, inner->gate_bias + r0, n);
        if (inner->up_bias) p->kernels->add(up, inner->up_bias + r0, n);
        if (c->feed.kind == CONFIG_FEED_SILU) {
            p->kernels->silu_mul(gate, gate, by, n);
        } else if (c->feed.kind == CONFIG_FEED_CLAMPED) {
            clamped(p, gate, by, n);
        } else {
            p->kernels->gelu_tanh(gate, no_bias, n);
            for (uint32_t i = 0; i < n; i++) gate[i] *= by[i];
        }
    }
    if (c->scales.residual != 1) p->kernels->scale(out, c->scales.residual, n);
    return out;
}

void pass_gate_and_up(struct pass *p, struct member *m, const struct inner *inner, uint32_t r0, uint32_t r1,
                      struct panel *down)
{
    enum { SOME = 8 }; /* tokens whose values stay in L1 */
    const size_t ld = pass_stride(PANEL_STEP);
    const struct member_scratch *own = &p->ws->members[m->index];
    uint32_t tokens = inner->tokens;
    /* Products go to column r of their output: there is room before the buffers to start from. */
    float *g = own->gate + p->ws->room, *u = own->up + p->ws->room;
    if (inner->gate->data) p->kernels->matmul(inner->gate, inner->gate_panel, r0, r1, 0, tokens, g - r0, ld, false);
    if (inner->up) p->kernels->matmul(inner->up, inner->up_panel, r0, r1, 0, tokens, u - r0, ld, false);
    for (uint32_t t = 0; t < tokens; t += SOME) {
        uint32_t end = tokens - t < SOME ? tokens : t + SOME;
        const float *out = g;
        for (uint32_t i = t; i < end; i++) out = combine(p, inner, i, g + i * ld, u + i * ld, r0, r1 - r0) - i * ld;
        p->kernels->panel_fill(down, out, ld, t, end, r0, r1);
    }
}
