/* The stream of a reply, in any of the forms that servers use, whatever content type they declare: server-sent events
 * (sse.h), JSON values one after the other or in lines, one whole JSON value, or something else, such as a page or a
 * line of plain text. Bytes go in as they come; JSON values come out one after the other, and "[DONE]".
 *
 * An error that a server reports outside a value (in an event of that name, or as a page) comes out as {"error": ...},
 * with the server's value or text. Untrusted bytes, bounded memory.
 *
 * Threads: one at a time per object. */
#ifndef TANDEM_SRC_STREAM_H
#define TANDEM_SRC_STREAM_H

#include "src/net/sse.h"

typedef struct {
    sse sse;
    struct buffer value; /* a JSON value that has begun: at the beginning of a line, in no event */
    int depth;           /* of its brackets; 0: there is none */
    bool in_string, escaped;
} stream;

void stream_free(stream *s);
/* Called for each value: JSON, or the data of an event, which should be JSON. Empty ones too. A failure ends the
 * reading.
 */
typedef tdm_status stream_value(void *ctx, struct span value, tdm_error *err);
/* As sse_read. */
tdm_status stream_read(stream *s, const char *bytes, size_t n, stream_value *take, void *ctx, tdm_error *err);
/* Called when the stream has ended by itself: reports a value that lacks only the end of its line or event, and text in
 * no known form as an error. */
tdm_status stream_end(stream *s, stream_value *take, void *ctx, tdm_error *err);

#endif
