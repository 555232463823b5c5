/* A vision tower's weights on a device: a block of memory for each block of the tower. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/gpu/vision/private.h"
#include "engine/vision/weights.h"

enum { ALIGN = 256 };

static bool is_matrix(int role)
{
    return role == VISION_PATCH || role == VISION_FC1 || role == VISION_FC2 || role == VISION_QKV ||
           role == VISION_OUT || role == VISION_UP || role == VISION_DOWN;
}

/* Columns of a matrix; a patch sees a still picture in each of its frames, so its weights are summed over them. */
static uint32_t columns_of(const struct tower *t, int role)
{
    return role == VISION_PATCH ? vision_patch_values(tower_shape(t))
                                : (uint32_t)tower_tensor(t, (enum vision_role)role, 0)->cols;
}

static bool is_taken(const struct tower *t, int role, uint32_t block)
{
    return role != VISION_PATCH_NEXT && tower_tensor(t, (enum vision_role)role, block)->data;
}

static uint64_t bytes_of(const struct tower *t, int role, uint32_t block)
{
    const struct vision_tensor *x = tower_tensor(t, (enum vision_role)role, block);
    return is_matrix(role) ? x->rows * vision_padded(columns_of(t, role), VISION_DEPTH) * sizeof(uint16_t)
                           : x->rows * x->cols * sizeof(float);
}

/* Where the weights of a block lie in their memory; returns its bytes. at: may be NULL. */
static uint64_t place(const struct tower *t, uint32_t block, uint64_t *at)
{
    uint64_t bytes = 0;
    for (int role = 0; role < VISION_ROLES; role++) {
        if (!is_taken(t, role, block)) continue;
        if (at) at[role] = bytes;
        bytes += (bytes_of(t, role, block) + ALIGN - 1) / ALIGN * ALIGN;
    }
    return bytes;
}

uint64_t gpu_tower_bytes(const struct tower *t)
{
    uint64_t bytes = vision_usual_bytes(tower_shape(t));
    for (uint32_t i = 0; i < tower_shape(t)->depth; i++) bytes += place(t, i, NULL);
    return bytes;
}

static tdm_status check(const struct vision_shape *s, tdm_error *err)
{
    if (s->intermediate % 4 || s->out % 4)
        return error_set(err, TDM_E_UNSUPPORTED, "a vision tower of %u columns: on a GPU expected a multiple of 4",
                         s->intermediate % 4 ? s->intermediate : s->out);
    return TDM_OK;
}

tdm_status gpu_tower_new(struct gpu_tower **out, struct gpu *g, const struct tower *from, tdm_error *err)
{
    const struct vision_shape *s = tower_shape(from);
    *out = NULL;
    tdm_status status = check(s, err);
    if (status) return status;
    struct gpu_tower *t = calloc(1, sizeof *t);
    struct vision_part *parts = calloc(s->depth, sizeof *parts);
    if (!t || !parts) {
        free(t);
        free(parts);
        return error_set(err, TDM_E_NOMEM, "no memory for a vision tower");
    }
    *t = (struct gpu_tower){.gpu = g, .shape = *s, .parts = parts};
    pthread_mutex_init(&t->lock, NULL);
    for (uint32_t i = 0; i < s->depth && !status; i++) {
        status = block_new(&parts[i].memory, g, BLOCK_DEVICE, place(from, i, parts[i].at), err);
        for (int role = 0; role < VISION_ROLES; role++)
            if (is_taken(from, role, i)) parts[i].at[role] += parts[i].memory.address;
    }
    if (!status) status = block_new(&t->spare[VISION_MEMORY], g, BLOCK_DEVICE, vision_usual_bytes(s), err);
    if (status) {
        gpu_tower_free(t);
        return status;
    }
    vision_choose(t);
    *out = t;
    return TDM_OK;
}

void gpu_tower_free(struct gpu_tower *t)
{
    if (!t) return;
    for (uint32_t i = 0; i < t->shape.depth; i++) block_free(&t->parts[i].memory, t->gpu);
    for (int i = 0; i < VISION_MEMORIES; i++) block_free(&t->spare[i], t->gpu);
    pthread_mutex_destroy(&t->lock);
    free(t->parts);
    free(t);
}

/* ---- Loading ----------------------------------------------------------------------------------------------------- */

/* A tensor on its way: rows as the device has them. */
struct packing {
    const struct tower *tower;
    const struct vision_tensor *tensor;
    int role;
    uint32_t columns, ld;
    uint8_t *out;
    float *wide; /* for each member: a row as stored, then its columns */
    size_t wide_floats;
};

static void pack_member(void *ctx, struct member *m)
{
    const struct packing *p = ctx;
    const struct vision_tensor *from = p->tensor;
    float *stored = p->wide + (size_t)m->index * p->wide_floats, *row = stored + from->cols;
    uint64_t row_bytes = type_row_bytes(from->type, from->cols);
    uint32_t begin, end;
    while (member_claim(m, (uint32_t)from->rows, 16, &begin, &end))
        for (uint32_t r = begin; r < end; r++) {
            if (p->role == VISION_PATCH)
                vision_widen_patch(p->tower, r, stored, row);
            else
                type_widen(from->type, from->data + r * row_bytes, row, from->cols);
            if (is_matrix(p->role))
                type_narrow(TYPE_F16, row, p->out + (size_t)r * p->ld * sizeof(uint16_t), p->columns);
            else
                memcpy(p->out + (size_t)r * from->cols * sizeof(float), row, from->cols * sizeof(float));
        }
}

static tdm_status load_one(struct gpu_tower *t, struct lane *lane, const struct tower *from, int role, uint32_t block,
                           const struct gpu_tower_loading *l, tdm_error *err)
{
    struct packing p = {.tower = from,
                        .tensor = tower_tensor(from, (enum vision_role)role, block),
                        .role = role,
                        .columns = columns_of(from, role)};
    const struct block *to = &t->parts[block].memory;
    uint64_t bytes = bytes_of(from, role, block);
    p.ld = vision_padded(p.columns, VISION_DEPTH);
    p.wide_floats = 2 * p.tensor->cols;
    p.out = calloc(1, bytes);
    p.wide = malloc((size_t)l->team->count * p.wide_floats * sizeof(float));
    tdm_status status = p.out && p.wide ? TDM_OK : error_set(err, TDM_E_NOMEM, "no memory for a vision tower");
    if (!status) {
        team_run(l->team, pack_member, &p);
        status = lane_write(lane, t->gpu, to, t->parts[block].at[role] - to->address, p.out, bytes, err);
    }
    free(p.out);
    free(p.wide);
    *l->done += bytes;
    return status;
}

static tdm_status load_all(struct gpu_tower *t, struct lane *lane, const struct tower *from,
                           const struct gpu_tower_loading *l, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (uint32_t block = 0; block < t->shape.depth; block++)
        for (int role = 0; role < VISION_ROLES && !status; role++) {
            if (!is_taken(from, role, block)) continue;
            if (l->progress && l->progress(l->progress_ctx, TDM_STEP_COPYING_GPU, *l->done, l->total))
                return error_set(err, TDM_E_CANCELLED, "loading was cancelled");
            status = load_one(t, lane, from, role, block, l, err);
        }
    return status;
}

tdm_status gpu_tower_load(struct gpu_tower *t, const struct tower *from, const struct gpu_tower_loading *l,
                          tdm_error *err)
{
    struct lane lane;
    *l->done += t->spare[VISION_MEMORY].bytes; /* it is there */
    tdm_status status = lane_open(&lane, t->gpu, t->gpu->family, err);
    if (!status) status = load_all(t, &lane, from, l, err);
    lane_close(&lane, t->gpu);
    return status ? status : vision_prepare(t, err);
}
