/* Commands of the program in which one allocation after the other fails (shared_memory.c): each ends with status 0, or
 * with a line and status 1, and never by a signal. In its short form some allocations of each; TANDEM_LONG=1: all. */
#include "tests/check.h"
#include "tests/src/tui/rig.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/cli/files.h"

enum { PATIENCE_S = 60, MOST_ARGUMENTS = 8 };

/* What a command ended with. */
struct ended {
    int status; /* -1: by a signal, or not within its time */
    char *line; /* the last one of standard error; "": none */
};

static char library[4096], home[1024];

static bool prepare(void)
{
    if (check_slow()) {
        check_skipped = "a sanitizer has an allocator of its own, and an emulator would be preloaded itself";
        return false;
    }
    ssize_t n = readlink("/proc/self/exe", library, sizeof library - 32);
    library[n > 0 ? n : 0] = 0;
    strcpy(strrchr(library, '/'), "/shared_memory.so");
    snprintf(home, sizeof home, "%s", check_tmp());
    CHECK(access(library, R_OK) == 0);
    return true;
}

static const char *in_home(const char *name)
{
    static char path[2][sizeof home + 32];
    static unsigned calls;
    char *out = path[calls++ % 2];
    snprintf(out, sizeof *path, "%s/%s", home, name);
    return out;
}

static void starve(const char *at, const char *count)
{
    if (at) setenv("STARVE_AT", at, 1);
    else unsetenv("STARVE_AT");
    if (count) setenv("STARVE_COUNT", count, 1);
    else unsetenv("STARVE_COUNT");
}

static _Noreturn void be_program(const char *const *arguments, const char *input)
{
    static const char *const names[] = {"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"};
    const char *argv[MOST_ARGUMENTS + 2] = {getenv("TANDEM") ? getenv("TANDEM") : "build/tandem"};
    for (int i = 0; arguments[i]; i++) argv[i + 1] = arguments[i];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) setenv(names[i], home, 1);
    setenv("LD_PRELOAD", library, 1);
    int in = open(in_home("in"), O_RDWR | O_CREAT | O_TRUNC, 0600), out = open("/dev/null", O_WRONLY);
    int err = open(in_home("err"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    bool good = write(in, input, strlen(input)) == (ssize_t)strlen(input) && lseek(in, 0, SEEK_SET) == 0;
    if (!good || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(99);
    alarm(PATIENCE_S);
    execv(argv[0], (char **)argv);
    _exit(98);
}

static struct ended run(const char *const *arguments, const char *input)
{
    struct ended e = {.status = -1};
    int status = 0;
    size_t n = 0;
    fflush(stdout);
    pid_t child = fork();
    if (!child) be_program(arguments, input);
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) e.status = WEXITSTATUS(status);
    if (files_read(in_home("err"), 1 << 20, &e.line, &n, NULL)) n = 0;
    while (n && e.line[n - 1] == '\n') e.line[--n] = 0;
    char *newline = n ? strrchr(e.line, '\n') : NULL;
    if (newline) memmove(e.line, newline + 1, strlen(newline));
    if (!n) e.line = strdup("");
    return e;
}

static long counted(void)
{
    char *text = NULL;
    size_t n;
    long count = files_read(in_home("count"), 100, &text, &n, NULL) ? 0 : atol(text);
    free(text);
    return count;
}

/* Of every allocation, or of a few that lie evenly. */
static long step_of(long count, long few)
{
    return getenv("TANDEM_LONG") || count < few ? 1 : count / few;
}

/* The status, where it is one that a lack of memory may have. */
static int try_at(const char *const *arguments, const char *input, const char *at)
{
    starve(at, NULL);
    struct ended e = run(arguments, input);
    bool good = e.status == 0 || (e.status == 1 && e.line[0]);
    if (!good) CHECK_FAIL("%s, allocation %s: status %d, '%s'", arguments[0], at, e.status, e.line);
    free(e.line);
    return e.status;
}

static void try(const char *const *arguments, const char *input, long few)
{
    starve(NULL, in_home("count"));
    struct ended whole = run(arguments, input);
    CHECK_INT(0, whole.status);
    free(whole.line);
    long count = counted(), step = step_of(count, few);
    CHECK(count > 20);
    for (long at = 1 + step / 2; at <= count; at += step) {
        char text[32];
        snprintf(text, sizeof text, "%ld", at);
        try_at(arguments, input, text);
    }
    CHECK_INT(1, try_at(arguments, input, "1+")); /* all of them */
}

#define TRY(input, few, ...)                                                            \
    do {                                                                                \
        if (prepare()) try((const char *const[]){__VA_ARGS__, NULL}, input, few);       \
    } while (0)

TEST(a_prompt)
{
    TRY("", 8, "run", "Hi", "-n", "2");
    TRY("", 5, "run", "Hi", "-n", "2", "--json", "--answers", "2");
}

TEST(a_conversation)
{
    TRY("Hi\n/sessions\n/help\n/undo\n/quit\n", 10, "--plain", "-n", "2");
}

TEST(a_conversation_that_is_resumed)
{
    static const char *const first[] = {"--plain", "-n", "2", NULL};
    if (!prepare()) return;
    starve(NULL, NULL);
    struct ended e = run(first, "Hi\n/quit\n");
    CHECK_INT(0, e.status);
    free(e.line);
    TRY("Hi\n/quit\n", 8, "--plain", "--resume", "-n", "2");
}

TEST(what_is_told)
{
    TRY("", 5, "info");
    TRY("", 4, "info", "--json");
    TRY("", 6, "models");
    TRY("", 4, "models", "--json");
    TRY("", 5, "config");
    TRY("", 4, "tokenize", "Hi");
}

/* ---- The screen -------------------------------------------------------------------------------------------------- */

/* Takes what comes until the reply is there, or it is clear that there will be none. */
static void talk(void)
{
    static const char *const done[] = {"READY", "FAILED", "memory", "tok/s"};
    bool shown = false;
    for (int i = 0; i < 200 && !shown; i++) {
        if (!rig_take(50)) return;
        for (size_t k = 0; k < sizeof done / sizeof *done; k++) shown |= rig_shows(done[k]);
    }
}

static int on_screen(void)
{
    static const char *const arguments[] = {"--temp", "0", "-n", "2", NULL};
    if (!rig_start(home, 24, 80, "xterm-256color", arguments)) return -1;
    rig_type("Hi\n");
    talk();
    rig_kill(SIGTERM);
    int status = rig_end();
    CHECK(!rig_alternate());
    CHECK(rig_cooked());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(the_screen)
{
    static char preload[sizeof library + 16];
    if (!prepare()) return;
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
    rig_environment(preload);
    starve(NULL, in_home("count"));
    CHECK_INT(0, on_screen());
    long count = counted(), step = step_of(count, 6);
    CHECK(count > 1000);
    for (long at = 1 + step / 2; at <= count; at += step) {
        char text[32];
        snprintf(text, sizeof text, "%ld", at);
        starve(text, NULL);
        int status = on_screen();
        if (status != 0 && status != 1) CHECK_FAIL("allocation %ld of %ld: status %d", at, count, status);
    }
    rig_environment(NULL);
}

TEST_MAIN(T(a_prompt), T(a_conversation), T(a_conversation_that_is_resumed), T(what_is_told), T(the_screen))
