/* Questions to a terminal, and the wait for their answers before it is given back. */
#include "tests/check.h"

#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "src/io/clip.h"
#include "ui/terminal/questions.h"

static int master, slave;

static bool open_terminal(void)
{
    return openpty(&master, &slave, NULL, NULL, NULL) == 0;
}

static void close_terminal(void)
{
    close(master);
    close(slave);
}

static void answer(const char *bytes)
{
    CHECK_INT(strlen(bytes), write(master, bytes, strlen(bytes)));
}

/* What a shell would find typed. */
static bool is_left(void)
{
    struct termios raw;
    tcgetattr(slave, &raw);
    raw.c_lflag &= ~(tcflag_t)ICANON;
    tcsetattr(slave, TCSANOW, &raw);
    struct pollfd fd = {.fd = slave, .events = POLLIN};
    return poll(&fd, 1, 0) > 0;
}

TEST(answers_on_their_way_are_waited_for)
{
    struct termios before, after;
    if (!open_terminal()) SKIP("no pseudo-terminal");
    tcgetattr(slave, &before);
    questions_asked(slave, clock_ns());
    CHECK(questions_open());
    answer("\033]11;rgb:1e1e/1e1e/1e1e\033\\\033[?2026;2$y\033[>84;0;0cls\033[?62;22c");
    questions_end();
    CHECK(!questions_open());
    tcgetattr(slave, &after);
    CHECK_INT(before.c_lflag, after.c_lflag);
    CHECK(!is_left());
    CHECK_INT(84, questions_identity());
    close_terminal();
}

TEST(what_was_typed_meanwhile_is_given_out)
{
    char bytes[64];
    if (!open_terminal()) SKIP("no pseudo-terminal");
    questions_asked(slave, clock_ns());
    questions_heard("\033[?6", 4); /* the loop has read a part of the answer */
    answer("2;22cls");
    size_t n = questions_wait(bytes, sizeof bytes, QUESTIONS_END_NS);
    CHECK_INT(7, n);
    CHECK(!memcmp(bytes, "2;22cls", 7));
    CHECK(!questions_open());
    CHECK_INT(0, questions_wait(bytes, sizeof bytes, QUESTIONS_END_NS)); /* nothing is asked any more */
    close_terminal();
}

/* Where a machine is busy, the time may be over before the answer that has come is read. */
TEST(what_has_come_is_taken_however_late)
{
    char bytes[64];
    struct termios raw;
    if (!open_terminal()) SKIP("no pseudo-terminal");
    tcgetattr(slave, &raw);
    cfmakeraw(&raw);
    tcsetattr(slave, TCSANOW, &raw);
    questions_asked(slave, clock_ns());
    answer("\033[?62;22c");
    CHECK_INT(1, poll(&(struct pollfd){.fd = slave, .events = POLLIN}, 1, CHECK_PATIENCE_MS));
    CHECK_INT(9, questions_wait(bytes, sizeof bytes, 0));
    CHECK(!questions_open() && !is_left());
    close_terminal();
}

TEST(nobody_answers)
{
    if (!open_terminal()) SKIP("no pseudo-terminal");
    questions_asked(slave, clock_ns() - QUESTIONS_EXPECT_NS); /* long ago: it isn't waited for */
    CHECK(!questions_open());
    questions_asked(slave, clock_ns());
    close(master); /* nor is one that has gone */
    questions_end();
    CHECK(!questions_open());
    close(slave);
}

static void hear(const char *bytes)
{
    questions_asked(-1, clock_ns());
    for (const char *at = bytes; *at; at++) questions_heard(at, 1);
}

TEST(who_it_is)
{
    hear("\033[>83;40900;0c\033[?1;2c");
    CHECK_INT(83, questions_identity());
    CHECK(!questions_open());
    hear("\x9b>41;354;0c\x9b?62c");
    CHECK_INT(41, questions_identity());
    CHECK(!questions_open());
    hear("\xc2\x9b>99999999999999999999;0;0c\033[?c");
    CHECK(questions_identity() > 0 && !questions_open());
    hear("\033[?2026;2$y\033[1;2Rc\033[?\033[A");
    CHECK(questions_open());
}

/* What the terminal says of itself goes before what the environment says of it. */
TEST(the_clipboard_believes_the_terminal)
{
    static const struct {
        const char *term, *tmux, *said, *begins;
    } cases[] = {
        {"screen-256color", NULL, "\033[>84;0;0c", "\033]52"},
        {"tmux-256color", NULL, "\033[>83;40900;0c", "\033P\033]52"},
        {"xterm-256color", NULL, "\033[>83;40900;0c", "\033P\033]52"},
        {"screen", "/nonexistent,1,0", "\033[>41;354;0c", "\033]52"},
        {"screen", NULL, "\033[>0;100;0c", "\033]52"},
    };
    setenv("PATH", "/nonexistent", 1);
    unsetenv("WAYLAND_DISPLAY");
    unsetenv("DISPLAY");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clipboard_result r = {0};
        setenv("TERM", cases[i].term, 1);
        if (cases[i].tmux) setenv("TMUX", cases[i].tmux, 1);
        else unsetenv("TMUX");
        hear(cases[i].said);
        REQUIRE(!clip_copy("foo", 3, true, &r, NULL));
        if (strncmp(r.escape, cases[i].begins, strlen(cases[i].begins))) CHECK_FAIL("case %zu: %s", i, r.escape + 1);
        free(r.escape);
    }
}

TEST_MAIN(T(answers_on_their_way_are_waited_for), T(what_was_typed_meanwhile_is_given_out),
          T(what_has_come_is_taken_however_late), T(nobody_answers), T(who_it_is),
          T(the_clipboard_believes_the_terminal))
