#include "src/cli/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t seen, leaving;
static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
static int ends[2] = {-1, -1};

static void on_signal(int number)
{
    int kept = errno;
    seen = 1;
    if (number != SIGINT) leaving = 1;
    ssize_t done = write(ends[1], "c", 1); /* a full pipe is readable already */
    (void)done;
    errno = kept;
}

void interrupt_catch(void)
{
    if (ends[0] < 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK)) ends[0] = ends[1] = -1;
    char gone[16];
    while (read(ends[0], gone, sizeof gone) > 0) {
    }
    seen = leaving;
    struct sigaction action = {.sa_handler = on_signal}; /* without SA_RESTART: a blocked read returns */
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &action, NULL);
}

void interrupt_release(void)
{
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], SIG_DFL);
}

bool interrupt_seen(void)
{
    return seen != 0;
}

bool interrupt_leaving(void)
{
    return leaving != 0;
}

int interrupt_fd(void)
{
    return ends[0];
}
