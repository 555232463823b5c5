/* What a tdm_picture is inside the engine: pixels and their hash. Immutable except for its reference count. */
#ifndef TANDEM_OBJECT_PICTURE_H
#define TANDEM_OBJECT_PICTURE_H

#include "engine/vision/resize.h"

#include <stdatomic.h>

struct tdm_picture {
    atomic_uint holders;
    struct picture pixels;
    uint64_t hash[2]; /* the public hash, as two numbers */
};

tdm_status picture_new(struct tdm_picture **out, const uint8_t *rgb, uint32_t width, uint32_t height, tdm_error *err);
struct tdm_picture *picture_hold(struct tdm_picture *p);
void picture_drop(struct tdm_picture *p); /* NULL is allowed */

/* A list of pictures at places of a text, held. */
struct picture_list {
    tdm_placed_picture *at;
    size_t n;
};

/* A copy whose pictures are held; an empty list takes no memory. TDM_E_ARG: places that do not ascend, or lie outside a
 * text of `length` bytes or within a character. */
tdm_status picture_list_copy(struct picture_list *out, const tdm_placed_picture *from, size_t n, const char *text,
                             size_t length, tdm_error *err);
void picture_list_free(struct picture_list *list); /* empty then */
bool picture_list_equal(const struct picture_list *list, const tdm_placed_picture *other, size_t n);
/* Appends the pictures of a text that is appended to `length` bytes. TDM_E_NOMEM: nothing is done. */
tdm_status picture_list_append(struct picture_list *list, size_t length, const tdm_placed_picture *more, size_t n,
                               tdm_error *err);

#endif
