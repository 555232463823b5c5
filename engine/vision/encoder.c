#include "engine/vision/encoding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/os/pages.h"

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

enum { LINE = 64 };

/* Hands out parts of the encoding's memory; with memory NULL it only counts them. */
struct arena {
    unsigned char *memory;
    size_t used;
};

static void *take(struct arena *a, size_t bytes)
{
    void *p = a->memory ? a->memory + a->used : NULL;
    a->used += (bytes + LINE - 1) / LINE * LINE;
    return p;
}

static float *floats(struct arena *a, size_t n)
{
    return take(a, n * sizeof(float));
}

/* An odd number of cache lines, so that rows don't share a few sets of the caches. */
static size_t stride(size_t n)
{
    return 16 * ((n + 15) / 16 | 1);
}

static size_t largest(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t panel_room(const struct matrix *w, uint32_t tokens)
{
    const struct kernels *k = w->kernels;
    return k->panel_bytes(k->panel_of(w->type), tokens, w->cols);
}

/* Room for the panels of whichever product needs most. */
static void lay_out_panels(struct encoding *e, struct arena *a)
{
    const struct vision_weights *w = e->w;
    size_t narrow = largest(panel_room(&w->patch, e->patches), panel_room(&w->fc1, e->tokens));
    size_t wide = panel_room(&w->fc2, e->tokens), attended = 0;
    for (uint32_t i = 0; i < w->shape.depth; i++) {
        const struct vision_block *b = &w->blocks[i];
        narrow = largest(narrow, largest(panel_room(&b->qkv, e->patches), panel_room(&b->up, e->patches)));
        attended = largest(attended, panel_room(&b->out, e->patches));
        wide = largest(wide, panel_room(&b->down, e->patches));
    }
    e->narrow.data = take(a, narrow);
    e->wide.data = take(a, wide);
    e->attended.data = take(a, attended);
}

static void attention_matrices(struct encoding *e, struct arena *a)
{
    const struct kernels *k = e->w->kernels;
    const struct vision_shape *s = &e->w->shape;
    enum type type = attention_type(k);
    uint32_t dims = vision_head_dim(s);
    struct matrix *keys = take(a, e->heads * sizeof *keys);
    struct matrix *values = take(a, (size_t)e->heads * e->blocks * sizeof *values);
    for (uint32_t h = 0; h < e->heads; h++) {
        struct matrix m = {k, type, e->patches, dims, NULL, k->packed_bytes(type, e->patches, dims)};
        m.data = take(a, m.bytes);
        if (keys) keys[h] = m;
        for (uint32_t b = 0; b < e->blocks; b++) {
            uint32_t n = e->patches - b * FULL_KEYS < FULL_KEYS ? e->patches - b * FULL_KEYS : FULL_KEYS;
            m = (struct matrix){k, type, dims, n, NULL, k->packed_bytes(type, dims, n)};
            m.data = take(a, m.bytes);
            if (values) values[(size_t)h * e->blocks + b] = m;
        }
    }
    e->keys = keys;
    e->values = values;
}

static void scratch_of_members(struct encoding *e, struct arena *a)
{
    const struct kernels *k = e->w->kernels;
    const struct vision_shape *s = &e->w->shape;
    enum type type = attention_type(k);
    uint32_t dims = vision_head_dim(s);
    struct encoding_scratch *all = take(a, (size_t)e->members * sizeof *all);
    for (int i = 0; i < e->members; i++) {
        struct encoding_scratch own = {
            .row = floats(a, largest(vision_joined(s), vision_patch_values(s))),
            .raw = floats(a, FULL_KEYS * dims),
            .query_panel = take(a, panel_room(&(struct matrix){k, type, FULL_KEYS, dims, NULL, 0}, QUERIES)),
        };
        if (all) all[i] = own;
    }
    e->scratch = all;
}

static void lay_out(struct encoding *e, struct arena *a)
{
    const struct vision_weights *w = e->w;
    size_t angles = (size_t)e->patches * (vision_head_dim(&w->shape) / 2);
    e->x = floats(a, e->patches * e->ldx);
    e->qkv = floats(a, e->patches * e->ldq);
    e->out = floats(a, (size_t)e->tokens * w->shape.out);
    e->cosine = floats(a, angles);
    e->sine = floats(a, angles);
    lay_out_panels(e, a);
    attention_matrices(e, a);
    scratch_of_members(e, a);
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* Half of the angles turn by the row, half by the column. */
static void make_angles(struct encoding *e)
{
    const struct vision_shape *s = &e->w->shape;
    uint32_t half = vision_head_dim(s) / 2, quarter = half / 2;
    double frequency[VISION_MAX_HEAD];
    for (uint32_t j = 0; j < quarter; j++) frequency[j] = pow((double)s->theta, -(double)j / quarter);
    for (uint32_t i = 0; i < e->patches; i++) {
        uint32_t row, column;
        patches_place(s, e->columns, i, &row, &column);
        for (uint32_t j = 0; j < half; j++) {
            double angle = j < quarter ? row * frequency[j] : column * frequency[j - quarter];
            e->cosine[(size_t)i * half + j] = (float)cos(angle);
            e->sine[(size_t)i * half + j] = (float)sin(angle);
        }
    }
}

/* As few as have whole steps of a panel, so that threads may fill their columns apart, and as keep the members busy; or
 * all. */
static uint32_t heads_at_once(const struct vision_shape *s, uint32_t members)
{
    uint32_t dims = vision_head_dim(s), wide = HEADS_WIDE * (1 + members / HEADS_MEMBERS);
    for (uint32_t n = 1; n < s->heads; n++)
        if (s->heads % n == 0 && n * dims % PANEL_STEP == 0 && n * dims >= wide) return n;
    return s->heads;
}

tdm_status encoding_new(struct encoding **out, const struct vision_weights *w, const struct picture *p, int members,
                        tdm_error *err)
{
    const struct vision_shape *s = &w->shape;
    struct encoding *e = calloc(1, sizeof *e);
    struct arena a = {0};
    *out = NULL;
    assert_always(p->width && p->height && p->width % (s->patch * s->merge) == 0 &&
                  p->height % (s->patch * s->merge) == 0 && members > 0);
    if (!e) return error_set(err, TDM_E_NOMEM, "no memory to encode a picture");
    e->w = w;
    e->picture = *p;
    e->columns = p->width / s->patch;
    e->rows = p->height / s->patch;
    e->patches = e->columns * e->rows;
    e->tokens = e->patches / (s->merge * s->merge);
    e->blocks = (e->patches + FULL_KEYS - 1) / FULL_KEYS;
    e->members = members;
    e->ldx = stride(s->width);
    e->heads = heads_at_once(s, (uint32_t)members);
    e->ldq = stride(3 * (size_t)e->heads * vision_head_dim(s));
    lay_out(e, &a);
    e->memory = pages_map(a.used);
    if (!e->memory) {
        free(e);
        return error_set(err, TDM_E_NOMEM, "no memory to encode a picture of %u x %u: %zu MB", p->width, p->height,
                         a.used >> 20);
    }
    e->bytes = a.used;
    a = (struct arena){.memory = e->memory};
    lay_out(e, &a);
    make_angles(e);
    *out = e;
    return TDM_OK;
}

void encoding_free(struct encoding *e)
{
    if (!e) return;
    pages_unmap(e->memory, e->bytes);
    free(e);
}

/* ---- Products ---------------------------------------------------------------------------------------------------- */

/* The panel of a matrix's activations; by member 0, before a barrier. */
static void set_panel(struct panel *p, const struct matrix *w, uint32_t all)
{
    *p = (struct panel){w->kernels->panel_of(w->type), all, w->cols, p->data};
}

/* Fills a row of a panel. */
static void fill_row(const struct encoding *e, struct panel *p, uint32_t i, const float *row)
{
    e->w->kernels->panel_fill(p, row, 0, i, i + 1, 0, p->cols);
}

/* How a product is cut into items: groups of patches of nearly the same size, in whole steps, and rows of weights. */
struct cut {
    uint32_t groups, rows;
};

/* Of `count` matrices with as many rows each: groups that a core's cache holds, or smaller pieces where the members
 * would not have the same number of them, if what each piece reads doesn't cost more than that. */
static struct cut cut_of(const struct panel *p, uint32_t rows, uint32_t count, uint32_t members)
{
    uint32_t most = p->cols > GROUP_DEEP ? GROUP_STRIP : GROUP_BYTES / (2 * p->cols) + 1;
    uint32_t least = (p->tokens + most - 1) / most, steps = (p->tokens + GROUP_STEP - 1) / GROUP_STEP;
    struct cut best = {least < steps ? least : steps, ROWS};
    uint64_t lowest = UINT64_MAX;
    for (uint32_t some = ROWS; some >= PANEL_STEP; some /= 2)
        for (uint32_t groups = best.groups; groups <= steps && groups <= SMALLER * least; groups++) {
            uint64_t tokens = (uint64_t)(steps + groups - 1) / groups * GROUP_STEP;
            uint64_t items = (uint64_t)groups * count * ((rows + some - 1) / some);
            uint64_t cost = (items + members - 1) / members * (tokens * some + EDGE * (tokens + some));
            if (cost >= lowest) continue;
            lowest = cost;
            best = (struct cut){groups, some};
        }
    return best;
}

static uint32_t group_start(const struct panel *p, uint32_t group, uint32_t groups)
{
    uint64_t steps = (p->tokens + GROUP_STEP - 1) / GROUP_STEP, start = steps * group / groups * GROUP_STEP;
    return start < p->tokens ? (uint32_t)start : p->tokens;
}

/* A matrix, or rows of one, and how its product is processed. */
struct factor {
    struct matrix w;
    struct ending end;
};

/* Of matrices with as many rows each. One phase, no barrier. */
static void products(struct member *m, const struct factor *f, uint32_t count, const struct panel *from)
{
    uint32_t rows = f->w.rows, begin, stop;
    struct cut cut = cut_of(from, rows, count, (uint32_t)m->count);
    uint32_t parts = (rows + cut.rows - 1) / cut.rows;
    while (member_claim(m, cut.groups * count * parts, 1, &begin, &stop)) {
        uint32_t group = begin / (count * parts), part = begin % parts, r0 = part * cut.rows;
        const struct factor *one = &f[begin / parts % count];
        one->w.kernels->product(&one->w, from, r0, r0 + piece_length(rows, part, cut.rows),
                                group_start(from, group, cut.groups), group_start(from, group + 1, cut.groups),
                                &one->end);
    }
}

static void product(struct member *m, const struct matrix *w, const struct panel *from, const struct ending *end)
{
    products(m, &(struct factor){*w, *end}, 1, from);
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

enum { SOME = 16 }; /* patches that a member takes at once */

/* The learned positions between which a place lies: 0 is the first one's, 1 the last one's. */
struct between {
    uint32_t low, high;
    float part; /* of the higher one */
};

static struct between place_between(uint32_t i, uint32_t n, uint32_t side)
{
    double at = n > 1 ? (double)i * (side - 1) / (n - 1) : 0;
    uint32_t low = (uint32_t)at;
    return (struct between){low, low + 1 < side ? low + 1 : low, (float)(at - low)};
}

static void add_position(const struct encoding *e, uint32_t i, float *x)
{
    const struct vision_shape *s = &e->w->shape;
    const float *rows[4];
    uint32_t row, column;
    patches_place(s, e->columns, i, &row, &column);
    struct between y = place_between(row, e->rows, s->side), c = place_between(column, e->columns, s->side);
    float weights[4] = {(1 - y.part) * (1 - c.part), (1 - y.part) * c.part, y.part * (1 - c.part), y.part * c.part};
    for (int j = 0; j < 4; j++)
        rows[j] = e->w->positions + ((size_t)(j < 2 ? y.low : y.high) * s->side + (j % 2 ? c.high : c.low)) * s->width;
    e->w->kernels->mix(x, rows, weights, 4, s->width);
}

static void embed(void *ctx, struct member *m)
{
    struct encoding *e = ((struct encoding_work *)ctx)->e;
    const struct vision_weights *w = e->w;
    float *row = e->scratch[m->index].row;
    uint32_t begin, stop;
    struct ending end = {.kind = ENDING_STORE, .bias = w->patch_bias, .out = e->x, .ldo = e->ldx};
    if (m->index == 0) set_panel(&e->narrow, &w->patch, e->patches);
    member_barrier(m);
    while (member_claim(m, e->patches, SOME, &begin, &stop))
        for (uint32_t i = begin; i < stop; i++) {
            patches_make(&w->shape, &e->picture, i, row);
            fill_row(e, &e->narrow, i, row);
        }
    member_barrier(m);
    product(m, &w->patch, &e->narrow, &end);
    member_barrier(m);
    while (member_claim(m, e->patches, SOME, &begin, &stop))
        for (uint32_t i = begin; i < stop; i++) add_position(e, i, e->x + i * e->ldx);
}

/* The panel of the rows, normalised, for a matrix. */
static void normalise(struct encoding *e, struct member *m, const float *norm, const float *norm_bias,
                      const struct matrix *w)
{
    float *row = e->scratch[m->index].row;
    uint32_t begin, end;
    if (m->index == 0) set_panel(&e->narrow, w, e->patches);
    member_barrier(m);
    while (member_claim(m, e->patches, SOME, &begin, &end))
        for (uint32_t i = begin; i < end; i++) {
            e->w->kernels->layer_norm(row, e->x + i * e->ldx, norm, norm_bias, e->w->shape.width, e->w->shape.eps);
            fill_row(e, &e->narrow, i, row);
        }
    member_barrier(m);
}

/* x += W panel + bias. */
static void add_product(struct encoding *e, struct member *m, const struct matrix *w, const struct panel *from,
                        const float *bias)
{
    product(m, w, from, &(struct ending){.kind = ENDING_ADD, .bias = bias, .out = e->x, .ldo = e->ldx});
}

/* Queries, keys and values of the heads from `head` on. */
static void project(struct encoding *e, struct member *m, const struct vision_block *b, uint32_t head)
{
    uint32_t width = e->w->shape.width, columns = e->heads * vision_head_dim(&e->w->shape);
    uint32_t count = columns < width ? 3 : 1, rows = columns < width ? columns : 3 * width;
    struct factor f[3];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t r = i * width + head * vision_head_dim(&e->w->shape);
        f[i].w = matrix_rows(&b->qkv, r, rows);
        f[i].end =
            (struct ending){.kind = ENDING_STORE, .bias = b->qkv_bias + r, .out = e->qkv + i * columns, .ldo = e->ldq};
    }
    products(m, f, count, &e->narrow);
    member_barrier(m);
}

/* What the heads from `head` on yield, into the panel of all. Ends with a barrier. */
static void gather(struct encoding *e, struct member *m, uint32_t head)
{
    uint32_t dims = vision_head_dim(&e->w->shape), begin, end;
    while (member_claim(m, e->patches, SOME, &begin, &end))
        for (uint32_t i = begin; i < end; i++)
            e->w->kernels->panel_fill(&e->attended, e->qkv + i * e->ldq, 0, i, i + 1, head * dims,
                                      (head + e->heads) * dims);
    member_barrier(m);
}

static void run_block(void *ctx, struct member *m)
{
    struct encoding_work *work = ctx;
    struct encoding *e = work->e;
    const struct vision_block *b = work->block;
    struct ending up = {.kind = ENDING_GELU_TANH, .bias = b->up_bias, .to = &e->wide};
    if (m->index == 0) {
        set_panel(&e->attended, &b->out, e->patches);
        set_panel(&e->wide, &b->down, e->patches);
    }
    normalise(e, m, b->norm1, b->norm1_bias, &b->qkv);
    for (uint32_t head = 0; head < e->w->shape.heads; head += e->heads) {
        project(e, m, b, head);
        encoding_attend(e, m);
        gather(e, m, head);
    }
    add_product(e, m, &b->out, &e->attended, b->out_bias);
    member_barrier(m);
    normalise(e, m, b->norm2, b->norm2_bias, &b->up);
    product(m, &b->up, &e->narrow, &up);
    member_barrier(m);
    add_product(e, m, &b->down, &e->wide, b->down_bias);
}

static void merge(void *ctx, struct member *m)
{
    struct encoding *e = ((struct encoding_work *)ctx)->e;
    const struct vision_weights *w = e->w;
    struct ending hidden = {.kind = ENDING_GELU_ERF, .bias = w->fc1_bias, .to = &e->wide};
    struct ending out = {.kind = ENDING_STORE, .bias = w->fc2_bias, .out = e->out, .ldo = w->shape.out};
    float *row = e->scratch[m->index].row;
    uint32_t begin, end, width = w->shape.width, each = w->shape.merge * w->shape.merge;
    if (m->index == 0) {
        set_panel(&e->narrow, &w->fc1, e->tokens);
        set_panel(&e->wide, &w->fc2, e->tokens);
    }
    member_barrier(m);
    while (member_claim(m, e->tokens, SOME, &begin, &end))
        for (uint32_t i = begin; i < end; i++) {
            for (uint32_t j = 0; j < each; j++)
                w->kernels->layer_norm(row + j * width, e->x + (i * each + j) * e->ldx, w->norm, w->norm_bias, width,
                                       w->shape.eps);
            fill_row(e, &e->narrow, i, row);
        }
    member_barrier(m);
    product(m, &w->fc1, &e->narrow, &hidden);
    member_barrier(m);
    product(m, &w->fc2, &e->wide, &out);
}

uint32_t encoding_steps(const struct encoding *e)
{
    return e->w->shape.depth + 2;
}

bool encoding_step(struct encoding *e, struct team *t)
{
    uint32_t last = encoding_steps(e) - 1, step = e->step;
    struct encoding_work work = {.e = e};
    if (step > last) return false;
    assert_always(t->count <= e->members);
    if (step > 0 && step < last) work.block = &e->w->blocks[step - 1];
    team_run(t, step == 0 ? embed : step == last ? merge : run_block, &work);
    e->step++;
    return true;
}

uint32_t encoding_tokens(const struct encoding *e)
{
    return e->tokens;
}

const float *encoding_rows(const struct encoding *e)
{
    return e->out;
}

double encoding_operations(const struct vision_shape *s, uint32_t patches)
{
    double n = patches, width = s->width, tokens = n / (s->merge * s->merge), joined = vision_joined(s);
    double block = 4 * width * width + 2 * width * s->intermediate + 2 * n * width;
    return 2 * (n * (vision_patch_values(s) * width + s->depth * block) + tokens * joined * (joined + s->out));
}
