/* Signals whose default ends the program, in everything that has changed the modes of the terminal: it is given back,
 * and the program ends by that same signal. And a terminal that takes nothing: the program can be told to leave. */
#include "tests/check.h"
#include "tests/src/tui/rig.h"

#include <fcntl.h>
#include <glob.h>
#include <locale.h>
#include <pty.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "src/process/crash.h"
#include "ui/terminal/probe.h"

static const char *const screen[] = {"chat", "--temp", "0", "-c", "2048", NULL};
static const char *const plain[] = {"chat", "--plain", "--temp", "0", "-c", "2048", NULL};
static const char *const story[] = {"chat", "--plain", "--temp", "0", "-c", "2048", "--ignore-eos", NULL};

static int signals(const int **out)
{
    static int all[80];
    static const int named[] = {SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGPWR,
                                SIGSYS,  SIGIO,   SIGTRAP, SIGSEGV, SIGABRT,   SIGFPE,  SIGBUS,  SIGILL};
    int n = 0;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) all[n++] = named[i];
#ifdef SIGSTKFLT
    all[n++] = SIGSTKFLT;
#endif
    all[n++] = SIGRTMIN;
    all[n++] = SIGRTMAX;
    *out = all;
    return n;
}

/* The terminal is as it was, and the status says which signal. */
static void check_killed(int number)
{
    rig_kill(number);
    int status = rig_end();
    if (!WIFSIGNALED(status) || WTERMSIG(status) != number) CHECK_FAIL("signal %d: status %d", number, status);
    if (rig_alternate() || !rig_cooked()) CHECK_FAIL("signal %d: the terminal is not given back", number);
}

static bool is_sanitized(int number)
{
    return check_slow() && (number == SIGSEGV || number == SIGABRT || number == SIGFPE || number == SIGBUS ||
                            number == SIGILL || number == SIGTRAP);
}

TEST(the_screen)
{
    const int *all;
    const char *home = check_tmp();
    int n = signals(&all);
    for (int i = 0; i < n; i++) {
        if (is_sanitized(all[i])) continue; /* has its own way with them */
        REQUIRE(rig_start(home, 24, 80, "xterm-256color", screen) && rig_wait("IDLE"));
        check_killed(all[i]);
        CHECK(rig_count("\033[<u") == rig_count("\033[>1u") && rig_count("\033[?2004l"));
    }
}

TEST(a_line_is_typed)
{
    static const int some[] = {SIGQUIT, SIGUSR1, SIGALRM, SIGSYS};
    const char *home = check_tmp();
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        REQUIRE(rig_start(home, 24, 80, "xterm-256color", plain) && rig_said("> "));
        rig_type("a line");
        REQUIRE(rig_wait("> a line"));
        check_killed(some[i]);
        CHECK(rig_count("\033[?2004l") > 0);
    }
}

TEST(a_reply_is_written_line_by_line)
{
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", story) && rig_said("> "));
    rig_type("Tell me a story.\n");
    REQUIRE(rig_said("the"));
    REQUIRE(!rig_is_cooked());
    check_killed(SIGUSR2);
}

TEST(text_to_be_copied)
{
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", screen) && rig_wait("IDLE"));
    rig_type("Hi\r");
    REQUIRE(rig_wait("read before Enter"));
    rig_type("\x18" "c");
    REQUIRE(rig_wait("a key goes back to tandem"));
    while (rig_is_cooked()) REQUIRE(rig_take(20));
    check_killed(SIGUSR1);
}

/* In the locale C, for as long as it is asked. */
static _Noreturn void probe(void)
{
    char typed[PROBE_TYPED];
    size_t n;
    setlocale(LC_ALL, "C");
    crash_catch();
    for (;;) probe_utf8(STDIN_FILENO, STDOUT_FILENO, -1, typed, &n);
}

TEST(the_question_about_utf8)
{
    int master, status = 0;
    struct termios before, after;
    char seen[4096] = "";
    size_t n = 0;
    REQUIRE(openpty(&master, &(int){0}, NULL, NULL, NULL) == 0);
    REQUIRE(!tcgetattr(master, &before));
    close(master);
    fflush(stdout);
    pid_t child = forkpty(&master, NULL, &before, NULL);
    REQUIRE(child >= 0);
    if (!child) probe();
    for (ssize_t got; !strstr(seen, "\033[6n") && n < sizeof seen - 1; seen[n] = 0)
        if ((got = read(master, seen + n, sizeof seen - 1 - n)) > 0) n += (size_t)got;
        else break;
    CHECK(strstr(seen, "\033[6n"));
    kill(child, SIGUSR1);
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
    REQUIRE(!tcgetattr(master, &after));
    CHECK_INT((int)before.c_lflag, (int)after.c_lflag);
    close(master);
}

/* ---- An editor --------------------------------------------------------------------------------------------------- */

TEST(an_editor_ignores_no_signal)
{
    rig_environment("VISUAL=sed -n 's/^SigIgn:./ignored: /p' /proc/self/status >");
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", screen) && rig_wait("IDLE"));
    rig_type("\x18\x05");
    CHECK(rig_wait("> ignored: 0000000180000000") || rig_shows("> ignored: 0000000000000000")); /* glibc's own two */
    rig_kill(SIGTERM);
    rig_end();
    rig_environment(NULL);
}

/* It runs in front, and what it has written so far is the draft. */
TEST(an_editor_ends_with_the_program)
{
    rig_environment("VISUAL=put() { echo wom''bat >\"$1\"; cat \"$1\"; exec sleep 1000; }; put");
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", screen) && rig_wait("IDLE"));
    rig_type("Hi\r");
    REQUIRE(rig_wait("read before Enter"));
    rig_type("\x18\x05");
    REQUIRE(rig_said("wombat"));
    rig_kill(SIGTERM);
    int status = rig_end();
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(rig_cooked() && rig_shows("is kept"));
    rig_environment(NULL);
    static const char *const again[] = {"chat", "--temp", "0", "-c", "2048", "--resume", NULL};
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", again) && rig_wait("> wombat"));
    rig_kill(SIGTERM);
    rig_end();
}

/* ---- A terminal that takes nothing ------------------------------------------------------------------------------- */

static int saved(const char *home)
{
    char pattern[1000];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/tandem/sessions/*.json", home);
    int n = glob(pattern, 0, NULL, &found) ? 0 : (int)found.gl_pathc;
    globfree(&found);
    return n;
}

static void check_left(const char *home, int before)
{
    int status = rig_end(); /* waits for it a minute */
    CHECK(WIFEXITED(status));
    CHECK(rig_cooked());
    CHECK_INT(before + 1, saved(home));
}

TEST(a_screen_that_takes_nothing)
{
    static const int told[] = {SIGTERM, SIGHUP, SIGINT};
    const char *home = check_tmp();
    for (int i = 0; i < (int)(sizeof told / sizeof *told); i++) {
        int before = saved(home);
        REQUIRE(rig_start(home, 24, 80, "xterm-256color", screen) && rig_wait("IDLE"));
        rig_type("Hi\r");
        REQUIRE(rig_wait("read before Enter"));
        REQUIRE(rig_stall());
        rig_type("a draft");
        rig_kill(told[i]);
        check_left(home, before);
    }
}

TEST(the_last_bytes_of_a_screen)
{
    const char *home = check_tmp();
    int before = saved(home);
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", screen) && rig_wait("IDLE"));
    rig_type("Hi\r");
    REQUIRE(rig_wait("read before Enter"));
    REQUIRE(rig_stall());
    rig_type("\x04");
    rig_kill(SIGTERM);
    check_left(home, before);
}

TEST(lines_that_nobody_takes)
{
    const char *home = check_tmp();
    int before = saved(home);
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", story) && rig_said("> "));
    rig_type("Tell me a story.\n");
    REQUIRE(rig_said("the"));
    REQUIRE(rig_stall());
    rig_kill(SIGTERM);
    check_left(home, before);
    before = saved(home);
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", plain) && rig_said("> "));
    rig_type("Hi\n");
    REQUIRE(rig_said("read before Enter") && rig_said("> "));
    REQUIRE(rig_stall());
    rig_type("a draft");
    rig_kill(SIGTERM);
    check_left(home, before);
}

TEST(a_signal_where_nothing_is_taken)
{
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", screen) && rig_wait("IDLE"));
    REQUIRE(rig_stall());
    rig_type("a draft");
    rig_kill(SIGUSR1);
    int status = rig_end();
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
    CHECK(rig_cooked());
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {T(the_screen), T(a_line_is_typed), T(a_reply_is_written_line_by_line),
                                              T(text_to_be_copied), T(the_question_about_utf8),
                                              T(an_editor_ignores_no_signal), T(an_editor_ends_with_the_program),
                                              T(a_screen_that_takes_nothing), T(the_last_bytes_of_a_screen),
                                              T(lines_that_nobody_takes), T(a_signal_where_nothing_is_taken)};
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
