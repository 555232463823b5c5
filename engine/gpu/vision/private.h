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

/* The weights of a block; block 0 also has the weights that a tower has once. */
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
    uint32_t tilings; /* a bit for each correct tiling of products by matrix units (products.c); 0: products use no
                         matrix units */
    struct vision_attention attention;
    pthread_mutex_t lock; /* of what follows */
    struct block spare[VISION_MEMORIES]; /* memory of an encoding that has ended, for the next one; or none */
};

/* Bytes of VISION_MEMORY for a picture of usual size: it is allocated with the tower, since a driver takes a tenth of a
 * second for it. (encode.c) */
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

/* What a product does with its sums (shaders/vision/product.glsl). */
enum vision_mode { VISION_TO_FLOATS, VISION_ADDED, VISION_GELU_TANH, VISION_GELU_ERF, VISION_MODES };

/* Commands being recorded. The first failure stays. */
struct vision_recording {
    struct gpu_tower *tower;
    VkCommandBuffer commands;
    tdm_status status;
    tdm_error *err;
};

/* One dispatch, after a barrier unless it runs beside the previous one. */
struct vision_dispatch {
    enum shader shader;
    const uint32_t *constants;
    uint32_t n, x, y;
    const void *push;
    uint32_t push_bytes;
    bool beside;
};
void vision_dispatch(struct vision_recording *r, const struct vision_dispatch *d);

/* result[t][ldo]: a matrix of the tower times `tokens` rows of activations. (products.c) */
struct vision_product {
    uint64_t weights, x, bias, result;
    uint32_t columns, rows, tokens, ldo; /* columns: padded */
    enum vision_mode mode;
};
void vision_product(struct vision_recording *r, const struct vision_product *p);
/* Full attention: from the output of rope.comp to rows of half floats. */
struct vision_heads {
    uint64_t heads_at, result;
    uint32_t patches, padded, ld;
};
void vision_attend(struct vision_recording *r, const struct vision_heads *h);

/* Chooses the attention by matrix units for which the device has room. */
void vision_choose(struct gpu_tower *t);
/* Compiles the shaders of encodings. If the driver does not compile those for matrix units, or their results differ
 * from the others', encodings use no matrix units. */
tdm_status vision_prepare(struct gpu_tower *t, tdm_error *err);
/* A made-up picture's rows without matrix units; malloc'ed. (trial.c) */
tdm_status vision_trial_plain(struct gpu_tower *t, float **rows, tdm_error *err);
/* The root mean square of the differences between these rows and the rows with the tower's present tilings and
 * attention, relative to that of `plain`. */
tdm_status vision_trial(struct gpu_tower *t, const float *plain, double *differs, tdm_error *err);

#endif
