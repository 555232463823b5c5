/* SIGSTOP, which the program can't know of, and Ctrl-Z, within a shell: after `fg` the modes are set again and all is
 * shown; after `bg` the terminal is the shell's alone. */
#include "tests/check.h"
#include "tests/src/tui/rig.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char program[4096], command[4096 + 200];

/* A shell with job control, and in it the program until it shows this. TERM is the program's alone: the shell writes no
 * sequences of its own. */
static bool start(const char *arguments, const char *shown)
{
    static const char *const interactive[] = {"-i", NULL};
    setenv("TANDEM", "/bin/sh", 1);
    rig_environment("PS1=$ ");
    bool up = rig_start(check_tmp(), 24, 80, "dumb", interactive) && rig_wait("$");
    setenv("TANDEM", program, 1);
    snprintf(command, sizeof command, "TERM=xterm-256color %s %s --temp 0 -c 2048\n", program, arguments);
    if (up) rig_type(command);
    return up && rig_said(shown);
}

/* Stops the program by that signal (0: Ctrl-Z), and does something to the modes of the terminal. */
static bool stop(int number)
{
    pid_t child = rig_grandchild();
    if (child <= 0) return false; /* the whole group would be meant */
    if (number) kill(child, number);
    else rig_type("\x1a");
    if (!rig_said("$ ")) return false;
    rig_type("stty sane; echo chan''ged\n");
    return rig_said("changed") && rig_said("$ ");
}

static bool put_behind(void)
{
    rig_type("bg\n");
    if (!rig_said("$ ")) return false;
    rig_type("echo be''hind\n");
    return rig_said("behind") && rig_said("$ ");
}

static void end_behind(void)
{
    rig_type("kill %1; wait; echo go''ne\n");
    CHECK(rig_said("gone"));
    CHECK(rig_is_cooked());
    rig_type("exit\n");
    int ended = rig_end();
    CHECK_INT(0, ended);
    if (ended) rig_print();
}

TEST(the_screen)
{
    static const int how[] = {SIGSTOP, SIGTSTP, 0};
    REQUIRE(start("chat --measure-idle=off", "\033[?1049h") && rig_wait("IDLE"));
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        REQUIRE(stop(how[i]));
        rig_type("fg\n");
        REQUIRE(rig_said("\033[?1049h") && rig_wait("IDLE"));
        CHECK(!rig_is_cooked());
        rig_type("xyz");
        CHECK(rig_wait("> xyz"));
        rig_type("\x15");
        CHECK(rig_wait_gone("> xyz"));
    }
    /* One that waits in the background is in front again without a signal. */
    REQUIRE(stop(SIGSTOP));
    int shown = rig_count("\033[");
    REQUIRE(put_behind());
    CHECK_INT(shown, rig_count("\033["));
    rig_type("fg\n");
    REQUIRE(rig_said("\033[?1049h") && rig_wait("IDLE"));
    CHECK(!rig_is_cooked());
    REQUIRE(stop(0));
    shown = rig_count("\033[");
    REQUIRE(put_behind());
    end_behind();
    CHECK_INT(shown, rig_count("\033["));
}

TEST(a_line_is_typed)
{
    static const int how[] = {SIGSTOP, 0};
    REQUIRE(start("chat --plain", "> "));
    rig_type("some words");
    REQUIRE(rig_said("some words"));
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        REQUIRE(stop(how[i]));
        rig_type("fg\n");
        REQUIRE(rig_said("> some words"));
        CHECK(!rig_is_cooked());
    }
    REQUIRE(stop(SIGSTOP) && put_behind());
    int shown = rig_count("> some words");
    rig_type("fg\n");
    REQUIRE(rig_said("> some words"));
    CHECK_INT(shown + 1, rig_count("> some words"));
    REQUIRE(stop(0) && put_behind());
    end_behind();
}

TEST(a_reply_is_written_line_by_line)
{
    REQUIRE(start("chat --plain --ignore-eos", "> "));
    rig_type("Tell me a story.\n");
    REQUIRE(rig_said(" the"));
    REQUIRE(stop(SIGSTOP));
    CHECK(rig_is_cooked());
    rig_type("fg\n");
    REQUIRE(rig_said(" the"));
    CHECK(!rig_is_cooked());
    REQUIRE(stop(0) && put_behind());
    CHECK(rig_is_cooked());
    end_behind();
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {T(the_screen), T(a_line_is_typed), T(a_reply_is_written_line_by_line)};
    if (!realpath(getenv("TANDEM") ? getenv("TANDEM") : "build/tandem", program)) return 2;
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
