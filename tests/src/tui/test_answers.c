/* A terminal that answers late: what it was asked is waited for before it is given back, so that nothing is typed into
 * the shell, whatever ends the program. Here the test is the terminal, and no emulation answers for it. */
#include "tests/check.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include "engine/base/clock.h"
#include "engine/os/start.h"
#include "ui/terminal/questions.h"

enum { TRIES = 5 };

#define ANSWERS "\033]11;rgb:1e1e/1e1e/1e1e\033\\\033[?2026;2$y\033[>84;0;0c\033[?62;22c"

static struct {
    int master, slave;
    pid_t child;
    char said[1 << 20];
    size_t n;
} t;

static bool start(const char *const *arguments)
{
    static const char *const homes[] = {"XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME",
                                        "HOME"};
    const char *program = getenv("TANDEM");
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    t.n = 0;
    if (openpty(&t.master, &t.slave, NULL, NULL, &size)) return false;
    fcntl(t.master, F_SETFD, FD_CLOEXEC);
    t.child = fork();
    if (t.child == 0) {
        for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) setenv(homes[i], check_tmp(), 1);
        setenv("TERM", "xterm-256color", 1);
        setenv("LC_ALL", "C.UTF-8", 1);
        unsetenv("NO_COLOR");
        unsetenv("TMUX");
        start_signals(); /* a shell's background ignores SIGQUIT, and so would the program */
        login_tty(dup(t.slave));
        execv(program ? program : "build/tandem", (char *const *)arguments);
        _exit(127);
    }
    return t.child > 0;
}

/* Takes what the program writes until it has written that, after what was waited for last. */
static bool said(const char *text)
{
    static size_t from;
    if (!t.n) from = 0;
    for (;;) {
        char *at = memmem(t.said + from, t.n - from, text, strlen(text));
        if (at) {
            from = (size_t)(at - t.said) + strlen(text);
            return true;
        }
        struct pollfd fd = {.fd = t.master, .events = POLLIN};
        if (poll(&fd, 1, CHECK_PATIENCE_MS) <= 0 || t.n == sizeof t.said) return false;
        ssize_t n = read(t.master, t.said + t.n, sizeof t.said - t.n);
        if (n <= 0) return false;
        t.n += (size_t)n;
    }
}

static void type(const char *bytes)
{
    CHECK_INT(strlen(bytes), write(t.master, bytes, strlen(bytes)));
}

/* Waits for the program's end; whether there is something for the shell to read. */
static bool left_anything(int *status)
{
    struct termios raw;
    struct pollfd fds[2] = {{.fd = t.slave, .events = POLLIN}, {.fd = t.master, .events = POLLIN}};
    char bytes[4096];
    while (waitpid(t.child, status, WNOHANG) == 0)
        if (poll(fds + 1, 1, 20) > 0 && read(t.master, bytes, sizeof bytes) <= 0) break;
    tcgetattr(t.slave, &raw);
    CHECK((raw.c_lflag & ICANON) && (raw.c_lflag & ECHO));
    raw.c_lflag &= ~(tcflag_t)ICANON;
    tcsetattr(t.slave, TCSANOW, &raw);
    bool any = poll(fds, 1, 0) > 0;
    if (any) {
        ssize_t n = read(t.slave, bytes, sizeof bytes);
        printf("# the shell reads %zd bytes: %.*s\n", n, n > 1 ? (int)n - 1 : 0, bytes + 1);
    }
    close(t.master);
    close(t.slave);
    return any;
}

static const char *const chat[] = {"tandem", "chat", "--measure-idle=off", NULL};
static const char *const plain[] = {"tandem", "chat", "--plain", "--temp", "0", "-n", "8", NULL};

/* What a program that was asked since then, and told to leave since then, does with answers. False: they came when
 * nobody waits for them any more, as may be where a machine is busy; then there was nothing to judge. */
static bool answered_in_time(int64_t asked_ns, int64_t told_ns, int *status)
{
    type(ANSWERS);
    int64_t now = clock_ns();
    bool in_time = now - asked_ns < QUESTIONS_EXPECT_NS && now - told_ns < QUESTIONS_END_NS;
    bool left = left_anything(status);
    CHECK(!in_time || !left);
    return in_time;
}

/* signal 0: by a key. */
static bool leave(int signal)
{
    int status;
    int64_t started = clock_ns();
    if (!start(chat)) {
        check_skipped = "no pseudo-terminal";
        return true;
    }
    bool asked = said("\033[>c\033[c");
    int64_t told = clock_ns();
    if (signal)
        kill(t.child, signal);
    else
        type("\004");
    bool gives_back = asked && said("\033[?2004l");
    if (!gives_back) CHECK_FAIL("told by signal %d: does not give the terminal back", signal);
    bool judged = answered_in_time(started, told, &status);
    bool by_signal = signal == SIGQUIT || signal == SIGSEGV;
    CHECK(by_signal ? WIFSIGNALED(status) && WTERMSIG(status) == signal : WIFEXITED(status) && !WEXITSTATUS(status));
    return judged || !gives_back;
}

TEST(leaving_waits_for_answers)
{
    static const int signals[] = {0, SIGTERM, SIGQUIT, SIGSEGV};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        for (int tries = 0; tries < TRIES && !leave(signals[i]); tries++) {
        }
}

static bool copy_and_leave(void)
{
    int status;
    if (!start(plain)) {
        check_skipped = "no pseudo-terminal";
        return true;
    }
    bool answers = said("> ");
    type("Hello.\n");
    answers = answers && said(" read before Enter | ") && said("> ");
    int64_t asked = clock_ns();
    type("/copy\n");
    answers = answers && said("\033[>c\033[c") && said("\033]52;c;") && said("> "); /* it doesn't wait for ever */
    int64_t told = clock_ns();
    type("\004");
    answers = answers && said("\033[?2004l");
    CHECK(answers);
    bool judged = answered_in_time(asked, told, &status);
    CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
    return judged || !answers;
}

/* Line by line it is asked when something is copied. */
TEST(line_by_line_too)
{
    setenv("PATH", "/nonexistent", 1); /* no helper copies */
    unsetenv("DISPLAY");
    unsetenv("WAYLAND_DISPLAY");
    for (int tries = 0; tries < TRIES && !copy_and_leave(); tries++) {
    }
}

TEST_MAIN(T(leaving_waits_for_answers), T(line_by_line_too))
