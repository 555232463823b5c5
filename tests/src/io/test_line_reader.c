/* Lines of a pipe, whatever pieces they come in; and a signal always ends the wait. */
#include "src/io/line_reader.h"
#include "src/process/interrupt.h"
#include "tests/check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2];

static line_reader open_pipe(int flags)
{
    interrupt_catch();
    CHECK_INT(0, pipe2(ends, O_CLOEXEC | flags));
    return (line_reader){.fd = ends[0]};
}

static void write_text(const char *text)
{
    CHECK_INT((long)strlen(text), write(ends[1], text, strlen(text)));
}

static void expect(line_reader *l, const char *line)
{
    char *found = line_reader_next(l, NULL);
    CHECK_STR(line, found ? found : "(none)");
    free(found);
}

static void close_pipe(line_reader *l)
{
    line_reader_free(l);
    close(ends[0]);
}

TEST(lines_and_the_last_without_newline)
{
    line_reader l = open_pipe(0);
    write_text("one\n\nth");
    expect(&l, "one");
    expect(&l, "");
    write_text("ree\nfour");
    expect(&l, "three");
    close(ends[1]);
    expect(&l, "four");
    CHECK(!line_reader_next(&l, NULL));
    close_pipe(&l);
}

TEST(a_line_longer_than_a_read)
{
    char text[10002];
    line_reader l = open_pipe(0);
    memset(text, 'x', 10000);
    strcpy(text + 10000, "\n");
    write_text(text);
    text[10000] = 0;
    expect(&l, text);
    close(ends[1]);
    close_pipe(&l);
}

/* As pastes are: a carriage return at a line's end belongs to it, within a line it is a newline; no NUL, no mark of
 * byte order, valid UTF-8. */
TEST(lines_are_cleaned)
{
    static const char text[] = "\357\273\277one\r\ntw\0o\r\r\na\rb\n\377\303\n\0\n\r\nlast\r";
    line_reader l = open_pipe(0);
    CHECK_INT((long)sizeof text - 1, write(ends[1], text, sizeof text - 1));
    close(ends[1]);
    expect(&l, "one");
    expect(&l, "two\n");
    expect(&l, "a\nb");
    expect(&l, "\357\277\275\357\277\275");
    expect(&l, "");
    expect(&l, "");
    expect(&l, "last");
    CHECK(!line_reader_next(&l, NULL));
    close_pipe(&l);
}

/* What isn't there yet is no end. */
TEST(a_non_blocking_pipe_is_waited_for)
{
    line_reader l = open_pipe(O_NONBLOCK);
    pid_t child = fork();
    if (!child) {
        usleep(20000);
        _exit(write(ends[1], "late\n", 5) != 5);
    }
    expect(&l, "late");
    waitpid(child, NULL, 0);
    close(ends[1]);
    close_pipe(&l);
}

TEST(a_signal_before_the_wait_ends_it)
{
    line_reader l = open_pipe(0);
    raise(SIGINT);
    CHECK(!line_reader_next(&l, NULL));
    interrupt_catch();
    write_text("after\n");
    expect(&l, "after"); /* it is forgotten */
    raise(SIGTERM);
    CHECK(!line_reader_next(&l, NULL));
    close(ends[1]);
    close_pipe(&l);
}

TEST_MAIN(T(lines_and_the_last_without_newline), T(a_line_longer_than_a_read), T(lines_are_cleaned),
          T(a_non_blocking_pipe_is_waited_for), T(a_signal_before_the_wait_ends_it))
