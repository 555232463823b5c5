/* A model's weights on a device: where each matrix lies, and how it gets there. */
#include "engine/gpu/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/gpu/pass/products.h"
#include "engine/gpu/pass/gemm.h"
#include "engine/gpu/vision/vision.h"
#include "engine/model/schema/rotary.h"
#include "engine/thread/team.h"

enum { ALIGN = 256, BATCH_BYTES = 16 << 20, MAX_THREADS = 16 };
#define MAX_CHOOSING_NS 3000000000

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

/* ---- The plan: places in arenas --------------------------------------------------------------------------- */

/* What is known before there is memory. */
struct plan {
    const struct source *source;
    const struct gpu_model_options *options;
    uint64_t slice;
    uint64_t *arenas; /* bytes of each */
    uint32_t n;
    uint64_t tables, vectors; /* bytes */
    bool failed;              /* no memory for the plan */
};

/* Bytes in the last arena, or in a new one where it would grow beyond a slice. */
static struct piece place(struct plan *p, uint64_t bytes)
{
    bytes = aligned(bytes);
    if (!p->n || p->arenas[p->n - 1] + bytes > p->slice) {
        uint64_t *more = realloc(p->arenas, (p->n + 1) * sizeof *more);
        if (!more) {
            p->failed = true;
            return (struct piece){0};
        }
        p->arenas = more;
        p->arenas[p->n++] = 0;
    }
    struct piece piece = {.arena = p->n - 1, .at = p->arenas[p->n - 1]};
    p->arenas[p->n - 1] += bytes;
    return piece;
}

/* The type in which a matrix lies on the device, as the cores have it. */
static enum type type_of(const struct plan *p, const struct tensor *t)
{
    bool head = t->role == ROLE_LM_HEAD || (t->role == ROLE_EMBED && source_config(p->source)->tied);
    if (t->role == ROLE_ROUTER) return TYPE_F32;
    return head && p->options->lm_head != TYPE_COUNT ? p->options->lm_head : t->type;
}

static void plan_matrix(struct plan *p, struct gpu_matrix *m, enum role role, uint32_t layer)
{
    const struct tensor *t = source_tensor(p->source, role, layer);
    assert_always(t);
    uint32_t experts = role_is_experts(role) ? source_config(p->source)->experts.count : 1;
    *m = (struct gpu_matrix){.type = type_of(p, t), .rows = (uint32_t)(t->rows / experts), .cols = (uint32_t)t->cols};
    m->kind = pack_kind(m->type);
    m->chunks = pack_chunks(m->cols);
    m->tiles = (m->rows + PACK_ROWS - 1) / PACK_ROWS;
    uint64_t tile = pack_tile_bytes(m->kind, m->cols);
    m->piece_tiles = p->slice / tile < m->tiles && experts == 1 ? (uint32_t)(p->slice / tile) : m->tiles;
    if (!m->piece_tiles) m->piece_tiles = 1;
    m->pieces = experts > 1 ? experts : (m->tiles + m->piece_tiles - 1) / m->piece_tiles;
    m->piece = calloc(m->pieces, sizeof *m->piece);
    if (!m->piece) p->failed = true;
    for (uint32_t i = 0; i < m->pieces && !p->failed; i++) {
        uint32_t tiles = experts > 1 || i + 1 < m->pieces ? m->piece_tiles : m->tiles - i * m->piece_tiles;
        m->piece[i] = place(p, tiles * tile);
    }
    m->table = p->tables; /* an offset until the tables have an address */
    p->tables += aligned(m->pieces * sizeof(uint64_t));
}

/* Of the roles behind the layers' first ones. */
static bool is_once(enum role role)
{
    return role >= ROLE_INPUT_TABLE && role <= ROLE_INPUT_TABLE_NORM;
}

static bool is_vector(const struct config *c, enum role role, uint32_t layer)
{
    return role >= ROLE_INPUT_NORM && !is_once(role) && !role_is_matrix(role) && role_exists(c, role, layer);
}

/* *at: an offset until the vectors have an address. */
static void plan_vector(struct plan *p, uint64_t *at, enum role role, uint32_t layer)
{
    const struct tensor *t = source_tensor(p->source, role, layer);
    *at = p->vectors;
    p->vectors += aligned(t->rows * t->cols * sizeof(float));
}

static void plan_model(struct plan *p, struct gpu_model *m)
{
    const struct config *c = &m->config;
    plan_matrix(p, &m->embed, ROLE_EMBED, 0);
    if (!c->tied) plan_matrix(p, &m->own_head, ROLE_LM_HEAD, 0);
    plan_vector(p, &m->final_norm, ROLE_FINAL_NORM, 0);
    if (c->norm == CONFIG_NORM_LAYER) plan_vector(p, &m->final_norm_bias, ROLE_FINAL_NORM_BIAS, 0);
    if (c->positions) plan_vector(p, &m->positions, ROLE_POSITIONS, 0);
    if (c->layer_input) {
        plan_matrix(p, &m->inputs.projection, ROLE_INPUT_PROJECTION, 0);
        plan_vector(p, &m->inputs.norm, ROLE_INPUT_TABLE_NORM, 0);
    }
    for (uint32_t i = 0; i < config_blocks(c) && !p->failed; i++)
        for (enum role role = ROLE_INPUT_NORM; role < ROLE_COUNT; role++) {
            if (is_vector(c, role, i)) {
                plan_vector(p, &m->layers[i].vector[role], role, i);
            } else if (role_is_matrix(role) && !is_once(role) && role_exists(c, role, i)) {
                plan_matrix(p, &m->layers[i].matrix[role], role, i);
            }
        }
}

/* ---- Packing and copying ----------------------------------------------------------------------------------- */

/* Some tiles of a matrix, packed by all members into a buffer. */
struct batch {
    const struct source *source;
    const struct tensor *tensor;
    const struct gpu_matrix *matrix;
    uint64_t first_row; /* in the tensor */
    uint32_t first, tiles;
    uint8_t *out, *scratch; /* scratch: for each member, rows as stored and as floats and as packed from */
    size_t scratch_bytes;
};

static void pack_member(void *ctx, struct member *m)
{
    const struct batch *b = ctx;
    const struct gpu_matrix *w = b->matrix;
    size_t tile = pack_tile_bytes(w->kind, w->cols), row_bytes = type_row_bytes(w->type, w->cols);
    uint8_t *raw = b->scratch + (size_t)m->index * b->scratch_bytes;
    uint8_t *narrow = raw + PACK_ROWS * b->tensor->row_bytes;
    float *row = (float *)(narrow + (PACK_ROWS * row_bytes + 63) / 64 * 64);
    uint32_t begin, end;
    while (member_claim(m, b->tiles, 4, &begin, &end))
        for (uint32_t i = begin; i < end; i++) {
            uint32_t first = (b->first + i) * PACK_ROWS, n = w->rows - first < PACK_ROWS ? w->rows - first : PACK_ROWS;
            const uint8_t *rows = source_rows(b->source, b->tensor, b->first_row + first, n, raw);
            if (b->tensor->type != w->type) {
                for (uint32_t r = 0; r < n; r++) {
                    type_widen(b->tensor->type, rows + r * b->tensor->row_bytes, row, w->cols);
                    type_narrow(w->type, row, narrow + r * row_bytes, w->cols);
                }
                rows = narrow;
            }
            pack_tile(w->type, w->cols, b->out + i * tile, rows, n);
        }
}

/* What loading needs. */
struct loader {
    struct gpu_model *model;
    const struct source *source;
    struct team *team;
    struct lane lane;
    uint64_t done, total;
};

tdm_status model_progress(const struct gpu_model *m, tdm_step step, uint64_t done, uint64_t total, tdm_error *err)
{
    const struct gpu_model_options *o = &m->options;
    if (!o->progress || !o->progress(o->progress_ctx, step, done, total)) return TDM_OK;
    return error_set(err, TDM_E_CANCELLED, "loading was cancelled");
}

static tdm_status load_tiles(struct loader *l, const struct tensor *t, const struct gpu_matrix *w, uint32_t piece,
                             uint64_t first_row, tdm_error *err)
{
    struct gpu_model *m = l->model;
    size_t tile = pack_tile_bytes(w->kind, w->cols);
    uint32_t first = role_is_experts(t->role) ? 0 : piece * w->piece_tiles;
    uint32_t end = first + w->piece_tiles < w->tiles ? first + w->piece_tiles : w->tiles;
    uint32_t step = BATCH_BYTES / tile ? (uint32_t)(BATCH_BYTES / tile) : 1;
    size_t own = PACK_ROWS * (t->row_bytes + type_row_bytes(w->type, w->cols)) + 128 + w->cols * sizeof(float);
    own = (own + 63) / 64 * 64;
    uint8_t *scratch = aligned_alloc(64, own * (size_t)l->team->count),
            *out = aligned_alloc(64, (tile * step + 63) / 64 * 64);
    tdm_status status = scratch && out ? TDM_OK : error_set(err, TDM_E_NOMEM, "no memory to pack weights in");
    for (uint32_t i = first; i < end && !status; i += step) {
        struct batch b = {.source = l->source,
                          .tensor = t,
                          .matrix = w,
                          .first_row = first_row,
                          .first = i,
                          .tiles = end - i < step ? end - i : step,
                          .out = out,
                          .scratch = scratch,
                          .scratch_bytes = own};
        status = model_progress(m, TDM_STEP_COPYING_GPU, l->done, l->total, err);
        if (status) break;
        team_run(l->team, pack_member, &b);
        const struct piece *p = &w->piece[piece];
        uint64_t at = p->at + (i - first) * tile;
        status = lane_write(&l->lane, m->gpu, &m->arenas[p->arena], at, out, b.tiles * tile, err);
        l->done += b.tiles * tile;
    }
    free(scratch);
    free(out);
    return status;
}

static tdm_status load_matrix(struct loader *l, struct gpu_matrix *w, enum role role, uint32_t layer, tdm_error *err)
{
    const struct tensor *t = source_tensor(l->source, role, layer);
    struct gpu_model *m = l->model;
    uint64_t *addresses = calloc(w->pieces, sizeof *addresses);
    if (!addresses) return error_set(err, TDM_E_NOMEM, "no memory for a matrix");
    tdm_status status = TDM_OK;
    for (uint32_t i = 0; i < w->pieces && !status; i++) {
        w->piece[i].address = addresses[i] = m->arenas[w->piece[i].arena].address + w->piece[i].at;
        status = load_tiles(l, t, w, i, role_is_experts(role) ? (uint64_t)i * w->rows : 0, err);
    }
    if (!status)
        status = lane_write(&l->lane, m->gpu, &m->tables, w->table, addresses, w->pieces * sizeof *addresses, err);
    w->table += m->tables.address;
    free(addresses);
    source_release(l->source, t);
    return status;
}

static tdm_status load_vector(struct loader *l, uint64_t *at, enum role role, uint32_t layer, tdm_error *err)
{
    struct gpu_model *m = l->model;
    const struct tensor *t = source_tensor(l->source, role, layer);
    size_t n = (size_t)(t->rows * t->cols);
    float *values = malloc(2 * n * sizeof *values);
    if (!values) return error_set(err, TDM_E_NOMEM, "no memory for a vector");
    source_vector(l->source, role, layer, values, n);
    float *out = values;
    for (size_t i = 0; i < n && role == ROLE_ROUTER_NORM; i++) values[i] /= sqrtf((float)n);
    if (role == ROLE_LIN_CONV) { /* [channels][taps] to [taps][channels] */
        uint32_t taps = m->config.delta.conv_kernel, channels = (uint32_t)(n / taps);
        out = values + n;
        for (uint32_t i = 0; i < channels; i++)
            for (uint32_t j = 0; j < taps; j++) out[(size_t)j * channels + i] = values[(size_t)i * taps + j];
    }
    tdm_status status = lane_write(&l->lane, m->gpu, &m->vectors, *at, out, n * sizeof *out, err);
    *at += m->vectors.address;
    free(values);
    return status;
}

static tdm_status load_all(struct loader *l, tdm_error *err)
{
    struct gpu_model *m = l->model;
    const struct config *c = &m->config;
    tdm_status status = load_matrix(l, &m->embed, ROLE_EMBED, 0, err);
    if (!status && !c->tied) status = load_matrix(l, &m->own_head, ROLE_LM_HEAD, 0, err);
    if (!status) status = load_vector(l, &m->final_norm, ROLE_FINAL_NORM, 0, err);
    if (!status && c->norm == CONFIG_NORM_LAYER)
        status = load_vector(l, &m->final_norm_bias, ROLE_FINAL_NORM_BIAS, 0, err);
    if (!status && c->positions) status = load_vector(l, &m->positions, ROLE_POSITIONS, 0, err);
    if (!status && c->layer_input) status = load_matrix(l, &m->inputs.projection, ROLE_INPUT_PROJECTION, 0, err);
    if (!status && c->layer_input) status = load_vector(l, &m->inputs.norm, ROLE_INPUT_TABLE_NORM, 0, err);
    for (uint32_t i = 0; i < config_blocks(c); i++)
        for (enum role role = ROLE_INPUT_NORM; role < ROLE_COUNT && !status; role++) {
            if (is_vector(c, role, i))
                status = load_vector(l, &m->layers[i].vector[role], role, i, err);
            else if (m->layers[i].matrix[role].pieces)
                status = load_matrix(l, &m->layers[i].matrix[role], role, i, err);
        }
    return status;
}

/* ---- Opening ------------------------------------------------------------------------------------------------ */

/* The dimensions that the shaders take. */
static tdm_status check(const struct gpu_model *m, tdm_error *err)
{
    const struct config *c = &m->config;
    const struct config_attention *a = &c->attention;
    const struct config_delta *d = &c->delta;
    const struct config_heads widest = config_widest_heads(c);
    if (c->scales.residual != 1 && config_is_recurrent(c))
        return error_set(err, TDM_E_UNSUPPORTED, "recurrent layers that are scaled: a GPU does not evaluate them yet");
    if (a->head_dim % 4 || a->window_head_dim % 4)
        return error_set(err, TDM_E_UNSUPPORTED, "heads of %u elements: on a GPU expected a multiple of 4",
                         a->head_dim % 4 ? a->head_dim : a->window_head_dim);
    if (widest.group > 16)
        return error_set(err, TDM_E_UNSUPPORTED, "%u heads share keys: on a GPU expected at most 16", widest.group);
    /* What attend.comp declares, for as many rows as a workgroup has. */
    uint32_t rows = products_power(widest.group * record_tile_tokens(m, SPLIT_ROWS + 1)),
             shared = 4 * (rows * (widest.head_dim + ATTEND_BLOCK) + 16 * 8);
    if (shared > m->gpu->shared_bytes)
        return error_set(err, TDM_E_UNSUPPORTED,
                         "heads of %u elements, %u of which share keys: %s has no room for them", widest.head_dim,
                         widest.group, m->gpu->info.name);
    if (d->value_heads > 256 || d->value_dim > 256 || d->key_dim > 256)
        return error_set(err, TDM_E_UNSUPPORTED, "%u value heads: on a GPU expected at most 256", d->value_heads);
    if (c->hidden % 4 || c->feed.intermediate % 4 || c->experts.intermediate % 4 || c->layer_input % 4 ||
        d->key_dim % 4 || d->value_dim % 4)
        return error_set(err, TDM_E_UNSUPPORTED, "%u columns: on a GPU expected a multiple of 4", c->hidden);
    if (d->conv_kernel > 4)
        return error_set(err, TDM_E_UNSUPPORTED, "a convolution of %u taps: on a GPU expected at most 4",
                         d->conv_kernel);
    return TDM_OK;
}

static uint64_t tower_bytes_of(const struct gpu_model_options *o)
{
    return o->tower ? gpu_tower_bytes(o->tower) : 0;
}

/* Whether all that the model takes is there, and what others were promised besides. */
static tdm_status check_room(struct gpu_model *m, const struct plan *p, tdm_error *err)
{
    uint64_t all = p->vectors + p->tables + scratch_bytes(&m->config, &m->options);
    uint64_t has = device_free_memory(m->gpu), promised = m->gpu->memory.promised,
             room = has > promised ? has - promised : 0;
    for (uint32_t i = 0; i < p->n; i++) all += p->arenas[i];
    all += m->options.states * model_state_bytes(m) + tower_bytes_of(&m->options);
    if (all <= room) return TDM_OK;
    return error_set(err, TDM_E_NOMEM, "%s: the model takes %.1f GB there, %.1f GB are free", m->gpu->info.name,
                     1e-9 * (double)all, 1e-9 * (double)room);
}

static tdm_status take_room(struct gpu_model *m, const struct plan *p, tdm_error *err)
{
    m->arenas = calloc(p->n, sizeof *m->arenas);
    if (!m->arenas) return error_set(err, TDM_E_NOMEM, "no memory for a model");
    tdm_status status = TDM_OK;
    m->n_arenas = p->n;
    for (uint32_t i = 0; i < p->n && !status; i++)
        status = block_new(&m->arenas[i], m->gpu, BLOCK_DEVICE, p->arenas[i], err);
    if (!status) status = block_new(&m->vectors, m->gpu, BLOCK_DEVICE, p->vectors, err);
    if (!status) status = block_new(&m->tables, m->gpu, BLOCK_DEVICE, p->tables, err);
    if (!status) status = scratch_new(m, err);
    if (!status && m->options.tower) status = gpu_tower_new(&m->tower, m->gpu, m->options.tower, err);
    if (status) return status;
    m->states.promised = m->options.states;
    m->gpu->memory.promised += m->states.promised * model_state_bytes(m);
    return TDM_OK;
}

/* All of a model's memory before anything is copied, and by one model at a time: of two that are loaded at once and
 * don't fit together, one finds its memory, instead of both taking a part of it. */
static tdm_status allocate(struct gpu_model *m, const struct plan *p, tdm_error *err)
{
    pthread_mutex_lock(&m->gpu->memory.allocating);
    tdm_status status = check_room(m, p, err);
    if (!status) status = take_room(m, p, err);
    pthread_mutex_unlock(&m->gpu->memory.allocating);
    return status;
}

static tdm_status load_tower(struct loader *l, tdm_error *err)
{
    const struct gpu_model_options *o = &l->model->options;
    struct gpu_tower_loading loading = {l->team, o->progress, o->progress_ctx, &l->done, l->total};
    return gpu_tower_load(l->model->tower, o->tower, &loading, err);
}

static tdm_status load(struct gpu_model *m, const struct source *source, uint64_t total, tdm_error *err)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct loader l = {.model = m, .source = source, .total = total};
    tdm_status status = team_open(&l.team, cpus < 1 ? 1 : cpus > MAX_THREADS ? MAX_THREADS : (int)cpus, NULL, err);
    if (status) return status;
    status = lane_open(&l.lane, m->gpu, m->gpu->family, err);
    if (!status) status = load_all(&l, err);
    if (!status) status = source_check(source, err);
    if (!status && m->tower) status = load_tower(&l, err);
    lane_close(&l.lane, m->gpu);
    team_close(l.team);
    return status;
}

/* Finds the MTP head's own matrices, and those of the trunk that it uses. */
static void find_head(struct gpu_model *m)
{
    struct gpu_mtp *mtp = &m->mtp;
    const struct config *c = &m->config;
    const struct gpu_layer *own = &m->layers[c->layers];
    if (!c->mtp.there) return;
    mtp->embed = c->mtp.embed ? &own->matrix[ROLE_MTP_EMBED] : &m->embed;
    mtp->lm_head = c->mtp.head ? &own->matrix[ROLE_MTP_LM_HEAD] : m->head;
    mtp->norm = c->mtp.norm ? own->vector[ROLE_MTP_NORM] : m->final_norm;
    mtp->drafted = *mtp->lm_head;
    if (mtp->drafted.rows <= DRAFTED_ROWS) return;
    mtp->drafted.rows = DRAFTED_ROWS;
    mtp->drafted.tiles = DRAFTED_ROWS / PACK_ROWS;
    mtp->drafted.pieces = (mtp->drafted.tiles + mtp->drafted.piece_tiles - 1) / mtp->drafted.piece_tiles;
}

/* How products with a matrix are done best; of experts' by a rule. *until: later by as long as another model's matrices
 * were measured. */
static tdm_status choose_product(struct gpu *g, const struct gpu_matrix *w, bool experts, int64_t *until,
                                 tdm_error *err)
{
    int64_t asked = clock_ns();
    pthread_mutex_lock(&g->products.trying);
    *until += clock_ns() - asked;
    tdm_status status = gemm_try(g, w->kind, err);
    if (!status && experts)
        status = gemm_try_experts(g, w->kind, err);
    else if (!status)
        status = gemm_choose(g, w->kind, w->tiles, w->chunks, *until, err);
    pthread_mutex_unlock(&g->products.trying);
    return status;
}

/* How products of many tokens are done best with the matrices that it has. */
static tdm_status choose_products(struct gpu_model *m, tdm_error *err)
{
    tdm_status status = TDM_OK;
    int64_t until = clock_ns() + MAX_CHOOSING_NS;
    for (uint32_t i = 0; i < config_blocks(&m->config); i++)
        for (enum role role = 0; role < ROLE_COUNT && !status; role++) {
            const struct gpu_matrix *w = &m->layers[i].matrix[role];
            if (!w->pieces) continue;
            status = model_progress(m, TDM_STEP_MEASURING_GPU, i, config_blocks(&m->config), err);
            if (!status) status = choose_product(m->gpu, w, role_is_experts(role), &until, err);
        }
    return status;
}

static tdm_status open_model(struct gpu_model *m, const struct source *source, tdm_error *err)
{
    struct plan plan = {.source = source, .options = &m->options, .slice = m->gpu->slice};
    tdm_status status = device_check(m->gpu, err);
    if (!status) status = check(m, err);
    if (status) return status;
    plan_model(&plan, m);
    status = plan.failed ? error_set(err, TDM_E_NOMEM, "no memory for a model") : allocate(m, &plan, err);
    uint64_t total = tower_bytes_of(&m->options);
    for (uint32_t i = 0; i < plan.n; i++) total += plan.arenas[i];
    free(plan.arenas);
    if (!status) status = load(m, source, total, err);
    if (!status) find_head(m);
    if (!status) status = choose_products(m, err);
    if (!status) status = scratch_finish(m, err);
    /* A driver on cores compiles for longer than it saves. */
    return status || m->gpu->info.kind == GPU_SOFTWARE ? status : gpu_model_prepare(m, err);
}

tdm_status gpu_model_new(struct gpu_model **out, struct gpu *g, const struct source *source,
                         const struct gpu_model_options *options, tdm_error *err)
{
    *out = NULL;
    struct gpu_model *m = calloc(1, sizeof *m);
    if (!m) return error_set(err, TDM_E_NOMEM, "no memory for a model");
    m->gpu = g;
    m->config = *source_config(source);
    m->options = *options;
    m->inputs.source = source;
    m->shape = state_shape_of(&m->config);
    m->head = m->config.tied ? &m->embed : &m->own_head;
    m->layers = calloc(config_blocks(&m->config), sizeof *m->layers);
    if (m->config.positions && m->options.context > m->config.positions) m->options.context = m->config.positions;
    bool made = m->layers;
    for (int i = 0; i < 2; i++) made &= !!(m->frequency[i] = calloc(CONFIG_MAX_HEAD / 2, sizeof(double)));
    tdm_status status = made ? TDM_OK : error_set(err, TDM_E_NOMEM, "no memory for a model");
    if (!status) rotary_frequencies(&m->config.rope, options->context, m->frequency[0]);
    if (!status && m->config.rope.window_theta != 0) rotary_window_frequencies(&m->config, m->frequency[1]);
    if (!status) status = open_model(m, source, err);
    if (status) {
        gpu_model_free(m);
        return status;
    }
    *out = m;
    return TDM_OK;
}

static void free_pieces(struct gpu_model *m)
{
    free(m->embed.piece);
    free(m->own_head.piece);
    free(m->inputs.projection.piece);
    for (uint32_t i = 0; i < config_blocks(&m->config) && m->layers; i++)
        for (enum role role = 0; role < ROLE_COUNT; role++) free(m->layers[i].matrix[role].piece);
}

void gpu_model_free(struct gpu_model *m)
{
    if (!m) return;
    m->gpu->memory.promised -= m->states.promised * model_state_bytes(m);
    scratch_free(m);
    gpu_tower_free(m->tower);
    model_free_states(m);
    for (uint32_t i = 0; i < m->n_arenas; i++) block_free(&m->arenas[i], m->gpu);
    block_free(&m->vectors, m->gpu);
    block_free(&m->tables, m->gpu);
    free_pieces(m);
    free(m->arenas);
    free(m->layers);
    for (int i = 0; i < 2; i++) free(m->frequency[i]);
    free(m);
}

struct gpu_tower *gpu_model_tower(const struct gpu_model *m)
{
    return m->tower;
}

const struct config *gpu_model_config(const struct gpu_model *m)
{
    return &m->config;
}

double *gpu_model_frequencies(struct gpu_model *m)
{
    return m->frequency[0];
}

void gpu_model_needs(const struct source *source, const struct gpu_model_options *options, struct gpu_needs *out)
{
    struct gpu_model m = {.config = *source_config(source), .options = *options};
    m.shape = state_shape_of(&m.config);
    struct plan plan = {.source = source, .options = options, .slice = (uint64_t)1 << 30};
    *out = (struct gpu_needs){0};
    m.layers = calloc(config_blocks(&m.config), sizeof *m.layers);
    if (!m.layers) return;
    plan_model(&plan, &m);
    for (uint32_t i = 0; i < plan.n; i++) out->weights += plan.arenas[i];
    out->weights += plan.vectors + plan.tables + tower_bytes_of(options);
    out->scratch = scratch_bytes(&m.config, options);
    out->state = 4 * (state_shape_recurrent_floats(&m.shape) + 2 * state_shape_conv_floats(&m.shape) +
                      (uint64_t)model_waiting_rows(&m) * m.config.hidden + m.config.vocab);
    for (uint32_t kind = 0; kind < m.shape.kinds + m.config.mtp.there; kind++)
        out->page[kind] = model_page_bytes(&m, kind);
    free(plan.arenas);
    free_pieces(&m);
    free(m.layers);
}
