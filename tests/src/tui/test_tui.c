/* The full-screen front end, end to end: keys into a pseudo-terminal, the built-in model behind it, the screen read
 * through a terminal emulation. */
#include "tests/check.h"
#include "tests/src/tui/rig.h"

#include <glob.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

TEST(chat)
{
    START();
    CHECK(rig_wait("Nothing you write leaves this computer; `pull` fetches what you name."));
    rig_type("Why is the sky blue?");
    CHECK(rig_wait("[ready]"));
    rig_type("\r");
    CHECK(rig_wait("The sky is blue"));
    CHECK(rig_wait("read before Enter"));
    CHECK(rig_wait("LENGTH | first"));
    CHECK_INT(0, rig_count("first 0 ms")); /* nor for the moment in which the first character is drawn */
    CHECK(!rig_shows("Nothing you write"));
    LEAVE();
    CHECK(rig_wait("tandem: 'Why is the sky blue?', 1 turn"));
}

/* The terminal's own line discipline has made a newline of that Enter. */
TEST(what_is_typed_before_there_is_a_screen)
{
    static const char *const arguments[] = {"chat", "--temp", "0", "-c", "2048", NULL};
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", arguments));
    rig_type("Why is\nthe sky blue?\r");
    CHECK(rig_wait("read before Enter") && rig_wait("IDLE"));
    int row = rig_row("> Why is");
    CHECK(row >= 0 && rig_row("the sky blue?") == row + 1);
    LEAVE();
}

TEST(resized_while_streaming)
{
    START();
    rig_type("Why is the sky blue?\r");
    CHECK(rig_wait("The sky"));
    rig_resize(40, 120);
    CHECK(rig_wait("UNITS"));
    rig_resize(14, 50);
    CHECK(rig_wait_gone("UNITS"));
    CHECK(rig_wait("PREFILL"));
    rig_resize(4, 15);
    CHECK(rig_wait("too small"));
    rig_resize(24, 80);
    CHECK(rig_wait("read before Enter"));
    CHECK(rig_wait("> Why is the sky blue?"));
    CHECK(rig_wait("The sky is blue"));
    LEAVE();
}

TEST(commands_and_pages)
{
    START();
    rig_type("/helq\r");
    CHECK(rig_wait("did you mean /help?"));
    CHECK(rig_wait("> /helq")); /* the draft stays */
    rig_type("\x7fp\r");
    CHECK(rig_wait("/sessions"));
    rig_type("q");
    CHECK(rig_wait_gone("/sessions"));
    rig_type("/set follow nonsense\r");
    CHECK(rig_wait("expected auto, top, stream"));
    rig_type("/set temp 0.5\r");
    CHECK(rig_wait("temp: 0.5"));
    CHECK(rig_wait("last 20 s"));
    rig_type("/monitor off\r");
    CHECK(rig_wait_gone("last 20 s"));
    rig_type("\033OP"); /* F1 */
    CHECK(rig_wait("new line"));
    rig_type("\033");
    CHECK(rig_wait_gone("new line"));
    rig_type("/etc/hosts says\r");
    CHECK(rig_wait("ANSWERING"));
    rig_type("\x03");
    LEAVE();
}

/* A page of them would take what is typed next. */
TEST(two_lines_are_notices)
{
    START();
    rig_type("Why is the sky blue?\r");
    CHECK(rig_wait("read before Enter"));
    rig_type("/system be brief\r");
    CHECK(rig_wait("the system prompt is changed"));
    CHECK(rig_wait("tokens are read again"));
    rig_type("And then?");
    CHECK(rig_wait("> And then?"));
    rig_type("\x15");
    LEAVE();
}

TEST(search_and_browse)
{
    START();
    rig_type("Why is the sky blue?\r");
    CHECK(rig_wait("read before Enter"));
    rig_type("/find rainbow\r");
    CHECK(rig_wait("'rainbow' is not in this conversation"));
    CHECK(!rig_shows("> /find"));
    rig_type("\x18" "b");
    CHECK(rig_wait("BROWSE"));
    rig_type("/zebra\r");
    CHECK(rig_wait("'zebra' is not in this conversation"));
    rig_type("y");
    CHECK(rig_wait("sent to the terminal (OSC 52)"));
    rig_type("q");
    CHECK(rig_wait_gone("BROWSE"));
    LEAVE();
}

TEST(edit_makes_a_branch)
{
    START();
    rig_type("Why is the sky blue?\r");
    CHECK(rig_wait("read before Enter"));
    rig_type("a draft");
    CHECK(rig_wait("> a draft"));
    rig_type("\x18" "b[[e");
    CHECK(rig_wait("editing turn 1"));
    rig_type("\x03");
    CHECK(rig_wait_gone("editing turn 1"));
    CHECK(rig_wait("> a draft"));
    rig_type("\x18" "b[[e");
    CHECK(rig_wait("editing turn 1"));
    rig_type("\x15What is the Moon?\r");
    CHECK(rig_wait("2/2"));
    CHECK(rig_wait("read before Enter"));
    CHECK(rig_wait("> a draft"));
    CHECK(!rig_shows("> Why is the sky blue?"));
    rig_type("\x15/branch 1\r");
    CHECK(rig_wait("> Why is the sky blue?"));
    CHECK(rig_wait("1/2"));
    rig_type("/branch\r");
    CHECK(rig_wait("branches") && rig_wait("2/2 at turn 1"));
    rig_type("j\r");
    CHECK(rig_wait_gone("2/2 at turn 1"));
    CHECK(rig_wait("> What is the Moon?"));
    rig_type("/set max-tokens 2000\r");
    rig_type("Tell me a long story.\r");
    CHECK(rig_wait("ANSWERING"));
    rig_type("/branch\r");
    CHECK(rig_wait("2/2 at turn 1"));
    rig_type("g\r");
    CHECK(rig_wait("a reply is being written"));
    rig_type("\x03");
    LEAVE();
}

/* The library that comes along: chosen by a filter, by the mouse, and edited into the user's own. */
TEST(prompts_are_listed)
{
    static const char *const other[] = {"chat", "-m", "tests/goldens/tiny-a", "--temp", "0", "-c", "2048", NULL};
    char home[300]; /* of its own: a start without -m opens the model that was used last */
    snprintf(home, sizeof home, "%s/prompts", check_tmp());
    mkdir(home, 0700);
    START();
    rig_type("/p summary\r"); /* which is more than the built-in model can do */
    CHECK(rig_wait("/p summary needs a larger model than the built-in one"));
    LEAVE();
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", other) && rig_wait("IDLE"));
    rig_type("\x18p");
    CHECK(rig_wait("the main points of a text"));
    rig_type("/summ\r");
    CHECK(rig_wait("prompts /summ"));
    rig_type("\r");
    CHECK(rig_wait_gone("prompts /summ"));
    CHECK(rig_wait("> Say in at most"));
    rig_type("\x03/mouse on\r");
    CHECK(rig_wait("wheel and clicks are on"));
    rig_type("/p\r");
    CHECK(rig_wait("a text in English"));
    char click[40];
    snprintf(click, sizeof click, "\033[<0;10;%dM", rig_row("a text in English") + 1);
    rig_type(click);
    CHECK(rig_wait("Translate"));
    rig_type("e"); /* with `true` as the editor */
    CHECK(rig_wait("translate stays as it was"));
    rig_type("d");
    CHECK(rig_wait("translate comes with the program"));
    rig_type("q");
    LEAVE();
}

TEST(a_session_goes_on)
{
    static const char *const again[] = {"chat", "--temp", "0", "-c", "2048", "--resume", NULL};
    char home[300];
    snprintf(home, sizeof home, "%s", check_tmp());
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    rig_type("Why is the sky blue?\r");
    CHECK(rig_wait("read before Enter"));
    rig_kill(SIGTERM);
    int left = rig_end();
    CHECK(WIFEXITED(left) && WEXITSTATUS(left) == 0);
    CHECK(!rig_alternate() && rig_cooked());
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", again));
    CHECK(rig_wait("> Why is the sky blue?"));
    CHECK(rig_wait("The sky is blue"));
    rig_type("/new\r");
    CHECK(rig_wait_gone("The sky is blue"));
    rig_type("/sessions\r");
    CHECK(rig_wait("Enter resumes") && rig_shows("1 turn "));
    rig_type("\r");
    CHECK(rig_wait("The sky is blue"));
    LEAVE();
}

TEST(a_crash_restores_the_terminal)
{
    START();
    rig_kill(SIGABRT);
    int left = rig_end();
    CHECK(WIFSIGNALED(left) && WTERMSIG(left) == SIGABRT);
    CHECK(!rig_alternate());
    CHECK(rig_cooked());
}

static int64_t seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* The last message in the only saved session below a folder, as JSON has it; "" while there is none. */
static const char *saved_reply(const char *home)
{
    static char text[1 << 16];
    char pattern[400];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/tandem/sessions/*.json", home);
    FILE *f = !glob(pattern, 0, NULL, &found) ? fopen(found.gl_pathv[0], "r") : NULL;
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    globfree(&found);
    text[n] = 0;
    char *role = strstr(text, "\"assistant\""), *from = role ? strstr(role, "\"text\": \"") : NULL;
    if (!from) return "";
    from += strlen("\"text\": \"");
    from[strcspn(from, "\"")] = 0;
    return from;
}

/* Killed while it writes: the next start has the message and the reply to within a second, marked as stopped. */
TEST(a_killed_program_keeps_the_conversation)
{
    static const char *const slow[] = {"chat", "--temp", "0", "-c", "2048", "--ignore-eos", "--pace", "20", NULL};
    static const char *const again[] = {"chat", "--temp", "0", "-c", "2048", "-n", "200", "--resume", NULL};
    char home[300], shown[200];
    snprintf(home, sizeof home, "%s/killed", check_tmp());
    mkdir(home, 0700);
    REQUIRE(rig_start(home, 24, 240, "xterm-256color", slow) && rig_wait("IDLE"));
    rig_type("Why is the sky blue?\r");
    REQUIRE(rig_wait("The sky is"));
    while (strlen(saved_reply(home)) < 60 && rig_shows("ANSWERING") && rig_take(20)) {}
    CHECK(rig_shows("ANSWERING"));
    rig_kill(SIGKILL);
    int left = rig_end();
    CHECK(WIFSIGNALED(left) && WTERMSIG(left) == SIGKILL);
    snprintf(shown, sizeof shown, "%.190s", saved_reply(home));
    shown[strcspn(shown, "\\")] = 0;
    CHECK(strlen(shown) >= 40);
    REQUIRE(rig_start(home, 24, 240, "xterm-256color", again));
    CHECK(rig_wait("> Why is the sky blue?"));
    CHECK(rig_wait("resumed 'Why is the sky blue?'"));
    CHECK(rig_wait(shown));
    CHECK(rig_wait("stopped"));
    rig_type("/continue\r");
    CHECK(rig_wait("read before Enter"));
    CHECK(rig_wait(shown));
    for (int64_t until = seconds() + 60; strlen(saved_reply(home)) <= strlen(shown) && seconds() < until;)
        rig_take(20); /* a thread saves it */
    CHECK(strlen(saved_reply(home)) > strlen(shown));
    rig_type("/regen\r");
    CHECK(rig_wait("2/2"));
    LEAVE();
}

TEST(copy_view)
{
    START();
    rig_type("Why is the sky blue?\r");
    CHECK(rig_wait("read before Enter"));
    rig_type("/copy view\r");
    CHECK(rig_wait("a key goes back"));
    CHECK(!rig_alternate());
    CHECK(rig_shows("> Why is the sky blue?"));
    rig_type("x");
    CHECK(rig_wait("ctx"));
    CHECK(rig_alternate());
    CHECK(rig_wait_gone("> x"));
    LEAVE();
}

/* In a shell with job control, as people have it. */
TEST(suspended_and_back)
{
    const char *program = getenv("TANDEM"), *const shell[] = {"--norc", "--noprofile", "-i", NULL};
    char command[600], kept[500];
    if (access("/bin/bash", X_OK)) SKIP("needs bash");
    snprintf(kept, sizeof kept, "%s", program ? program : "build/tandem");
    snprintf(command, sizeof command, "%s chat --temp 0 -c 2048\r", kept);
    setenv("TANDEM", "/bin/bash", 1);
    setenv("PS1", "shell> ", 1);
    bool started = rig_start(check_tmp(), 24, 80, "xterm-256color", shell);
    setenv("TANDEM", kept, 1);
    REQUIRE(started && rig_wait("shell>"));
    rig_type(command);
    CHECK(rig_wait("IDLE"));
    rig_type("half a draft");
    CHECK(rig_wait("> half a draft"));
    rig_type("\x1a");
    CHECK(rig_wait("Stopped"));
    CHECK(!rig_alternate());
    rig_type("fg\r");
    CHECK(rig_wait("> half a draft"));
    CHECK(rig_alternate());
    rig_type("\x15\x04");
    CHECK(rig_wait_gone("IDLE"));
    rig_type("exit\r");
    int ended = rig_end();
    CHECK(WIFEXITED(ended));
}

/* Where nobody could wake it (it leads its session), Ctrl-Z stops nothing. */
TEST(not_suspended_for_ever)
{
    START();
    rig_type("\x1a" "still here");
    CHECK(rig_wait("> still here"));
    rig_type("\x15");
    LEAVE();
}

/* The rows of what was measured stand below one another, in some page. */
static void check_ceilings(int cols)
{
    static const char *const names[] = {"fp32   bf16   int8  memory", " PREFILL ", " DECODE ", " both "};
    char row[RIG_ROW];
    CHECK(rig_wait(" both "));
    int top = rig_row("fp32");
    for (int line = 0; line < 4; line++) {
        rig_text(top + line, row);
        if (top < 0 || !strstr(row, names[line])) CHECK_FAIL("%d columns: '%s' in '%s'", cols, names[line], row);
    }
}

/* Its tables stand in rows, on a page of 80 columns and beside the panel. The short form measures once; later programs
 * show what the first one kept, which the end of /units has. */
TEST(units_as_a_table)
{
    static const int sizes[][2] = {{24, 80}, {40, 120}, {14, 40}};
    bool again = getenv("TANDEM_LONG");
    if (check_slow() && !again) SKIP("long: under a sanitizer all cores are measured for three seconds");
    for (int i = 0; i < 3; i++) {
        REQUIRE(rig_start(check_tmp(), sizes[i][0], sizes[i][1], "xterm-256color", rig_greedy) && rig_wait("IDLE"));
        if (!i || again) {
            rig_type("/units measure\r");
            check_ceilings(sizes[i][1]);
            rig_type("q");
        }
        rig_type("/units\r");
        CHECK(rig_wait("spans   tokens      s"));
        rig_type("G");
        check_ceilings(sizes[i][1]);
        rig_type("q");
        LEAVE();
    }
}

TEST(simple_terminals)
{
    REQUIRE(rig_start(check_tmp(), 24, 80, "vt100", rig_greedy) && rig_wait("IDLE"));
    rig_type("Why is the sky blue?\r");
    CHECK(rig_wait("The sky is blue"));
    LEAVE();
}

/* Another program watches through the socket. */
TEST(monitor_json)
{
    char command[700], line[65536] = "";
    const char *program = getenv("TANDEM");
    START();
    rig_type("Why is the sky blue?\r");
    CHECK(rig_wait("read before Enter"));
    snprintf(command, sizeof command, "XDG_RUNTIME_DIR='%s' '%s' monitor --json %d", check_tmp(),
             program ? program : "build/tandem", (int)rig_pid());
    FILE *in = popen(command, "r");
    REQUIRE(in);
    CHECK(fgets(line, sizeof line, in) != NULL);
    CHECK(strstr(line, "\"state\":\"length\""));
    CHECK(strstr(line, "\"turns\":[{\"number\":1,\"kind\":\"first\""));
    CHECK(strstr(line, "\"prefill\":{\"name\":\"cpu:"));
    LEAVE(); /* its end is the reader's end */
    CHECK_INT(0, pclose(in));
}

/* The README's picture: the real screen while a reply is written and the next message is typed. With $TANDEM_FIGURE set
 * the picture is kept there (`make figures`). */
TEST(picture)
{
    static const char *const talk[] = {"chat", "--temp", "0", "-c", "4096", "--pace", "25", NULL};
    const char *kept = getenv("TANDEM_FIGURE");
    char path[300], command[400], *picture;
    snprintf(path, sizeof path, "%s/screen.svg", check_tmp());
    REQUIRE(rig_start(check_tmp(), 40, 120, "xterm-256color", talk) && rig_wait("IDLE"));
    rig_type("/monitor panel\r"); /* an earlier test's choice is remembered */
    CHECK(rig_wait("READ AHEAD"));
    rig_type("Why is the sky blue?");
    CHECK(rig_wait("[ready]"));
    rig_type("\r");
    CHECK(rig_wait("read before Enter"));
    rig_type("How far away is the Moon?");
    CHECK(rig_wait("[ready]"));
    rig_type("\r");
    CHECK(rig_wait("2 warm"));
    rig_type("Tell me a story.");
    CHECK(rig_wait("[ready]"));
    rig_type("\r");
    CHECK(rig_wait("said")); /* in the middle of it */
    snprintf(command, sizeof command, "/export --force %s\r", kept && kept[0] ? kept : path);
    rig_type(command);
    CHECK(rig_wait("bytes"));
    rig_type("\x03");
    CHECK(rig_wait("STOPPED"));
    rig_type("\x15");
    LEAVE();
    FILE *in = fopen(kept && kept[0] ? kept : path, "r");
    REQUIRE(in && (picture = calloc(1, 1 << 20)));
    CHECK(fread(picture, 1, (1 << 20) - 1, in) > 1000);
    fclose(in);
    CHECK(strstr(picture, "<svg"));
    CHECK(strstr(picture, "READ AHEAD"));
    free(picture);
}

TEST(a_file_is_overwritten_after_a_question)
{
    char path[300], command[400], text[8] = "";
    snprintf(path, sizeof path, "%s/kept.svg", check_tmp());
    snprintf(command, sizeof command, "/export %s\r", path);
    FILE *f = fopen(path, "w");
    REQUIRE(f && fputs("mine", f) >= 0 && !fclose(f));
    START();
    rig_type(command);
    CHECK(rig_wait("overwrite the file?"));
    rig_type("n");
    CHECK(rig_wait_gone("overwrite the file?"));
    f = fopen(path, "r");
    REQUIRE(f && fread(text, 1, 4, f) == 4 && !fclose(f));
    CHECK_STR("mine", text);
    rig_type(command);
    CHECK(rig_wait("overwrite the file?"));
    rig_type("y");
    CHECK(rig_wait("bytes"));
    f = fopen(path, "r");
    REQUIRE(f && fread(text, 1, 4, f) == 4 && !fclose(f));
    CHECK_STR("<svg", text);
    LEAVE();
}

TEST(no_colour)
{
    START();
    CHECK(rig_coloured());
    LEAVE();
    rig_environment("NO_COLOR=1");
    START();
    rig_type("# Why is the *sky* blue?\r");
    CHECK(rig_wait("read before Enter"));
    rig_type("a draft");
    CHECK(rig_wait("[ready]"));
    CHECK(!rig_coloured());
    rig_resize(40, 120);
    CHECK(rig_wait("UNITS") && !rig_coloured());
    rig_type("\x15");
    LEAVE();
    rig_environment("NO_COLOR="); /* set, but empty: as if it were not */
    START();
    CHECK(rig_coloured());
    LEAVE();
    rig_environment(NULL);
}

TEST_MAIN(T(chat), T(what_is_typed_before_there_is_a_screen), T(resized_while_streaming), T(commands_and_pages),
          T(two_lines_are_notices), T(search_and_browse), T(edit_makes_a_branch), T(prompts_are_listed),
          T(a_session_goes_on), T(a_crash_restores_the_terminal), T(a_killed_program_keeps_the_conversation),
          T(copy_view), T(suspended_and_back), T(not_suspended_for_ever), T(units_as_a_table), T(simple_terminals),
          T(monitor_json), T(picture), T(a_file_is_overwritten_after_a_question), T(no_colour))
