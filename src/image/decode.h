/* The decoders behind tandem-image: bytes of a file to RGB. The bytes are untrusted; sides are checked against the
 * limits before memory is taken for pixels. One thread. */
#ifndef TANDEM_SRC_IMAGE_DECODE_H
#define TANDEM_SRC_IMAGE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/image/image.h"

typedef struct {
    uint32_t width, height;
    uint8_t *rgb;    /* malloc'ed */
    int orientation; /* of exif.h */
} decoded;

/* False: `line` says why, and there is nothing to free. */
typedef bool decoder(const uint8_t *bytes, size_t n, decoded *out, char line[IMAGE_TEXT]);
decoder decode_png, decode_jpeg, decode_webp;
/* Recognises the format and decodes it. */
decoder decode;

/* Allocates memory for pixels of these sides, unless they are too many. */
bool decode_room(decoded *out, uint32_t width, uint32_t height, char line[IMAGE_TEXT]);
/* Frees the pixels, writes the line, and returns false. */
bool decode_failed(decoded *out, char line[IMAGE_TEXT], const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Blends n pixels of RGBA over white. */
void decode_over_white(uint8_t *rgb, const uint8_t *rgba, size_t n);

#endif
