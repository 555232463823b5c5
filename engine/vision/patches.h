/* From a picture to the input of a vision tower's first product: the sides by the processor's rule, and patches of
 * floats.
 *
 * Patches stand in the order of merging: the merge * merge patches of one token beside each other, those by ascending
 * row and column, tokens by ascending row and column. In a patch: channel, y, x. A tower with several frames in a patch
 * sees the same picture in each, so its weights are summed over the frames once (weights.h), and patches here have one
 * frame. */
#ifndef TANDEM_VISION_PATCHES_H
#define TANDEM_VISION_PATCHES_H

#include "engine/vision/resize.h"
#include "engine/vision/shape.h"

/* The largest ratio of the two sides; as in the reference processor. */
enum { PATCHES_ASPECT = 200 };

/* The sides in pixels that a picture of this size gets: multiples of patch * merge. TDM_E_ARG: the ratio is larger, or
 * a side is 0. */
tdm_status patches_fit(const struct vision_shape *s, uint32_t width, uint32_t height, uint32_t *out_width,
                       uint32_t *out_height, tdm_error *err);

/* Tokens that a picture of fitted sides becomes. */
static inline uint32_t patches_tokens(const struct vision_shape *s, uint32_t width, uint32_t height)
{
    uint32_t side = s->patch * s->merge;
    return (width / side) * (height / side);
}

/* The row and column, in patches, of patch number i of a picture with `columns` patches in a row. */
static inline void patches_place(const struct vision_shape *s, uint32_t columns, uint32_t i, uint32_t *row,
                                 uint32_t *column)
{
    uint32_t within = i % (s->merge * s->merge), token = i / (s->merge * s->merge), tokens = columns / s->merge;
    *row = token / tokens * s->merge + within / s->merge;
    *column = token % tokens * s->merge + within % s->merge;
}

/* Patch number i of a picture of fitted sides: vision_patch_values(s) floats. */
void patches_make(const struct vision_shape *s, const struct picture *p, uint32_t i, float *out);

#endif
