/* A text that comes in pieces, which a server may cut anywhere: within a character, or, as JSON escapes, between the
 * two halves of a surrogate pair (engine/json/json.h, JSON_PIECES). A sequence that the next piece may complete is
 * held back; one that can't be completed becomes U+FFFD. Pure. */
#ifndef TANDEM_SRC_JOINED_H
#define TANDEM_SRC_JOINED_H

#include "engine/base/buffer.h"

/* Zero-initialised: the beginning of a text. */
typedef struct {
    char held[8]; /* the beginning of a character, at most half of a pair and two bytes of the other */
    size_t n;
} joined;

/* Appends the part of the text that is certain by now to `out`: valid UTF-8. */
tdm_status joined_add(joined *j, const char *text, size_t n, struct buffer *out, tdm_error *err);
/* The text has ended: the same for the bytes that were held back. */
tdm_status joined_end(joined *j, struct buffer *out, tdm_error *err);

#endif
