/* Private to engine/gpu/vision: a tower in device memory, and the commands of an encoding. */
#ifndef TANDEM_GPU_VISION_PRIVATE_H
#define TANDEM_GPU_VISION_PRIVATE_H

#include "engine/gpu/device/device.h"
#include "engine/gpu/vision/vision.h"

enum {
    VISION_DEPTH = 32,   /* columns of products are padded to a multiple (shaders/vision/vision.glsl), */
    VISION_HEAD = 16,    /* elements of heads, */
    VISION_QUERIES = 128 /* and patches in attention */
};

/* The weights of a block; block 0 has those that a tower has once, too. */
struct vision_part {
    struct block memory;
    uint64_t at[VISION_ROLES]; /* addresses; matrices: [rows][padded columns] half floats, vectors: floats */
};

/* How attention is tiled by matrix units. */
struct vision_attention {
    uint32_t tiles, groups, keys; /* of M queries in a subgroup; subgroups; keys of a block. tiles 0: without units */
};

/* An encoding's memory: activations; what the host writes for shaders; rows for the host. */
enum vision_memory { VISION_MEMORY, VISION_TABLE, VISION_READ, VISION_MEMORIES };

struct gpu_tower {
    struct gpu *gpu;
    struct vision_shape shape;
    struct vision_part *parts; /* [shape.depth] */
    uint32_t tilings; /* of products by matrix units that are right (products.c), bit by bit; 0: they take none */
    struct vision_attention attention;
    pthread_mutex_t lock; /* of what follows */
    struct block spare[VISION_MEMORIES]; /* of an encoding that has ended, for the next one; or none */
};

/* Bytes of VISION_MEMORY for a picture of usual size: that much is taken with the tower, since a driver takes a tenth
 * of a second for it. (encode.c) */
uint64_t vision_usual_bytes(const struct vision_shape *s);

static inline uint32_t vision_padded(uint32_t n, uint32_t by)
{
    return (n + by - 1) / by * by;
}

/* Of a head in shared memory. */
static inline uint32_t vision_head_room(const struct vision_shape *s)
{
    return vision_padded(vision_head_dim(s), VISION_HEAD);
}

/* What becomes of a product's sums (shaders/vision/product.glsl). */
enum vision_mode { VISION_TO_FLOATS, VISION_ADDED, VISION_GELU_TANH, VISION_GELU_ERF, VISION_MODES };

/* Commands being recorded. The first failure stays. */
struct vision_recording {
    struct gpu_tower *tower;
    VkCommandBuffer commands;
    tdm_status status;
    tdm_error *err;
};

/* One dispatch, after a barrier unless it stands beside the one before. */
struct vision_dispatch {
    enum shader shader;
    const uint32_t *constants;
    uint32_t n, x, y;
    const void *push;
    uint32_t push_bytes;
    bool beside;
};
void vision_dispatch(struct vision_recording *r, const struct vision_dispatch *d);

/* out[t][ldo] of a matrix of the tower and `tokens` rows of activations. (products.c) */
struct vision_product {
    uint64_t weights, x, bias, result;
    uint32_t columns, rows, tokens, ldo; /* columns: padded */
    enum vision_mode mode;
};
void vision_product(struct vision_recording *r, const struct vision_product *p);
/* Full attention: what rope.comp left becomes rows of half floats. */
struct vision_heads {
    uint64_t heads_at, result;
    uint32_t patches, padded, ld;
};
void vision_attend(struct vision_recording *r, const struct vision_heads *h);

/* Which matrix units there is room for. */
void vision_choose(struct gpu_tower *t);
/* Compiles all that encodings take. Where the driver does not take the shaders for matrix units, or what they yield
 * differs from what the others do, those do without. */
tdm_status vision_prepare(struct gpu_tower *t, tdm_error *err);
/* A made-up picture's rows without matrix units; malloc'ed. (trial.c) */
tdm_status vision_trial_plain(struct gpu_tower *t, float **rows, tdm_error *err);
/* The root mean square of what its rows with the tilings and the attention that the tower has now differ by from
 * those, in terms of theirs. */
tdm_status vision_trial(struct gpu_tower *t, const float *plain, double *differs, tdm_error *err);

#endif
