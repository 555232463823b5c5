/* The protocol between the chat and the program `tandem-net`: frames (src/io/frames.h) over a socket pair, whose heads
 * have "kind" and "id", and what stands here.
 *
 *   to tandem-net     WIRE_SERVER   once, first: "url", "key_file", "key_env", "plain_http"; all but the first may be
 *                                   absent. plain_http: it may go to an overlay network (address.h)
 *                     WIRE_REQUEST  its payload: JSON {"method", "path", "stream", "silent_s"}, a newline, the body (a
 *                                   GET has none)
 *                     WIRE_CANCEL   cancels the request of this id; its WIRE_END still comes
 *                     WIRE_READY    as WIRE_REQUEST: a request may come soon. If there is no open, idle connection,
 *                                   this request opens one, and its answer is dropped. The id: seconds during
 *                                   which a connection that the server closes is opened again
 *   from tandem-net   WIRE_HEAD     "status", "retry_after_s", before the body
 *                     WIRE_DATA     its payload: of a reply's stream one JSON value, or what stands for that; else the
 *                                   next bytes of the body
 *                     WIRE_END      "error", "overlay", "connect_ms", "first_ms", "total_ms"; no "error": the answer is
 *                                   complete; overlay: nothing was sent, since that needs plain_http
 *
 * Every request is answered by one WIRE_END and nothing after it. Ids are the chat's choice; an id may be used again
 * after its WIRE_END.
 *
 * Threads: one at a time per object, but one may read while another writes. */
#ifndef TANDEM_SRC_WIRE_H
#define TANDEM_SRC_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/io/frames.h"

typedef enum {
    WIRE_SERVER, WIRE_REQUEST, WIRE_CANCEL, WIRE_READY, WIRE_HEAD, WIRE_DATA, WIRE_END, WIRE_KINDS
} wire_kind;

/* Most bytes of a payload: a conversation of a million tokens with room to spare. */
enum { WIRE_MAX = 64 << 20 };

typedef struct {
    wire_kind kind;
    uint32_t id;
    struct frame frame; /* to be freed with json_free(frame.head); NULL: none has come whole */
} wire_frame;

/* One end. `out` holds what the socket has not taken yet. */
typedef struct {
    int fd; /* non-blocking; the owner closes it */
    frames in;
    struct buffer out;
} wire;

/* Makes the descriptor non-blocking. */
tdm_status wire_open(wire *w, int fd, tdm_error *err);
void wire_free(wire *w);

/* Queues a frame with a payload, and writes what the socket takes. TDM_E_IO: the other end is gone. */
tdm_status wire_put(wire *w, wire_kind kind, uint32_t id, struct span payload, tdm_error *err);
/* The same for a frame without one, whose head has the members of o. Takes over o. */
tdm_status wire_tell(wire *w, wire_kind kind, uint32_t id, json_object *o, tdm_error *err);
/* Writes what the socket takes of what is queued. */
tdm_status wire_flush(wire *w, tdm_error *err);
static inline bool wire_waits(const wire *w)
{
    return w->out.n > 0;
}

/* Reads what is there. TDM_E_IO: the other end is gone. */
tdm_status wire_read(wire *w, tdm_error *err);
/* The next whole frame, if there is one; its payload is valid until the next call of wire_read. TDM_E_FORMAT: the bytes
 * are no frame. TDM_E_NOMEM: to be tried again. */
tdm_status wire_take(wire *w, wire_frame *out, tdm_error *err);

#endif
