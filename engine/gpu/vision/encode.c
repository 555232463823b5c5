/* An encoding: its memory, its commands (a buffer for each part of a step, recorded when it begins), and their
 * submission: as many parts of a layer as take no longer than a reply's token may wait. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/gpu/vision/private.h"

enum { ALIGN = 256, MAX_AHEAD = 2, LAYER_PARTS = 4, MAX_SPARE = 512 << 20, USUAL_SIDE = 1024 /* pixels */ };
#define LONGEST_NS 10000000 /* of a submission: a layer is cut where its parts take longer together */
#define SHORT_NS   5000000  /* while submissions take less the next one is made before one is waited for */

/* A place between two learned positions, as positions.comp reads it. */
struct between {
    uint32_t low, high;
    float part; /* of the higher one */
    uint32_t unused;
};

struct gpu_encoding {
    struct gpu_tower *tower;
    uint32_t columns, rows, patches, padded, tokens; /* columns, rows: of patches */
    uint32_t places;                                 /* the larger of both */
    struct block memory[VISION_MEMORIES];
    /* In the first one: the residual stream; half floats that a product takes; queries, keys and values, then what is
     * between the two products of a feed-forward network; each head's queries, keys and values; the rows. */
    uint64_t x, narrow, wide, heads, out;
    uint64_t pixels, angles, between; /* in the table */
    struct lane lane;
    VkCommandBuffer *commands; /* of each part: the patches, those of the layers, the merger */
    VkFence fence[MAX_AHEAD];
    uint32_t parts, submitted, done, at_once; /* at_once: of a layer, in the next submission */
    uint32_t in_flight[MAX_AHEAD];            /* parts of the submissions that are waited for, ... */
    uint32_t first, flying;                   /* ... the oldest of them, and how many they are */
    int64_t took_ns;                          /* the last one */
};

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Where the next bytes begin; *at moves behind them. */
static uint64_t part(uint64_t *at, uint64_t bytes)
{
    uint64_t here = *at;
    *at += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return here;
}

static uint32_t ld_of(uint32_t columns)
{
    return vision_padded(columns, VISION_DEPTH);
}

static uint64_t bytes_of_rows(const struct gpu_encoding *e)
{
    return (uint64_t)e->tokens * e->tower->shape.out * sizeof(float);
}

/* From an address on; returns the bytes. */
static uint64_t lay_out(struct gpu_encoding *e, uint64_t from)
{
    const struct vision_shape *s = &e->tower->shape;
    const uint64_t n = e->patches, joined = (uint64_t)e->tokens * ld_of(vision_joined(s));
    uint64_t at = from;
    e->x = part(&at, n * s->width * sizeof(float));
    e->narrow =
        part(&at, sizeof(uint16_t) * larger(joined, n * larger(ld_of(vision_patch_values(s)), ld_of(s->width))));
    e->wide = part(
        &at, larger(n * 3 * s->width * sizeof(float), sizeof(uint16_t) * larger(joined, n * ld_of(s->intermediate))));
    e->heads = part(&at, (uint64_t)3 * s->heads * e->padded * vision_head_room(s) * sizeof(uint16_t));
    e->out = part(&at, bytes_of_rows(e));
    return at - from;
}

/* Patches, tokens, and what follows from them. */
static void set_size(struct gpu_encoding *e, uint32_t columns, uint32_t rows)
{
    const struct vision_shape *s = &e->tower->shape;
    e->columns = columns;
    e->rows = rows;
    e->places = columns > rows ? columns : rows;
    e->patches = columns * rows;
    e->padded = vision_padded(e->patches, VISION_QUERIES);
    e->tokens = e->patches / (s->merge * s->merge);
}

uint64_t vision_usual_bytes(const struct vision_shape *s)
{
    struct gpu_tower t = {.shape = *s};
    struct gpu_encoding e = {.tower = &t};
    set_size(&e, USUAL_SIDE / s->patch, USUAL_SIDE / s->patch);
    return lay_out(&e, 0);
}

/* What is spare, or new. */
static tdm_status take_memory(struct gpu_encoding *e, enum vision_memory which, uint64_t bytes, tdm_error *err)
{
    static const enum block_use uses[] = {[VISION_MEMORY] = BLOCK_DEVICE, BLOCK_TABLE, BLOCK_READ};
    struct gpu_tower *t = e->tower;
    struct block *to = &e->memory[which];
    pthread_mutex_lock(&t->lock);
    if (t->spare[which].bytes >= bytes) {
        *to = t->spare[which];
        t->spare[which] = (struct block){0};
    }
    pthread_mutex_unlock(&t->lock);
    return to->bytes ? TDM_OK : block_new(to, t->gpu, uses[which], bytes, err);
}

/* What is not large is spare from now on, unless that is larger. */
static void give_memory(struct gpu_encoding *e, enum vision_memory which)
{
    struct gpu_tower *t = e->tower;
    struct block mine = e->memory[which];
    pthread_mutex_lock(&t->lock);
    if (mine.bytes <= MAX_SPARE && mine.bytes > t->spare[which].bytes) {
        struct block other = t->spare[which];
        t->spare[which] = mine;
        mine = other;
    }
    pthread_mutex_unlock(&t->lock);
    block_free(&mine, t->gpu);
}

/* ---- What shaders read of a picture ------------------------------------------------------------------------------ */

static void fill_between(struct between *out, uint32_t n, uint32_t side)
{
    for (uint32_t i = 0; i < n; i++) {
        double at = n > 1 ? (double)i * (side - 1) / (n - 1) : 0;
        uint32_t low = (uint32_t)at;
        out[i] = (struct between){.low = low, .high = low + 1 < side ? low + 1 : low, .part = (float)(at - low)};
    }
}

/* Cosines of each place, then sines. */
static void fill_angles(const struct gpu_encoding *e, float *out)
{
    const struct vision_shape *s = &e->tower->shape;
    uint32_t quarter = vision_head_dim(s) / 4;
    for (uint32_t j = 0; j < quarter; j++) {
        double frequency = pow((double)s->theta, -(double)j / quarter);
        for (uint32_t i = 0; i < e->places; i++) {
            out[i * quarter + j] = (float)cos(i * frequency);
            out[(e->places + i) * quarter + j] = (float)sin(i * frequency);
        }
    }
}

static tdm_status make_table(struct gpu_encoding *e, const struct picture *p, tdm_error *err)
{
    const struct vision_shape *s = &e->tower->shape;
    uint64_t bytes = 0, pixels = (uint64_t)3 * p->width * p->height;
    e->pixels = part(&bytes, pixels);
    e->angles = part(&bytes, (uint64_t)2 * e->places * (vision_head_dim(s) / 4) * sizeof(float));
    e->between = part(&bytes, ((uint64_t)e->rows + e->columns) * sizeof(struct between));
    tdm_status status = take_memory(e, VISION_TABLE, bytes, err);
    if (status) return status;
    const uint64_t address = e->memory[VISION_TABLE].address;
    char *table = e->memory[VISION_TABLE].mapped;
    memcpy(table + e->pixels, p->rgb, pixels);
    fill_angles(e, (float *)(table + e->angles));
    struct between *between = (struct between *)(table + e->between);
    fill_between(between, e->rows, s->side);
    fill_between(between + e->rows, e->columns, s->side);
    e->pixels += address;
    e->angles += address;
    e->between += address;
    return TDM_OK;
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

/* A dispatch whose workgroups are rows. */
static void rows_step(struct vision_recording *r, enum shader shader, const uint32_t *constants, uint32_t n,
                      const void *push, uint32_t push_bytes, uint32_t rows, bool beside)
{
    vision_dispatch(r, &(struct vision_dispatch){shader, constants, n, rows, 1, push, push_bytes, beside});
}

static void make_patches(struct vision_recording *r, const struct gpu_encoding *e)
{
    const struct vision_shape *s = &e->tower->shape;
    struct {
        uint64_t pixels, patches;
        uint32_t side, merge, columns, values, ld;
        float mean[3], by[3];
    } push = {e->pixels, e->narrow, s->patch, s->merge, e->columns, vision_patch_values(s), 0, {0}, {0}};
    push.ld = ld_of(push.values);
    for (int i = 0; i < 3; i++) push.mean[i] = s->mean[i] * 255, push.by[i] = 1 / (s->deviation[i] * 255);
    rows_step(r, SHADER_VISION_PATCHES, NULL, 0, &push, sizeof push, e->patches, false);
}

static void make_positions(struct vision_recording *r, const struct gpu_encoding *e)
{
    const struct vision_shape *s = &e->tower->shape;
    struct {
        uint64_t positions, between, x;
        uint32_t width, side, merge, columns, rows;
    } push = {
        e->tower->parts[0].at[VISION_POSITIONS], e->between, e->x, s->width, s->side, s->merge, e->columns, e->rows};
    rows_step(r, SHADER_VISION_POSITIONS, NULL, 0, &push, sizeof push, e->patches, true);
}

/* Rows of the residual stream, normalised; `each` of them become one. */
static void normalise(struct vision_recording *r, const struct gpu_encoding *e, uint64_t by, uint64_t bias,
                      uint32_t each)
{
    const struct vision_shape *s = &e->tower->shape;
    struct {
        uint64_t x, by, bias, result;
        uint32_t width, each, ld;
        float eps;
    } push = {e->x, by, bias, e->narrow, s->width, each, ld_of(each * s->width), s->eps};
    rows_step(r, SHADER_VISION_NORM, &e->tower->gpu->tuning.subgroup, 1, &push, sizeof push, e->patches, false);
}

static void rotate_heads(struct vision_recording *r, const struct gpu_encoding *e)
{
    const struct vision_shape *s = &e->tower->shape;
    uint32_t dims = vision_head_dim(s), room = vision_head_room(s);
    struct {
        uint64_t qkv, angles, heads_at;
        uint32_t heads, dims, merge, columns, patches, padded, places;
        float scale;
    } push = {e->wide,
              e->angles,
              e->heads,
              s->heads,
              dims,
              s->merge,
              e->columns,
              e->patches,
              e->padded,
              e->places,
              (float)(1.4426950408889634 / sqrt(dims))};
    rows_step(r, SHADER_VISION_ROPE, &room, 1, &push, sizeof push, e->padded, false);
}

static void record_embedding(struct vision_recording *r, const struct gpu_encoding *e)
{
    const struct vision_shape *s = &e->tower->shape;
    const uint64_t *at = e->tower->parts[0].at;
    make_patches(r, e);
    make_positions(r, e);
    vision_product(r, &(struct vision_product){at[VISION_PATCH], e->narrow, at[VISION_PATCH_BIAS], e->x,
                                               ld_of(vision_patch_values(s)), s->width, e->patches, s->width,
                                               VISION_ADDED});
}

/* A part of a layer: queries, keys and values; attention; its output, and half of the feed-forward network; the other
 * half. */
static void record_part(struct vision_recording *r, const struct gpu_encoding *e, uint32_t block, uint32_t which)
{
    const struct vision_shape *s = &e->tower->shape;
    const uint64_t *at = e->tower->parts[block].at;
    uint32_t ld = ld_of(s->width), inner = ld_of(s->intermediate), n = e->patches;
    switch (which) {
    case 0:
        normalise(r, e, at[VISION_NORM1], at[VISION_NORM1_BIAS], 1);
        vision_product(r, &(struct vision_product){at[VISION_QKV], e->narrow, at[VISION_QKV_BIAS], e->wide, ld,
                                                   3 * s->width, n, 3 * s->width, VISION_TO_FLOATS});
        break;
    case 1:
        rotate_heads(r, e);
        vision_attend(r, &(struct vision_heads){e->heads, e->narrow, n, e->padded, ld});
        break;
    case 2:
        vision_product(r, &(struct vision_product){at[VISION_OUT], e->narrow, at[VISION_OUT_BIAS], e->x, ld, s->width,
                                                   n, s->width, VISION_ADDED});
        normalise(r, e, at[VISION_NORM2], at[VISION_NORM2_BIAS], 1);
        vision_product(r, &(struct vision_product){at[VISION_UP], e->narrow, at[VISION_UP_BIAS], e->wide, ld,
                                                   s->intermediate, n, inner, VISION_GELU_TANH});
        break;
    default:
        vision_product(r, &(struct vision_product){at[VISION_DOWN], e->wide, at[VISION_DOWN_BIAS], e->x, inner,
                                                   s->width, n, s->width, VISION_ADDED});
    }
}

/* The merger, and the rows to the host. */
static void record_rows(struct vision_recording *r, const struct gpu_encoding *e)
{
    const struct vision_shape *s = &e->tower->shape;
    const uint64_t *at = e->tower->parts[0].at;
    struct gpu *g = e->tower->gpu;
    uint32_t joined = vision_joined(s), ld = ld_of(joined), n = e->tokens;
    normalise(r, e, at[VISION_MERGER_NORM], at[VISION_MERGER_NORM_BIAS], s->merge * s->merge);
    vision_product(r, &(struct vision_product){at[VISION_FC1], e->narrow, at[VISION_FC1_BIAS], e->wide, ld, joined, n,
                                               ld, VISION_GELU_ERF});
    vision_product(r, &(struct vision_product){at[VISION_FC2], e->wide, at[VISION_FC2_BIAS], e->out, ld, s->out, n,
                                               s->out, VISION_TO_FLOATS});
    if (r->status) return;
    device_barrier(g, r->commands);
    const struct block *memory = &e->memory[VISION_MEMORY];
    VkBufferCopy region = {e->out - memory->address, 0, bytes_of_rows(e)};
    g->vk.CmdCopyBuffer(r->commands, memory->buffer, e->memory[VISION_READ].buffer, 1, &region);
    device_land(g, r->commands);
}

static tdm_status record(struct gpu_encoding *e, uint32_t part, tdm_error *err)
{
    struct gpu *g = e->tower->gpu;
    tdm_status status = device_commands(&e->commands[part], g, e->lane.pool, err);
    if (!status) status = device_begin(g, e->commands[part], false, err);
    if (status) return status;
    struct vision_recording r = {.tower = e->tower, .commands = e->commands[part], .err = err};
    if (part == 0)
        record_embedding(&r, e);
    else if (part + 1 < e->parts)
        record_part(&r, e, (part - 1) / LAYER_PARTS, (part - 1) % LAYER_PARTS);
    else
        record_rows(&r, e);
    return r.status ? r.status : device_end(g, e->commands[part], err);
}

/* ---- The encoding ------------------------------------------------------------------------------------------------ */

static tdm_status open_encoding(struct gpu_encoding *e, const struct picture *p, tdm_error *err)
{
    struct gpu *g = e->tower->gpu;
    tdm_status status = device_check(g, err);
    if (!status) status = take_memory(e, VISION_MEMORY, lay_out(e, 0), err);
    if (!status) lay_out(e, e->memory[VISION_MEMORY].address);
    if (!status) status = make_table(e, p, err);
    if (!status) status = take_memory(e, VISION_READ, bytes_of_rows(e), err);
    if (!status) status = lane_open(&e->lane, g, g->family, err);
    for (int i = 0; i < MAX_AHEAD && !status; i++) status = device_fence(&e->fence[i], g, err);
    for (uint32_t i = 0; i < e->parts && !status; i++) status = record(e, i, err);
    return status;
}

tdm_status gpu_encoding_new(struct gpu_encoding **out, struct gpu_tower *t, const struct picture *p, tdm_error *err)
{
    const struct vision_shape *s = &t->shape;
    struct gpu_encoding *e = calloc(1, sizeof *e);
    uint32_t parts = s->depth * LAYER_PARTS + 2;
    VkCommandBuffer *commands = calloc(parts, sizeof(VkCommandBuffer));
    *out = NULL;
    if (!e || !commands) {
        free(e);
        free(commands);
        return error_set(err, TDM_E_NOMEM, "no memory to encode a picture");
    }
    e->tower = t;
    e->commands = commands;
    e->parts = parts;
    e->at_once = 1;
    set_size(e, p->width / s->patch, p->height / s->patch);
    tdm_status status = open_encoding(e, p, err);
    if (status) {
        gpu_encoding_free(e);
        return status;
    }
    *out = e;
    return TDM_OK;
}

void gpu_encoding_free(struct gpu_encoding *e)
{
    if (!e) return;
    struct gpu *g = e->tower->gpu;
    for (; e->flying; e->flying--, e->first++) device_finish(g, e->fence[e->first % MAX_AHEAD], 0, NULL);
    for (int i = 0; i < MAX_AHEAD; i++)
        if (e->fence[i]) g->vk.DestroyFence(g->device, e->fence[i], NULL);
    lane_close(&e->lane, g); /* its pool has the commands */
    for (int i = 0; i < VISION_MEMORIES; i++) give_memory(e, (enum vision_memory)i);
    free(e->commands);
    free(e);
}

/* The next submission: the patches, the merger, or parts of one layer. */
static tdm_status submit(struct gpu_encoding *e, tdm_error *err)
{
    uint32_t n = 1, slot = (e->first + e->flying) % MAX_AHEAD;
    if (e->submitted > 0 && e->submitted + 1 < e->parts) {
        uint32_t left = LAYER_PARTS - (e->submitted - 1) % LAYER_PARTS;
        n = left < e->at_once ? left : e->at_once;
    }
    struct start start;
    tdm_status status =
        device_start(&start, e->tower->gpu, e->fence[slot], &e->commands[e->submitted], n, e->flying, err);
    if (status) return status;
    e->in_flight[slot] = n;
    e->submitted += n;
    e->flying++;
    return TDM_OK;
}

static tdm_status finish(struct gpu_encoding *e, int64_t from, tdm_error *err)
{
    uint32_t slot = e->first % MAX_AHEAD, n = e->in_flight[slot];
    tdm_status status = device_finish(e->tower->gpu, e->fence[slot], 0, err);
    e->first++;
    e->flying--;
    e->done += n;
    e->took_ns = clock_ns() - from;
    int64_t fit = e->took_ns > 0 ? (int64_t)n * LONGEST_NS / e->took_ns : LAYER_PARTS;
    e->at_once = fit < 1 ? 1 : fit > LAYER_PARTS ? LAYER_PARTS : (uint32_t)fit;
    return status;
}

tdm_status gpu_encoding_step(struct gpu_encoding *e, bool *more, tdm_error *err)
{
    uint32_t ahead = e->done && e->took_ns < SHORT_NS ? MAX_AHEAD : 1;
    tdm_status status = TDM_OK;
    *more = e->done < e->parts;
    if (!*more) return TDM_OK;
    int64_t from = clock_ns();
    while (e->submitted < e->parts && e->flying < ahead && !status) status = submit(e, err);
    if (!status) status = finish(e, from, err);
    *more = !status;
    return status;
}

uint32_t gpu_encoding_done(const struct gpu_encoding *e)
{
    return e->done == e->parts ? e->tower->shape.depth + 2 : e->done ? 1 + (e->done - 1) / LAYER_PARTS : 0;
}

uint32_t gpu_encoding_tokens(const struct gpu_encoding *e)
{
    return e->tokens;
}

const float *gpu_encoding_rows(const struct gpu_encoding *e)
{
    return e->memory[VISION_READ].mapped;
}
