/* A growing array of bytes, zero-terminated once it has memory. Zero-initialised it is empty. */
#ifndef TANDEM_BASE_BUFFER_H
#define TANDEM_BASE_BUFFER_H

#include <stddef.h>

#include "engine/tandem.h"

struct buffer {
    char *bytes; /* NULL before the first reservation */
    size_t n, room;
};

/* Makes room for `more` bytes and the zero; room at least doubles. Fails only when out of memory. */
tdm_status buffer_reserve(struct buffer *b, size_t more, tdm_error *err);
/* n = 0 reserves nothing. */
tdm_status buffer_append(struct buffer *b, const void *bytes, size_t n, tdm_error *err);
/* Keeps the room. */
void buffer_clear(struct buffer *b);
void buffer_free(struct buffer *b);

#endif
