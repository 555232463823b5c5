#include "src/cli/crash.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/tandem.h"
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

void crash_catch(void)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction a = {.sa_handler = on_fatal, .sa_flags = SA_RESETHAND | SA_NODEFER};
    sigemptyset(&a.sa_mask);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) sigaction(fatal[i], &a, NULL);
    tdm_set_panic_hook(on_panic);
}
