/* A broken invariant within the full screen: the terminal is given back, and then its line is there to be read. */
#include "tests/check.h"

#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "src/process/crash.h"
#include "ui/terminal/term.h"

enum { LONGEST = 1 << 16 };

static void draw_and_break(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setenv("TERM", "xterm-256color", 1);
    crash_catch();
    struct term *t = term_open(NULL, STDOUT_FILENO, STDIN_FILENO, -1, -1);
    if (t) panic("two and two are five");
    _exit(1);
}

/* What a program that breaks has written to its terminal, and apart from that to its standard error where `apart`. */
static bool broken(bool apart, char out[LONGEST], char err[LONGEST])
{
    int master, errors[2], status = 0;
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    size_t n = 0, n_err = 0;
    ssize_t got;
    if (pipe(errors)) return false;
    fflush(stdout);
    pid_t child = forkpty(&master, NULL, NULL, &size);
    if (child < 0) return false;
    if (child == 0) {
        if (apart) dup2(errors[1], STDERR_FILENO);
        close(errors[0]);
        close(errors[1]);
        draw_and_break();
    }
    close(errors[1]);
    while (n < LONGEST - 1 && (got = read(master, out + n, LONGEST - 1 - n)) > 0) n += (size_t)got;
    while (n_err < LONGEST - 1 && (got = read(errors[0], err + n_err, LONGEST - 1 - n_err)) > 0) n_err += (size_t)got;
    out[n] = err[n_err] = 0;
    close(errors[0]);
    close(master);
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    return true;
}

static const char leaves[] = "\033[?1049l",
                  line[] = "tandem: bug at tests/src/process/test_crash.c:", what[] = ": two and two are five";

TEST(the_line_stands_on_the_screen_that_was_given_back)
{
    static char out[LONGEST], err[LONGEST];
    REQUIRE(broken(false, out, err));
    char *left = strstr(out, leaves), *said = strstr(out, line);
    REQUIRE(left && said);
    CHECK(said > left);
    CHECK(strstr(said, what));
    CHECK(strstr(said, "\r\n")); /* the line discipline is back as well */
    CHECK(!strstr(left + 1, leaves));
}

TEST(the_line_goes_to_standard_error)
{
    static char out[LONGEST], err[LONGEST];
    REQUIRE(broken(true, out, err));
    CHECK(strstr(out, leaves) && !strstr(out, line));
    CHECK(!strncmp(err, line, strlen(line)));
    CHECK(strstr(err, what) && strchr(err, '\n') == err + strlen(err) - 1);
}

TEST_MAIN(T(the_line_stands_on_the_screen_that_was_given_back), T(the_line_goes_to_standard_error))
