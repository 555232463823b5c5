#include "engine/os/child.h"

#include <signal.h>

void child_attributes(posix_spawnattr_t *out, short more)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(out);
    posix_spawnattr_setsigmask(out, &none);
    posix_spawnattr_setsigdefault(out, &all);
    posix_spawnattr_setflags(out, (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | more));
}

void child_signals(void)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number <= SIGRTMAX; number++) sigaction(number, &standard, NULL);
    sigprocmask(SIG_SETMASK, &none, NULL);
}
