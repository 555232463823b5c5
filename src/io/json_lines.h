/* Lines of JSON, the form in which processes tell each other what goes on: the socket of a running Tandem
 * (src/watch/tui_socket.h), recordings, and `tandem pull --json`. Bytes in, whole objects out, whatever program is at
 * the other end. Pure: no descriptor. What carries bytes as well, a request to a server and its answer, has frames of
 * its own (src/net/wire.h). */
#ifndef TANDEM_SRC_JSON_LINES_H
#define TANDEM_SRC_JSON_LINES_H

#include <json-c/json_object.h>

#include "engine/base/buffer.h"
#include "engine/tandem.h"

enum { JSON_LINES_LONGEST = 1 << 20 };

typedef struct {
    struct buffer come; /* of which `taken` bytes are taken */
    size_t taken;
} json_lines;

/* Adds what has come. TDM_E_FORMAT: no line is that long. */
tdm_status json_lines_feed(json_lines *s, const char *bytes, size_t n, tdm_error *err);
/* The next whole line as an object, to be put by the caller; NULL with TDM_OK: none yet. TDM_E_FORMAT: it is no object
 * of JSON. `what` names the line in errors. */
tdm_status json_lines_next(json_lines *s, const char *what, json_object **out, tdm_error *err);
void json_lines_free(json_lines *s);

#endif
