/* Reads a file's picture as pixels. A program of its own, tandem-image, decodes it, since pictures are untrusted: it
 * gets an opened file and nothing else, and its failure is one line here.
 *
 * tandem-image has the file as standard input and writes one frame (src/io/frames.h): {"width", "height", "payload"}
 * and 3 * width * height bytes of RGB, rows one after the other; or {"payload"} and one line of text with the failure,
 * at most IMAGE_TEXT bytes. */
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
    IMAGE_TEXT = 300,
};

typedef struct {
    uint32_t width, height;
    uint8_t *rgb; /* rows from the top, upright by the camera's note of orientation, over white */
} image;

/* Reads the picture of an opened regular file, from its beginning. `name` is for error lines. seconds: IMAGE_SECONDS,
 * or fewer. stop (may be NULL) is called about ten times a second, and true ends the decoder: TDM_E_CANCELLED. Any
 * thread, unless the program catches SIGCHLD. */
tdm_status image_read(image *out, int fd, const char *name, double seconds, bool (*stop)(void *ctx), void *ctx,
                      tdm_error *err);
void image_free(image *i);

#endif
