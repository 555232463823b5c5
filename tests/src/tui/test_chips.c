/* What goes before a message, end to end (see test_tui.c): words of the draft, commands, what is kept. */
#include "tests/check.h"
#include "tests/src/tui/rig.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *path(const char *name)
{
    static char room[4][300];
    static int next;
    char *at = room[next++ % 4];
    snprintf(at, sizeof room[0], "%s/%s", check_tmp(), name);
    return at;
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(path(name), "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) CHECK_FAIL("%s", name);
}

static void typed(const char *format, const char *argument)
{
    char text[700];
    snprintf(text, sizeof text, format, argument);
    rig_type(text);
}

/* However it is typed, a word that names a file counts, and it goes with the word. */
TEST(a_word_of_the_draft)
{
    char word[320];
    put("notes.md", "The dog is called Bruno.\n");
    START();
    snprintf(word, sizeof word, "What is in @%s", path("notes.md"));
    for (const char *at = word; *at; at++) rig_type_n(at, 1); /* slowly: it counts once the typing rests */
    CHECK(rig_wait("1 notes.md ") && rig_wait("[ready]"));
    rig_type("x"); /* another name, which is no file's */
    CHECK(rig_wait_gone("^X a attachments"));
    rig_type("\x7f, please?"); /* a sentence mark does not belong to it */
    CHECK(rig_wait("1 notes.md "));
    rig_type("\x15");
    CHECK(rig_wait_gone("^X a attachments"));
    typed("\033[200~Say what @%s says.\033[201~", path("notes.md"));
    CHECK(rig_wait("1 notes.md "));
    rig_type("\x15");
    CHECK(rig_wait_gone("^X a attachments"));
    typed("What does @%s say?\r", path("notes.md")); /* sent at once, read first */
    CHECK(rig_wait("what is attached is saved with the session"));
    CHECK(rig_wait("> notes.md:") && rig_wait("The dog is called Bruno.") && rig_wait("What does @"));
    LEAVE();
}

TEST(names_that_no_terminal_should_see)
{
    put("odd\033[31m\377.txt", "red\n");
    CHECK(!mkfifo(path("fifo"), 0600) && !mkfifo(path("queue"), 0600));
    START();
    typed("/attach %s/odd*\r", check_tmp());
    CHECK(rig_wait("1 odd* (1) "));
    rig_type("\x18"
             "a");
    CHECK(rig_wait("q close"));
    rig_type("\r");
    CHECK(rig_wait("odd?[31m?.txt:"));
    rig_type("q");
    typed("/attach %s\r", path("fifo"));
    CHECK(rig_wait("fifo: a named pipe, expected a file"));
    typed("See @%s there", path("queue"));
    CHECK(rig_wait("queue: a named pipe, expected a file"));
    rig_resize(3, 3);
    CHECK(rig_take(200));
    rig_resize(24, 80);
    CHECK(rig_wait("1 odd* (1) "));
    rig_type("\x03");
    CHECK(rig_wait_gone("See @"));
    LEAVE();
}

TEST(a_command_is_typed_announced_and_run)
{
    rig_environment("SHELL=/bin/sh");
    START();
    rig_type("\033[200~!echo pasted > pasted-file\033[201~");
    CHECK(rig_wait("> !echo pasted"));
    CHECK(!rig_shows("[Enter runs]"));
    rig_type("\x03"); /* into the history, as text */
    CHECK(rig_wait_gone("> !echo pasted"));
    rig_type("\033[A");
    CHECK(rig_wait(">  !echo pasted") && !rig_shows("[Enter runs]"));
    rig_type("\x15 !echo blank"); /* text, too */
    CHECK(rig_wait(">  !echo blank") && !rig_shows("[Enter runs]"));
    rig_type("\x15!printf 'a\\033[31mb\\n'; exit 3");
    CHECK(rig_wait("[Enter runs]"));
    rig_type("\r");
    CHECK(rig_wait("(status 3)"));
    rig_type("\x18"
             "a\r");
    CHECK(rig_wait("ab") && rig_wait("(exit status 3)"));
    rig_type("q\x7f");
    CHECK(rig_wait("Backspace takes 1 back"));
    rig_type("\x7f");
    CHECK(rig_wait_gone("^X a attachments"));
    /* What comes in one piece with its Enter, as from a terminal that doesn't tell pastes, isn't run at once. */
    rig_type("!touch no-such-file\r");
    CHECK(rig_wait("Enter once more runs it") && rig_wait("[Enter runs]"));
    CHECK(access("no-such-file", F_OK));
    rig_type("\x15");
    CHECK(rig_wait_gone("[Enter runs]"));
    rig_environment(NULL);
    LEAVE();
}

TEST(the_screen_lives_while_a_command_runs)
{
    char line[700], text[40] = "";
    rig_environment("SHELL=/bin/sh");
    START();
    snprintf(line, sizeof line, "!sleep 300 & echo $! >%s; wait", path("pid"));
    rig_type(line);
    CHECK(rig_wait("[Enter runs]"));
    rig_type("\r");
    CHECK(rig_wait("[running]"));
    rig_type("typed meanwhile");
    CHECK(rig_wait("> typed meanwhile"));
    rig_type("\r");
    CHECK(rig_wait("[sent once read]"));
    rig_type("\x03"); /* stops it with all that it started; the message isn't sent */
    CHECK(rig_wait_gone("[sent once read]") && rig_wait_gone("$ sleep") && rig_wait("> typed meanwhile"));
    FILE *f = fopen(path("pid"), "r");
    REQUIRE(f && fgets(text, sizeof text, f));
    fclose(f);
    char stat[100] = "", name[60];
    for (int i = 0; i < 6000; i++) { /* it has gone, or nobody has taken it yet */
        snprintf(name, sizeof name, "/proc/%d/stat", atoi(text));
        if (!(f = fopen(name, "r"))) break;
        if (fgets(stat, sizeof stat, f) && strstr(stat, ") Z ")) i = 6000;
        fclose(f);
        CHECK(i != 5999);
        usleep(10000);
    }
    rig_type("\x15");
    CHECK(rig_wait_gone("typed meanwhile"));
    rig_environment(NULL);
    LEAVE();
}

/* A terminal that is closed: what was attached is there when the session is resumed; not under --private. */
TEST(a_closed_terminal_keeps_what_is_attached)
{
    static const char *const again[] = {"chat", "--temp", "0", "-c", "2048", "-n", "24", "--resume", NULL};
    static const char *const hidden[] = {"chat", "--temp", "0", "-c", "2048", "-n", "24", "--private", NULL};
    static const int signals[] = {SIGHUP, SIGTERM};
    char home[300];
    snprintf(home, sizeof home, "%s/kept", check_tmp());
    mkdir(home, 0700);
    put("list.txt", "one, two, three\n");
    put("word.txt", "four\n");
    rig_environment("SHELL=/bin/sh");
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    typed("/attach %s\r", path("list.txt"));
    CHECK(rig_wait("list.txt: "));
    rig_type("!echo five");
    CHECK(rig_wait("[Enter runs]"));
    rig_type("\r");
    CHECK(rig_wait("$ echo five: "));
    typed("Count them, and @%s too", path("word.txt"));
    CHECK(rig_wait("3 word.txt "));
    for (int i = 0; i < 2; i++) {
        rig_kill(signals[i]);
        rig_end();
        if (i) put("list.txt", "one\n");
        REQUIRE(rig_start(home, 24, 80, "xterm-256color", again));
        CHECK(rig_wait(i ? "1 list.txt* " : "1 list.txt ") && rig_wait("2 $ echo five ") && rig_wait("3 word.txt "));
        CHECK(rig_wait("> Count them"));
    }
    rig_type("\x15/detach all\r");
    CHECK(rig_wait_gone("^X a attachments"));
    LEAVE();
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", hidden) && rig_wait("IDLE"));
    typed("/attach %s\r", path("word.txt"));
    CHECK(rig_wait("word.txt: "));
    rig_kill(SIGHUP);
    rig_end();
    char command[400];
    snprintf(command, sizeof command, "! grep -rq four %s", home);
    CHECK(system(command) == 0);
    rig_environment(NULL);
}

TEST_MAIN(T(a_word_of_the_draft), T(names_that_no_terminal_should_see), T(a_command_is_typed_announced_and_run),
          T(the_screen_lives_while_a_command_runs), T(a_closed_terminal_keeps_what_is_attached))
