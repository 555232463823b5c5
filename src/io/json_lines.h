/* Lines of JSON, by which processes report to each other: the socket of a running Tandem (src/watch/tui_socket.h),
 * recordings, and `tandem pull --json`. Bytes go in, whole objects come out. Pure: no descriptor. Requests to servers
 * and their answers, which also carry bytes, use the frames of src/net/wire.h. */
#ifndef TANDEM_SRC_JSON_LINES_H
#define TANDEM_SRC_JSON_LINES_H

#include <json-c/json_object.h>

#include "engine/base/buffer.h"
#include "engine/tandem.h"

enum { JSON_LINES_LONGEST = 1 << 20 };

typedef struct {
    struct buffer come; /* received bytes, of which `taken` were taken as lines */
    size_t taken;
} json_lines;

/* Adds received bytes. TDM_E_FORMAT: a line is longer than JSON_LINES_LONGEST. */
tdm_status json_lines_feed(json_lines *s, const char *bytes, size_t n, tdm_error *err);
/* The next whole line as an object, which the caller frees (json_object_put); NULL with TDM_OK: none yet. TDM_E_FORMAT:
 * it is not a JSON object. `what` names the line in errors. */
tdm_status json_lines_next(json_lines *s, const char *what, json_object **out, tdm_error *err);
void json_lines_free(json_lines *s);

#endif
