#include "engine/base/buffer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "engine/base/error.h"

tdm_status buffer_reserve(struct buffer *b, size_t more, tdm_error *err)
{
    if (b->n < b->room && more < b->room - b->n) return TDM_OK;
    if (b->n > SIZE_MAX / 4 || more > SIZE_MAX / 4) return error_set(err, TDM_E_NOMEM, "text too long");
    size_t need = b->n + more + 1, room = b->room ? b->room : 256;
    while (room < need) room *= 2;
    char *grown = realloc(b->bytes, room);
    if (!grown) return error_set(err, TDM_E_NOMEM, "no memory for a text of %zu bytes", room);
    b->bytes = grown;
    b->room = room;
    b->bytes[b->n] = 0;
    return TDM_OK;
}

tdm_status buffer_append(struct buffer *b, const void *bytes, size_t n, tdm_error *err)
{
    if (n == 0) return TDM_OK;
    tdm_status status = buffer_reserve(b, n, err);
    if (status) return status;
    memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
    b->bytes[b->n] = 0;
    return TDM_OK;
}

void buffer_clear(struct buffer *b)
{
    b->n = 0;
    if (b->bytes) b->bytes[0] = 0;
}

void buffer_free(struct buffer *b)
{
    free(b->bytes);
    *b = (struct buffer){0};
}

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

static ssize_t keep(void *cookie, const char *bytes, size_t n)
{
    struct buffer_stream *s = cookie;
    s->lost = s->lost || buffer_append(&s->text, bytes, n, NULL);
    return s->lost ? 0 : (ssize_t)n;
}

FILE *buffer_stream_open(struct buffer_stream *s)
{
    *s = (struct buffer_stream){0};
    return s->file = fopencookie(s, "w", (cookie_io_functions_t){.write = keep});
}

char *buffer_stream_close(struct buffer_stream *s, size_t *n)
{
    bool whole = !fclose(s->file) && !s->lost && !buffer_reserve(&s->text, 1, NULL);
    if (!whole) buffer_free(&s->text);
    if (n) *n = s->text.n;
    return s->text.bytes;
}
