/* What leaves this computer, and when: the full screen and the plain terminal with the server of the tests, whose
 * counters say what it was sent. */
#include "tests/check.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "tests/seeing.h"
#include "tests/src/server/scripted.h"
#include "tests/src/server/served.h"
#include "tests/src/tui/rig.h"

static served s;
static char home[300];

static bool answers; /* the server that runs has the built-in model */

/* A home of its own for each test, since agreement is kept there. */
static void new_home(void)
{
    static int number;
    snprintf(home, sizeof home, "%s/%d", check_tmp(), ++number);
    mkdir(home, 0700);
}

static void begin_with(const char *model)
{
    new_home();
    served_stop(&s);
    answers = !model;
    if (!served_start(&s, (const char *const[]){model ? "-m" : NULL, model, NULL}))
        CHECK_FAIL("the server did not start");
}

static void begin(void)
{
    begin_with(NULL);
}

/* Nothing is asked of the server: it need not load what would answer. */
static void begin_unasked(void)
{
    begin_with("tests/goldens/gguf/tiny-a-q8_0.gguf");
}

/* With the server of the test before, if it answers: without what it was sent, but its counters go on. */
static void begin_again(void)
{
    if (!s.child || !answers) {
        begin();
        return;
    }
    new_home();
    CHECK(served_fault(&s, "none") && served_restart(&s));
}

static bool start(const char *a, const char *b)
{
    const char *const arguments[] = {"chat", "-m", s.url, "--temp", "0", "-n", "24", a, a ? b : NULL, NULL};
    return rig_start(home, 24, 80, "xterm-256color", arguments);
}

static void say(const char *text)
{
    rig_type(text);
    rig_type("\r");
}

/* A conversation with the server, which has been agreed to. */
static bool begin_agreed(void)
{
    begin_again();
    return start("--yes", NULL) && rig_wait("IDLE");
}

/* What the tests' server and the built-in model answer alike. */
static const char peru[] = "Peru has Lima as its capital.";
static void ask_of_peru(void)
{
    say("What is the capital of Peru?");
    CHECK(rig_wait(peru));
}

static void refuse(void)
{
    rig_type("n");
    CHECK(rig_wait("nothing was sent"));
}

static int64_t requests(void)
{
    return served_count(&s, "requests");
}

/* Waits until so many requests have been sent: those of looking at a server, of replies, of what is read ahead. */
static bool sent(int64_t n)
{
    for (int i = 0; requests() < n && i < CHECK_PATIENCE_MS / 100; i++) rig_take(100);
    return requests() >= n;
}

/* Until nothing has been sent for a while. */
static void rest(void)
{
    for (int64_t before = -1, now = requests(); before != now; before = now, now = requests())
        rig_take(check_slow() ? 3000 : 1000);
}

static void end(void)
{
    if (check_failures) rig_print();
}

TEST(nothing_is_sent_before_consent)
{
    begin_unasked();
    REQUIRE(start(NULL, NULL) && rig_wait("gets what you write"));
    CHECK_INT(0, served_count(&s, "connections"));
    rig_type("Why is the sky");
    rig_take(300);
    CHECK(rig_shows("gets what you write")); /* the y of a word is no answer */
    CHECK_INT(0, served_count(&s, "connections"));
    refuse();
    say("hello");
    CHECK_INT(0, served_count(&s, "connections"));
    CHECK_INT(0, served_count(&s, "bytes_there"));
    rig_type("\x03");
    LEAVE();
    CHECK_INT(0, served_count(&s, "connections"));
    end();
}

/* The program begins once the terminal has these keys, which it echoes. */
static bool start_behind(const char *keys, const char *term, const char *options)
{
    char command[1000], go[340], first[] = {keys[0], 0};
    const char *program = getenv("TANDEM"), *const shell[] = {"-c", command, NULL};
    char *kept = strdup(program ? program : "build/tandem");
    snprintf(go, sizeof go, "%s/go", home);
    remove(go);
    snprintf(command, sizeof command, "until [ -e '%s' ]; do sleep 0.05; done; exec '%s' chat %s -m %s", go, kept,
             options, s.url);
    setenv("TANDEM", "/bin/sh", 1);
    bool there = rig_start(home, 24, 80, term, shell);
    setenv("TANDEM", kept, 1);
    free(kept);
    rig_type(keys);
    there = there && rig_said(first);
    FILE *f = fopen(go, "w");
    return there && f && !fclose(f);
}

TEST(what_was_typed_before_the_question_is_no_answer)
{
    begin();
    REQUIRE(start_behind("y", "xterm-256color", ""));
    REQUIRE(rig_wait("gets what you write"));
    rig_take(300);
    CHECK(rig_shows("gets what you write"));
    CHECK_INT(0, served_count(&s, "connections"));
    refuse();
    LEAVE();
    end();
}

TEST(a_question_without_room_has_no_answer)
{
    begin_unasked();
    REQUIRE(rig_start(home, 4, 15, "xterm-256color", (const char *const[]){"chat", "-m", s.url, NULL}));
    REQUIRE(rig_wait("too small"));
    rig_type("y");
    rig_take(300);
    CHECK_INT(0, served_count(&s, "connections"));
    rig_resize(24, 80);
    CHECK(rig_wait("gets what you write"));
    refuse();
    LEAVE();
    end();
}

TEST(it_is_asked_once_for_each_server)
{
    begin_again();
    REQUIRE(start(NULL, NULL) && rig_wait("gets what you write"));
    rig_type("y");
    CHECK(rig_wait("IDLE") && rig_shows("sent to 127.0.0.1"));
    ask_of_peru();
    CHECK(rig_wait("0 read before Enter"));
    LEAVE();
    REQUIRE(start(NULL, NULL) && rig_wait("IDLE"));
    CHECK(rig_shows("sent to 127.0.0.1"));
    LEAVE();
    REQUIRE(start("--resume", NULL) && rig_wait("IDLE")); /* it has had that turn */
    say("/model");
    CHECK(rig_wait("on a server, in use"));
    rig_type("q");
    LEAVE();
    end();
}

TEST(a_private_session_says_where_it_goes)
{
    begin_again();
    REQUIRE(start("--private", "--yes") && rig_wait("IDLE"));
    CHECK(rig_shows("private on disk, sent to 127.0.0.1"));
    LEAVE();
    REQUIRE(start(NULL, NULL) && rig_wait("gets what you write")); /* --yes agrees once */
    refuse();
    LEAVE();
    end();
}

TEST(drafts_stay_here_and_rest_sends_nothing)
{
    REQUIRE(begin_agreed());
    ask_of_peru();
    CHECK(rig_wait("0 read before Enter") && rig_wait("IDLE"));
    CHECK(sent(5)); /* the last one: the finished turn is read ahead */
    rest();
    int64_t before = requests(), bytes = served_count(&s, "bytes_there");
    rig_type("secret words that are deleted again");
    rig_take(1500);
    CHECK(rig_shows("What you type stays here until Enter"));
    CHECK_INT(before, requests());
    CHECK_INT(bytes, served_count(&s, "bytes_there"));
    rig_type("\x15");
    LEAVE();
    end();
}

TEST(a_running_conversation_is_asked_about_with_its_turns)
{
    static const char *const here[] = {"chat", "-m", "builtin", "--temp", "0", "-n", "24", NULL};
    char command[200];
    begin();
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", here) && rig_wait("IDLE"));
    ask_of_peru();
    CHECK(rig_wait("IDLE"));
    snprintf(command, sizeof command, "/model %s", s.url);
    say(command);
    CHECK(rig_wait("and the one turn of this"));
    CHECK_INT(0, served_count(&s, "connections"));
    refuse();
    CHECK_INT(0, served_count(&s, "connections"));
    say(command);
    CHECK(rig_wait("and the one turn of this"));
    rig_type("y");
    CHECK(rig_wait("sent to 127.0.0.1"));
    say("/model builtin");
    CHECK(rig_wait_gone("sent to 127.0.0.1"));
    LEAVE();
    end();
}

/* A picture that waits for the next message is asked about, too. */
TEST(a_waiting_picture_is_asked_about)
{
    const char *seeing = seeing_model();
    char command[600];
    if (!seeing) return;
    begin_unasked();
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", (const char *const[]){"chat", "-m", seeing, NULL}));
    CHECK(rig_wait("IDLE"));
    snprintf(command, sizeof command, "/attach %s", check_data("src/image/corpus/decode/alpha.png"));
    say(command);
    CHECK(rig_wait("[ready]"));
    snprintf(command, sizeof command, "/model %s", s.url);
    say(command);
    CHECK(rig_wait("gets what you write, and 1 picture"));
    refuse();
    LEAVE();
    CHECK_INT(0, served_count(&s, "connections"));
    end();
}

/* What was answered here in the background is asked about, too, before it is visited on a server. */
TEST(a_visit_is_asked_about)
{
    static const char *const here[] = {"chat", "-m", "builtin", "--temp", "0", "-c", "2048", "--ignore-eos", "-n", "60",
                                       "--pace", "30", NULL};
    char command[200];
    begin_again();
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", here) && rig_wait("IDLE"));
    ask_of_peru();
    say("/new");
    CHECK(rig_wait("1 answering elsewhere") && rig_wait(": answered"));
    snprintf(command, sizeof command, "/model %s", s.url);
    say(command);
    CHECK(rig_wait("gets what you write"));
    rig_type("y");
    CHECK(rig_wait("sent to 127.0.0.1") && rig_wait("going on with") && sent(2));
    rest();
    int64_t before = requests();
    rig_type("\x18g");
    CHECK(rig_wait("and the one turn of this"));
    refuse();
    rest();
    CHECK_INT(before, requests());
    CHECK(!rig_shows("Lima"));
    rig_type("\x18g");
    CHECK(rig_wait("and the one turn of this"));
    rig_type("y");
    CHECK(rig_wait(peru));
    LEAVE();
    end();
}

TEST(a_cut_reply_is_continued)
{
    REQUIRE(begin_agreed());
    CHECK(served_fault(&s, "cut:500*1"));
    say("What is the capital of Peru?");
    CHECK(rig_wait("cut"));
    CHECK(!rig_shows("capital of Peru."));
    say("/continue");
    CHECK(rig_wait(peru));
    CHECK(rig_wait("IDLE"));
    LEAVE();
    end();
}

TEST(a_question_without_a_reply_is_asked_again)
{
    REQUIRE(begin_agreed());
    CHECK(served_fault(&s, "broken:500*1"));
    say("What is the capital of Peru?");
    CHECK(rig_wait("There is no reply: /regen asks again"));
    say("/regen");
    CHECK(rig_wait(peru));
    CHECK(rig_wait("IDLE"));
    CHECK(served_fault(&s, "silent"));
    int64_t before = requests();
    say("What is lost?");
    CHECK(sent(before + 1));
    rig_type("\x03");
    CHECK(rig_wait("There is no reply: /regen asks again"));
    CHECK(served_fault(&s, "none"));
    say("What is the capital of Italy?");
    CHECK(rig_wait("Rome"));
    CHECK(!rig_shows("What is lost?") && !rig_shows("kept"));
    LEAVE();
    end();
}

TEST(a_restarted_server_reads_the_conversation_anew)
{
    REQUIRE(begin_agreed());
    ask_of_peru();
    CHECK(rig_wait("IDLE") && sent(5));
    rest();
    CHECK(served_restart(&s));
    say("What is the capital of Italy?");
    CHECK(rig_wait("Rome")); /* read anew after Enter, or before it at the first key */
    CHECK(!rig_shows("FAILED") && rig_wait("IDLE") && sent(7));
    rest();
    say("Why is the sky blue?");
    CHECK(rig_wait("The sky is blue"));
    CHECK(rig_wait("21 in, 4 read before Enter")); /* all of the conversation, and what opens a message */
    LEAVE();
    end();
}

/* What a name is led to is known only when it is connected to: then it is asked about, and nothing was sent. */
TEST(an_overlay_network_is_asked_about)
{
    static const char far[] = "http://100.64.0.1:9", question[] = "plain http to another computer";
    const char *const screen[] = {"chat", "-m", far, "--temp", "0", "--yes", NULL};
    const char *const plain[] = {"chat", "--plain", "-m", far, "--yes", NULL};
    begin_again();
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", screen));
    CHECK(rig_wait(question));
    rig_type("n");
    CHECK(rig_wait("nothing was sent"));
    rig_type("/model ");
    say(s.url); /* another server is asked about as any */
    CHECK(rig_wait("gets what you write"));
    rig_type("y");
    CHECK(rig_wait("IDLE"));
    rig_type("/model ");
    say(far);
    CHECK(rig_wait("gets what you write"));
    rig_type("y");
    CHECK(rig_wait(question));
    refuse();
    ask_of_peru(); /* the conversation goes on where it was */
    LEAVE();
    REQUIRE(rig_start(home, 24, 80, "dumb", plain));
    CHECK(rig_said(question));
    CHECK(rig_said("send it? [y/N]"));
    rig_type("n\n");
    int status = rig_end();
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) != 0);
    end();
}

/* Ctrl-C ends the wait for a server that loads its model, at the start and beside a conversation. */
TEST(a_server_that_loads_is_waited_for)
{
    REQUIRE(begin_agreed());
    CHECK(served_fault(&s, "loading:300"));
    say("What is the capital of Peru?");
    CHECK(rig_wait("loads its model (503): asked again in 300 s"));
    rig_type("\x03");
    CHECK(rig_wait("There is no reply: /regen asks again"));
    LEAVE();
    REQUIRE(start("--yes", NULL));
    CHECK(rig_wait("WAITING"));
    CHECK(rig_wait("The server loads its model, ^C stops"));
    rig_type("\x03");
    CHECK(rig_wait("loading was stopped"));
    CHECK(served_fault(&s, "loading:1*2"));
    rig_type("/model ");
    say(s.url);
    CHECK(rig_wait("gets what you write")); /* --yes agrees to the model of the start */
    rig_type("y");
    CHECK(rig_wait("IDLE"));
    ask_of_peru();
    LEAVE();
    end();
}

TEST(the_plain_terminal_asks_too)
{
    const char *const plain[] = {"chat", "--plain", "-m", s.url, "--temp", "0", NULL};
    const char *const here[] = {"chat", "--plain", "--temp", "0", NULL};
    static const char *const no[] = {"n\n", "\n", "What is it?\n"};
    int status;
    begin();
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        REQUIRE(start_behind("y\n", "dumb", "--plain --temp 0")); /* before it is asked, this is no answer */
        REQUIRE(rig_said("send it? [y/N]"));
        CHECK_INT(0, served_count(&s, "connections"));
        rig_type(no[i]);
        status = rig_end();
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) != 0);
        CHECK_INT(0, served_count(&s, "connections"));
    }
    REQUIRE(rig_start(home, 24, 80, "dumb", here) && rig_said("> "));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        rig_type("/model ");
        say(s.url);
        CHECK(rig_said("send it? [y/N]"));
        rig_type(no[i]);
        CHECK(rig_said("\n> "));
        CHECK_INT(0, served_count(&s, "connections"));
    }
    rig_type("\x04");
    status = rig_end();
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    REQUIRE(rig_start(home, 24, 80, "dumb", plain) && rig_said("send it? [y/N]"));
    rig_type("y\n");
    CHECK(rig_said("what you write goes there"));
    say("What is the capital of Peru?");
    CHECK(rig_said("Peru has Lima as its capital."));
    rig_type("\x04"); /* perhaps before the reply's end */
    status = rig_end();
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    end();
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {T(nothing_is_sent_before_consent),
                                              T(what_was_typed_before_the_question_is_no_answer),
                                              T(a_question_without_room_has_no_answer),
                                              T(it_is_asked_once_for_each_server),
                                              T(a_private_session_says_where_it_goes),
                                              T(drafts_stay_here_and_rest_sends_nothing),
                                              T(a_running_conversation_is_asked_about_with_its_turns),
                                              T(a_waiting_picture_is_asked_about),
                                              T(a_visit_is_asked_about),
                                              T(a_cut_reply_is_continued), T(a_question_without_a_reply_is_asked_again),
                                              T(a_restarted_server_reads_the_conversation_anew),
                                              T(an_overlay_network_is_asked_about),
                                              T(a_server_that_loads_is_waited_for),
                                              T(the_plain_terminal_asks_too)};
    if (!scripted_find_net() || !served_is_there()) {
        puts("skip consent: tandem-net (libcurl) or tests/server/serve (libmicrohttpd) was not built");
        return 0;
    }
    int status = check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
    served_stop(&s);
    return status;
}
