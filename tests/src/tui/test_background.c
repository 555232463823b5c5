/* A conversation that is left while it is answered, as one sees it: it goes on, is named, visited whole, asked about
 * when the program is left, and kept when it is killed. */
#include "tests/check.h"

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"
#include "tests/src/tui/rig.h"

static const char *const slow[] = {"chat", "--temp", "0", "-c", "2048", "--ignore-eos", "-n", "300", "--pace", "2",
                                   NULL};
/* For those that are ended: half as many tokens are left to write then. */
static const char *const slower[] = {"chat", "--temp", "0", "-c", "2048", "--ignore-eos", "-n", "150", "--pace", "1",
                                     NULL};
static const char *const quick[] = {"chat", "--temp", "0", "-c", "2048", "--ignore-eos", "-n", "60", NULL};

/* Replies are written slowly, for minutes: longer than a test looks at them. This ends them. */
static void hurry(void)
{
    rig_type("/set pace 0\r");
}

/* The program begins to write a reply. */
static bool begin(const char *name, char home[300], const char *const *arguments)
{
    snprintf(home, 300, "%s/%s", check_tmp(), name);
    if (!rig_start(home, 24, 80, "xterm-256color", arguments) || !rig_wait("IDLE")) return false;
    rig_type("Why is the sky blue?\r");
    return rig_wait("The sky is blue");
}

/* And is left for another conversation. */
static bool begin_and_leave(const char *name, char home[300])
{
    if (!begin(name, home, slow)) return false;
    rig_type("/new\r");
    return rig_wait("1 answering elsewhere");
}

/* The program once more, with the session that was saved last. */
static void check_resumed(const char *home)
{
    static const char *const again[] = {"chat", "--temp", "0", "-c", "2048", "--resume", NULL};
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", again));
    CHECK(rig_wait("The sky is blue"));
}

static bool quit(void)
{
    rig_kill(SIGTERM);
    int left = rig_end();
    return WIFEXITED(left) && WEXITSTATUS(left) == 0;
}

TEST(it_is_named_and_visited)
{
    char home[300], text[RIG_ROW];
    REQUIRE(begin("visited", home, slower));
    rig_type("/new bakery\r");
    CHECK(rig_wait("1 answering elsewhere"));
    CHECK(rig_wait_gone("The sky is blue"));
    rig_type("Name three colours.\r");
    CHECK(rig_wait("ANSWERING | 1 answering elsewhere"));
    CHECK(rig_wait("Red, yellow"));
    rig_type("/new third\r"); /* one is enough: nothing is lost */
    CHECK(rig_wait("'Why is the sky blue?' is answered elsewhere"));
    CHECK(rig_shows("> Name three colours."));
    rig_type("\x18g"); /* both are written, and change places */
    CHECK(rig_wait("> Why is the sky blue?"));
    CHECK(rig_wait("The sky is blue"));
    hurry();
    CHECK(rig_wait("bakery: answered"));
    CHECK(rig_wait("length limit | "));
    rig_type("/sessions\r");
    CHECK(rig_wait("Enter resumes"));
    int row = rig_row(" 1 bakery ");
    REQUIRE(row >= 0);
    rig_text(row, text);
    CHECK(strstr(text, "  answered "));
    rig_type("\x07/visit\r");
    CHECK(rig_wait("> Name three colours."));
    CHECK(!rig_shows("goes there"));
    CHECK(rig_wait("length limit | "));
    CHECK(rig_wait_gone("bakery: answered"));
    CHECK(quit());
}

TEST(leaving_asks_once)
{
    char home[300];
    REQUIRE(begin_and_leave("asked", home));
    rig_type("/quit\r");
    CHECK(rig_wait("is being answered; once more leaves"));
    rig_type("/quit\r");
    int left = rig_end();
    CHECK(WIFEXITED(left) && WEXITSTATUS(left) == 0);
    CHECK(rig_cooked());
    check_resumed(home);
    CHECK(rig_wait("stopped"));
    LEAVE();
}

/* A killed program has kept what was written in the background, to within a second or two. */
TEST(killed_it_is_kept)
{
    static char text[1 << 16];
    char home[300], pattern[400];
    glob_t found;
    REQUIRE(begin_and_leave("killed", home));
    size_t longest = 0, first = 0;
    snprintf(pattern, sizeof pattern, "%s/tandem/sessions/*.json", home);
    for (int64_t until = clock_ns() + CHECK_PATIENCE_NS; longest < first + 100 && clock_ns() < until;) {
        rig_take(100);
        if (glob(pattern, 0, NULL, &found)) continue;
        FILE *f = fopen(found.gl_pathv[0], "r");
        longest = f ? fread(text, 1, sizeof text - 1, f) : 0;
        if (!first) first = longest;
        if (f) fclose(f);
        globfree(&found);
    }
    CHECK(longest >= first + 100); /* its file grows while another conversation is in front */
    rig_kill(SIGKILL);
    rig_end();
    check_resumed(home);
    LEAVE();
}

TEST(several_answers_are_left_and_visited)
{
    char home[300];
    snprintf(home, sizeof home, "%s/several", check_tmp());
    REQUIRE(rig_start(home, 30, 130, "xterm-256color", slower) && rig_wait("IDLE"));
    rig_type("/answers 3 Name three colours.\r");
    CHECK(rig_wait("ANSWERING 3 of 3"));
    rig_type("/new\r");
    CHECK(rig_wait("1 answering elsewhere"));
    rig_type("\x18g");
    CHECK(rig_wait("ANSWERING 3 of 3"));
    hurry();
    CHECK(rig_wait(" 3 \xe2\x94\x80\xe2\x94\x80 length limit, 150 tokens"));
    CHECK(quit());
}

/* A message that takes one core a second or more to read, and whose reply of so many tokens takes some, too. */
static bool begin_to_read(const char *name, const char *tokens)
{
    const char *const unread[] = {"chat", "--temp", "0", "-c", "8192", "--ignore-eos", "-n", tokens, "--pace",
                                  "2", "--speculation", "off", "-t", "1", NULL};
    static char text[6200];
    strcpy(text, "\x1b[200~");
    char home[300];
    for (size_t n = strlen(text); n < 6000; n = strlen(text)) strcpy(text + n, "Why is the sky so blue? ");
    strcat(text, "\x1b[201~\r");
    snprintf(home, sizeof home, "%s/%s", check_tmp(), name);
    if (!rig_start(home, 24, 80, "xterm-256color", unread) || !rig_wait("IDLE")) return false;
    rig_type(text);
    return true;
}

TEST(leaving_waits_until_the_reply_begins)
{
    REQUIRE(begin_to_read("waits", "300"));
    rig_type("/new bakery\r");
    CHECK(rig_wait("leaves once the reply begins; Esc keeps you here"));
    CHECK(!rig_shows("1 answering elsewhere"));
    rig_type("And another one.\r"); /* queued: it stays with the one who typed it */
    CHECK(rig_wait("1 answering elsewhere"));
    CHECK(rig_wait_gone("leaves once the reply begins"));
    CHECK(rig_wait("a new session") && rig_wait("And another one."));
    rig_type("\x15/visit\r");
    CHECK(rig_wait("is being answered"));
    CHECK(quit());
}

TEST(esc_and_ctrl_c_keep_one_there)
{
    REQUIRE(begin_to_read("stays", "24"));
    rig_type("/new bakery\r");
    CHECK(rig_wait("leaves once the reply begins"));
    rig_type("\x1b");
    CHECK(rig_wait_gone("leaves once the reply begins"));
    rig_type("/new bakery\r");
    CHECK(rig_wait("leaves once the reply begins"));
    rig_type("\x03");
    CHECK(rig_wait_gone("leaves once the reply begins"));
    hurry();
    CHECK(rig_wait("LENGTH | ")); /* and the reply was not stopped */
    CHECK(!rig_shows("answering elsewhere"));
    CHECK(quit());
}

TEST(private_turns_that_go_on_are_not_called_gone)
{
    static const char *const private[] = {"chat", "--private", "--temp", "0", "-c", "2048", "--ignore-eos", "-n", "300",
                                          "--pace", "2", NULL};
    char home[300];
    snprintf(home, sizeof home, "%s/private", check_tmp());
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", private) && rig_wait("IDLE"));
    rig_type("Why is the sky blue?\r");
    REQUIRE(rig_wait("The sky is blue"));
    rig_type("/new\r");
    CHECK(rig_wait("a new private session") && !rig_shows("gone"));
    rig_type("\x18g");
    CHECK(rig_wait("is being answered") && !rig_shows("gone"));
    rig_type("\x03");
    CHECK(rig_wait("stopped"));
    rig_type("/new\r");
    CHECK(rig_wait("1 private turn is gone"));
    CHECK(quit());
}

TEST(background_off_stops_it)
{
    char home[300];
    REQUIRE(begin("off", home, slow));
    rig_type("/set background off\r");
    CHECK(rig_wait("background: off"));
    rig_type("/new\r");
    CHECK(rig_wait_gone("The sky is blue"));
    CHECK(!rig_shows("answering elsewhere"));
    rig_type("/resume Why\r");
    CHECK(rig_wait("The sky is blue"));
    CHECK(quit());
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", quick) && rig_wait("IDLE"));
    rig_type("/visit\r");
    CHECK(rig_wait("no conversation is answered elsewhere"));
    LEAVE();
}

TEST_MAIN(T(it_is_named_and_visited), T(leaving_asks_once), T(killed_it_is_kept),
          T(several_answers_are_left_and_visited), T(background_off_stops_it),
          T(leaving_waits_until_the_reply_begins), T(esc_and_ctrl_c_keep_one_there),
          T(private_turns_that_go_on_are_not_called_gone))
