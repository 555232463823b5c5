#include "engine/vision/patches.h"

#include <math.h>

#include "engine/base/error.h"

/* The nearest multiple, of two the even one. */
static uint64_t nearest(uint32_t side, uint32_t unit)
{
    uint64_t whole = side / unit, rest = side % unit;
    return (whole + (2 * rest > unit || (2 * rest == unit && whole % 2))) * unit;
}

tdm_status patches_fit(const struct vision_shape *s, uint32_t width, uint32_t height, uint32_t *out_width,
                       uint32_t *out_height, tdm_error *err)
{
    uint32_t unit = s->patch * s->merge, longer = width > height ? width : height;
    uint32_t shorter = width > height ? height : width;
    if (!shorter || (double)longer / shorter > PATCHES_ASPECT)
        return error_set(err, TDM_E_ARG, "a picture of %u x %u: expected sides of at most %d to 1", width, height,
                         PATCHES_ASPECT);
    uint64_t w = nearest(width, unit), h = nearest(height, unit);
    double area = (double)width * height;
    if (w * h > s->max_pixels) {
        double by = sqrt(area / (double)s->max_pixels);
        w = (uint64_t)floor(width / by / unit) * unit;
        h = (uint64_t)floor(height / by / unit) * unit;
        w = w ? w : unit;
        h = h ? h : unit;
    } else if (w * h < s->min_pixels) {
        double by = sqrt((double)s->min_pixels / area);
        w = (uint64_t)ceil(width * by / unit) * unit;
        h = (uint64_t)ceil(height * by / unit) * unit;
    }
    *out_width = (uint32_t)w;
    *out_height = (uint32_t)h;
    return TDM_OK;
}

void patches_make(const struct vision_shape *s, const struct picture *p, uint32_t i, float *out)
{
    uint32_t row, column;
    patches_place(s, p->width / s->patch, i, &row, &column);
    const uint8_t *at = p->rgb + 3 * ((size_t)row * s->patch * p->width + (size_t)column * s->patch);
    for (uint32_t c = 0; c < 3; c++) {
        float mean = s->mean[c] * 255, by = 1 / (s->deviation[c] * 255);
        for (uint32_t y = 0; y < s->patch; y++)
            for (uint32_t x = 0; x < s->patch; x++)
                *out++ = ((float)at[3 * ((size_t)y * p->width + x) + c] - mean) * by;
    }
}
