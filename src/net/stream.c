#include "src/net/stream.h"

#include <string.h>

#include "engine/base/error.h"
#include "engine/json/write.h"

void stream_free(stream *s)
{
    sse_free(&s->sse);
    buffer_free(&s->value);
}

/* Where the values of an event go. */
struct taker {
    stream_value *take;
    void *ctx;
    bool at_end; /* the event may be cut off in its middle */
};

static json_object *parsed(struct span text)
{
    json_object *o = NULL;
    json_parse(&o, "", text.bytes, text.length, JSON_MENDED, NULL);
    return o;
}

static tdm_status tell_error(const struct taker *t, struct span said, tdm_error *err)
{
    json_object *o = json_new_object(), *value = parsed(said);
    struct buffer line = {0};
    if (value)
        json_add(o, "error", value);
    else
        json_add_text(o, "error", said.bytes, said.length);
    tdm_status status = json_write_text(o, &line, err);
    if (!status) status = t->take(t->ctx, (struct span){line.bytes, line.n}, err);
    buffer_free(&line);
    json_free(o);
    return status;
}

static bool is_whole(struct span text)
{
    if (span_is(text, "[DONE]")) return true;
    json_object *o = parsed(text);
    bool whole = o;
    json_free(o);
    return whole;
}

static tdm_status on_event(void *ctx, sse_kind kind, struct span data, tdm_error *err)
{
    const struct taker *t = ctx;
    if (kind == SSE_ERROR) return tell_error(t, data, err);
    return t->at_end && !is_whole(data) ? TDM_OK : t->take(t->ctx, data, err);
}

/* A value has come to its last bracket. What only looked like one is a line like any other. */
static tdm_status end_value(stream *s, struct taker *t, tdm_error *err)
{
    struct span value = {s->value.bytes, s->value.n};
    tdm_status status =
        is_whole(value) ? t->take(t->ctx, value, err) : sse_read(&s->sse, value.bytes, value.length, on_event, t, err);
    buffer_clear(&s->value);
    return status;
}

/* Of bytes[0..n) those that belong to the value that has begun, or begins. */
static size_t value_length(stream *s, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = bytes[i];
        if (s->in_string) {
            if (!s->escaped && c == '"') s->in_string = false;
            s->escaped = !s->escaped && c == '\\';
        } else if (c == '"') {
            s->in_string = true;
        } else if (c == '{' || c == '[') {
            s->depth++;
        } else if ((c == '}' || c == ']') && --s->depth == 0) {
            return i + 1;
        }
    }
    return n;
}

static tdm_status take_value(stream *s, const char *bytes, size_t *n, struct taker *t, tdm_error *err)
{
    *n = value_length(s, bytes, *n);
    if (s->value.n + *n > SSE_MAX)
        return error_set(err, TDM_E_FORMAT, "the server sends a value of more than %d MiB", SSE_MAX >> 20);
    tdm_status status = buffer_append(&s->value, bytes, *n, err);
    return status || s->depth ? status : end_value(s, t, err);
}

/* Through the end of the line, if that is there. */
static size_t line_length(const char *bytes, size_t n)
{
    size_t i = 0;
    while (i < n && bytes[i] != '\n' && bytes[i] != '\r') i++;
    return i < n ? i + 1 : n;
}

/* Stands before a value: blanks, a comma between two, a record separator (RFC 7464). */
static bool goes_before(char c)
{
    return c == ' ' || c == '\t' || c == ',' || c == '\x1e';
}

tdm_status stream_read(stream *s, const char *bytes, size_t n, stream_value *take, void *ctx, tdm_error *err)
{
    struct taker t = {take, ctx, false};
    const char *end = bytes + n;
    while (bytes < end) {
        size_t part = (size_t)(end - bytes);
        tdm_status status = TDM_OK;
        if (s->depth || (sse_at_line(&s->sse) && (*bytes == '{' || *bytes == '['))) {
            status = take_value(s, bytes, &part, &t, err);
        } else if (sse_at_line(&s->sse) && goes_before(*bytes)) {
            part = 1;
        } else {
            bool first = !s->sse.begun && s->sse.line.n < 3; /* bytes, of which each may be a byte order mark's last */
            part = first ? 1 : line_length(bytes, part);
            status = sse_read(&s->sse, bytes, part, on_event, &t, err);
        }
        if (status) return status;
        bytes += part;
    }
    return TDM_OK;
}

tdm_status stream_end(stream *s, stream_value *take, void *ctx, tdm_error *err)
{
    struct taker t = {take, ctx, true};
    tdm_status status = sse_end(&s->sse, on_event, &t, err);
    struct span odd = {s->sse.odd.n ? s->sse.odd.bytes : "", s->sse.odd.n};
    if (!status && odd.length) status = tell_error(&t, odd, err);
    buffer_clear(&s->sse.odd);
    return status;
}
