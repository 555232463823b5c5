/* The weights of a vision tower, packed for one kernel set. Immutable once made; any number of threads read them.
 *
 * Matrices keep the file's type, except that F32 and F16 become BF16 on kernel sets that multiply in bfloat16:
 * activations are rounded to bfloat16 there anyway, and the matrix unit takes no other float type. */
#ifndef TANDEM_VISION_WEIGHTS_H
#define TANDEM_VISION_WEIGHTS_H

#include "engine/kernel/kernel.h"
#include "engine/thread/team.h"
#include "engine/vision/tower.h"

struct vision_block {
    const float *norm1, *norm1_bias, *norm2, *norm2_bias; /* [width] */
    const float *qkv_bias, *out_bias, *up_bias, *down_bias;
    struct matrix qkv, out, up, down;
};

struct vision_weights {
    struct vision_shape shape;
    const struct kernels *kernels;
    struct matrix patch;    /* [width][vision_patch_values]: summed over the frames of a patch */
    struct matrix fc1, fc2; /* [joined][joined], [out][joined] */
    const float *patch_bias, *norm, *norm_bias, *fc1_bias, *fc2_bias;
    const float *positions;      /* [side * side][width] */
    struct vision_block *blocks; /* [depth] */
    float *vectors;              /* the memory of all vectors */
    size_t vector_floats;
    uint64_t bytes; /* of everything in memory, packed */
};

/* The tower may be closed afterwards. */
tdm_status vision_weights_new(struct vision_weights **out, const struct tower *tower, const struct kernels *kernels,
                              struct team *team, tdm_error *err);
/* The value that `bytes` will have, without packing anything. */
uint64_t vision_weights_bytes(const struct tower *tower, const struct kernels *kernels);
/* Row `row` of a tower's weights for patches, summed over the frames: out[vision_patch_values]. all: scratch for the
 * tensor's columns. */
void vision_widen_patch(const struct tower *t, uint64_t row, float *all, float *out);
void vision_weights_free(struct vision_weights *w); /* NULL is allowed */

#endif
