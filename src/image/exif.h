/* The orientation that a camera notes in a picture's Exif data, and what it means. Pure functions on untrusted bytes.
 */
#ifndef TANDEM_SRC_IMAGE_EXIF_H
#define TANDEM_SRC_IMAGE_EXIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 1 to 8, by Exif's number; 1 (unchanged) if there is none, or an invalid one. bytes: a TIFF structure, with or without
 * "Exif" and two zeros before it. */
int exif_orientation(const uint8_t *bytes, size_t n);

/* Whether this orientation exchanges rows and columns. */
static inline bool exif_turns(int orientation)
{
    return orientation >= 5;
}

/* Writes row y of the upright picture, in RGB, to out[3 * its width]; rgb is stored as width x height. */
void exif_row(const uint8_t *rgb, uint32_t width, uint32_t height, int orientation, uint32_t y, uint8_t *out);

#endif
