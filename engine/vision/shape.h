/* The shape of a vision tower, read from its files and validated: arrays may be sized by it.
 *
 * Qwen3-VL's: patches of pixels through one product, learned positions that are interpolated to the picture's grid;
 * `depth` blocks of full attention with two-dimensional rotation, and a feed-forward network with GELU (tanh), a
 * LayerNorm before each; then merge * merge patches become a token by a LayerNorm of each, a join, fc1, GELU (erf),
 * fc2. */
#ifndef TANDEM_VISION_SHAPE_H
#define TANDEM_VISION_SHAPE_H

#include "engine/tandem.h"

/* Generous bounds: far beyond every released tower. */
enum {
    VISION_MAX_DEPTH = 256,
    VISION_MAX_WIDTH = 1 << 16,
    VISION_MAX_HEADS = 1024,
    VISION_MAX_HEAD = 256,
    VISION_MAX_PATCH = 64,
    VISION_MAX_MERGE = 8,
    VISION_MAX_SIDE = 1024,
};

struct vision_shape {
    char name[128];                  /* of the model, or "" */
    uint32_t depth, width, heads;    /* heads divides width; the quotient is a multiple of 4 */
    uint32_t intermediate, out;      /* width of the feed-forward network; the language model's width */
    uint32_t patch, merge, frames;   /* pixels of a patch's side, patches of a token's, frames of a patch */
    uint32_t side;                   /* learned positions: side * side */
    float eps, theta;                /* of the norms; base of the rotation */
    float mean[3], deviation[3];     /* of pixels of 0 to 1 */
    uint64_t min_pixels, max_pixels; /* of a resized picture */
    int32_t pad; /* the id in whose place a picture's tokens stand in prompts; -1: the tower's files don't say */
};

static inline uint32_t vision_head_dim(const struct vision_shape *s)
{
    return s->width / s->heads;
}

/* Values of a patch of one frame. */
static inline uint32_t vision_patch_values(const struct vision_shape *s)
{
    return 3 * s->patch * s->patch;
}

/* Values of the joined patches of a token. */
static inline uint32_t vision_joined(const struct vision_shape *s)
{
    return s->width * s->merge * s->merge;
}

#endif
