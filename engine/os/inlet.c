#include "engine/os/inlet.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

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
