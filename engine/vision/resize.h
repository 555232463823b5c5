/* Resizes a picture as the reference processors do: bicubic with a = -0.5; when reducing, the kernel is widened by the
 * scale (antialiasing); first along rows, then along columns, each rounded to bytes.
 *
 * Weights are integers of at most 15 bits, as in the library that the references use: so the bytes are the same on
 * every machine. */
#ifndef TANDEM_VISION_RESIZE_H
#define TANDEM_VISION_RESIZE_H

#include <stdint.h>

#include "engine/tandem.h"

/* RGB, a byte each, rows one after the other. */
struct picture {
    uint32_t width, height;
    const uint8_t *rgb;
};

/* out: 3 * width * height bytes, which don't overlap p's. Sides from 1 to 2^20. Fails only without memory. */
tdm_status resize_bicubic(const struct picture *p, uint32_t width, uint32_t height, uint8_t *out, tdm_error *err);

#endif
