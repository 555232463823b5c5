#include "engine/forward/mixture.h"

#include "engine/base/error.h"

#include <math.h>
#include <string.h>

/* ---- The choice -------------------------------------------------------------------------------------------------- */

/* The `used` most probable experts of one token, by ascending id, and their shares. */
static void choose(const struct config_experts *c, const float *logits, uint32_t *chosen, float *shares)
{
    const uint32_t experts = c->count, used = c->used;
    float p[CONFIG_MAX_EXPERTS], most = logits[0], sum = 0;
    for (uint32_t e = 1; e < experts; e++) most = logits[e] > most ? logits[e] : most;
    for (uint32_t e = 0; e < experts; e++) sum += p[e] = expf(logits[e] - most);
    uint32_t n = 0;
    for (uint32_t e = 0; e < experts; e++) {
        p[e] /= sum;
        if (n == used && !(p[e] > p[chosen[n - 1]])) continue;
        uint32_t at = n < used ? n++ : n - 1; /* the last one's place; those before it are at least as probable */
        for (; at > 0 && p[e] > p[chosen[at - 1]]; at--) chosen[at] = chosen[at - 1];
        chosen[at] = e;
    }
    for (uint32_t i = 1; i < used; i++) {
        uint32_t id = chosen[i], at = i;
        for (; at > 0 && chosen[at - 1] > id; at--) chosen[at] = chosen[at - 1];
        chosen[at] = id;
    }
    sum = c->norm_topk ? 0 : 1;
    for (uint32_t i = 0; i < used && c->norm_topk; i++) sum += p[chosen[i]];
    for (uint32_t i = 0; i < used; i++) shares[i] = p[chosen[i]] / sum;
}

/* The experts of row r, and the shared one's part. */
static void choose_row(struct pass *p, struct member *m, const struct layer_weights *layer, uint32_t r)
{
    const struct config *c = &p->w->config;
    const struct config_experts *e = &c->experts;
    const struct mixture_weights *w = &layer->mixture;
    struct mixture *mix = p->ws->mixture;
    float *row = p->ws->members[m->index].row, *weights = mix->weights + (size_t)r * mix->yields;
    uint32_t *chosen = mix->chosen + (size_t)r * e->used;
    choose(e, mix->router + r * pass_stride(e->count), chosen, weights);
    for (uint32_t i = 0; i < e->used && w->scale; i++) weights[i] *= w->scale[chosen[i]];
    if (!w->shared_gate) return;
    pass_norm(p, row, p->ws->x + r * pass_stride(c->hidden), &layer->post_norm, c->hidden);
    weights[e->used] = 1 / (1 + expf(-p->kernels->dot(row, w->shared_gate, c->hidden)));
}

/* ---- The plan ---------------------------------------------------------------------------------------------------- */

/* A batch's panels, in memory that follows that of the batches before. A single row is the same for all experts. */
static void set_panels(const struct pass *p, struct batch *b, const struct panels *panels, size_t *in_at,
                       size_t *inner_at)
{
    const struct mixture *mix = p->ws->mixture;
    const struct matrix *const from[] = {&b->gate, &b->up};
    if (p->rows == 1) memcpy(b->in, panels->kind, sizeof b->in);
    for (int i = 0; i < 2; i++) {
        enum panel_kind kind = p->kernels->panel_of(from[i]->type);
        struct panel *panel = &b->in[kind];
        if (panel->data) continue;
        *panel =
            (struct panel){.kind = kind, .tokens = b->rows, .cols = from[i]->cols, .data = mix->in[kind] + in_at[kind]};
        in_at[kind] += pass_panel_bytes(p->kernels, kind, b->rows, from[i]->cols);
    }
    enum panel_kind kind = p->kernels->panel_of(b->down.type);
    b->inner = (struct panel){
        .kind = kind, .tokens = b->rows, .cols = b->down.cols, .data = mix->inner[kind] + inner_at[kind]};
    inner_at[kind] += pass_panel_bytes(p->kernels, kind, b->rows, b->down.cols);
}

/* The shared expert: all rows, with the panels that all members filled. */
static void set_shared(const struct pass *p, struct batch *b, const struct feed_weights *w, const struct panels *panels,
                       uint32_t first)
{
    *b = (struct batch){.first = first, .rows = p->rows, .gate = w->gate, .up = w->up, .down = w->down};
    memcpy(b->in, panels->kind, sizeof b->in);
}

/* Groups the rows by expert; by one member. */
static void plan(struct pass *p, const struct layer_weights *layer, const struct panels *panels)
{
    const struct config_experts *experts = &p->w->config.experts;
    const struct mixture_weights *w = &layer->mixture;
    struct mixture *mix = p->ws->mixture;
    uint32_t used = experts->used, choices = p->rows * used, row = 0;
    size_t in_at[PANEL_KINDS] = {0}, inner_at[PANEL_KINDS] = {0};
    memset(mix->counts, 0, experts->count * sizeof *mix->counts);
    for (uint32_t i = 0; i < choices; i++) mix->counts[mix->chosen[i]]++;
    mix->n_batches = 0;
    for (uint32_t e = 0; e < experts->count; e++) {
        uint32_t rows = mix->counts[e];
        mix->counts[e] = row; /* from here on: the next row of this expert */
        if (!rows) continue;
        mix->leases[mix->n_batches] = (struct expert_lease){.expert = e};
        mix->batches[mix->n_batches++] = (struct batch){.first = row,
                                                        .rows = rows,
                                                        .gate = w->experts->part[EXPERT_GATE],
                                                        .up = w->experts->part[EXPERT_UP],
                                                        .down = w->experts->part[EXPERT_DOWN]};
        struct batch *batch = &mix->batches[mix->n_batches - 1];
        for (int i = 0; i < EXPERT_PARTS; i++)
            if (w->bias[i]) batch->bias[i] = w->bias[i] + (size_t)e * w->experts->part[i].rows;
        set_panels(p, batch, panels, in_at, inner_at);
        row += rows;
    }
    if (w->shared_gate) {
        struct batch *shared = &mix->batches[mix->n_batches];
        set_shared(p, shared, &layer->feed, panels, choices);
        enum panel_kind kind = p->kernels->panel_of(layer->feed.down.type);
        shared->inner = (struct panel){
            .kind = kind, .tokens = p->rows, .cols = layer->feed.down.cols, .data = mix->inner[kind] + inner_at[kind]};
    }
    for (uint32_t r = 0; r < p->rows; r++) {
        uint32_t *place = mix->place + (size_t)r * mix->yields;
        for (uint32_t i = 0; i < used; i++) {
            uint32_t at = mix->counts[mix->chosen[(size_t)r * used + i]]++;
            mix->members[at] = r;
            place[i] = at;
        }
        if (w->shared_gate) place[used] = choices + r;
    }
    p->expert_bytes += mix->n_batches * w->experts->bytes;
}

/* Begins the next wave: the batches whose experts can be leased; the shared expert belongs to the first wave. */
static void start_wave(struct pass *p, const struct mixture_weights *w, uint32_t index, bool first)
{
    struct mixture *mix = p->ws->mixture;
    mix->n_loads = experts_lease(p->w->experts, index, mix->leases, mix->n_batches);
    mix->n_wave = 0;
    for (uint32_t i = 0; i < mix->n_batches; i++) {
        const struct expert_lease *lease = &mix->leases[i];
        if (!lease->held) continue;
        struct batch *b = &mix->batches[i];
        b->gate = experts_matrix(w->experts, lease->data, EXPERT_GATE);
        b->up = experts_matrix(w->experts, lease->data, EXPERT_UP);
        b->down = experts_matrix(w->experts, lease->data, EXPERT_DOWN);
        mix->wave[mix->n_wave++] = i;
    }
    if (first && w->shared_gate) mix->wave[mix->n_wave++] = mix->n_batches;
}

/* ---- The work ---------------------------------------------------------------------------------------------------- */

/* Reads and packs the experts that are missing. False, for all members: one of them could not be read. */
static bool load(struct pass *p, struct member *m, uint32_t index)
{
    const struct mixture *mix = p->ws->mixture;
    uint32_t tiles = p->w->layers[index].mixture.experts->tiles, begin, end;
    while (member_claim(m, mix->n_loads * tiles, 1, &begin, &end)) {
        uint32_t i = 0;
        tdm_error err;
        for (uint32_t skip = begin / tiles; !mix->leases[i].held || !mix->leases[i].load || skip--; i++) {
        }
        if (experts_load(p->w->experts, index, &mix->leases[i], begin % tiles, p->ws->members[m->index].raw, &err) &&
            !atomic_exchange(&p->failed, true))
            p->why = err;
    }
    member_barrier(m);
    if (m->index == 0) {
        tdm_error first = p->why;
        if (experts_loaded(p->w->experts, mix->leases, mix->n_batches, p->failed ? &first : NULL, &p->why))
            p->failed = p->cancelled = true;
    }
    member_barrier(m);
    return !p->cancelled;
}

/* Copies the rows of all tokens to the panels of their experts. */
static void gather(struct pass *p, struct member *m, const struct panels *panels)
{
    enum { SOME = 16 };
    const struct mixture *mix = p->ws->mixture;
    uint32_t total = p->rows * p->w->config.experts.used, begin, end;
    while (member_claim(m, total, SOME, &begin, &end)) {
        uint32_t b = 0, after = mix->n_batches; /* the batch that row `begin` is in */
        while (after - b > 1) {
            uint32_t middle = (b + after) / 2;
            if (mix->batches[middle].first <= begin)
                b = middle;
            else
                after = middle;
        }
        for (uint32_t i = begin; i < end; i++) {
            if (i >= mix->batches[b].first + mix->batches[b].rows) b++;
            struct batch *batch = &mix->batches[b];
            for (int kind = 0; kind < PANEL_KINDS; kind++) {
                struct panel to = batch->in[kind];
                if (to.data) p->kernels->panel_copy(&to, i - batch->first, &panels->kind[kind], mix->members[i]);
            }
        }
    }
    member_barrier(m);
}

/* Pieces of a wave: `each` of every expert, then those of the shared one. */
static const struct batch *batch_of(const struct mixture *mix, uint32_t each, uint32_t piece, uint32_t *first)
{
    uint32_t i = piece / each, last = mix->n_wave - 1;
    if (i > last) i = last; /* the shared expert may have more */
    *first = i * each;
    return &mix->batches[mix->wave[i]];
}

static uint32_t wave_pieces(const struct mixture *mix, uint32_t each, uint32_t shared)
{
    bool has_shared = mix->wave[mix->n_wave - 1] == mix->n_batches;
    return (mix->n_wave - has_shared) * each + (has_shared ? shared : 0);
}

static void gate_and_up(struct pass *p, struct member *m, uint32_t each, uint32_t shared)
{
    const struct mixture *mix = p->ws->mixture;
    uint32_t total = wave_pieces(mix, each, shared), begin, end;
    while (member_share(m, total, pass_chunk(m, total), &begin, &end))
        for (uint32_t i = begin; i < end; i++) {
            uint32_t first;
            const struct batch *b = batch_of(mix, each, i, &first);
            struct panel inner = b->inner;
            const struct inner in = {.gate = &b->gate,
                                     .up = &b->up,
                                     .gate_panel = &b->in[p->kernels->panel_of(b->gate.type)],
                                     .up_panel = &b->in[p->kernels->panel_of(b->up.type)],
                                     .gate_bias = b->bias[EXPERT_GATE],
                                     .up_bias = b->bias[EXPERT_UP],
                                     .tokens = b->rows};
            uint32_t r0 = (i - first) * PANEL_STEP,
                     r1 = r0 + PANEL_STEP < b->gate.rows ? r0 + PANEL_STEP : b->gate.rows;
            pass_gate_and_up(p, m, &in, r0, r1, &inner);
        }
    member_barrier(m);
}

static void down(struct pass *p, struct member *m)
{
    const struct mixture *mix = p->ws->mixture;
    const size_t ldo = pass_stride(p->w->config.hidden);
    uint32_t each = (p->w->config.hidden + MATRIX_TILE - 1) / MATRIX_TILE, begin, end;
    uint32_t total = wave_pieces(mix, each, each);
    while (member_share(m, total, pass_chunk(m, total), &begin, &end))
        for (uint32_t i = begin, after; i < end; i = after) {
            uint32_t first;
            const struct batch *b = batch_of(mix, each, i, &first);
            after = end < first + each ? end : first + each;
            uint32_t r1 = (after - first) * MATRIX_TILE < b->down.rows ? (after - first) * MATRIX_TILE : b->down.rows;
            uint32_t r0 = (i - first) * MATRIX_TILE;
            float *out = mix->out + b->first * ldo;
            p->kernels->matmul(&b->down, &b->inner, r0, r1, 0, b->rows, out, ldo, false);
            for (uint32_t row = 0; row < b->rows && b->bias[EXPERT_DOWN]; row++)
                p->kernels->add(out + row * ldo + r0, b->bias[EXPERT_DOWN] + r0, r1 - r0);
        }
    member_barrier(m);
}

/* x += what the experts yield, a row and some columns at a time. */
static void add_up(struct pass *p, struct member *m)
{
    enum { COLUMNS = 512 };
    const struct config *c = &p->w->config;
    const struct mixture *mix = p->ws->mixture;
    const size_t ld = pass_stride(c->hidden);
    uint32_t n = mix->yields, pieces = (c->hidden + COLUMNS - 1) / COLUMNS, total = p->rows * pieces, begin, end;
    while (member_share(m, total, pass_chunk(m, total), &begin, &end))
        for (uint32_t i = begin; i < end; i++) {
            uint32_t row = i / pieces, c0 = i % pieces * COLUMNS,
                     c1 = c0 + COLUMNS < c->hidden ? c0 + COLUMNS : c->hidden;
            const float *rows[CONFIG_MAX_USED + 1];
            for (uint32_t k = 0; k < n; k++) rows[k] = mix->out + mix->place[(size_t)row * n + k] * ld + c0;
            p->kernels->mix(p->ws->x + row * ld + c0, rows, mix->weights + (size_t)row * n, n, c1 - c0);
        }
}

/* The same beside a dense network, whose part is in `added`; a row at a time, since norms are of whole rows. */
static void add_beside(struct pass *p, struct member *m, const struct layer_weights *layer)
{
    const struct config *c = &p->w->config;
    const struct mixture *mix = p->ws->mixture;
    const size_t ld = pass_stride(c->hidden);
    float *sum = p->ws->members[m->index].row;
    uint32_t n = mix->yields, begin, end;
    while (member_claim(m, p->rows, 1, &begin, &end)) {
        const float *rows[CONFIG_MAX_USED + 1];
        float *dense = p->ws->added + begin * ld, *x = p->ws->x + begin * ld;
        for (uint32_t k = 0; k < n; k++) rows[k] = mix->out + mix->place[(size_t)begin * n + k] * ld;
        memset(sum, 0, c->hidden * sizeof *sum);
        p->kernels->mix(sum, rows, mix->weights + (size_t)begin * n, n, c->hidden);
        pass_norm(p, sum, sum, &layer->mixture.out_norm, c->hidden);
        pass_norm(p, dense, dense, &layer->mixture.dense_norm, c->hidden);
        p->kernels->add(sum, dense, c->hidden);
        pass_norm(p, sum, sum, &layer->feed_norm, c->hidden);
        p->kernels->add(x, sum, c->hidden);
        if (layer->scale && !layer->input.gate.data) p->kernels->scale(x, *layer->scale, c->hidden);
    }
}

/* The choice of all rows, the plan, and the first wave. Returns the experts' panels; ends with a barrier. */
static const struct panels *route(struct pass *p, struct member *m, const struct layer_weights *layer, uint32_t index)
{
    const struct mixture_weights *w = &layer->mixture;
    struct mixture *mix = p->ws->mixture;
    const float *x = p->ws->x;
    const size_t ld = pass_stride(p->w->config.hidden);
    const struct expert_form *form = w->experts;
    const struct matrix *in[] = {&w->router, &form->part[EXPERT_GATE], &form->part[EXPERT_UP], &layer->feed.gate,
                                 &layer->feed.up};
    bool apart = w->router_norm.multiplier;
    uint32_t begin, end;
    const struct panels *panels =
        pass_panels(p, m, x, ld, NULL, p->rows, apart ? &w->router_norm : &layer->post_norm, in,
                    apart            ? 1
                    : w->shared_gate ? 5
                                     : 3);
    pass_products(p, m, panels,
                  &(struct product){&w->router, mix->router, pass_stride(w->router.rows), false, w->router_bias}, 1);
    member_barrier(m);
    if (p->rows > 1) {
        while (member_share(m, p->rows, 8, &begin, &end))
            for (uint32_t r = begin; r < end; r++) choose_row(p, m, layer, r);
        member_barrier(m);
    }
    if (apart) panels = pass_panels(p, m, x, ld, NULL, p->rows, &w->in_norm, in + 1, 2);
    if (m->index == 0) {
        if (p->rows == 1) choose_row(p, m, layer, 0);
        plan(p, layer, panels);
        start_wave(p, w, index, true);
    }
    member_barrier(m);
    return panels;
}

void pass_mixture(struct pass *p, struct member *m, const struct layer_weights *layer, uint32_t index)
{
    const struct config *c = &p->w->config;
    struct workspace *ws = p->ws;
    const struct mixture_weights *w = &layer->mixture;
    const struct mixture *mix = ws->mixture;
    uint32_t each = (c->experts.intermediate + PANEL_STEP - 1) / PANEL_STEP;
    uint32_t shared = (c->feed.intermediate + PANEL_STEP - 1) / PANEL_STEP;
    const struct panels *panels = route(p, m, layer, index);
    if (p->rows > 1) gather(p, m, panels);
    uint32_t done = 0;
    for (;;) {
        if (!experts_resident(p->w->experts) && !load(p, m, index)) {
            if (m->index == 0) experts_release(p->w->experts, mix->leases, mix->n_batches);
            return;
        }
        gate_and_up(p, m, each, shared);
        done += mix->n_wave;
        down(p, m);
        if (m->index == 0) experts_release(p->w->experts, mix->leases, mix->n_batches);
        if (done == mix->n_batches + (w->shared_gate != NULL)) break; /* all of them and the shared one */
        if (m->index == 0) start_wave(p, w, index, false);
        member_barrier(m);
    }
    if (w->dense_norm.multiplier)
        add_beside(p, m, layer);
    else
        add_up(p, m);
}
