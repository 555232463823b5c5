/* Standard input, output and error that another program has made non-blocking: what isn't there yet is no end, and what
 * finds no room isn't lost. */
#include "tests/check.h"
#include "tests/src/tui/rig.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/os/file.h"

enum { ROOM = 4096, LIMIT = 1 << 18 };

static const char *program(void)
{
    return getenv("TANDEM") ? getenv("TANDEM") : "build/tandem";
}

static bool make_pipe(int ends[2])
{
    return !pipe2(ends, O_CLOEXEC) && fcntl(ends[1], F_SETPIPE_SZ, ROOM) > 0 &&
           !fcntl(ends[0], F_SETFL, O_NONBLOCK) && !fcntl(ends[1], F_SETFL, O_NONBLOCK);
}

/* The program with these as its standard input, output and error; below 0: /dev/null. */
static pid_t begin(const char *const *arguments, int in, int out, int err)
{
    static const char *home;
    if (!home) home = check_tmp();
    fflush(stdout);
    pid_t child = fork();
    if (child) return child;
    const int wanted[3] = {in, out, err};
    for (int i = 0; i < 3; i++) dup2(wanted[i] < 0 ? open("/dev/null", O_RDWR) : wanted[i], i);
    setenv("HOME", home, 1);
    execv(program(), (char **)arguments);
    _exit(98);
}

#ifdef SYS_poll
enum { POLL = SYS_poll };
#else
enum { POLL = SYS_ppoll };
#endif

/* Until it waits for a descriptor (its first thread is in this system call), or has ended. */
static void await_wait(pid_t child)
{
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)child);
    for (;; sched_yield()) {
        siginfo_t info = {0};
        if (!waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid) return;
        int fd = open(path, O_RDONLY);
        ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
        if (fd >= 0) close(fd);
        text[n > 0 ? n : 0] = 0;
        if (n <= 0 || atoi(text) == POLL) return; /* where it can't be asked, nothing is waited for */
    }
}

static int ended(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static size_t read_all(int fd, char *to)
{
    size_t n = 0;
    for (ssize_t got; n < LIMIT - 1 && (got = file_read(fd, to + n, LIMIT - 1 - n)) > 0;) n += (size_t)got;
    to[n] = 0;
    return n;
}

static bool fill(int fd)
{
    char bytes[ROOM] = {0};
    while (write(fd, bytes, sizeof bytes) > 0) {
    }
    return errno == EAGAIN;
}

TEST(standard_output)
{
    static char whole[LIMIT], text[LIMIT];
    const char *const help[] = {"tandem", "--help", NULL}, *const man[] = {"tandem", "--man", NULL},
                      *const config[] = {"tandem", "config", NULL}, *const *const all[] = {help, man, config};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int ends[2];
        REQUIRE(!pipe2(ends, O_CLOEXEC));
        pid_t child = begin(all[i], -1, ends[1], -1);
        close(ends[1]);
        size_t n = read_all(ends[0], whole);
        close(ends[0]);
        CHECK_INT(0, ended(child));
        REQUIRE(make_pipe(ends) && fill(ends[1]));
        child = begin(all[i], -1, ends[1], -1);
        close(ends[1]);
        await_wait(child);
        size_t got = read_all(ends[0], text);
        close(ends[0]);
        CHECK_INT(0, ended(child));
        CHECK_INT((int)(n + ROOM), (int)got);
        CHECK(!strcmp(whole, text + ROOM));
    }
}

TEST(standard_error)
{
    static char text[LIMIT];
    const char *const wrong[] = {"tandem", "--nonsense", NULL};
    int ends[2];
    REQUIRE(make_pipe(ends) && fill(ends[1]));
    pid_t child = begin(wrong, -1, -1, ends[1]);
    close(ends[1]);
    await_wait(child);
    size_t n = read_all(ends[0], text);
    close(ends[0]);
    CHECK(ended(child) > 0);
    CHECK(n > ROOM && text[n - 1] == '\n' && !strncmp(text + ROOM, "tandem", 6));
}

TEST(standard_input)
{
    static char text[LIMIT];
    const char *const run[] = {"tandem", "run", "--temp", "0", "-n", "3", "-", NULL},
                      *const lines[] = {"tandem", "--plain", "--private", "--temp", "0", "-n", "3", NULL};
    const char *const *const all[] = {run, lines};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int in[2], out[2];
        REQUIRE(make_pipe(in) && !pipe2(out, O_CLOEXEC));
        pid_t child = begin(all[i], in[0], out[1], -1);
        close(in[0]);
        close(out[1]);
        await_wait(child);
        CHECK(file_write_all(in[1], "Hello\n", 6));
        await_wait(child);
        close(in[1]);
        CHECK(read_all(out[0], text) > 3);
        close(out[0]);
        CHECK_INT(0, ended(child));
    }
}

/* ---- A terminal -------------------------------------------------------------------------------------------------- */

static const char unblock[] = "import os, sys\n"
                              "for fd in 0, 1, 2: os.set_blocking(fd, False)\n"
                              "os.execv(sys.argv[1], sys.argv[1:])\n";

static bool start(const char *path, int rows, int cols, const char *const *arguments)
{
    const char *argv[16] = {"python3", "-c", unblock, path};
    for (int i = 0; arguments[i]; i++) argv[4 + i] = arguments[i];
    setenv("TANDEM", "/usr/bin/env", 1);
    bool up = rig_start(check_tmp(), rows, cols, "xterm-256color", argv);
    setenv("TANDEM", path, 1);
    return up;
}

TEST(a_terminal)
{
    static char path[4096];
    static const char *const screen[] = {"chat", "--measure-idle=off", "--temp", "0", "-c", "2048", NULL},
                      *const plain[] = {"chat", "--plain", "--temp", "0", "-c", "2048", NULL};
    if (access("/usr/bin/python3", X_OK) || access("/usr/bin/env", X_OK)) {
        check_skipped = "no python3, which makes the terminal non-blocking";
        return;
    }
    REQUIRE(realpath(program(), path));
    REQUIRE(start(path, 100, 300, screen) && rig_wait("IDLE"));
    for (int i = 0; i < 20; i++) rig_resize(100 - i % 2, 300); /* whole frames, one after the other */
    rig_type("Hi\r");
    CHECK(rig_wait("read before Enter"));
    rig_type("\x04");
    CHECK_INT(0, rig_end());
    CHECK(rig_cooked());
    REQUIRE(start(path, 24, 80, plain) && rig_said("> "));
    rig_type("Hi\n");
    CHECK(rig_said("read before Enter") && rig_said("> "));
    rig_type("\x04");
    CHECK_INT(0, rig_end());
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {T(standard_output), T(standard_error), T(standard_input), T(a_terminal)};
    signal(SIGPIPE, SIG_IGN); /* of a program that has ended too early */
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
