/* Frames, the one form in which Tandem's processes speak with each other: first the head, a JSON object on a line of
 * its own; then, if the head has a member "payload", that many bytes. The socket of a running Tandem
 * (src/watch/tui_socket.h), recordings and `tandem pull --json` are frames without payloads; those of tandem-net
 * (src/net/wire.h) carry bodies, those of tandem-image (src/image/image.h) pixels.
 *
 * Bytes go in, whole frames come out. Pure: no descriptor. */
#ifndef TANDEM_SRC_FRAMES_H
#define TANDEM_SRC_FRAMES_H

#include "engine/base/buffer.h"
#include "engine/base/span.h"
#include "engine/json/json.h"
#include "engine/tandem.h"

enum { FRAMES_LONGEST = 1 << 20 }; /* bytes of a head with the end of its line */

typedef struct {
    size_t most;        /* bytes of a payload; 0: none may follow, and "payload" is a member like any other */
    struct buffer come; /* received bytes, of which `taken` were given out */
    size_t taken;
    json_object *head; /* of a frame whose payload has not come whole; NULL: none */
} frames;

struct frame {
    json_object *head;   /* the caller's, to be freed with json_free */
    struct span payload; /* valid until the next call for the same `frames` */
};

/* How many bytes may be added: as many as a frame may have, less those that were not given out. */
size_t frames_room(const frames *f);
/* Adds received bytes. TDM_E_FORMAT: there is no room for them. */
tdm_status frames_feed(frames *f, const char *bytes, size_t n, tdm_error *err);
/* The next whole frame; a head that is NULL with TDM_OK: none yet. TDM_E_FORMAT: a line is no object, and is
 * skipped: a reader may go on. The same, but what follows makes no sense any more: a line is longer than
 * FRAMES_LONGEST, or a payload larger than allowed. TDM_E_NOMEM: nothing was taken. `what` names the line in errors. */
tdm_status frames_next(frames *f, const char *what, struct frame *out, tdm_error *err);
/* The same where no payloads follow: the head alone. */
tdm_status frames_line(frames *f, const char *what, json_object **out, tdm_error *err);
void frames_free(frames *f);

/* Writes a head without a payload to standard output (output.h) and frees it. A lack of memory counts as a failure of
 * standard output, which output_good() and output_end() report. */
void frames_print(json_object *o);

#endif
