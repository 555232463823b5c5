#include "src/net/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/json/write.h"
#include "engine/os/file.h"

static const char *const names[WIRE_KINDS] = {"server", "request", "cancel", "ready", "head", "data", "end"};

enum { READ_SIZE = 1 << 16 };

tdm_status wire_open(wire *w, int fd, tdm_error *err)
{
    *w = (wire){.fd = fd, .in.most = WIRE_MAX};
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK))
        return error_errno(err, TDM_E_IO, "the socket of tandem-net");
    return TDM_OK;
}

void wire_free(wire *w)
{
    frames_free(&w->in);
    buffer_free(&w->out);
}

tdm_status wire_flush(wire *w, tdm_error *err)
{
    size_t sent = 0;
    tdm_status status = TDM_OK;
    while (sent < w->out.n) {
        ssize_t n = send(w->fd, w->out.bytes + sent, w->out.n - sent, MSG_NOSIGNAL);
        if (n > 0) {
            sent += (size_t)n;
        } else if (!file_again(n)) {
            status = error_errno(err, TDM_E_IO, "writing to the socket of tandem-net");
            break;
        } else if (errno != EINTR) {
            break;
        }
    }
    if (sent) memmove(w->out.bytes, w->out.bytes + sent, w->out.n - sent);
    w->out.n -= sent;
    return status;
}

tdm_status wire_put(wire *w, wire_kind kind, uint32_t id, struct span payload, tdm_error *err)
{
    char head[96];
    if (payload.length > WIRE_MAX)
        return error_set(err, TDM_E_ARG, "expected at most %d bytes for a server, found %zu", WIRE_MAX, payload.length);
    int n =
        snprintf(head, sizeof head, "{\"kind\":\"%s\",\"id\":%u,\"payload\":%zu}\n", names[kind], id, payload.length);
    tdm_status status = buffer_reserve(&w->out, (size_t)n + payload.length, err);
    if (!status) status = buffer_append(&w->out, head, (size_t)n, err);
    if (!status) status = buffer_append(&w->out, payload.bytes, payload.length, err);
    return status ? status : wire_flush(w, err);
}

tdm_status wire_tell(wire *w, wire_kind kind, uint32_t id, json_object *o, tdm_error *err)
{
    json_add_string(o, "kind", names[kind]);
    json_add_int(o, "id", id);
    tdm_status status = json_write_line(o, &w->out, err);
    json_free(o);
    return status ? status : wire_flush(w, err);
}

tdm_status wire_read(wire *w, tdm_error *err)
{
    char bytes[READ_SIZE];
    /* What is not given out yet is at most a frame: the rest waits in the socket. */
    for (size_t room; (room = frames_room(&w->in));) {
        if (room > sizeof bytes) room = sizeof bytes;
        /* Room for the bytes first: those that the socket has given can't be put back. */
        tdm_status status = buffer_reserve(&w->in.come, room, err);
        if (status) return status;
        ssize_t n = recv(w->fd, bytes, room, 0);
        if (n > 0) {
            status = frames_feed(&w->in, bytes, (size_t)n, err);
            if (status || (size_t)n < room) return status;
        } else if (n == 0) {
            return error_set(err, TDM_E_IO, "tandem-net has ended");
        } else if (!file_again(n)) {
            return error_errno(err, TDM_E_IO, "reading from the socket of tandem-net");
        } else if (errno != EINTR) {
            return TDM_OK;
        }
    }
    return TDM_OK;
}

static bool take_kind(wire_frame *f)
{
    const char *name = json_text(f->frame.head, "kind", NULL);
    int64_t id = json_int(f->frame.head, "id", -1);
    for (f->kind = 0; f->kind < WIRE_KINDS && (!name || strcmp(name, names[f->kind])); f->kind++) continue;
    f->id = (uint32_t)id;
    return f->kind < WIRE_KINDS && id == f->id;
}

tdm_status wire_take(wire *w, wire_frame *out, tdm_error *err)
{
    *out = (wire_frame){0};
    tdm_status status = frames_next(&w->in, "tandem-net", &out->frame, err);
    if (status || !out->frame.head || take_kind(out)) return status;
    json_free(out->frame.head);
    *out = (wire_frame){0};
    return error_set(err, TDM_E_FORMAT, "tandem-net: expected a kind and an id of its frames");
}
