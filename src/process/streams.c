#include "src/process/streams.h"

#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "engine/os/inout.h"
#include "engine/os/start.h"
#include "src/process/interrupt.h"

static struct outlet outlets[2];
static bool open_ones[2];

static struct outlet *outlet_of(int fd)
{
    int i = fd == STDERR_FILENO;
    if (!open_ones[i]) outlet_open(&outlets[i], i ? STDERR_FILENO : STDOUT_FILENO, interrupt_leave_fd());
    open_ones[i] = true;
    return &outlets[i];
}

bool streams_write(int fd, const void *bytes, size_t n)
{
    return outlet_write(outlet_of(fd), bytes, n);
}

void streams_hurry(void)
{
    for (size_t i = 0; i < sizeof outlets / sizeof *outlets; i++) outlet_hurry(&outlets[i]);
}

/* glibc lets another stream be put in the place of a standard one. */
static ssize_t write_cookie(void *cookie, const char *bytes, size_t n)
{
    const struct outlet *o = cookie;
    return streams_write(o->fd, bytes, n) ? (ssize_t)n : 0;
}

static int close_cookie(void *cookie)
{
    const struct outlet *o = cookie;
    return close(o->fd);
}

/* NULL: no memory, and it stays as it is. */
static FILE *stream_of(int fd)
{
    return fopencookie(outlet_of(fd), "w", (cookie_io_functions_t){.write = write_cookie, .close = close_cookie});
}

void streams_open(void)
{
    start_standard();
    FILE *out = stream_of(STDOUT_FILENO), *err = stream_of(STDERR_FILENO);
    if (out && isatty(STDOUT_FILENO)) setvbuf(out, NULL, _IOLBF, 0);
    if (err) setvbuf(err, NULL, _IONBF, 0);
    if (out) stdout = out;
    if (err) stderr = err;
}
