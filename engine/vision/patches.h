/* From a picture to what the first product of a vision tower takes: the sides by the processor's rule, the bytes that
 * they ask for, and patches of floats.
 *
 * Patches stand in the order of merging: the merge * merge patches of one token beside each other, those by ascending
 * row and column, tokens by ascending row and column. In a patch: channel, y, x. A tower of several frames a patch sees
 * a still picture in each of them, so its weights are summed over frames once (weights.h) and one is made here. */
#ifndef TANDEM_VISION_PATCHES_H
#define TANDEM_VISION_PATCHES_H

#include "engine/vision/resize.h"
#include "engine/vision/shape.h"

/* Of a side to the other one, at most; as the reference has it. */
enum { PATCHES_ASPECT = 200 };

/* The sides in pixels that a picture of this size gets: multiples of patch * merge. TDM_E_ARG: too long for its width,
 * or an empty one. */
tdm_status patches_fit(const struct vision_shape *s, uint32_t width, uint32_t height, uint32_t *out_width,
                       uint32_t *out_height, tdm_error *err);

/* Tokens that a picture of fitted sides becomes. */
static inline uint32_t patches_tokens(const struct vision_shape *s, uint32_t width, uint32_t height)
{
    uint32_t side = s->patch * s->merge;
    return (width / side) * (height / side);
}

/* Where a patch lies, in patches: that of number i, with `columns` patches in a row. */
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
