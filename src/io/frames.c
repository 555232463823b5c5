#include "src/io/frames.h"

#include <errno.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/json/write.h"
#include "src/io/output.h"

static tdm_status refuse_line(tdm_error *err)
{
    return error_set(err, TDM_E_FORMAT, "a line of more than %d bytes came: expected JSON", FRAMES_LONGEST);
}

size_t frames_room(const frames *f)
{
    return FRAMES_LONGEST + f->most - (f->come.n - f->taken);
}

tdm_status frames_feed(frames *f, const char *bytes, size_t n, tdm_error *err)
{
    if (n > frames_room(f)) return refuse_line(err);
    if (f->taken) {
        memmove(f->come.bytes, f->come.bytes + f->taken, f->come.n - f->taken);
        f->come.n -= f->taken;
        f->taken = 0;
    }
    return buffer_append(&f->come, bytes, n, err);
}

/* Bytes of the payload that a head announces: any number until it was looked at. */
static int64_t payload_of(const frames *f, json_object *head)
{
    return f->most ? json_int(head, "payload", 0) : 0;
}

static tdm_status expect_head(frames *f, const char *what, json_object *head, tdm_error *err)
{
    if (!json_is(head, JSON_OBJECT)) return error_set(err, TDM_E_FORMAT, "%s: expected an object", what);
    int64_t payload = payload_of(f, head);
    if (payload < 0 || (uint64_t)payload > f->most)
        return error_set(err, TDM_E_FORMAT, "%s: expected at most %zu bytes after it, found %lld", what, f->most,
                         (long long)payload);
    return TDM_OK;
}

/* Takes the next line; without a whole one f->head stays NULL. */
static tdm_status take_head(frames *f, const char *what, tdm_error *err)
{
    size_t there = f->come.n - f->taken;
    const char *line = there ? f->come.bytes + f->taken : NULL, *end = line ? memchr(line, '\n', there) : NULL;
    size_t n = end ? (size_t)(end - line) : there;
    if (n >= FRAMES_LONGEST) {
        f->taken += n;
        return refuse_line(err);
    }
    if (!end) return TDM_OK;
    json_object *head = NULL;
    tdm_status status = json_parse(&head, what, line, n, JSON_UTF8, err);
    if (status == TDM_E_NOMEM) return status;
    f->taken += n + 1;
    if (!status) status = expect_head(f, what, head, err);
    if (!status)
        f->head = head;
    else
        json_free(head);
    return status;
}

tdm_status frames_next(frames *f, const char *what, struct frame *out, tdm_error *err)
{
    *out = (struct frame){0};
    tdm_status status = f->head ? TDM_OK : take_head(f, what, err);
    if (status || !f->head) return status;
    size_t payload = (size_t)payload_of(f, f->head);
    if (f->come.n - f->taken < payload) return TDM_OK;
    *out = (struct frame){f->head, {f->come.bytes + f->taken, payload}};
    f->taken += payload;
    f->head = NULL;
    return TDM_OK;
}

tdm_status frames_line(frames *f, const char *what, json_object **out, tdm_error *err)
{
    struct frame next;
    tdm_status status = frames_next(f, what, &next, err);
    *out = next.head;
    return status;
}

void frames_free(frames *f)
{
    buffer_free(&f->come);
    json_free(f->head);
    *f = (frames){.most = f->most};
}

void frames_print(json_object *o)
{
    struct buffer line = {0};
    if (json_write_line(o, &line, NULL))
        output_fail(ENOMEM);
    else
        output_text(line.bytes, line.n);
    buffer_free(&line);
    json_free(o);
}
