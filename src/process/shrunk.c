#include "src/process/shrunk.h"

#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "engine/tandem.h"

static void (*give_back)(void);
static void (*say)(const char *line);
static atomic_flag telling = ATOMIC_FLAG_INIT;
static char line[PATH_MAX + 128];

/* ---- With nothing but system calls ------------------------------------------------------------------------------- */

static void add(const char *text)
{
    size_t n = strlen(line), more = strnlen(text, sizeof line - 1 - n);
    memcpy(line + n, text, more);
    line[n + more] = 0;
}

static void add_number(uint64_t n)
{
    char digits[21], *at = digits + sizeof digits - 1;
    *at = 0;
    do *--at = (char)('0' + n % 10);
    while (n /= 10);
    add(at);
}

static _Noreturn void tell(const tdm_mapped *file)
{
    /* Several threads may read the same file. */
    while (atomic_flag_test_and_set(&telling)) pause();
    if (give_back) give_back();
    if (isatty(STDERR_FILENO)) add("\r\033[K"); /* a line of progress may stand there */
    add("tandem: ");
    add(file->path);
    if (file->bytes_now < file->bytes) {
        add(" shrank while it was in use: expected ");
        add_number(file->bytes);
        add(" bytes, found ");
        add_number(file->bytes_now);
    } else {
        add(" can't be read any more: the disk or share that it is on has failed");
    }
    say(line);
    _exit(1);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    tdm_mapped file;
    (void)context;
    if (info->si_code > 0 && tdm_mapped_find(info->si_addr, &file)) tell(&file);
    if (give_back) give_back();
    signal(number, SIG_DFL);
    raise(number);
}

/* ---- Setting up -------------------------------------------------------------------------------------------------- */

void shrunk_catch(void (*terminal)(void), void (*words)(const char *line))
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_NODEFER};
    give_back = terminal;
    say = words;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
