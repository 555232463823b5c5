#include "engine/forward/weights.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/os/pages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A slice is packed between two calls of the progress function. */
enum { SLICE_BYTES = 32 << 20 };

/* Memory that is read to see how fast it is. */
enum { SPEED_BYTES = 256 << 20 };
/* What is read of files between two requests to forget it: each walks over a file's whole part of the cache. */
enum { FORGET_BYTES = 64 << 20 };

struct loader {
    const struct source *source;
    const struct kernels *kernels;
    struct team *team;
    struct weights_options options;
    struct weights *weights;
    unsigned char *raw;    /* per member: MATRIX_TILE rows as source_rows yields them */
    float *wide;           /* per member: MATRIX_TILE rows as float32, for conversion */
    unsigned char *narrow; /* per member: MATRIX_TILE rows converted */
    size_t raw_stride, wide_stride, narrow_stride;
    size_t placed; /* bytes of the weights' memory */
    uint64_t done, total; /* bytes of tensors */
    uint64_t cached;      /* bytes read since the files were forgotten */
};

/* Rows [row0, row1) of one tensor into its matrix. */
struct slice {
    struct loader *loader;
    const struct tensor *tensor;
    struct matrix *matrix;
    uint32_t row0, row1;
};

static void pack_member(void *ctx, struct member *m)
{
    struct slice *s = ctx;
    struct loader *l = s->loader;
    unsigned char *raw = l->raw + m->index * l->raw_stride;
    float *wide = l->wide + m->index * l->wide_stride;
    unsigned char *narrow = l->narrow + m->index * l->narrow_stride;
    uint32_t begin, end;
    while (member_claim(m, s->row1 - s->row0, MATRIX_TILE, &begin, &end)) {
        uint32_t row = s->row0 + begin, n = end - begin;
        const void *rows = source_rows(l->source, s->tensor, row, n, raw);
        if (s->matrix->type != s->tensor->type) {
            type_widen(s->tensor->type, rows, wide, (size_t)n * s->matrix->cols);
            type_narrow(s->matrix->type, wide, narrow, (size_t)n * s->matrix->cols);
            rows = narrow;
        }
        matrix_pack(s->matrix, rows, row, n);
    }
}

static bool cancelled(struct loader *l, tdm_step step)
{
    return l->options.progress && l->options.progress(l->options.progress_ctx, step, l->done, l->total);
}

/* Each matrix and vector begins on a cache line. */
static size_t on_line(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* The type that a matrix is packed in. */
static enum type packed_type(const struct source *s, const struct weights_options *options, const struct tensor *t)
{
    bool head = t->role == ROLE_LM_HEAD || (t->role == ROLE_EMBED && source_config(s)->tied);
    if (t->role == ROLE_ROUTER) return TYPE_F32;
    return head && options->lm_head != TYPE_COUNT ? options->lm_head : t->type;
}

static tdm_status shape(struct loader *l, struct matrix *m, enum role role, uint32_t layer, tdm_error *err)
{
    const struct tensor *t = source_tensor(l->source, role, layer);
    assert_always(t && t->rows <= UINT32_MAX && t->cols <= UINT32_MAX);
    enum type type = packed_type(l->source, &l->options, t);
    if (!type_row_bytes(type, t->cols))
        return error_set(err, TDM_E_UNSUPPORTED, "%s: rows of %llu elements, type %s takes multiples of %u",
                         role_name(role), (unsigned long long)t->cols, type_info(type)->name, type_info(type)->block);
    tdm_status status = matrix_shape(m, l->kernels, type, (uint32_t)t->rows, (uint32_t)t->cols, err);
    if (status) return status;
    l->weights->bytes += m->bytes;
    l->weights->memory_bytes += on_line(m->bytes);
    return TDM_OK;
}

static tdm_status place(struct loader *l, struct matrix *m, enum role role, uint32_t layer, tdm_error *err)
{
    (void)role, (void)layer, (void)err;
    m->data = l->weights->memory + l->placed;
    l->placed += on_line(m->bytes);
    return TDM_OK;
}

/* The tensor has been read. */
static void release(struct loader *l, enum role role, uint32_t layer)
{
    const struct tensor *t = source_tensor(l->source, role, layer);
    source_release(l->source, t);
    l->cached += t->rows * t->row_bytes;
    if (!l->options.forget_files || l->cached < FORGET_BYTES) return;
    source_forget(l->source);
    l->cached = 0;
}

static tdm_status pack(struct loader *l, struct matrix *m, enum role role, uint32_t layer, tdm_error *err)
{
    const struct tensor *t = source_tensor(l->source, role, layer);
    uint32_t step = (uint32_t)(SLICE_BYTES / t->row_bytes) / MATRIX_TILE * MATRIX_TILE;
    if (step < MATRIX_TILE) step = MATRIX_TILE;
    source_will_read(l->source, t, 0, m->rows < step ? m->rows : step);
    for (uint32_t row = 0; row < m->rows; row += step) {
        uint32_t end = m->rows - row < step ? m->rows : row + step;
        if (cancelled(l, TDM_STEP_PACKING)) return error_set(err, TDM_E_CANCELLED, "loading was cancelled");
        if (end < m->rows) source_will_read(l->source, t, end, m->rows - end < step ? m->rows - end : step);
        struct slice slice = {l, t, m, row, end};
        team_run(l->team, pack_member, &slice);
        l->done += (end - row) * t->row_bytes;
    }
    release(l, role, layer);
    return TDM_OK;
}

/* A member of struct layer_weights, or of a part of it; the role says which layers have it. */
struct part {
    enum role role;
    size_t offset;
};

static const struct part layer_matrices[] = {
    {ROLE_Q, offsetof(struct layer_weights, attention.q)},
    {ROLE_K, offsetof(struct layer_weights, attention.k)},
    {ROLE_V, offsetof(struct layer_weights, attention.v)},
    {ROLE_O, offsetof(struct layer_weights, attention.o)},
    {ROLE_LIN_QKV, offsetof(struct layer_weights, delta.qkv)},
    {ROLE_LIN_Z, offsetof(struct layer_weights, delta.z)},
    {ROLE_LIN_A, offsetof(struct layer_weights, delta.a)},
    {ROLE_LIN_B, offsetof(struct layer_weights, delta.b)},
    {ROLE_LIN_OUT, offsetof(struct layer_weights, delta.out)},
    {ROLE_GATE, offsetof(struct layer_weights, feed.gate)},
    {ROLE_UP, offsetof(struct layer_weights, feed.up)},
    {ROLE_DOWN, offsetof(struct layer_weights, feed.down)},
    {ROLE_ROUTER, offsetof(struct layer_weights, mixture.router)},
    {ROLE_INPUT_GATE, offsetof(struct layer_weights, input.gate)},
    {ROLE_INPUT_OUT, offsetof(struct layer_weights, input.out)},
};

static const struct part layer_vectors[] = {
    {ROLE_INPUT_NORM, offsetof(struct layer_weights, input_norm.multiplier)},
    {ROLE_INPUT_NORM_BIAS, offsetof(struct layer_weights, input_norm.bias)},
    {ROLE_POST_NORM, offsetof(struct layer_weights, post_norm.multiplier)},
    {ROLE_POST_NORM_BIAS, offsetof(struct layer_weights, post_norm.bias)},
    {ROLE_ATTENTION_NORM, offsetof(struct layer_weights, attention_norm.multiplier)},
    {ROLE_FEED_NORM, offsetof(struct layer_weights, feed_norm.multiplier)},
    {ROLE_GATE_BIAS, offsetof(struct layer_weights, feed.gate_bias)},
    {ROLE_UP_BIAS, offsetof(struct layer_weights, feed.up_bias)},
    {ROLE_DOWN_BIAS, offsetof(struct layer_weights, feed.down_bias)},
    {ROLE_Q_BIAS, offsetof(struct layer_weights, attention.q_bias)},
    {ROLE_K_BIAS, offsetof(struct layer_weights, attention.k_bias)},
    {ROLE_V_BIAS, offsetof(struct layer_weights, attention.v_bias)},
    {ROLE_O_BIAS, offsetof(struct layer_weights, attention.o_bias)},
    {ROLE_Q_NORM, offsetof(struct layer_weights, attention.q_norm)},
    {ROLE_K_NORM, offsetof(struct layer_weights, attention.k_norm)},
    {ROLE_LIN_CONV, offsetof(struct layer_weights, delta.conv)},
    {ROLE_LIN_A_LOG, offsetof(struct layer_weights, delta.rate)},
    {ROLE_LIN_DT_BIAS, offsetof(struct layer_weights, delta.dt_bias)},
    {ROLE_LIN_NORM, offsetof(struct layer_weights, delta.norm)},
    {ROLE_SHARED_GATE, offsetof(struct layer_weights, mixture.shared_gate)},
    {ROLE_ROUTER_NORM, offsetof(struct layer_weights, mixture.router_norm.multiplier)},
    {ROLE_EXPERTS_IN_NORM, offsetof(struct layer_weights, mixture.in_norm.multiplier)},
    {ROLE_EXPERTS_SCALE, offsetof(struct layer_weights, mixture.scale)},
    {ROLE_DENSE_NORM, offsetof(struct layer_weights, mixture.dense_norm.multiplier)},
    {ROLE_EXPERTS_OUT_NORM, offsetof(struct layer_weights, mixture.out_norm.multiplier)},
    {ROLE_ROUTER_BIAS, offsetof(struct layer_weights, mixture.router_bias)},
    {ROLE_EXPERTS_GATE_BIAS, offsetof(struct layer_weights, mixture.bias[EXPERT_GATE])},
    {ROLE_EXPERTS_UP_BIAS, offsetof(struct layer_weights, mixture.bias[EXPERT_UP])},
    {ROLE_EXPERTS_DOWN_BIAS, offsetof(struct layer_weights, mixture.bias[EXPERT_DOWN])},
    {ROLE_SINKS, offsetof(struct layer_weights, attention.sinks)},
    {ROLE_INPUT_OUT_NORM, offsetof(struct layer_weights, input.out_norm.multiplier)},
    {ROLE_LAYER_SCALE, offsetof(struct layer_weights, scale)},
};

static const struct part head_matrices[] = {
    {ROLE_MTP_EMBED, offsetof(struct head_weights, own_embed)},
    {ROLE_MTP_LM_HEAD, offsetof(struct head_weights, own_lm_head)},
    {ROLE_MTP_FC, offsetof(struct head_weights, fc)},
};

static const struct part head_vectors[] = {
    {ROLE_MTP_EMBED_NORM, offsetof(struct head_weights, embed_norm.multiplier)},
    {ROLE_MTP_HIDDEN_NORM, offsetof(struct head_weights, hidden_norm.multiplier)},
    {ROLE_MTP_NORM, offsetof(struct head_weights, own_norm.multiplier)},
};

/* Vectors that a model has once. */
static const struct part model_vectors[] = {
    {ROLE_FINAL_NORM, offsetof(struct weights, final_norm.multiplier)},
    {ROLE_FINAL_NORM_BIAS, offsetof(struct weights, final_norm.bias)},
    {ROLE_POSITIONS, offsetof(struct weights, positions)},
    {ROLE_INPUT_TABLE_NORM, offsetof(struct weights, input_norm.multiplier)},
};

enum { LAYER_MATRICES = sizeof layer_matrices / sizeof *layer_matrices };
enum { LAYER_VECTORS = sizeof layer_vectors / sizeof *layer_vectors };
enum { HEAD_MATRICES = sizeof head_matrices / sizeof *head_matrices };
enum { HEAD_VECTORS = sizeof head_vectors / sizeof *head_vectors };
enum { MODEL_VECTORS = sizeof model_vectors / sizeof *model_vectors };

int weights_layer_matrices(const struct layer_weights *layer, const struct matrix *out[WEIGHTS_LAYER_MATRICES])
{
    int n = 0;
    for (int i = 0; i < LAYER_MATRICES; i++) {
        const struct matrix *m = (const struct matrix *)((const char *)layer + layer_matrices[i].offset);
        if (m->data) out[n++] = m;
    }
    return n;
}

static size_t vector_floats(const struct source *source, enum role role, uint32_t layer)
{
    const struct tensor *t = source_tensor(source, role, layer);
    assert_always(t);
    return (size_t)(t->rows * t->cols);
}

/* The file's [channels][taps] becomes the kernels' [taps][channels]. */
static tdm_status transpose_conv(struct loader *l, uint32_t layer, tdm_error *err)
{
    const struct config *c = &l->weights->config;
    uint32_t channels = config_conv_channels(&c->delta), taps = c->delta.conv_kernel;
    float *w = (float *)l->weights->layers[layer].delta.conv; /* still being made */
    float *copy = malloc((size_t)channels * taps * sizeof *copy);
    if (!copy) return error_set(err, TDM_E_NOMEM, "no memory for %u channels of a convolution", channels);
    memcpy(copy, w, (size_t)channels * taps * sizeof *copy);
    for (uint32_t i = 0; i < channels; i++)
        for (uint32_t j = 0; j < taps; j++) w[(size_t)j * channels + i] = copy[(size_t)i * taps + j];
    free(copy);
    return TDM_OK;
}

typedef tdm_status vector_step(struct loader *l, const float **v, enum role role, uint32_t layer, tdm_error *err);

/* Every vector: the model's, each layer's in the order of the table, the MTP head's. */
static tdm_status for_each_vector(struct loader *l, vector_step *step, tdm_error *err)
{
    struct weights *w = l->weights;
    tdm_status status = TDM_OK;
    for (int j = 0; j < MODEL_VECTORS && !status; j++)
        if (role_exists(&w->config, model_vectors[j].role, 0))
            status = step(l, (const float **)((char *)w + model_vectors[j].offset), model_vectors[j].role, 0, err);
    for (uint32_t i = 0; i < config_blocks(&w->config); i++)
        for (int j = 0; j < LAYER_VECTORS && !status; j++)
            if (role_exists(&w->config, layer_vectors[j].role, i))
                status = step(l, (const float **)((char *)&w->layers[i] + layer_vectors[j].offset),
                              layer_vectors[j].role, i, err);
    for (int j = 0; j < HEAD_VECTORS && !status; j++)
        if (role_exists(&w->config, head_vectors[j].role, w->config.layers))
            status = step(l, (const float **)((char *)&w->head + head_vectors[j].offset), head_vectors[j].role,
                          w->config.layers, err);
    return status;
}

static tdm_status count_vector(struct loader *l, const float **v, enum role role, uint32_t layer, tdm_error *err)
{
    (void)v;
    (void)err;
    l->weights->vector_bytes += on_line(vector_floats(l->source, role, layer) * sizeof(float));
    return TDM_OK;
}

static tdm_status place_vector(struct loader *l, const float **v, enum role role, uint32_t layer, tdm_error *err)
{
    (void)err;
    *v = (const float *)(l->weights->memory + l->placed);
    l->placed += on_line(vector_floats(l->source, role, layer) * sizeof(float));
    return TDM_OK;
}

static tdm_status read_vector(struct loader *l, const float **v, enum role role, uint32_t layer, tdm_error *err)
{
    float *out = l->weights->vectors + (*v - l->weights->vectors); /* still being made */
    source_vector(l->source, role, layer, out, vector_floats(l->source, role, layer));
    release(l, role, layer);
    size_t n = vector_floats(l->source, role, layer);
    for (size_t i = 0; i < n && role == ROLE_ROUTER_NORM; i++) out[i] /= sqrtf((float)n);
    return role == ROLE_LIN_CONV ? transpose_conv(l, layer, err) : TDM_OK;
}

/* Some experts of a layer, from `first` on. */
struct experts_slice {
    struct loader *loader;
    uint32_t layer, tiles;
    struct expert_lease *leases;
    uint32_t n;
    atomic_bool failed; /* `why` is the first member's that could not read */
    tdm_error why;
};

static void load_member(void *ctx, struct member *m)
{
    struct experts_slice *s = ctx;
    struct loader *l = s->loader;
    uint32_t begin, end;
    tdm_error err;
    while (member_claim(m, s->n * s->tiles, 1, &begin, &end))
        if (experts_load(l->weights->experts, s->layer, &s->leases[begin / s->tiles], begin % s->tiles,
                         l->raw + m->index * l->raw_stride, &err) &&
            !atomic_exchange(&s->failed, true))
            s->why = err;
}

/* Reads what lies in memory once, as decoding does. */
static void read_member(void *ctx, struct member *m)
{
    enum { PIECE = 4 << 20 };
    const struct loader *l = ctx;
    const struct experts *e = l->weights->experts;
    uint64_t bytes = experts_bytes(e) < SPEED_BYTES ? experts_bytes(e) : SPEED_BYTES;
    uint32_t begin, end;
    volatile float sink = 0;
    while (member_claim(m, (uint32_t)(bytes / PIECE), 1, &begin, &end))
        sink = sink + l->kernels->read(experts_memory(e) + (size_t)begin * PIECE, PIECE);
}

/* Calculates the speed to expect. For a token its experts' weights are read from memory, and missing ones from the
 * file, as fast as the first ones came. */
static void expect_speed(struct loader *l, double loaded, double seconds)
{
    struct weights *w = l->weights;
    struct experts *e = w->experts;
    if (experts_resident(e) || !loaded) return;
    int64_t began = clock_ns();
    team_run(l->team, read_member, l);
    double memory = (double)(experts_bytes(e) < SPEED_BYTES ? experts_bytes(e) : SPEED_BYTES);
    double read_s = (double)(clock_ns() - began) / 1e9 / memory, load_s = seconds / loaded; /* for a byte */
    double used = weights_pass_bytes(w, 1) + (double)w->lm_head->bytes;
    double missing = (weights_pass_bytes(w, 1) - (double)w->layer_bytes) *
                     (1 - (double)experts_bytes(e) / (double)experts_all_bytes(e));
    w->from_disk_tps = 1 / (used * read_s + missing * load_s);
}

/* All experts, or as many of each layer as there is room for. */
static tdm_status fill_experts(struct loader *l, tdm_error *err)
{
    enum { LIMIT = 64 };
    double loaded = 0;
    struct weights *w = l->weights;
    struct experts *e = w->experts;
    int64_t began = clock_ns();
    for (uint32_t layer = 0; layer < config_blocks(&w->config); layer++) {
        const struct expert_form *form = experts_form(e, layer);
        uint32_t some = form->bytes < SLICE_BYTES ? (uint32_t)(SLICE_BYTES / form->bytes) : 1, held = experts_held(e);
        for (uint32_t first = 0; first < held; first += some) {
            struct expert_lease leases[LIMIT] = {0};
            struct experts_slice s = {.loader = l, .layer = layer, .tiles = form->tiles, .leases = leases,
                                      .n = held - first < some ? held - first : some};
            if (s.n > LIMIT) s.n = some = LIMIT;
            if (cancelled(l, TDM_STEP_PACKING_EXPERTS)) return error_set(err, TDM_E_CANCELLED, "loading was cancelled");
            for (uint32_t i = 0; i < s.n; i++) leases[i].expert = first + i;
            experts_lease(e, layer, leases, s.n);
            team_run(l->team, load_member, &s);
            tdm_status status = experts_loaded(e, leases, s.n, s.failed ? &s.why : NULL, err);
            experts_release(e, leases, s.n);
            if (status) return status;
            l->done += s.n * form->bytes;
            loaded += s.n * (double)form->bytes;
        }
        for (int i = 0; i < EXPERT_PARTS && experts_resident(e); i++) release(l, experts_roles[i], layer);
    }
    expect_speed(l, loaded, (double)(clock_ns() - began) / 1e9);
    return TDM_OK;
}

typedef tdm_status matrix_step(struct loader *l, struct matrix *m, enum role role, uint32_t layer, tdm_error *err);

/* Every matrix but the experts. The embeddings and the LM head are the largest: packed first, their mapped pages are
 * gone before most of the packed weights exist. */
static tdm_status for_each_matrix(struct loader *l, matrix_step *step, tdm_error *err)
{
    struct weights *w = l->weights;
    tdm_status status = step(l, &w->embed, ROLE_EMBED, 0, err);
    if (!status && !w->config.tied) status = step(l, &w->own_head, ROLE_LM_HEAD, 0, err);
    if (!status && w->config.layer_input) status = step(l, &w->input_projection, ROLE_INPUT_PROJECTION, 0, err);
    for (int j = 0; j < HEAD_MATRICES && !status; j++)
        if (role_exists(&w->config, head_matrices[j].role, w->config.layers))
            status = step(l, (struct matrix *)((char *)&w->head + head_matrices[j].offset), head_matrices[j].role,
                          w->config.layers, err);
    for (uint32_t i = 0; i < config_blocks(&w->config) && !status; i++)
        for (int j = 0; j < LAYER_MATRICES && !status; j++) {
            if (!role_exists(&w->config, layer_matrices[j].role, i)) continue;
            struct matrix *m = (struct matrix *)((char *)&w->layers[i] + layer_matrices[j].offset);
            status = step(l, m, layer_matrices[j].role, i, err);
        }
    return status;
}

/* Special ids are ascending, so their tiles are. */
static void choose_drafted(struct loader *l)
{
    struct weights *w = l->weights;
    struct drafted *d = &w->drafted;
    uint32_t rows = w->config.vocab < DRAFTED_ROWS ? w->config.vocab : DRAFTED_ROWS;
    d->first_tiles = (rows + MATRIX_TILE - 1) / MATRIX_TILE;
    for (size_t i = 0; i < l->options.n_special && d->n_more < DRAFTED_MORE; i++) {
        uint32_t id = (uint32_t)l->options.special[i], tile = id / MATRIX_TILE;
        if (id >= w->config.vocab || tile < d->first_tiles || (d->n_more && d->more[d->n_more - 1] == tile)) continue;
        d->more[d->n_more++] = tile;
    }
}

/* The memory of all weights, and what points into it. */
static tdm_status allocate_all(struct loader *l, tdm_error *err)
{
    struct weights *w = l->weights;
    tdm_status status = TDM_OK;
    if (w->config.experts.count) status = experts_new(&w->experts, l->source, l->kernels, l->options.expert_bytes, err);
    if (!status && w->experts) w->bytes += experts_bytes(w->experts);
    if (!status) status = for_each_matrix(l, shape, err);
    if (!status) status = for_each_vector(l, count_vector, err);
    if (status) return status;
    w->bytes += w->vector_bytes;
    w->memory_bytes += w->vector_bytes;
    w->memory = pages_map(w->memory_bytes);
    if (!w->memory)
        return error_set(err, TDM_E_NOMEM, "no memory for %llu bytes of weights", (unsigned long long)w->memory_bytes);
    for_each_matrix(l, place, err);
    w->vectors = (float *)(w->memory + l->placed);
    for_each_vector(l, place_vector, err);
    w->lm_head = w->config.tied ? &w->embed : &w->own_head;
    w->layer_bytes = w->input_projection.bytes;
    for (uint32_t i = 0; i < config_blocks(&w->config); i++) {
        const struct matrix *list[WEIGHTS_LAYER_MATRICES];
        uint64_t *bytes = i < w->config.layers ? &w->layer_bytes : &w->head.bytes;
        for (int n = weights_layer_matrices(&w->layers[i], list); n--;) *bytes += list[n]->bytes;
        if (w->experts) w->layers[i].mixture.experts = experts_form(w->experts, i);
    }
    struct head_weights *head = &w->head;
    choose_drafted(l);
    head->bytes += head->fc.bytes;
    head->norm = head->own_norm.multiplier ? head->own_norm : w->final_norm;
    head->embed = head->own_embed.data ? &head->own_embed : &w->embed;
    head->lm_head = head->own_lm_head.data ? &head->own_lm_head : w->lm_head;
    return TDM_OK;
}

/* Room for MATRIX_TILE rows of the widest tensors, for each member. */
static tdm_status make_room(struct loader *l, tdm_error *err)
{
    const struct tensor *const *tensors;
    size_t n = source_tensors(l->source, &tensors);
    for (size_t i = 0; i < n; i++) {
        const struct tensor *t = tensors[i];
        if (!role_is_matrix(t->role) || role_stays(t->role)) continue;
        size_t raw = t->row_bytes * MATRIX_TILE;
        if ((!t->data || role_is_experts(t->role)) && raw > l->raw_stride) l->raw_stride = raw;
        if (!role_is_experts(t->role)) l->total += t->bytes;
        enum type type = packed_type(l->source, &l->options, t);
        if (type == t->type) continue;
        size_t narrow = type_row_bytes(type, t->cols) * MATRIX_TILE;
        if (l->wide_stride < t->cols * MATRIX_TILE) l->wide_stride = t->cols * MATRIX_TILE;
        if (l->narrow_stride < narrow) l->narrow_stride = narrow;
    }
    for (uint32_t i = 0; l->weights->experts && i < config_blocks(&l->weights->config); i++)
        l->total += experts_held(l->weights->experts) * experts_form(l->weights->experts, i)->bytes;
    l->raw_stride = (l->raw_stride + 63) / 64 * 64 + 64;
    l->wide_stride = (l->wide_stride + 15) / 16 * 16 + 16;
    l->narrow_stride = (l->narrow_stride + 63) / 64 * 64 + 64;
    size_t members = (size_t)l->team->count;
    l->raw = aligned_alloc(64, members * l->raw_stride);
    l->wide = aligned_alloc(64, members * l->wide_stride * sizeof(float));
    l->narrow = aligned_alloc(64, members * l->narrow_stride);
    if (!l->raw || !l->wide || !l->narrow) return error_set(err, TDM_E_NOMEM, "no memory for packing weights");
    return TDM_OK;
}

/* ---- The file of packed weights ---------------------------------------------------------------------------------- */

size_t weights_blobs(const struct weights *w, struct blob **out)
{
    size_t n = 0;
    size_t most = 5 + HEAD_MATRICES + (size_t)config_blocks(&w->config) * WEIGHTS_LAYER_MATRICES;
    struct blob *list = *out = calloc(most, sizeof *list);
    if (!list) return 0;
    list[n++] = (struct blob){w->embed.data, w->embed.bytes};
    if (!w->config.tied) list[n++] = (struct blob){w->own_head.data, w->own_head.bytes};
    list[n++] = (struct blob){w->vectors, w->vector_bytes};
    if (w->input_projection.data) list[n++] = (struct blob){w->input_projection.data, w->input_projection.bytes};
    for (int j = 0; j < HEAD_MATRICES; j++) {
        const struct matrix *m = (const struct matrix *)((const char *)&w->head + head_matrices[j].offset);
        if (m->data) list[n++] = (struct blob){m->data, m->bytes};
    }
    for (uint32_t i = 0; i < config_blocks(&w->config); i++) {
        const struct matrix *matrices[WEIGHTS_LAYER_MATRICES];
        int count = weights_layer_matrices(&w->layers[i], matrices);
        for (int j = 0; j < count; j++) list[n++] = (struct blob){matrices[j]->data, matrices[j]->bytes};
    }
    if (w->experts && experts_resident(w->experts))
        list[n++] = (struct blob){(void *)(uintptr_t)experts_memory(w->experts), experts_bytes(w->experts)};
    return n;
}

/* Adds how the kernel set packs this type: a sample's packed bytes. So a change of a layout need not think of files
 * that hold the old one. False: no memory. */
static bool hash_packing(uint64_t *hash, const struct kernels *kernels, enum type type)
{
    enum { COLS = 256 };
    struct matrix m;
    size_t bytes = MATRIX_TILE * type_row_bytes(type, COLS);
    unsigned char *raw = malloc(bytes);
    if (!raw || matrix_new(&m, kernels, type, MATRIX_TILE, COLS, NULL)) {
        free(raw);
        return false;
    }
    for (size_t i = 0; i < bytes; i++) raw[i] = (unsigned char)(i * 37 + i / 251);
    matrix_pack(&m, raw, 0, MATRIX_TILE);
    *hash = fnv_bytes(*hash, m.data, m.bytes);
    matrix_free(&m);
    free(raw);
    return true;
}

/* What the packed bytes depend on; 0: no memory, or files that can't be told from changed ones. */
static uint64_t pack_key(const struct loader *l, const struct blob *blobs, size_t n)
{
    const struct weights *w = l->weights;
    uint64_t facts[] = {source_fingerprint(l->source), source_stamp(l->source), l->options.lm_head}, hash = FNV_START;
    bool seen[TYPE_COUNT] = {false};
    const struct tensor *const *tensors;
    size_t count = source_tensors(l->source, &tensors);
    if (!facts[1]) return 0;
    hash = fnv_bytes(hash, facts, sizeof facts);
    hash = fnv_bytes(hash, w->kernels->name, strlen(w->kernels->name));
    for (size_t i = 0; i < n; i++) hash = fnv_bytes(hash, &blobs[i].bytes, sizeof blobs[i].bytes);
    for (size_t i = 0; i < count; i++) {
        enum type type = packed_type(l->source, &l->options, tensors[i]);
        if (!role_is_matrix(tensors[i]->role) || role_stays(tensors[i]->role) || seen[type]) continue;
        seen[type] = true;
        if (!hash_packing(&hash, w->kernels, type)) return 0;
    }
    return hash ? hash : 1;
}

/* Everything that is in the file of packed weights, where there is one; false: there is none, or *cancelled_out. */
static bool load_packed(struct loader *l, bool *cancelled_out)
{
    struct weights *w = l->weights;
    struct blob *blobs;
    size_t n = weights_blobs(w, &blobs);
    w->pack_key = n ? pack_key(l, blobs, n) : 0;
    const struct packed_reading how = {.team = l->team,
                                       .progress = l->options.progress,
                                       .progress_ctx = l->options.progress_ctx,
                                       .forget = l->options.forget_files};
    bool loaded = w->pack_key && packed_load(l->options.pack_folder, w->pack_key, blobs, n, &how, cancelled_out);
    free(blobs);
    return loaded;
}

/* ---- Loading ----------------------------------------------------------------------------------------------------- */

static tdm_status fill(struct loader *l, tdm_error *err)
{
    struct weights *w = l->weights;
    bool stopped = false;
    if (l->options.pack_folder) w->was_packed = load_packed(l, &stopped);
    if (stopped) return error_set(err, TDM_E_CANCELLED, "loading was cancelled");
    bool experts = w->experts && !(w->was_packed && experts_resident(w->experts));
    tdm_status status = !w->was_packed || experts ? make_room(l, err) : TDM_OK;
    if (!status && !w->was_packed) status = for_each_matrix(l, pack, err);
    if (!status && !w->was_packed) status = for_each_vector(l, read_vector, err);
    if (!status && experts) status = fill_experts(l, err);
    if (!status) status = source_check(l->source, err);
    if (l->options.forget_files) source_forget(l->source);
    free(l->raw);
    free(l->wide);
    free(l->narrow);
    return status;
}

tdm_status weights_new(struct weights **out, const struct source *source, const struct kernels *kernels,
                       struct team *team, const struct weights_options *options, tdm_error *err)
{
    *out = NULL;
    struct weights *w = calloc(1, sizeof *w);
    if (!w) return error_set(err, TDM_E_NOMEM, "no memory for weights");
    w->config = *source_config(source);
    w->kernels = kernels;
    w->layers = calloc(config_blocks(&w->config), sizeof *w->layers);
    if (!w->layers) {
        error_set(err, TDM_E_NOMEM, "no memory for %u layers", w->config.layers);
        weights_free(w);
        return TDM_E_NOMEM;
    }
    for (uint32_t i = 0; i < config_blocks(&w->config); i++) {
        const struct config *c = &w->config;
        w->layers[i].full_attention = c->full_attention[i];
        w->layers[i].attention =
            (struct attention_weights){.rotated = c->full_attention[i] && c->rope.dims && !c->unrotated[i],
                                       .window = c->window[i],
                                       .kv_heads = config_kv_heads(c, i),
                                       .head_dim = config_head_dim(c, i),
                                       .rope_dims = config_rope_dims(c, i)};
    }
    w->input_table = source_tensor(source, ROLE_INPUT_TABLE, 0);
    w->source = source;

    struct loader l = {.source = source, .kernels = kernels, .team = team, .weights = w};
    l.options = options ? *options : (struct weights_options){.lm_head = TYPE_COUNT};
    int64_t began = clock_ns();
    tdm_status status = allocate_all(&l, err);
    if (!status) status = fill(&l, err);
    w->load_seconds = 1e-9 * (double)(clock_ns() - began);
    if (status) {
        weights_free(w);
        return status;
    }
    *out = w;
    return TDM_OK;
}

tdm_status weights_share(struct weights **out, const struct weights *of, const struct kernels *kernels, tdm_error *err)
{
    assert_always(kernels->pack == of->kernels->pack);
    struct weights *w = *out = malloc(sizeof *w);
    if (!w) return error_set(err, TDM_E_NOMEM, "no memory for weights");
    *w = *of;
    w->kernels = kernels;
    w->pack_key = 0;
    w->shared = true;
    return TDM_OK;
}

void weights_free(struct weights *w)
{
    if (!w) return;
    if (!w->shared) {
        pages_unmap(w->memory, w->memory_bytes);
        experts_free(w->experts);
        free(w->layers);
    }
    free(w);
}

void weights_packed_bytes(const struct source *source, const struct kernels *kernels,
                          const struct weights_options *options, uint64_t *experts, uint64_t *others)
{
    const struct tensor *const *tensors;
    size_t n = source_tensors(source, &tensors);
    *experts = *others = 0;
    for (size_t i = 0; i < n; i++) {
        const struct tensor *t = tensors[i];
        uint32_t count = role_is_experts(t->role) ? source_config(source)->experts.count : 1;
        if (!role_is_matrix(t->role)) {
            *others += t->rows * t->cols * sizeof(float);
            continue;
        }
        if (role_stays(t->role)) continue;
        enum type type = packed_type(source, options, t);
        *(count > 1 ? experts : others) +=
            count * (uint64_t)kernels->packed_bytes(type, (uint32_t)(t->rows / count), (uint32_t)t->cols);
    }
}

double weights_pass_bytes(const struct weights *w, uint32_t n)
{
    double bytes = (double)w->layer_bytes, experts = w->config.experts.count;
    if (!w->experts) return bytes;
    double touched = experts * (1 - pow(1 - w->config.experts.used / experts, n));
    for (uint32_t i = 0; i < w->config.layers; i++) bytes += touched * (double)experts_form(w->experts, i)->bytes;
    return bytes;
}
