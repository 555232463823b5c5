/* A picture of a file, as pixels. Decoding is the work of a program of its own, tandem-image, since pictures come from
 * strangers: it is given an opened file and nothing else, and what goes wrong there is one line here. */
#ifndef TANDEM_SRC_IMAGE_H
#define TANDEM_SRC_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/tandem.h"

enum {
    IMAGE_BYTES = 64 << 20, /* of a file */
    IMAGE_PIXELS = 1 << 26, /* of a picture */
    IMAGE_SIDE = 1 << 16,
    IMAGE_SECONDS = 30, /* for decoding one, at most */
};

typedef struct {
    uint32_t width, height;
    uint8_t *rgb; /* rows one after the other, as they are to be seen: turned as the camera notes it, over white */
} image;

/* Reads the picture of an opened regular file, from its beginning. `name` stands in the line of an error. seconds:
 * IMAGE_SECONDS, or fewer. stop (may be NULL) is asked about ten times a second, and true ends the decoder:
 * TDM_E_CANCELLED. Any thread, but for one that catches SIGCHLD. */
tdm_status image_read(image *out, int fd, const char *name, double seconds, bool (*stop)(void *ctx), void *ctx,
                      tdm_error *err);
void image_free(image *i);

#endif
