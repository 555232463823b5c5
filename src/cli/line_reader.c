#include "src/cli/line_reader.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "src/cli/interrupt.h"

enum { STEP = 4096 };

/* Reads what there is, once there is something. False: nothing more comes. */
static bool read_more(line_reader *l)
{
    memmove(l->read.bytes, l->read.bytes + l->given, l->read.n - l->given);
    l->read.n -= l->given;
    l->given = 0;
    if (l->ended || buffer_reserve(&l->read, STEP, NULL)) return false;
    while (!interrupt_seen()) {
        struct pollfd fds[] = {{l->fd, POLLIN, 0}, {interrupt_fd(), POLLIN, 0}};
        if (poll(fds, 2, -1) <= 0 || !fds[0].revents) continue;
        ssize_t n = read(l->fd, l->read.bytes + l->read.n, STEP);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        l->ended = n <= 0;
        if (n > 0) l->read.n += (size_t)n;
        return true;
    }
    return false;
}

char *line_reader_next(line_reader *l)
{
    if (buffer_reserve(&l->read, STEP, NULL)) return NULL;
    for (size_t looked = 0;;) {
        char *from = l->read.bytes + l->given;
        size_t n = l->read.n - l->given;
        char *end = memchr(from + looked, '\n', n - looked);
        if (end || (l->ended && n)) {
            size_t length = end ? (size_t)(end - from) : n;
            l->given += length + (end != NULL);
            return strndup(from, length);
        }
        looked = n;
        if (!read_more(l)) return NULL;
    }
}

void line_reader_free(line_reader *l)
{
    buffer_free(&l->read);
}
