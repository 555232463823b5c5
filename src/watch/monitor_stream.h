/* The lines that come through the socket of a running Tandem (src/watch/tui_socket.h), from whoever is at its other
 * end: bytes in, whole JSON objects out. Pure: no descriptor. */
#ifndef TANDEM_SRC_MONITOR_STREAM_H
#define TANDEM_SRC_MONITOR_STREAM_H

#include <json-c/json_object.h>

#include "engine/base/buffer.h"
#include "engine/tandem.h"

enum { MONITOR_LONGEST_LINE = 1 << 20 };

typedef struct {
    struct buffer come; /* of which `taken` bytes are taken */
    size_t taken;
} monitor_stream;

/* Adds what has come. TDM_E_FORMAT: no line is that long. */
tdm_status monitor_stream_feed(monitor_stream *s, const char *bytes, size_t n, tdm_error *err);
/* The next whole line as an object, to be put by the caller; NULL with TDM_OK: none yet. TDM_E_FORMAT: it is no object
 * of JSON: the other end is no Tandem. */
tdm_status monitor_stream_next(monitor_stream *s, json_object **out, tdm_error *err);
void monitor_stream_free(monitor_stream *s);

#endif
