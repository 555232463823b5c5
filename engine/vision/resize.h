/* A picture of another size, as the reference processors make it: bicubic with a = -0.5, widened by the scale where the
 * picture becomes smaller (antialiasing), first along rows, then along columns, each rounded to bytes.
 *
 * Weights are whole numbers of at most 15 bits, as in the library behind the references: so the bytes are the same,
 * whatever the machine rounds. */
#ifndef TANDEM_VISION_RESIZE_H
#define TANDEM_VISION_RESIZE_H

#include <stdint.h>

#include "engine/tandem.h"

/* RGB, a byte each, rows one after the other. */
struct picture {
    uint32_t width, height;
    const uint8_t *rgb;
};

/* out: 3 * width * height bytes, none of them p's. Sides from 1 to 2^20. Fails without memory alone. */
tdm_status resize_bicubic(const struct picture *p, uint32_t width, uint32_t height, uint8_t *out, tdm_error *err);

#endif
