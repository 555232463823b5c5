/* Full attention of a picture's patches: each head's keys become a matrix, and its values one for each block of keys,
 * so that scores and sums are products like all others, on the matrix unit where there is one. */
#include <math.h>
#include <string.h>

#include "engine/vision/encoding.h"

_Static_assert((int)FULL_HEAD >= (int)VISION_MAX_HEAD, "as towers are refused beyond that");

/* Queries (0), keys (1) or values (2) of a head, of the patch `first` and, each ldq after the last one, of the others.
 */
static float *taken(const struct encoding *e, uint32_t which, uint32_t head, uint32_t first)
{
    return e->qkv + first * e->ldq + (which * e->heads + head) * vision_head_dim(&e->w->shape);
}

/* In place. */
static void rotate(const struct encoding *e, uint32_t first, uint32_t n, float *x)
{
    uint32_t dims = vision_head_dim(&e->w->shape);
    for (uint32_t i = 0; i < n; i++) {
        size_t angles = (size_t)(first + i) * (dims / 2);
        e->w->kernels->rope(x + i * e->ldq, e->cosine + angles, e->sine + angles, dims);
    }
}

/* Rows of a block of keys into the head's matrix. */
static void pack_keys(struct encoding *e, struct encoding_scratch *own, uint32_t head, uint32_t block)
{
    struct matrix *to = &e->keys[head];
    uint32_t dims = to->cols, first = block * FULL_KEYS, n = piece_length(e->patches, block, FULL_KEYS);
    float *keys = taken(e, 1, head, first);
    rotate(e, first, n, keys);
    if (to->type == TYPE_BF16) {
        to->kernels->pack_keys(to, keys, e->ldq, first, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++) memcpy(own->raw + (size_t)i * dims, keys + i * e->ldq, dims * sizeof *keys);
    to->kernels->pack(to, own->raw, first, n);
}

/* A block of values, whose matrix has a row for each dim. */
static void pack_values(struct encoding *e, struct encoding_scratch *own, uint32_t head, uint32_t block)
{
    struct matrix *to = &e->values[(size_t)head * e->blocks + block];
    uint32_t dims = to->rows, n = to->cols;
    const float *values = taken(e, 2, head, block * FULL_KEYS);
    if (to->type == TYPE_BF16) {
        to->kernels->pack_values(to, values, e->ldq);
        return;
    }
    for (uint32_t d = 0; d < dims; d++)
        for (uint32_t i = 0; i < n; i++) own->raw[(size_t)d * n + i] = values[i * e->ldq + d];
    to->kernels->pack(to, own->raw, 0, dims);
}

static void attend(struct encoding *e, struct encoding_scratch *own, uint32_t head, uint32_t piece)
{
    const struct kernels *k = e->w->kernels;
    uint32_t dims = vision_head_dim(&e->w->shape), first = piece * QUERIES;
    uint32_t n = piece_length(e->patches, piece, QUERIES);
    struct full_attention a = {.keys = &e->keys[head],
                               .values = &e->values[(size_t)head * e->blocks],
                               .scale = (float)(1.4426950408889634 / sqrt(dims))};
    struct panel query = {k->panel_of(a.keys->type), n, dims, own->query_panel};
    float *queries = taken(e, 0, head, first);
    rotate(e, first, n, queries);
    k->panel_fill(&query, queries, e->ldq, 0, n, 0, dims);
    k->attend_full(&a, &query, queries, e->ldq);
}

void encoding_attend(struct encoding *e, struct member *m)
{
    struct encoding_scratch *own = &e->scratch[m->index];
    uint32_t begin, end, heads = e->heads, pieces = (e->patches + QUERIES - 1) / QUERIES;
    while (member_share(m, heads * e->blocks, 8, &begin, &end))
        for (uint32_t i = begin; i < end; i++) {
            pack_keys(e, own, i / e->blocks, i % e->blocks);
            pack_values(e, own, i / e->blocks, i % e->blocks);
        }
    member_barrier(m);
    while (member_share(m, heads * pieces, 8, &begin, &end))
        for (uint32_t i = begin; i < end; i++) attend(e, own, i / pieces, i % pieces);
    member_barrier(m);
}
