#include "src/process/crash.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/os/starving.h"
#include "src/process/shrunk.h"
#include "src/process/streams.h"
#include "ui/readline/setup.h"
#include "ui/terminal/restore.h"

/* Makes system calls only, since it is also called from signal handlers and from the engine's threads. */
static void tell(const char *line)
{
    streams_hurry();
    streams_write(STDERR_FILENO, line, strlen(line));
    streams_write(STDERR_FILENO, "\n", 1);
}

static void on_panic(const char *line)
{
    restore_now();
    tell(line);
}

static _Noreturn void on_no_memory(void)
{
    restore_now();
    tell("tandem: out of memory");
    _exit(1);
}

static void on_fatal(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (number == SIGSEGV && info->si_code > 0 && starving_at(info->si_addr)) on_no_memory();
    restore_now();
    raise(number); /* the default action is back (SA_RESETHAND) */
}

/* Where the terminal is still ours, or a library has not returned, it has called exit(), as some do when they get no
 * memory. */
static void at_exit(void)
{
    if (!restore_is_armed() && !starving_watched()) return;
    restore_now();
    tell("tandem: out of memory");
}

/* Every signal that ends the program unless something is done about it, but those of interrupt.h and shrunk.h. */
static bool ends(int number)
{
    static const int others[] = {SIGINT,  SIGTERM, SIGHUP,  SIGKILL, SIGSTOP,  SIGTSTP, SIGTTIN,
                                 SIGTTOU, SIGCONT, SIGCHLD, SIGURG,  SIGWINCH, SIGBUS};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (number == others[i]) return false;
    return true;
}

static bool is_fault(int number)
{
    return number == SIGSEGV || number == SIGFPE || number == SIGILL || number == SIGABRT;
}

void crash_catch_shrunk(void)
{
    shrunk_catch(restore_now, tell);
}

void crash_catch(void)
{
    static bool caught;
    if (caught) return;
    caught = true;
    struct sigaction ours = {.sa_sigaction = on_fatal, .sa_flags = SA_RESETHAND | SA_NODEFER | SA_SIGINFO}, before;
    sigemptyset(&ours.sa_mask);
    for (int number = 1; number <= SIGRTMAX; number++) {
        if (!ends(number) || sigaction(number, NULL, &before)) continue; /* the C library keeps some to itself */
        if (is_fault(number) || before.sa_handler == SIG_DFL) sigaction(number, &ours, NULL);
    }
    crash_catch_shrunk();
    tdm_set_panic_hook(on_panic);
    panic_set_hook(on_panic); /* the program has a base of its own where the engine is a shared library */
    setup_memory(on_no_memory);
    atexit(at_exit);
}
