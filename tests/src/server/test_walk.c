/* A conversation on a server from the first question to the end, as a user sees it: consent, a reply, one that is cut
 * off and continued, the lists. TANDEM_WALK=FILE writes the screens as a document (make figures), with the server of
 * the tests, and below it with the real one of TANDEM_TEST_SERVER. */
#include "tests/check.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "tests/src/server/scripted.h"
#include "tests/src/server/served.h"
#include "tests/src/tui/rig.h"

static FILE *document; /* NULL: nothing is written */
static served s;
static int rows;

static void put(const char *text)
{
    if (document) fprintf(document, "%s", text);
}

/* The screen as it is, below a line that says what was done. */
static void frame(const char *what)
{
    char text[RIG_ROW];
    if (!document) return;
    fprintf(document, "\n%s\n\n", what);
    for (int row = 0; row < rows; row++) {
        rig_text(row, text);
        fprintf(document, "%s%s\n", text[0] ? "    " : "", text);
    }
}

static void say(const char *text)
{
    rig_type(text);
    rig_type("\r");
}

static bool start(const char *url, int height, int cols, const char *home)
{
    const char *const arguments[] = {"chat", "-m", url, "--temp", "0", NULL};
    rows = height;
    return rig_start(home, height, cols, "xterm-256color", arguments);
}

static void home_of(const char *name, char out[300])
{
    snprintf(out, 300, "%s/%s", check_tmp(), name);
    mkdir(out, 0700);
}

static void first_turns(const char *url, int height, int cols, const char *home)
{
    REQUIRE(start(url, height, cols, home) && rig_wait("gets what you write"));
    frame("The first time the program asks. Nothing has been sent.");
    rig_type("y");
    CHECK(rig_wait("IDLE") && rig_wait("sent to 127.0.0.1"));
    say("Hello, I'm Tomek. My dog is called Bruno.");
    CHECK(rig_wait("read before Enter") && rig_wait("IDLE"));
    say("What's my dog's name?");
    CHECK(rig_wait("Bruno is the name of your dog.") && rig_wait("22 in") && rig_wait("IDLE"));
    frame("`y`, and two turns. The host stands in the last line from now on.");
}

TEST(a_cut_reply_and_its_continuation)
{
    char home[300];
    if (!served_is_there()) SKIP("tests/server/serve was not built (libmicrohttpd)");
    home_of("cut", home);
    REQUIRE(served_start(&s, (const char *const[]){"--delay", "25", document ? "--port" : NULL, "18080", NULL}));
    put("\n## 80 columns, 24 rows, 25 ms of delay each way\n");
    first_turns(s.url, 24, 80, home);
    CHECK(served_fault(&s, "cut:3000*1"));
    say("Tell me a story.");
    CHECK(rig_wait("cut"));
    frame("The server's connection breaks in the middle of a reply. What came stays.");
    say("/continue");
    CHECK(rig_wait_gone("failed:") && rig_wait_gone("ANSWERING") && rig_wait("IDLE"));
    frame("`/continue` goes on with it.");
    say("/model");
    CHECK(rig_wait("on a server, in use"));
    frame("`/model`");
    rig_type("q");
    LEAVE();
    put("\n## 120 columns, 40 rows\n");
    home_of("wide", home);
    first_turns(s.url, 40, 120, home);
    say("/monitor panel");
    CHECK(rig_wait("round trip"));
    frame("`/monitor panel`: what the server tells of its work.");
    say("/private on");
    CHECK(rig_wait("private on disk"));
    frame("`/private on`");
    LEAVE();
    served_stop(&s);
}

/* A reply of which nothing came has no time to its first token. */
TEST(a_server_that_says_nothing)
{
    char home[300];
    if (!served_is_there()) SKIP("tests/server/serve was not built (libmicrohttpd)");
    home_of("silent", home);
    REQUIRE(served_start(&s, (const char *const[]){NULL}));
    REQUIRE(start(s.url, 24, 80, home) && rig_wait("gets what you write"));
    rig_type("y");
    REQUIRE(rig_wait("IDLE") && rig_wait("sent to 127.0.0.1"));
    CHECK(served_fault(&s, "silent*1"));
    say("Hello.");
    CHECK(rig_wait("READING"));
    rig_type("\003");
    CHECK(rig_wait("There is no reply: /regen asks again") && rig_shows("UNANSWERED") && !rig_shows(" 0 ms"));
    served_stop(&s);
    say("Hello?");
    CHECK(rig_wait("no server answers there") && rig_wait("UNANSWERED") && !rig_shows(" 0 ms"));
    LEAVE();
}

TEST(a_real_server)
{
    char home[300];
    const char *url = getenv("TANDEM_TEST_SERVER");
    if (!url) SKIP("TANDEM_TEST_SERVER names none (tests/server/README.md)");
    put("\n## A real llama-server (ik_llama.cpp), 80 columns, 24 rows\n");
    home_of("real", home);
    first_turns(url, 24, 80, home);
    say("/monitor full");
    CHECK(rig_wait("CONTEXT"));
    frame("`/monitor full`");
    LEAVE();
    put("\n## The same, 120 columns, 40 rows\n");
    home_of("real-wide", home);
    first_turns(url, 40, 120, home);
    LEAVE();
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {T(a_cut_reply_and_its_continuation), T(a_server_that_says_nothing),
                                              T(a_real_server)};
    const char *path = getenv("TANDEM_WALK");
    if (!scripted_find_net()) {
        puts("skip walk: tandem-net was not built (libcurl)");
        return 0;
    }
    if (path && !(document = fopen(path, "w"))) return 1;
    put("# A conversation on a server\n\n"
        "Written by `make figures`: the program in a terminal, with the server of the tests behind it (tests/server), "
        "which speaks\nas a llama-server does. The times are those of a machine with other work.\n");
    int status = check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
    if (document) fclose(document);
    return status;
}
