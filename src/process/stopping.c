#include "src/process/stopping.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t asked, over;
static volatile int wake_end = -1;

static void on_signal(int number)
{
    int kept = errno;
    if (number == SIGTSTP) asked = 1;
    if (number == SIGCONT) over = 1;
    ssize_t told = write(wake_end, "s", 1); /* a full pipe wakes as well */
    (void)told;
    errno = kept;
}

void stopping_catch(int wake)
{
    static const int signals[] = {SIGWINCH, SIGTSTP, SIGCONT};
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    wake_end = wake;
    sigemptyset(&a.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &a, NULL);
}

static bool take(volatile sig_atomic_t *flag)
{
    bool set = *flag;
    *flag = 0;
    return set;
}

bool stopping_asked(void)
{
    return take(&asked);
}

bool stopping_over(void)
{
    return take(&over);
}

void stopping_stop(void)
{
    struct sigaction stop = {.sa_handler = SIG_DFL}, ours;
    sigaction(SIGTSTP, &stop, &ours);
    kill(0, SIGTSTP);
    sigaction(SIGTSTP, &ours, NULL);
    over = 1; /* also where nothing has stopped it, and where another thread is still to take SIGCONT */
}
