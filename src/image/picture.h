/* A picture in the program: the unchanged bytes of its file, which sessions keep and servers get, and a small view for
 * a terminal. The engine has the pixels for models (tdm_picture), whose hash identifies the picture here.
 *
 * Pictures never change, and stay until the program ends; equal pixels share one picture. Any thread. */
#ifndef TANDEM_SRC_IMAGE_PICTURE_H
#define TANDEM_SRC_IMAGE_PICTURE_H

#include "engine/tandem.h"

enum {
    PICTURE_KEY = 2 * TDM_PICTURE_HASH + 1, /* room for the hash in hexadecimal digits */
    PICTURE_NAME = 80,
    PICTURE_VIEW_WIDTH = 640, /* most pixels of the small one */
    PICTURE_VIEW_HEIGHT = 240,
};

typedef struct {
    char name[PICTURE_NAME]; /* its name in a chip; no control characters */
    char key[PICTURE_KEY];   /* hash of its pixels, in hexadecimal digits */
    const char *suffix;      /* of its file, "png", "jpg", "webp" */
    const char *type;        /* "image/png" ... */
    char *bytes;             /* the file */
    size_t n;
    uint32_t width, height;
    struct {
        uint32_t width, height;
        uint8_t *rgb;
    } view; /* the small one */
} picture;

/* Whether these first bytes are those of a picture that can be read. */
bool picture_is(const char *bytes, size_t n);
/* Decodes a file's bytes, which it takes over, also on failure; the caller owns *seen (tdm_picture_drop). name: for its
 * chip and for error lines. stop as in image_read. */
tdm_status picture_take(const picture **out, tdm_picture **seen, char *bytes, size_t n, const char *name,
                        bool (*stop)(void *ctx), void *ctx, tdm_error *err);
/* tdm_picture_fit_of for a decoded picture's sides. */
tdm_status picture_fit_sides(const tdm_model *m, const tdm_picture *seen, uint32_t most_tokens, tdm_picture_fit *out,
                             tdm_error *err);
/* Its size in a message to a model on this computer, most_tokens as in tdm_picture_fit_of; also refused if the model's
 * files or its chat template have no place for a picture. */
tdm_status picture_fit(const tdm_model *m, tdm_picture *seen, uint32_t most_tokens, tdm_picture_fit *out,
                       tdm_error *err);
/* The picture with these pixels; NULL: there is none. */
const picture *picture_find(const tdm_picture *seen);
const picture *picture_find_key(const char *key);
/* Its file as a data address (RFC 2397), malloc'ed; NULL: no memory, or p is NULL. */
char *picture_address(const picture *p);

#endif
