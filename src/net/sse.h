/* Server-sent events (the text/event-stream of the WHATWG HTML standard): bytes as they come, the data of each event
 * out. Ids and retry times of events are left out, since no server of language models needs them, and events that only
 * keep a connection open (event: ping). Lines end in LF, CR LF or CR; several data lines of an event are joined by a
 * newline. Beyond the standard, a field `error` is data as well, as llama-server once sent it, and its event counts as
 * one of the name error. Untrusted bytes, bounded memory.
 *
 * Threads: one at a time per object. */
#ifndef TANDEM_SRC_SSE_H
#define TANDEM_SRC_SSE_H

#include <stdbool.h>

#include "engine/base/buffer.h"
#include "engine/base/span.h"

enum { SSE_MAX = 4 << 20 }; /* bytes of an event's data, and of a line */
enum { SSE_ODD = 2000 };

typedef enum { SSE_DATA, SSE_ERROR } sse_kind; /* an event, and one of the name `error` */

typedef struct {
    struct buffer line, data;
    struct buffer odd; /* lines that belong to no event, joined: the first SSE_ODD bytes */
    bool has_data; /* the event has a data line, if only an empty one */
    bool is_error, is_idle; /* by its name */
    bool after_cr;          /* a CR came: an LF that follows belongs to it */
    bool begun;    /* the first bytes, where a byte order mark may stand, are past */
} sse;

void sse_free(sse *s);
/* Called for each event that has data. A failure ends the reading. */
typedef tdm_status sse_event(void *ctx, sse_kind kind, struct span data, tdm_error *err);
/* TDM_E_FORMAT: an event or a line is longer than SSE_MAX; TDM_E_NOMEM; or what `event` returned. */
tdm_status sse_read(sse *s, const char *bytes, size_t n, sse_event *event, void *ctx, tdm_error *err);
/* Call it at the end of the bytes: the last line may lack its end, and the last event its empty line; both still
 * count. */
tdm_status sse_end(sse *s, sse_event *event, void *ctx, tdm_error *err);
/* Whether the next byte begins a line. */
bool sse_at_line(const sse *s);

#endif
