#include "src/watch/monitor_stream.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "src/cli/jsonio.h"

tdm_status monitor_stream_feed(monitor_stream *s, const char *bytes, size_t n, tdm_error *err)
{
    if (s->taken) {
        memmove(s->come.bytes, s->come.bytes + s->taken, s->come.n - s->taken);
        s->come.n -= s->taken;
        s->taken = 0;
    }
    if (n > MONITOR_LONGEST_LINE || s->come.n > MONITOR_LONGEST_LINE - n)
        return error_set(err, TDM_E_FORMAT, "a line of more than %d bytes came: that is no Tandem",
                         MONITOR_LONGEST_LINE);
    return buffer_append(&s->come, bytes, n, err);
}

tdm_status monitor_stream_next(monitor_stream *s, json_object **out, tdm_error *err)
{
    *out = NULL;
    char *line = s->come.bytes ? s->come.bytes + s->taken : NULL;
    char *end = line ? memchr(line, '\n', s->come.n - s->taken) : NULL;
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
    buffer_free(&s->come);
    *s = (monitor_stream){0};
}
