/* A growing array of bytes, zero-terminated once it has memory. Zero-initialised it is empty. */
#ifndef TANDEM_BASE_BUFFER_H
#define TANDEM_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

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

/* A stream that keeps what is written to it. A stream of open_memstream() leaves out the pieces that it has no memory
 * for, and reports it neither to the writer nor by fclose(); this one returns the whole text or none. */
struct buffer_stream {
    struct buffer text;
    bool lost; /* there was no memory for a piece */
    FILE *file;
};

/* The stream, or NULL without memory. The object must stay where it is until it is closed. */
FILE *buffer_stream_open(struct buffer_stream *s);
/* Ends it. The text, malloc'ed, and its length (n may be NULL); NULL: there was no memory for all of it. */
char *buffer_stream_close(struct buffer_stream *s, size_t *n);

#endif
