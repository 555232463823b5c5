#include "src/io/line_reader.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clean.h"
#include "engine/base/error.h"
#include "engine/os/file.h"
#include "src/process/interrupt.h"

enum { STEP = 4096 };

/* Waits for input and reads what is available. False: the input has ended, the user has interrupted the program, or
 * there is no memory. */
static bool read_more(line_reader *l, tdm_error *err)
{
    memmove(l->read.bytes, l->read.bytes + l->given, l->read.n - l->given);
    l->read.n -= l->given;
    l->given = 0;
    if (l->ended || buffer_reserve(&l->read, STEP, err)) return false;
    while (!interrupt_seen()) {
        struct pollfd fds[] = {{l->fd, POLLIN, 0}, {interrupt_fd(), POLLIN, 0}};
        if (poll(fds, 2, -1) <= 0 || !fds[0].revents) continue;
        ssize_t n = read(l->fd, l->read.bytes + l->read.n, STEP);
        if (file_again(n)) continue;
        l->ended = n <= 0;
        if (n > 0) l->read.n += (size_t)n;
        return true;
    }
    return false;
}

/* NULL and `err`: nothing was given out, and the same line can be asked for again. */
static char *next(line_reader *l, tdm_error *err)
{
    if (buffer_reserve(&l->read, STEP, err)) return NULL;
    for (size_t looked = 0;;) {
        char *from = l->read.bytes + l->given;
        size_t n = l->read.n - l->given;
        char *end = memchr(from + looked, '\n', n - looked);
        if (end || (l->ended && n)) {
            size_t length = end ? (size_t)(end - from) : n;
            char *line = clean_text(from, length && from[length - 1] == '\r' ? length - 1 : length, NULL);
            if (line)
                l->given += length + (end != NULL);
            else
                error_set(err, TDM_E_NOMEM, "no memory for a line of %zu bytes", length);
            return line;
        }
        looked = n;
        if (!read_more(l, err)) return NULL;
    }
}

char *line_reader_next(line_reader *l, tdm_error *err)
{
    tdm_error first = {0};
    char *line = next(l, &first);
    return first.code ? next(l, err) : line; /* a moment without memory loses no line */
}

void line_reader_free(line_reader *l)
{
    buffer_free(&l->read);
}
