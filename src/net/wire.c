#include "src/net/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/os/file.h"

struct head {
    uint32_t kind, id, length;
};

enum { READ_SIZE = 1 << 16 };

tdm_status wire_open(wire *w, int fd, tdm_error *err)
{
    *w = (wire){.fd = fd};
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK))
        return error_errno(err, TDM_E_IO, "the socket of tandem-net");
    return TDM_OK;
}

void wire_free(wire *w)
{
    buffer_free(&w->in);
    buffer_free(&w->out);
}

static void drop_front(struct buffer *b, size_t n)
{
    memmove(b->bytes, b->bytes + n, b->n - n);
    b->n -= n;
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
    if (sent) drop_front(&w->out, sent);
    return status;
}

tdm_status wire_put(wire *w, wire_kind kind, uint32_t id, struct span a, struct span b, tdm_error *err)
{
    if (a.length > WIRE_MAX || b.length > WIRE_MAX - a.length)
        return error_set(err, TDM_E_ARG, "expected at most %d bytes for a server, found %zu", WIRE_MAX,
                         a.length + b.length);
    struct head head = {kind, id, (uint32_t)(a.length + b.length)};
    tdm_status status = buffer_reserve(&w->out, sizeof head + head.length, err);
    if (!status) status = buffer_append(&w->out, &head, sizeof head, err);
    if (!status) status = buffer_append(&w->out, a.bytes, a.length, err);
    if (!status) status = buffer_append(&w->out, b.bytes, b.length, err);
    return status ? status : wire_flush(w, err);
}

tdm_status wire_read(wire *w, tdm_error *err)
{
    if (w->taken) drop_front(&w->in, w->taken);
    w->taken = 0;
    /* What is not given out yet is at most a frame: the rest waits in the socket. */
    while (w->in.n <= sizeof(struct head) + WIRE_MAX) {
        tdm_status status = buffer_reserve(&w->in, READ_SIZE, err);
        if (status) return status;
        ssize_t n = recv(w->fd, w->in.bytes + w->in.n, READ_SIZE, 0);
        if (n > 0) {
            w->in.n += (size_t)n;
            if (n < READ_SIZE) return TDM_OK;
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

tdm_status wire_take(wire *w, wire_frame *out, bool *found, tdm_error *err)
{
    struct head head;
    *found = false;
    size_t there = w->in.n - w->taken;
    if (there < sizeof head) return TDM_OK;
    memcpy(&head, w->in.bytes + w->taken, sizeof head);
    if (head.kind < WIRE_SERVER || head.kind >= WIRE_KINDS || head.length > WIRE_MAX)
        return error_set(err, TDM_E_FORMAT, "expected a frame of tandem-net, found kind %u of %u bytes", head.kind,
                         head.length);
    if (there < sizeof head + head.length) return TDM_OK;
    *out = (wire_frame){head.kind, head.id, {w->in.bytes + w->taken + sizeof head, head.length}};
    w->taken += sizeof head + head.length;
    *found = true;
    return TDM_OK;
}
