/* Bytes that grow, zero-terminated once there is room for any. All zero is an empty one. */
#ifndef TANDEM_BASE_BUFFER_H
#define TANDEM_BASE_BUFFER_H

#include <stddef.h>

#include "engine/tandem.h"

struct buffer {
    char *bytes; /* NULL before the first reservation */
    size_t n, room;
};

/* Room for `more` bytes and the zero; fails without memory only. Room at least doubles. */
tdm_status buffer_reserve(struct buffer *b, size_t more, tdm_error *err);
/* Nothing to append reserves nothing. */
tdm_status buffer_append(struct buffer *b, const void *bytes, size_t n, tdm_error *err);
/* Keeps the room. */
void buffer_clear(struct buffer *b);
void buffer_free(struct buffer *b);

#endif
