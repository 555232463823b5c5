/* When a pipe's writer counts as done. How soon it must be is an argument: no test depends on a busy machine. */
#include "tests/check.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/commands/run_input.h"

enum { LONG_MS = 300000 };

/* A process that rests, writes n bytes to out, and ends, or with stays waits to be killed. */
static pid_t writer(int in, int out, int rest_ms, size_t n, bool stays)
{
    pid_t child = fork();
    if (child) return child;
    close(in);
    usleep((useconds_t)rest_ms * 1000);
    for (size_t i = 0; i < n; i++)
        if (write(out, "x", 1) != 1) _exit(1);
    if (stays) pause();
    _exit(0);
}

static bool done(int rest_ms, size_t n, bool stays, int ms)
{
    int ends[2];
    if (pipe(ends)) return false;
    pid_t child = writer(ends[0], ends[1], rest_ms, n, stays);
    close(ends[1]);
    bool is = run_input_ends_within(ends[0], ms);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ends[0]);
    return is;
}

TEST(a_writer_that_begins_late_is_waited_for)
{
    CHECK(done(50, 10, false, LONG_MS));
    CHECK(done(0, 0, false, LONG_MS));
}

TEST(a_writer_that_goes_on_is_not)
{
    CHECK(!done(0, 10, true, 30));
    CHECK(!done(0, 0, true, 0));
}

TEST(more_than_a_pipe_holds_ends_unread)
{
    CHECK(done(0, 100000, false, LONG_MS));
}

TEST(the_wait_is_two_tenths_of_a_second)
{
    CHECK_INT(200, RUN_INPUT_WAIT_MS);
}

TEST_MAIN(T(a_writer_that_begins_late_is_waited_for), T(a_writer_that_goes_on_is_not),
          T(more_than_a_pipe_holds_ends_unread), T(the_wait_is_two_tenths_of_a_second))
