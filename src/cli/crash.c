#include "src/cli/crash.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/tandem.h"
#include "ui/edit/line_memory.h"
#include "ui/terminal/decoder.h"
#include "ui/terminal/term.h"

/* With nothing but system calls: also called from signal handlers and from the engine's threads. */
static void restore(void)
{
    static const char off[] = DECODER_MODES_OFF;
    file_write_all(STDOUT_FILENO, off, sizeof off - 1);
    term_emergency();
}

static void on_panic(const char *line)
{
    restore();
    file_write_all(STDERR_FILENO, line, strlen(line));
    file_write_all(STDERR_FILENO, "\n", 1);
}

static void on_fatal(int number)
{
    restore();
    raise(number); /* the default action is back (SA_RESETHAND) */
}

static void tell_no_memory(void)
{
    static const char line[] = "tandem: out of memory\n";
    file_write_all(STDERR_FILENO, line, sizeof line - 1);
}

static _Noreturn void on_no_memory(void)
{
    restore();
    tell_no_memory();
    _exit(1);
}

/* With the screen still open somebody else has called exit(): the terminal's library does where it gets no memory. */
static void at_exit(void)
{
    if (!term_is_open()) return;
    restore();
    tell_no_memory();
}

void crash_catch(void)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction a = {.sa_handler = on_fatal, .sa_flags = SA_RESETHAND | SA_NODEFER};
    sigemptyset(&a.sa_mask);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) sigaction(fatal[i], &a, NULL);
    tdm_set_panic_hook(on_panic);
    line_memory_reserve(on_no_memory);
    atexit(at_exit);
}
