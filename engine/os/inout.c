#include "engine/os/inout.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/os/file.h"

void inlet_open(struct inlet *i, int fd)
{
    *i = (struct inlet){fd, file_open_terminal(fd, O_RDONLY)};
}

void inlet_close(struct inlet *i)
{
    if (i->own >= 0) close(i->own);
    i->own = -1;
}

ssize_t inlet_read(struct inlet *i, void *bytes, size_t n)
{
    struct pollfd now = {i->fd, POLLIN, 0};
    if (i->own >= 0) return read(i->own, bytes, n);
    if (poll(&now, 1, 0) > 0) return read(i->fd, bytes, n);
    errno = EAGAIN;
    return -1;
}

void outlet_open(struct outlet *o, int fd, int leave)
{
    struct stat st = {0};
    *o = (struct outlet){.fd = fd, .own = -1, .leave = leave, .patience_ms = OUTLET_PATIENCE_MS};
    if (fstat(fd, &st)) return;
    o->device = st.st_dev;
    o->inode = st.st_ino;
    o->own = file_open_terminal(fd, O_WRONLY);
}

void outlet_close(struct outlet *o)
{
    if (o->own >= 0) close(o->own);
    o->own = -1;
}

void outlet_hurry(struct outlet *o)
{
    o->hurries = true;
}

static bool is_same(const struct outlet *o, int fd)
{
    struct stat st;
    return !fstat(fd, &st) && st.st_dev == o->device && st.st_ino == o->inode;
}

/* A descriptor may have been put in the place of another, or closed with all others. */
static bool is_own(const struct outlet *o)
{
    return o->own >= 0 && is_same(o, o->own) && is_same(o, o->fd);
}

/* False: there is no room, and it isn't waited for any longer. */
static bool wait_for_room(struct outlet *o, int fd)
{
    for (;;) {
        struct pollfd fds[] = {{fd, POLLOUT, 0}, {o->hurries ? -1 : o->leave, POLLIN, 0}};
        int64_t start = clock_ns();
        int n = poll(fds, 2, o->hurries ? o->patience_ms : -1);
        int64_t ms = (clock_ns() - start) / 1000000;
        if (o->hurries) o->patience_ms -= ms < o->patience_ms ? (int)ms : o->patience_ms;
        if (n > 0 && fds[0].revents) return true; /* for an error too: the write tells which */
        if (n > 0 && fds[1].revents) o->hurries = true;
        if (n == 0 || (n < 0 && o->hurries && !o->patience_ms)) {
            errno = ETIMEDOUT;
            return false;
        }
    }
}

/* As many bytes as a write takes at once that must not wait: a pipe that is ready has room for these; of a terminal
 * it is only known that there is some. */
static size_t piece(const struct outlet *o, size_t n)
{
    enum { PIPE = 4096, TERMINAL = 256 };
    size_t most = !isatty(o->fd) ? PIPE : o->hurries ? 1 : TERMINAL;
    return n < most ? n : most;
}

bool outlet_write(struct outlet *o, const void *bytes, size_t n)
{
    const char *from = bytes;
    bool own = is_own(o);
    int fd = own ? o->own : o->fd;
    while (n) {
        if (!own && !wait_for_room(o, fd)) return false;
        ssize_t done = write(fd, from, own ? n : piece(o, n));
        if (done > 0) {
            from += done;
            n -= (size_t)done;
        } else if (done == 0) {
            errno = ENOSPC;
            return false;
        } else if (!file_again(done) || (own && errno == EAGAIN && !wait_for_room(o, fd))) {
            return false;
        }
    }
    return true;
}
