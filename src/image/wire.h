/* The output of tandem-image, which image.c reads: WIRE_PIXELS and the sides, then 3 * width * height bytes of RGB,
 * rows one after the other; or WIRE_LINE and one line of text (at most WIRE_TEXT bytes) with the failure. Numbers are
 * in the machine's byte order, since both programs run on it. */
#ifndef TANDEM_SRC_IMAGE_WIRE_H
#define TANDEM_SRC_IMAGE_WIRE_H

#include <stdint.h>

enum { WIRE_PIXELS = 0x52474238, WIRE_LINE = 0x4c494e45, WIRE_TEXT = 300 };

typedef struct {
    uint32_t what, width, height;
} wire_head;

#endif
