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

const struct panels *pass_panels(struct pass *p, struct member *m, const float *x, size_t ldx, const uint32_t *index,
                                 uint32_t rows, const float *multiplier, const struct matrix *const *matrices, int n)
{
    struct workspace *ws = p->ws;
    struct member_scratch *own = &ws->members[m->index];
    /* The members' views of the shared panels point to the same data: nobody writes what another reads. */
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

    enum { MOST_ROWS = 8 };
    uint32_t begin = 0, end = 1;
    bool more = rows == 1 || member_share(m, rows, MOST_ROWS, &begin, &end);
    while (more) {
        for (uint32_t i = begin; i < end; i++) {
            const float *row = x + (index ? index[i] : i) * ldx;
            if (multiplier) {
                p->kernels->rms_norm(own->row, row, multiplier, cols, p->w->config.rms_eps);
                row = own->row;
            }
            /* One row at a time, so the row's place does not count: ldx 0. */
            for (int j = 0; j < kinds; j++) p->kernels->panel_fill(wanted[j], row, 0, i, i + 1, 0, cols);
        }
        more = rows > 1 && member_share(m, rows, MOST_ROWS, &begin, &end);
    }
    if (rows > 1) member_barrier(m);
    return panels;
}

struct panel *pass_output_panel(struct pass *p, struct member *m, const struct matrix *matrix)
{
    struct panel *panel = &p->ws->members[m->index].output.kind[p->kernels->panel_of(matrix->type)];
    panel->tokens = p->rows;
    panel->cols = matrix->cols;
    return panel;
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
        }
    }
}

void pass_gate_and_up(struct pass *p, struct member *m, const struct matrix *gate, const struct panel *gate_panel,
                      const struct matrix *up, const struct panel *up_panel, uint32_t tokens, uint32_t r0, uint32_t r1,
                      struct panel *down)
{
    enum { SOME = 8 }; /* tokens whose values stay in L1 */
    const size_t ld = pass_stride(PANEL_STEP);
    const struct member_scratch *own = &p->ws->members[m->index];
    /* Products go to column r of their output: there is room before the buffers to start from. */
    float *g = own->gate + p->ws->room, *u = own->up + p->ws->room;
    p->kernels->matmul(gate, gate_panel, r0, r1, 0, tokens, g - r0, ld, false);
    p->kernels->matmul(up, up_panel, r0, r1, 0, tokens, u - r0, ld, false);
    for (uint32_t t = 0; t < tokens; t += SOME) {
        uint32_t end = tokens - t < SOME ? tokens : t + SOME;
        for (uint32_t i = t; i < end; i++) p->kernels->silu_mul(g + i * ld, g + i * ld, u + i * ld, r1 - r0);
        p->kernels->panel_fill(down, g, ld, t, end, r0, r1);
    }
}
