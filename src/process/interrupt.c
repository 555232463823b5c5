#include "src/process/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t seen, leaving, all_leave;
static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
static int ends[2] = {-1, -1}, leave_ends[2] = {-1, -1};

static void on_signal(int number)
{
    int kept = errno;
    seen = 1;
    ssize_t done = write(ends[1], "c", 1); /* a full pipe is readable already */
    if (number != SIGINT || all_leave) {
        leaving = 1;
        done = write(leave_ends[1], "l", 1);
    }
    (void)done;
    errno = kept;
}

static bool is_ignored(int number)
{
    struct sigaction now;
    return !sigaction(number, NULL, &now) && now.sa_handler == SIG_IGN;
}

static void catch_them(bool all)
{
    all_leave = all;
    if (ends[0] < 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK)) ends[0] = ends[1] = -1;
    interrupt_leave_fd();
    char gone[16];
    while (read(ends[0], gone, sizeof gone) > 0) {
    }
    seen = leaving;
    struct sigaction action = {.sa_handler = on_signal}; /* without SA_RESTART: a blocked read returns */
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (!is_ignored(signals[i])) sigaction(signals[i], &action, NULL);
}

void interrupt_catch(void)
{
    catch_them(false);
}

void interrupt_catch_all(void)
{
    catch_them(true);
}

void interrupt_release(void)
{
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (!is_ignored(signals[i])) signal(signals[i], SIG_DFL);
}

bool interrupt_seen(void)
{
    return seen != 0;
}

bool interrupt_leaving(void)
{
    return leaving != 0;
}

int interrupt_leave_fd(void)
{
    if (leave_ends[0] < 0 && pipe2(leave_ends, O_CLOEXEC | O_NONBLOCK)) leave_ends[0] = leave_ends[1] = -1;
    return leave_ends[0];
}

int interrupt_fd(void)
{
    return ends[0];
}

bool interrupt_pause(int ms)
{
    struct pollfd fd = {.fd = interrupt_fd(), .events = POLLIN};
    if (!interrupt_seen()) poll(&fd, 1, ms);
    return !interrupt_seen();
}
