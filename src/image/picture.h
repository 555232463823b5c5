/* A picture as the program has it: the bytes of its file as they were given, which sessions keep and servers get, and a
 * small one for a terminal. What a model sees, the pixels, is the engine's (tdm_picture), and leads to it by its hash.
 *
 * Pictures never change, and stay until the program ends: of the same pixels there is one. Any thread. */
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
    char name[PICTURE_NAME]; /* what a chip calls it; no control characters */
    char key[PICTURE_KEY];   /* of what it shows */
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

/* Whether bytes that begin so are a picture that can be read. */
bool picture_is(const char *bytes, size_t n);
/* Decodes a file's bytes, which are taken over, also on failure; *seen is the caller's (tdm_picture_drop). name: of a
 * chip, and in the line of an error. stop as in image_read. */
tdm_status picture_take(const picture **out, tdm_picture **seen, char *bytes, size_t n, const char *name,
                        bool (*stop)(void *ctx), void *ctx, tdm_error *err);
/* tdm_picture_fit_of for a decoded picture's sides. */
tdm_status picture_fit_sides(const tdm_model *m, const tdm_picture *seen, uint32_t most_tokens, tdm_picture_fit *out,
                             tdm_error *err);
/* What it becomes in a message of a model here, most_tokens as in tdm_picture_fit_of: also refused where the model's
 * files or its chat template have no place for a picture. */
tdm_status picture_fit(const tdm_model *m, tdm_picture *seen, uint32_t most_tokens, tdm_picture_fit *out,
                       tdm_error *err);
/* The one whose pixels these are; NULL: no picture of this program has them. */
const picture *picture_find(const tdm_picture *seen);
const picture *picture_find_key(const char *key);
/* Its file as a data address (RFC 2397), malloc'ed; NULL: no memory, or p is NULL. */
char *picture_address(const picture *p);

#endif
