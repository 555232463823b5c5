#include "engine/vision/weights.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"

/* A member of the weights, or of each block, and the tensor that it is made of. */
struct part {
    enum vision_role role;
    size_t offset;
};

#define ONCE(member) offsetof(struct vision_weights, member)
#define EACH(member) offsetof(struct vision_block, member)
static const struct part matrices[] = {{VISION_FC1, ONCE(fc1)}, {VISION_FC2, ONCE(fc2)}};
static const struct part vectors[] = {{VISION_PATCH_BIAS, ONCE(patch_bias)},      {VISION_MERGER_NORM, ONCE(norm)},
                                      {VISION_MERGER_NORM_BIAS, ONCE(norm_bias)}, {VISION_FC1_BIAS, ONCE(fc1_bias)},
                                      {VISION_FC2_BIAS, ONCE(fc2_bias)},          {VISION_POSITIONS, ONCE(positions)}};
static const struct part block_matrices[] = {
    {VISION_QKV, EACH(qkv)}, {VISION_OUT, EACH(out)}, {VISION_UP, EACH(up)}, {VISION_DOWN, EACH(down)}};
static const struct part block_vectors[] = {{VISION_NORM1, EACH(norm1)},       {VISION_NORM1_BIAS, EACH(norm1_bias)},
                                            {VISION_NORM2, EACH(norm2)},       {VISION_NORM2_BIAS, EACH(norm2_bias)},
                                            {VISION_QKV_BIAS, EACH(qkv_bias)}, {VISION_OUT_BIAS, EACH(out_bias)},
                                            {VISION_UP_BIAS, EACH(up_bias)},   {VISION_DOWN_BIAS, EACH(down_bias)}};
#define COUNT(list) (sizeof list / sizeof *list)

struct loader {
    const struct tower *tower;
    struct vision_weights *weights;
    struct team *team;
    size_t placed; /* floats of vectors */
};

/* A tensor on its way into a matrix. */
struct packing {
    const struct tower *tower;
    const struct vision_tensor *tensor;
    struct matrix *matrix;
    bool patch; /* its frames are summed */
    atomic_bool failed;
};

static enum type packed_type(const struct kernels *k, enum type stored)
{
    bool floats = stored == TYPE_F32 || stored == TYPE_F16;
    return floats && k->panel_of(TYPE_BF16) == PANEL_BF16 ? TYPE_BF16 : stored;
}

/* Adds what a row of patches has of each frame to out[vision_patch_values]; all: [channel][frames][patch * patch]. */
static void sum_frames(const struct vision_shape *s, const float *all, uint32_t frames, float *out)
{
    uint32_t area = s->patch * s->patch;
    for (uint32_t c = 0; c < 3; c++)
        for (uint32_t f = 0; f < frames; f++)
            for (uint32_t i = 0; i < area; i++) out[c * area + i] += all[(c * frames + f) * area + i];
}

void vision_widen_patch(const struct tower *t, uint64_t row, float *all, float *out)
{
    const struct vision_shape *s = tower_shape(t);
    memset(out, 0, vision_patch_values(s) * sizeof *out);
    for (int role = VISION_PATCH; role <= VISION_PATCH_NEXT; role++) {
        const struct vision_tensor *from = tower_tensor(t, (enum vision_role)role, 0);
        if (!from->data) continue;
        type_widen(from->type, from->data + row * type_row_bytes(from->type, from->cols), all, from->cols);
        sum_frames(s, all, (uint32_t)(from->cols / vision_patch_values(s)), out);
    }
}

static void pack_member(void *ctx, struct member *m)
{
    struct packing *p = ctx;
    const struct vision_tensor *from = p->tensor;
    uint64_t row_bytes = type_row_bytes(from->type, from->cols),
             to_bytes = type_row_bytes(p->matrix->type, p->matrix->cols);
    bool same = !p->patch && from->type == p->matrix->type;
    float *wide = same ? NULL : malloc((from->cols + p->matrix->cols) * sizeof *wide);
    uint8_t *narrow = same ? NULL : malloc(MATRIX_TILE * to_bytes);
    uint32_t begin, end;
    if (!same && (!wide || !narrow)) p->failed = true;
    while (!p->failed && member_claim(m, p->matrix->rows, MATRIX_TILE, &begin, &end)) {
        for (uint32_t r = begin; r < end && !same; r++) {
            float *out = wide + from->cols;
            if (p->patch)
                vision_widen_patch(p->tower, r, wide, out);
            else
                type_widen(from->type, from->data + r * row_bytes, out, from->cols);
            type_narrow(p->matrix->type, out, narrow + (r - begin) * to_bytes, p->matrix->cols);
        }
        matrix_pack(p->matrix, same ? from->data + begin * row_bytes : narrow, begin, end - begin);
    }
    free(wide);
    free(narrow);
}

static tdm_status pack(struct loader *l, enum vision_role role, uint32_t block, struct matrix *out, tdm_error *err)
{
    const struct kernels *k = l->weights->kernels;
    struct packing p = {
        .tower = l->tower, .tensor = tower_tensor(l->tower, role, block), .matrix = out, .patch = role == VISION_PATCH};
    uint32_t cols = p.patch ? vision_patch_values(&l->weights->shape) : (uint32_t)p.tensor->cols;
    tdm_status status =
        matrix_new(out, k, packed_type(k, p.patch ? TYPE_F32 : p.tensor->type), (uint32_t)p.tensor->rows, cols, err);
    if (status) return status;
    l->weights->bytes += out->bytes;
    team_run(l->team, pack_member, &p);
    return p.failed ? error_set(err, TDM_E_NOMEM, "no memory to pack a vision tower") : TDM_OK;
}

/* Each vector starts on a cache line. */
static size_t room_of(const struct vision_tensor *t)
{
    return (size_t)(t->rows * t->cols + 15) / 16 * 16;
}

static void take_vector(struct loader *l, enum vision_role role, uint32_t block, const float **out)
{
    const struct vision_tensor *t = tower_tensor(l->tower, role, block);
    float *to = l->weights->vectors + l->placed;
    l->placed += room_of(t);
    for (uint64_t r = 0; r < t->rows; r++)
        type_widen(t->type, t->data + r * type_row_bytes(t->type, t->cols), to + r * t->cols, t->cols);
    *out = to;
}

static size_t vector_floats(const struct tower *t)
{
    size_t n = 0;
    for (size_t i = 0; i < COUNT(vectors); i++) n += room_of(tower_tensor(t, vectors[i].role, 0));
    for (size_t i = 0; i < COUNT(block_vectors); i++)
        n += tower_shape(t)->depth * room_of(tower_tensor(t, block_vectors[i].role, 0));
    return n;
}

static tdm_status take_vectors(struct loader *l, tdm_error *err)
{
    struct vision_weights *w = l->weights;
    w->vector_floats = vector_floats(l->tower);
    w->vectors = aligned_alloc(64, w->vector_floats * sizeof *w->vectors);
    if (!w->vectors) return error_set(err, TDM_E_NOMEM, "no memory for a vision tower");
    w->bytes += w->vector_floats * sizeof *w->vectors;
    for (size_t i = 0; i < COUNT(vectors); i++)
        take_vector(l, vectors[i].role, 0, (const float **)((char *)w + vectors[i].offset));
    for (uint32_t b = 0; b < w->shape.depth; b++)
        for (size_t i = 0; i < COUNT(block_vectors); i++)
            take_vector(l, block_vectors[i].role, b, (const float **)((char *)&w->blocks[b] + block_vectors[i].offset));
    return TDM_OK;
}

tdm_status vision_weights_new(struct vision_weights **out, const struct tower *tower, const struct kernels *kernels,
                              struct team *team, tdm_error *err)
{
    struct vision_weights *w = calloc(1, sizeof *w);
    struct loader l = {.tower = tower, .weights = w, .team = team};
    *out = NULL;
    if (!w) return error_set(err, TDM_E_NOMEM, "no memory for a vision tower");
    w->shape = *tower_shape(tower);
    w->kernels = kernels;
    w->blocks = calloc(w->shape.depth, sizeof *w->blocks);
    tdm_status status = w->blocks ? take_vectors(&l, err) : error_set(err, TDM_E_NOMEM, "no memory for a vision tower");
    if (!status) status = pack(&l, VISION_PATCH, 0, &w->patch, err);
    for (size_t i = 0; i < COUNT(matrices) && !status; i++)
        status = pack(&l, matrices[i].role, 0, (struct matrix *)((char *)w + matrices[i].offset), err);
    for (uint32_t b = 0; b < w->shape.depth; b++)
        for (size_t i = 0; i < COUNT(block_matrices) && !status; i++)
            status = pack(&l, block_matrices[i].role, b,
                          (struct matrix *)((char *)&w->blocks[b] + block_matrices[i].offset), err);
    if (!status)
        *out = w;
    else
        vision_weights_free(w);
    return status;
}

static uint64_t packed_bytes(const struct tower *t, const struct kernels *k, enum vision_role role, uint32_t block)
{
    const struct vision_tensor *from = tower_tensor(t, role, block);
    bool patch = role == VISION_PATCH;
    uint32_t cols = patch ? vision_patch_values(tower_shape(t)) : (uint32_t)from->cols;
    return k->packed_bytes(packed_type(k, patch ? TYPE_F32 : from->type), (uint32_t)from->rows, cols);
}

uint64_t vision_weights_bytes(const struct tower *tower, const struct kernels *kernels)
{
    uint64_t bytes = packed_bytes(tower, kernels, VISION_PATCH, 0), floats = vector_floats(tower);
    for (size_t i = 0; i < COUNT(matrices); i++) bytes += packed_bytes(tower, kernels, matrices[i].role, 0);
    for (uint32_t b = 0; b < tower_shape(tower)->depth; b++)
        for (size_t i = 0; i < COUNT(block_matrices); i++)
            bytes += packed_bytes(tower, kernels, block_matrices[i].role, b);
    return bytes + floats * sizeof(float);
}

void vision_weights_free(struct vision_weights *w)
{
    if (!w) return;
    matrix_free(&w->patch);
    matrix_free(&w->fc1);
    matrix_free(&w->fc2);
    for (uint32_t b = 0; b < w->shape.depth && w->blocks; b++)
        for (size_t i = 0; i < COUNT(block_matrices); i++)
            matrix_free((struct matrix *)((char *)&w->blocks[b] + block_matrices[i].offset));
    free(w->blocks);
    free(w->vectors);
    free(w);
}
