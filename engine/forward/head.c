#include "engine/forward/head.h"

#include <math.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/forward/mixture.h"
#include "engine/forward/pass.h"

static size_t concat_stride(const struct config *c)
{
    return pass_stride(2 * (size_t)c->hidden);
}

/* The row that fc is multiplied with. raw: h has not gone through the final norm yet. */
static void concat(struct pass *p, struct member *m, uint32_t row, tdm_id token, const float *h, bool raw)
{
    const struct config *c = &p->w->config;
    const struct head_weights *head = &p->w->head;
    float *out = p->ws->head.concat + row * concat_stride(c), *scratch = p->ws->members[m->index].row;
    const float *embedding = token < 0 ? pads_embedding(token, c->hidden) : scratch;
    if (token >= 0) p->kernels->unpack_row(head->embed, (uint32_t)token, scratch);
    pass_norm(p, out, embedding, &head->embed_norm, c->hidden);
    if (raw) {
        pass_norm(p, scratch, h, &p->w->final_norm, c->hidden);
        h = scratch;
    }
    pass_norm(p, out + c->hidden, h, &head->hidden_norm, c->hidden);
}

/* out = fc . concat, for some rows. Ends with a barrier. */
static void project(struct pass *p, struct member *m, uint32_t rows, float *out)
{
    const struct config *c = &p->w->config;
    const struct matrix *fc = &p->w->head.fc;
    const struct panels *panels = pass_panels(p, m, p->ws->head.concat, concat_stride(c), NULL, rows, NULL, &fc, 1);
    pass_products(p, m, panels, &(struct product){fc, out, pass_stride(c->hidden), false, NULL}, 1);
    member_barrier(m);
}

static const struct layer_weights *head_layer(const struct pass *p)
{
    return &p->w->layers[p->w->config.layers];
}

/* Its number among the layers of attention: it comes behind those of the trunk. */
static uint32_t head_index(const struct state *s)
{
    return pool_shape(s->pool)->attention_layers;
}

/* ---- Entries of known tokens ------------------------------------------------------------------------------------- */

static void add_piece(struct pass *p, struct head_piece piece)
{
    if (!piece.n) return;
    p->ws->head.pieces[p->n_pieces++] = piece;
    p->piece_rows += piece.n;
}

void pass_plan_head(struct pass *p, const struct state *s, uint32_t n, const float *h, size_t ld, bool raw)
{
    uint32_t waiting = s->length - s->entries, width = p->w->config.hidden;
    if (!pass_fills_head(s, n)) return;
    add_piece(p,
              (struct head_piece){s, s->entries, waiting, pads_lag(s->tokens, s->entries), s->waiting, width, false});
    add_piece(p, (struct head_piece){s, s->length, n - 1, pads_lag(s->tokens, s->length), h, ld, raw});
}

/* The piece that a row of all pieces is in; *i: its number there. */
static const struct head_piece *piece_of(const struct pass *p, uint32_t row, uint32_t *i)
{
    const struct head_piece *piece = p->ws->head.pieces;
    for (; row >= piece->n; piece++) row -= piece->n;
    *i = row;
    return piece;
}

static void make_entries(struct pass *p, struct member *m, uint32_t first, uint32_t rows)
{
    const struct config *c = &p->w->config;
    const struct config_attention *a = &c->attention;
    struct workspace *ws = p->ws;
    const struct layer_weights *layer = head_layer(p);
    const struct attention_weights *w = &layer->attention;
    const size_t kv = pass_stride((size_t)a->kv_heads * a->head_dim);
    uint32_t begin, end, i;
    while (member_claim(m, rows, 1, &begin, &end)) {
        const struct head_piece *piece = piece_of(p, first + begin, &i);
        concat(p, m, begin, piece->state->tokens[piece->first + i + 1], piece->h + i * piece->ld, piece->raw);
        pass_angles(p, piece->state, begin,
                    pads_position(piece->state->tokens + piece->first, i, piece->first, piece->lag));
    }
    member_barrier(m);
    project(p, m, rows, ws->head.x);
    const struct matrix *in[] = {&w->k, &w->v};
    const struct panels *panels =
        pass_panels(p, m, ws->head.x, pass_stride(c->hidden), NULL, rows, &layer->input_norm, in, 2);
    const struct product products[] = {{&w->k, ws->attention.k, kv, false, w->k_bias},
                                       {&w->v, ws->attention.v, kv, false, w->v_bias}};
    pass_products(p, m, panels, products, 2);
    member_barrier(m);
    while (member_claim(m, rows * a->kv_heads, 1, &begin, &end)) {
        const struct head_piece *piece = piece_of(p, first + begin / a->kv_heads, &i);
        pass_store(p, w, head_index(piece->state), piece->state, begin % a->kv_heads, begin / a->kv_heads,
                   piece->first + i);
    }
    member_barrier(m);
}

void pass_fill_head(struct pass *p, struct member *m)
{
    uint32_t most = p->ws->max_tokens;
    for (uint32_t first = 0; first < p->piece_rows; first += most)
        make_entries(p, m, first, p->piece_rows - first < most ? p->piece_rows - first : most);
}

/* ---- Drafts ------------------------------------------------------------------------------------------------------ */

struct drafting {
    struct pass pass;
    const struct draft_run *runs;
    uint32_t n_runs, longest;
    bool all; /* logits of the whole vocabulary are wanted */
};

/* The rows of step j: one for each run that goes on. By one member. */
static void plan_step(struct drafting *d, uint32_t j, uint32_t members)
{
    struct pass *p = &d->pass;
    struct workspace *ws = p->ws;
    p->rows = 0;
    for (uint32_t r = 0; r < d->n_runs; r++) {
        struct state *s = d->runs[r].state;
        if (j >= d->runs[r].n) continue;
        ws->head.runs[p->rows] = (struct forward_run){.state = s, .n = 1};
        ws->head.first[p->rows] = s->length - 1 + j;
        ws->run_row[p->rows] = p->rows;
        ws->head.of[p->rows++] = r;
    }
    p->n_runs = p->rows;
    pass_plan_attention(p, members);
}

/* Tiles of the LM head that drafts come from, and the first row of one of them. */
static uint32_t drafted_tiles(const struct drafting *d)
{
    const struct weights *w = d->pass.w;
    if (d->all) return pass_matrix_tiles(w->head.lm_head);
    return w->drafted.first_tiles + w->drafted.n_more;
}

static uint32_t drafted_row(const struct drafting *d, uint32_t tile)
{
    const struct weights *w = d->pass.w;
    bool first = d->all || tile < w->drafted.first_tiles;
    return MATRIX_TILE * (first ? tile : w->drafted.more[tile - w->drafted.first_tiles]);
}

static void take_best(struct head_best *best, const float *logits, uint32_t n, tdm_id first)
{
    for (uint32_t i = 0; i < n; i++) {
        tdm_id id = first + (tdm_id)i;
        if (logits[i] > best->logit || (logits[i] == best->logit && id < best->id))
            *best = (struct head_best){logits[i], id};
    }
}

/* The best logits that this member sees. */
static void member_logits(struct drafting *d, struct member *m, uint32_t j)
{
    struct pass *p = &d->pass;
    struct workspace *ws = p->ws;
    const struct matrix *head = p->w->head.lm_head;
    const size_t ld = pass_stride(PANEL_STEP);
    float *out = ws->members[m->index].gate;
    struct head_best *best = ws->head.best + (size_t)m->index * ws->max_runs;
    const struct panels *panels =
        pass_panels(p, m, ws->x, pass_stride(p->w->config.hidden), NULL, p->rows, &p->w->head.norm, &head, 1);
    uint32_t tiles = drafted_tiles(d), chunk = pass_chunk(m, tiles), begin, end;
    for (uint32_t i = 0; i < p->rows; i++) best[i] = (struct head_best){-INFINITY, 0};
    while (member_share(m, tiles, chunk, &begin, &end))
        for (uint32_t tile = begin; tile < end; tile++) {
            uint32_t r0 = drafted_row(d, tile), n = head->rows - r0 < MATRIX_TILE ? head->rows - r0 : MATRIX_TILE;
            struct matrix rows = matrix_rows(head, r0, n);
            p->kernels->matmul(&rows, pass_panel(p, panels, head), 0, n, 0, p->rows, out, ld, false);
            for (uint32_t i = 0; i < p->rows; i++) {
                float *logits = d->runs[ws->head.of[i]].logits;
                take_best(&best[i], out + i * ld, n, (tdm_id)r0);
                if (logits) memcpy(logits + (size_t)j * head->rows + r0, out + i * ld, n * sizeof *out);
            }
        }
}

/* Takes the best of all members; by one of them. */
static void choose(struct drafting *d, uint32_t members, uint32_t j)
{
    const struct workspace *ws = d->pass.ws;
    for (uint32_t i = 0; i < d->pass.rows; i++) {
        struct head_best best = ws->head.best[i];
        for (uint32_t k = 1; k < members; k++) {
            const struct head_best *other = &ws->head.best[(size_t)k * ws->max_runs + i];
            if (other->logit > best.logit || (other->logit == best.logit && other->id < best.id)) best = *other;
        }
        d->runs[ws->head.of[i]].drafts[j] = best.id;
    }
}

/* The position of the last token, or of one that is drafted behind it. */
static struct pads_position entry_position(const struct state *s, uint32_t number)
{
    uint32_t before = number < s->length ? number : s->length, at;
    if (number < s->length) return pads_position(s->tokens + number, 0, number, pads_lag(s->tokens, before));
    at = number - pads_lag(s->tokens, before);
    return (struct pads_position){at, at, at};
}

/* False, for all members: the pass failed. */
static bool draft_step(struct drafting *d, struct member *m, uint32_t j)
{
    struct pass *p = &d->pass;
    const struct config *c = &p->w->config;
    struct workspace *ws = p->ws;
    uint32_t begin, end;
    while (member_claim(m, p->rows, 1, &begin, &end)) {
        const struct draft_run *run = &d->runs[ws->head.of[begin]];
        const struct state *s = run->state;
        const float *h = j ? ws->head.h + (size_t)ws->head.of[begin] * c->hidden
                           : s->waiting + (size_t)(s->length - 1 - s->entries) * c->hidden;
        concat(p, m, begin, j ? run->drafts[j - 1] : run->next, h, false);
        pass_angles(p, s, begin, entry_position(s, ws->head.first[begin]));
    }
    member_barrier(m);
    project(p, m, p->rows, ws->x);
    pass_attention(p, m, head_layer(p), head_index(p->runs[0].state));
    if (c->experts.count)
        pass_mixture(p, m, head_layer(p), c->layers);
    else
        pass_feed_forward(p, m, head_layer(p));
    member_barrier(m);
    if (p->cancelled) return false;
    while (member_claim(m, p->rows, 1, &begin, &end))
        pass_norm(p, ws->head.h + (size_t)ws->head.of[begin] * c->hidden, ws->x + begin * pass_stride(c->hidden),
                  &p->w->head.norm, c->hidden);
    member_barrier(m);
    member_logits(d, m, j);
    member_barrier(m);
    return true;
}

static void draft_member(void *ctx, struct member *m)
{
    struct drafting *d = ctx;
    pass_fill_head(&d->pass, m);
    for (uint32_t j = 0; j < d->longest; j++) {
        if (m->index == 0) plan_step(d, j, (uint32_t)m->count);
        member_barrier(m);
        if (!draft_step(d, m, j)) return;
        if (m->index == 0) choose(d, (uint32_t)m->count, j);
    }
}

/* All rows but the last have become entries. */
static void leave_last_waiting(struct state *s)
{
    size_t width = pool_shape(s->pool)->head_width;
    uint32_t last = s->length - 1 - s->entries;
    memmove(s->waiting, s->waiting + last * width, width * sizeof *s->waiting);
    s->entries = s->length - 1;
}

static uint64_t draft_bytes(const struct drafting *d)
{
    const struct weights *w = d->pass.w;
    const struct matrix *head = w->head.lm_head;
    uint64_t pages = 0;
    for (uint32_t r = 0; r < d->n_runs; r++) {
        const struct state *s = d->runs[r].state;
        size_t page = pool_kind_bytes(s->pool, pool_shape(s->pool)->kinds);
        pages += (uint64_t)d->runs[r].n * (s->length / KV_PAGE + 1) * page;
    }
    uint64_t rows = (uint64_t)drafted_tiles(d) * MATRIX_TILE * head->bytes / head->rows;
    return d->longest * (w->head.bytes + rows) + d->pass.expert_bytes + pages;
}

tdm_status forward_draft(struct team *team, const struct weights *w, struct workspace *ws,
                         const struct draft_run *runs, uint32_t n_runs, uint64_t *bytes, tdm_error *err)
{
    struct drafting d = {
        .pass = {.w = w, .kernels = w->kernels, .ws = ws, .runs = ws->head.runs, .head_first = ws->head.first},
        .runs = runs,
        .n_runs = n_runs};
    assert_always(w->config.mtp.there && ws->weights == w && n_runs >= 1 && n_runs <= ws->max_runs);
    for (uint32_t r = 0; r < n_runs; r++) {
        struct state *s = runs[r].state;
        assert_always(s->length && !s->broken && !s->headless && runs[r].n);
        tdm_status status = state_make_room(s, 1 + runs[r].n, err);
        if (status) return status;
        add_piece(&d.pass, (struct head_piece){s, s->entries, s->length - 1 - s->entries,
                                               pads_lag(s->tokens, s->entries), s->waiting, w->config.hidden, false});
        if (runs[r].n > d.longest) d.longest = runs[r].n;
        d.all |= runs[r].logits != NULL;
    }
    team_run(team, draft_member, &d);
    for (uint32_t r = 0; r < n_runs; r++) leave_last_waiting(runs[r].state); /* the entries are whole in any case */
    if (d.pass.failed) return error_set(err, d.pass.why.code, "%s", d.pass.why.text);
    if (bytes) *bytes = draft_bytes(&d);
    return TDM_OK;
}
