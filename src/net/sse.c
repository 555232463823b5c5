#include "src/net/sse.h"

#include <string.h>

#include "engine/base/error.h"

void sse_free(sse *s)
{
    buffer_free(&s->line);
    buffer_free(&s->data);
    buffer_free(&s->odd);
}

static tdm_status too_long(tdm_error *err)
{
    return error_set(err, TDM_E_FORMAT, "the server sends a line of more than %d MiB", SSE_MAX >> 20);
}

static bool is_field(const char *line, size_t name, const char *field)
{
    return name == strlen(field) && !memcmp(line, field, name);
}

static void begin_event(sse *s)
{
    s->has_data = s->is_error = s->is_idle = false;
    buffer_clear(&s->data);
}

static tdm_status end_event(sse *s, sse_event *event, void *ctx, tdm_error *err)
{
    tdm_status status = TDM_OK;
    struct span data = {s->data.n ? s->data.bytes : "", s->data.n};
    if (s->has_data && !s->is_idle) status = event(ctx, s->is_error ? SSE_ERROR : SSE_DATA, data, err);
    begin_event(s);
    return status;
}

static void take_name(sse *s, struct span name)
{
    static const char *const idle[] = {"ping", "keepalive", "keep-alive", "heartbeat"};
    s->is_error |= span_is(name, "error");
    s->is_idle = false;
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) s->is_idle |= span_is(name, idle[i]);
}

static tdm_status take_odd(sse *s, const char *line, size_t n, tdm_error *err)
{
    if (s->odd.n + n + 1 > SSE_ODD) n = s->odd.n < SSE_ODD ? SSE_ODD - s->odd.n - 1 : 0;
    if (!n) return TDM_OK;
    tdm_status status = buffer_append(&s->odd, line, n, err);
    return status ? status : buffer_append(&s->odd, "\n", 1, err);
}

static bool begins_with_mark(const sse *s, const char *line, size_t n)
{
    return !s->begun && n >= 3 && !memcmp(line, "\xef\xbb\xbf", 3);
}

bool sse_at_line(const sse *s)
{
    return s->line.n == 0 || (s->line.n == 3 && begins_with_mark(s, s->line.bytes, 3));
}

/* A line without its end. An empty one ends the event. */
static tdm_status take_line(sse *s, const char *line, size_t n, sse_event *event, void *ctx, tdm_error *err)
{
    if (begins_with_mark(s, line, n)) line += 3, n -= 3;
    s->begun = true;
    if (n == 0) return end_event(s, event, ctx, err);
    const char *colon = memchr(line, ':', n);
    size_t name = colon ? (size_t)(colon - line) : n;
    const char *value = colon ? colon + 1 : line + n;
    if (value < line + n && *value == ' ') value++;
    size_t length = (size_t)(line + n - value);
    bool error = is_field(line, name, "error") && colon;
    if (is_field(line, name, "event")) take_name(s, (struct span){value, length});
    if (!name || is_field(line, name, "event") || is_field(line, name, "id") || is_field(line, name, "retry"))
        return TDM_OK;
    if (!error && !is_field(line, name, "data")) return take_odd(s, line, n, err);
    if (s->data.n + length + 1 > SSE_MAX) return too_long(err);
    tdm_status status = s->has_data ? buffer_append(&s->data, "\n", 1, err) : TDM_OK;
    s->has_data = true;
    s->is_error |= error;
    return status ? status : buffer_append(&s->data, value, length, err);
}

tdm_status sse_end(sse *s, sse_event *event, void *ctx, tdm_error *err)
{
    tdm_status status = s->line.n ? take_line(s, s->line.bytes, s->line.n, event, ctx, err) : TDM_OK;
    buffer_clear(&s->line);
    return status ? status : end_event(s, event, ctx, err);
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
        if (s->line.n + piece > SSE_MAX) return too_long(err);
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
