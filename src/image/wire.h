/* What tandem-image says on its standard output, to image.c: WIRE_PIXELS and the sides, then 3 * width * height bytes
 * of RGB, rows one after the other; or WIRE_LINE and one line of text (at most WIRE_TEXT bytes) that says why there is
 * none. Both are of one machine, so numbers are in its own order. */
#ifndef TANDEM_SRC_IMAGE_WIRE_H
#define TANDEM_SRC_IMAGE_WIRE_H

#include <stdint.h>

enum { WIRE_PIXELS = 0x52474238, WIRE_LINE = 0x4c494e45, WIRE_TEXT = 300 };

typedef struct {
    uint32_t what, width, height;
} wire_head;

#endif
