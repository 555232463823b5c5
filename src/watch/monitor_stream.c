#include "src/watch/monitor_stream.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/cli/jsonio.h"

tdm_status monitor_stream_feed(monitor_stream *s, const char *bytes, size_t n, tdm_error *err)
{
    if (s->taken) {
        memmove(s->bytes, s->bytes + s->taken, s->n - s->taken);
        s->n -= s->taken;
        s->taken = 0;
    }
    if (n > MONITOR_LONGEST_LINE || s->n > MONITOR_LONGEST_LINE - n)
        return error_set(err, TDM_E_FORMAT, "a line of more than %d bytes came: that is no Tandem", MONITOR_LONGEST_LINE);
    if (s->n + n > s->room) {
        size_t room = 2 * (s->n + n);
        char *larger = realloc(s->bytes, room);
        if (!larger) return error_set(err, TDM_E_NOMEM, "out of memory");
        s->bytes = larger;
        s->room = room;
    }
    if (n) memcpy(s->bytes + s->n, bytes, n);
    s->n += n;
    return TDM_OK;
}

tdm_status monitor_stream_next(monitor_stream *s, json_object **out, tdm_error *err)
{
    *out = NULL;
    char *line = s->bytes ? s->bytes + s->taken : NULL, *end = line ? memchr(line, '\n', s->n - s->taken) : NULL;
    if (!end) return TDM_OK;
    s->taken += (size_t)(end - line) + 1;
    tdm_status status = jsonio_parse(out, "the monitor's line", line, (size_t)(end - line), err);
    if (status || json_object_is_type(*out, json_type_object)) return status;
    json_object_put(*out);
    *out = NULL;
    return error_set(err, TDM_E_FORMAT, "the monitor's line: expected an object");
}

void monitor_stream_free(monitor_stream *s)
{
    free(s->bytes);
    *s = (monitor_stream){0};
}
