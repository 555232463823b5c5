#include "src/net/sse.h"

#include <string.h>

#include "engine/base/error.h"

void sse_free(sse *s)
{
    buffer_free(&s->line);
    buffer_free(&s->data);
}

static tdm_status too_long(tdm_error *err)
{
    return error_set(err, TDM_E_FORMAT, "the server sends a line of more than %d MiB", SSE_MOST >> 20);
}

/* A line without its end. An empty one ends the event. */
static tdm_status take_line(sse *s, const char *line, size_t n, sse_event *event, void *ctx, tdm_error *err)
{
    tdm_status status = TDM_OK;
    if (!s->begun && n >= 3 && !memcmp(line, "\xef\xbb\xbf", 3)) line += 3, n -= 3;
    s->begun = true;
    if (n == 0) {
        if (s->has_data) status = event(ctx, (struct span){s->data.n ? s->data.bytes : "", s->data.n}, err);
        s->has_data = false;
        buffer_clear(&s->data);
        return status;
    }
    const char *colon = memchr(line, ':', n);
    size_t name = colon ? (size_t)(colon - line) : n;
    if (name != 4 || memcmp(line, "data", 4)) return TDM_OK;
    const char *value = colon ? colon + 1 : line + n;
    if (value < line + n && *value == ' ') value++;
    size_t length = (size_t)(line + n - value);
    if (s->data.n + length + 1 > SSE_MOST) return too_long(err);
    if (s->has_data) status = buffer_append(&s->data, "\n", 1, err);
    s->has_data = true;
    return status ? status : buffer_append(&s->data, value, length, err);
}

tdm_status sse_read(sse *s, const char *bytes, size_t n, sse_event *event, void *ctx, tdm_error *err)
{
    const char *end = bytes + n;
    while (bytes < end) {
        if (s->after_cr && *bytes == '\n') bytes++;
        s->after_cr = false;
        const char *stop = bytes;
        while (stop < end && *stop != '\n' && *stop != '\r') stop++;
        size_t piece = (size_t)(stop - bytes);
        if (s->line.n + piece > SSE_MOST) return too_long(err);
        tdm_status status = TDM_OK;
        if (stop == end) return buffer_append(&s->line, bytes, piece, err);
        if (s->line.n) {
            status = buffer_append(&s->line, bytes, piece, err);
            if (!status) status = take_line(s, s->line.bytes, s->line.n, event, ctx, err);
        } else {
            status = take_line(s, bytes, piece, event, ctx, err);
        }
        if (status) return status;
        buffer_clear(&s->line);
        s->after_cr = *stop == '\r';
        bytes = stop + 1;
    }
    return TDM_OK;
}
