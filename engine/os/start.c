#include "engine/os/start.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static void unblock_all(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void start_standard(void)
{
    static const int ways[] = {[STDIN_FILENO] = O_WRONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_RDONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) /* upwards: open() gives the lowest that is free */
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", ways[fd]) != fd) _exit(1);
    unblock_all();
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
}

void start_attributes(posix_spawnattr_t *out, short more)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(out);
    posix_spawnattr_setsigmask(out, &none);
    posix_spawnattr_setsigdefault(out, &all);
    posix_spawnattr_setflags(out, (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | more));
}

void start_signals(void)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int number = 1; number <= SIGRTMAX; number++) sigaction(number, &standard, NULL);
    unblock_all();
}
