/* Entries of the history that were changed on the full screen and left by Ctrl-C: they are whole again, as in bash. */
#include "tests/check.h"
#include "tests/src/tui/rig.h"

#include <sys/wait.h>

#define UP "\033[A"
#define DOWN "\033[B"

static void say(const char *line)
{
    rig_type(line);
    rig_type("\r");
}

/* The lines that Up shows one after the other, each a message that was sent. */
static void check_up(const char *const *lines)
{
    for (; *lines; lines++) {
        rig_type(UP);
        CHECK(rig_wait(*lines));
    }
}

static void begin(void)
{
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    say("/set pace 1001");
    CHECK(rig_wait("pace: 1001"));
    say("/set pace 1002");
    CHECK(rig_wait("pace: 1002"));
    say("/set pace 1003");
    CHECK(rig_wait("pace: 1003"));
}

TEST(an_entry_that_was_emptied)
{
    static const char *const whole[] = {"> /set pace 1003", "> /set pace 1002", "> /set pace 1001", NULL};
    static const char *const kills[] = {"\025", "\025" UP "\025" DOWN, "\025" DOWN, "\025" DOWN DOWN};
    begin();
    for (size_t i = 0; i < sizeof kills / sizeof *kills; i++) {
        rig_type(UP UP);
        CHECK(rig_wait("> /set pace 1002"));
        rig_type(kills[i]);
        CHECK(rig_wait_gone("> /set pace 1002"));
        rig_type("\003");
        CHECK(rig_wait_gone("> /set pace 100"));
        CHECK(!rig_shows("Ctrl-C again quits"));
        check_up(whole);
        rig_type("\003"); /* it was not changed, and leaves the history, too */
        CHECK(rig_wait_gone("> /set pace 100"));
        check_up(whole);
        rig_type(DOWN DOWN DOWN);
        CHECK(rig_wait_gone("> /set pace 100"));
    }
    rig_type("\022" "1002"); /* ^R */
    CHECK(rig_wait("/set pace 1002"));
    rig_type("\007");
    LEAVE();
}

TEST(an_entry_that_was_changed)
{
    static const char *const whole[] = {"> /set pace 1002!", "> /set pace 1003", "> /set pace 1002", NULL};
    begin();
    rig_type(UP UP);
    CHECK(rig_wait("> /set pace 1002"));
    rig_type("!");
    CHECK(rig_wait("> /set pace 1002!"));
    rig_type("\003");
    CHECK(rig_wait_gone("> /set pace 1002!"));
    check_up(whole); /* what was typed is in the history, and what was there as well */
    rig_type("\003");
    LEAVE();
}

TEST(an_entry_of_several_lines)
{
    begin();
    rig_type("several one\nseveral two");
    CHECK(rig_wait("  several two"));
    rig_type("\003"); /* into the history, as it is not to be sent */
    CHECK(rig_wait_gone("several"));
    say("/set pace 1004");
    CHECK(rig_wait("pace: 1004"));
    rig_type(UP UP);
    CHECK(rig_wait("> several one"));
    rig_type(UP "?"); /* in its first line */
    CHECK(rig_wait("> several one?"));
    rig_type("\003");
    CHECK(rig_wait_gone("several"));
    rig_type(UP); /* as it was changed */
    CHECK(rig_wait("> several one?") && rig_wait("  several two"));
    rig_type(UP UP);
    CHECK(rig_wait("> /set pace 1004"));
    rig_type(UP); /* and as it was */
    CHECK(rig_wait("  several two") && rig_shows("> several one") && !rig_shows("> several one?"));
    rig_type("\025"); /* all of it, or what stands before the cursor */
    rig_type("\003");
    CHECK(rig_wait_gone("several"));
    rig_type(UP UP UP);
    CHECK(rig_wait("> /set pace 1004"));
    rig_type(UP);
    CHECK(rig_wait("  several two") && rig_wait("> several one"));
    rig_type("\003");
    LEAVE();
}

TEST_MAIN(T(an_entry_that_was_emptied), T(an_entry_that_was_changed), T(an_entry_of_several_lines))
