/* Server-sent events (the text/event-stream of the WHATWG HTML standard): bytes as they come, the data of each event
 * out. Names, ids and retry times of events are left out, since no server of language models needs them. Lines end in
 * LF, CR LF or CR; several data lines of an event are joined by a newline. Untrusted bytes, bounded memory.
 *
 * Threads: one at a time per object. */
#ifndef TANDEM_SRC_SSE_H
#define TANDEM_SRC_SSE_H

#include <stdbool.h>

#include "engine/base/buffer.h"
#include "engine/base/span.h"

enum { SSE_MOST = 4 << 20 }; /* bytes of an event's data, and of a line */

typedef struct {
    struct buffer line, data;
    bool has_data; /* the event has a data line, if only an empty one */
    bool after_cr; /* an LF that comes next belongs to it */
    bool begun;    /* the first bytes, where a byte order mark may stand, are past */
} sse;

void sse_free(sse *s);
/* Called for each event that has data. A failure ends the reading. */
typedef tdm_status sse_event(void *ctx, struct span data, tdm_error *err);
/* TDM_E_FORMAT: an event or a line is longer than SSE_MOST; TDM_E_NOMEM; or what `event` returned. */
tdm_status sse_read(sse *s, const char *bytes, size_t n, sse_event *event, void *ctx, tdm_error *err);

#endif
