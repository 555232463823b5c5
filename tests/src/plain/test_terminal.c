/* The line-mode conversation in a pseudo-terminal, with the built-in model: editing, a name remembered over three
 * turns, several lines, Ctrl-C. Waits for what is shown, never for a time. */
#include "engine/os/atomic_file.h"
#include "tests/check.h"
#include "tests/seeing.h"
#include "tests/src/tui/rig.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/files/files.h"

static bool start(const char *state)
{
    static const char *const plain[] = {"chat", "--plain", "--temp", "0", "--seed", "1", NULL};
    return rig_start(state, 40, 200, "dumb", plain);
}

static int end(void)
{
    int status = rig_end();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(a_name_is_remembered)
{
    REQUIRE(start(check_tmp()));
    REQUIRE(rig_said("Ctrl-D leaves"));
    REQUIRE(rig_said("> "));
    rig_type("Hello, I'm Tomek. My dog is called Brunx\bo.\n"); /* a slip corrected */
    REQUIRE(rig_said(" read before Enter | "));
    REQUIRE(rig_said("> "));
    rig_type("What is the capital of \\\n");
    REQUIRE(rig_said(". "));
    rig_type("Peru?\n");
    REQUIRE(rig_said("Lima"));
    REQUIRE(rig_said(" read before Enter | "));
    REQUIRE(rig_said("> "));
    rig_type("What's my dog's name?\n");
    REQUIRE(rig_said("Your dog's name is Bruno."));
    REQUIRE(rig_said(" read before Enter | "));
    REQUIRE(rig_said("> "));
    rig_type("/undo\n");
    REQUIRE(rig_said("the last turn is taken back"));
    REQUIRE(rig_said("> "));
    rig_type("\x04");
    REQUIRE(rig_said("saved as 'Hello, I'm Tomek."));
    CHECK_INT(0, end());
}

/* They are the next line's, whatever they are. */
TEST(what_is_typed_during_a_reply_comes_after_it)
{
    static const char *const slow[] = {"chat", "--plain", "--temp", "0",  "--ignore-eos",
                                       "-n",   "8",       "--pace", "10", NULL};
    REQUIRE(rig_start(check_tmp(), 40, 200, "dumb", slow));
    REQUIRE(rig_said("> "));
    rig_type("Tell me a story.\n");
    REQUIRE(rig_said("story.\r\n") && rig_said(" ")); /* the reply runs */
    rig_type("/set pace\b\b\b\bseed\n\x04");
    REQUIRE(rig_said(" read before Enter | ") && rig_said("seed: "));
    CHECK_INT(0, end());
}

TEST(ctrl_c_keeps_what_came)
{
    REQUIRE(start(check_tmp()));
    REQUIRE(rig_said("/resume continues"));
    REQUIRE(rig_said("> "));
    rig_type("/set ignore-eos on\n");
    REQUIRE(rig_said("> "));
    rig_type("Tell me a long story.\n");
    REQUIRE(rig_said("story.\r\n"));
    REQUIRE(rig_said(" ")); /* the reply runs */
    rig_type("\x03");
    REQUIRE(rig_said("(stopped; /continue goes on)"));
    REQUIRE(rig_said("> "));
    rig_type("a draft");
    REQUIRE(rig_said("a draft"));
    rig_type("\x03"); /* clears it */
    REQUIRE(rig_said("> "));
    rig_type("/specul\t\toff\n");
    REQUIRE(rig_said("speculation: off"));
    REQUIRE(rig_said("> "));
    rig_type("/export /nonexistent/x.md\n");
    REQUIRE(rig_said("can't be written"));
    rig_type("\x03");
    REQUIRE(rig_said("Ctrl-C again quits"));
    REQUIRE(rig_said("> "));
    rig_type("/set temp\n"); /* the next press is no second one */
    REQUIRE(rig_said("temp: "));
    REQUIRE(rig_said("> "));
    rig_type("\x03");
    REQUIRE(rig_said("Ctrl-C again quits"));
    rig_type("\x03");
    REQUIRE(rig_said("saved as 'Tell me a long story.'"));
    CHECK_INT(0, end());
}

TEST(being_hung_up_saves)
{
    REQUIRE(start(check_tmp()));
    REQUIRE(rig_said("> "));
    rig_type("Hello.\n");
    REQUIRE(rig_said(" read before Enter | "));
    REQUIRE(rig_said("> "));
    rig_kill(SIGTERM);
    REQUIRE(rig_said("saved as 'Hello.'"));
    CHECK_INT(0, end());
}

TEST(being_hung_up_keeps_the_line)
{
    static const char *const again[] = {"chat", "--plain", "--temp", "0", "--seed", "1", "--resume", NULL};
    REQUIRE(start(check_tmp()));
    REQUIRE(rig_said("> "));
    rig_type("Hello.\n");
    REQUIRE(rig_said(" read before Enter | "));
    REQUIRE(rig_said("> "));
    rig_type("first line\\\nand the sec");
    REQUIRE(rig_said("and the sec"));
    rig_kill(SIGHUP);
    REQUIRE(rig_said("saved as 'Hello.'"));
    CHECK_INT(0, end());
    REQUIRE(rig_start(check_tmp(), 40, 200, "dumb", again));
    REQUIRE(rig_said("resumed 'Hello.'"));
    REQUIRE(rig_said("first line"));
    REQUIRE(rig_said("and the sec"));
    rig_kill(SIGHUP);
    REQUIRE(rig_said("saved as 'Hello.'"));
    CHECK_INT(0, end());
    REQUIRE(start(check_tmp())); /* so does the command */
    REQUIRE(rig_said("> "));
    rig_type("/resume\n");
    REQUIRE(rig_said("resumed 'Hello.'"));
    REQUIRE(rig_said("first line"));
    REQUIRE(rig_said("and the sec"));
    rig_type("\x03");
    REQUIRE(rig_said("> "));
    rig_type("\x04");
    CHECK_INT(0, end());
}

/* What stands in the line may come from a file: readline would give it raw. It is sent as it is. */
TEST(the_line_steers_no_terminal)
{
    REQUIRE(start(check_tmp()));
    REQUIRE(rig_said("> "));
    rig_type("/rename ab\xe2\x80\xae\xc2\x9b"
             "cd\xe2\x80\x8f");
    REQUIRE(rig_said("ab?????cd???"));
    rig_type("\n");
    REQUIRE(rig_said("now called 'ab?????cd??"
                     "?'"));
    REQUIRE(rig_said("> "));
    rig_type("\x04");
    CHECK_INT(0, end());
}

TEST(backspace_takes_what_looks_like_one_character)
{
    REQUIRE(start(check_tmp()));
    REQUIRE(rig_said("> "));
    rig_type("/rename a\U0001F469\u200D\U0001F4BB\x7f"
             "b\U0001F1E9\U0001F1EA\U0001F1EB\U0001F1F7\x02\x7f\n");
    REQUIRE(rig_said("now called 'ab\U0001F1EB\U0001F1F7'"));
    REQUIRE(rig_said("> "));
    rig_type("\x04");
    CHECK_INT(0, end());
}

TEST(what_is_typed_in_private_is_in_no_file)
{
    char home[300];
    snprintf(home, sizeof home, "%s/private", check_tmp());
    REQUIRE(start(home));
    REQUIRE(rig_said("> "));
    rig_type("What is an aardvark?\n");
    REQUIRE(rig_said(" read before Enter | ") && rig_said("> "));
    rig_type("/private on\n");
    REQUIRE(rig_said("> "));
    rig_type("What is a wombat?\n");
    REQUIRE(rig_said(" read before Enter | ") && rig_said("> "));
    rig_type("/find wombat\n");
    REQUIRE(rig_said("turn 2, you: ") && rig_said("> "));
    rig_type("\x04");
    CHECK_INT(0, end());
    CHECK(rig_files_have(home, "aardvark")); /* in the history */
    CHECK(!rig_files_have(home, "wombat"));
}

TEST(what_is_refused_stands_in_the_next_line)
{
    REQUIRE(start(check_tmp()));
    REQUIRE(rig_said("> "));
    rig_type("/hepl\n");
    REQUIRE(rig_said("did you mean /help?") && rig_said("> /hepl"));
    rig_type("\x15What is in @/dev/zero ?\n");
    REQUIRE(rig_said("/dev/zero: ") && rig_said("> What is in @/dev/zero ?"));
    rig_type("\x15\x04");
    CHECK_INT(0, end());
}

/* Lines that run and words that name files: typed on the terminal they count. */
TEST(commands_and_files_before_a_message)
{
    char line[400];
    snprintf(line, sizeof line, "%s/plain.txt", check_tmp());
    REQUIRE(!atomic_file_put(line, "green\n", 6, NULL));
    rig_environment("SHELL=/bin/sh");
    REQUIRE(start(check_tmp()));
    REQUIRE(rig_said("> "));
    rig_type("!echo one; exit 4\n");
    REQUIRE(rig_said("$ echo one; exit 4 (status 4): "));
    REQUIRE(rig_said("goes before your next message"));
    snprintf(line, sizeof line, "!: >%s/begun; sleep 300\n", check_tmp());
    rig_type(line);
    snprintf(line, sizeof line, "%s/begun", check_tmp());
    while (access(line, F_OK) && rig_take(10)) {
    }
    rig_type("\x03");
    REQUIRE(rig_said("sleep 300: stopped"));
    REQUIRE(rig_said("> "));
    snprintf(line, sizeof line, "What is in @%s/plain.txt?\n", check_tmp());
    rig_type(line);
    REQUIRE(rig_said("(plain.txt goes before it)"));
    REQUIRE(rig_said(" read before Enter | "));
    rig_type("/export ");
    snprintf(line, sizeof line, "%s/plain.md\n", check_tmp());
    rig_type(line);
    REQUIRE(rig_said("plain.md: "));
    REQUIRE(rig_said("> "));
    rig_type("\x04");
    CHECK_INT(0, end());
    rig_environment(NULL);
    char *text, path[300];
    size_t n;
    snprintf(path, sizeof path, "%s/plain.md", check_tmp());
    REQUIRE(!files_read(path, 1 << 20, &text, &n, NULL));
    CHECK(strstr(text, "$ echo one; exit 4\n\none\n\n(exit status 4)\n\nplain.txt:\n\ngreen\n\n\nWhat is in @"));
    free(text);
}

/* A paste whose end mark got lost: what came of it is kept, and what is typed behind it is typed. */
TEST(a_paste_whose_end_is_lost)
{
    static const char *const plain[] = {"chat", "--plain", "--temp", "0", "--seed", "1", NULL};
    REQUIRE(rig_start(check_tmp(), 40, 200, "xterm-256color", plain));
    REQUIRE(rig_said("> "));
    rig_type("\033[200~Hello, I'm Tomek.\rMy dog is called\033[20");
    REQUIRE(rig_said("paste: its end didn't come"));
    REQUIRE(rig_said("Hello, I'm Tomek."));
    REQUIRE(rig_said("My dog is called"));
    rig_type(" Bruno.");
    REQUIRE(rig_said(" Bruno."));
    rig_type("\n");
    REQUIRE(rig_said(" read before Enter | "));
    REQUIRE(rig_said("> "));
    /* An end mark within: nothing behind it is a key, and a paste runs nothing. */
    rig_type("\033[200~!echo one\033[201~\r!echo two\r\033[201~");
    REQUIRE(rig_said("!echo one"));
    REQUIRE(rig_said("!echo two"));
    rig_type("\x03");
    REQUIRE(rig_said("> "));
    /* Answers of the terminal that come late, and in pieces, are no text. */
    rig_type("x\033[?62;22c\033]11;rgb:1e1e/1e1e/1e1e\033\\y\n");
    REQUIRE(rig_said("xy"));
    REQUIRE(rig_said(" read before Enter | "));
    REQUIRE(rig_said("> "));
    rig_type("\x04");
    REQUIRE(rig_said("saved as"));
    CHECK_INT(0, end());
}

/* Where nobody could wake it (it leads its session), Ctrl-Z stops nothing, and the terminal is still readline's. */
TEST(not_suspended_for_ever)
{
    REQUIRE(start(check_tmp()));
    REQUIRE(rig_said("> "));
    rig_type("ab");
    REQUIRE(rig_said("ab"));
    rig_type("\x1a");
    REQUIRE(rig_said("> ab"));
    CHECK(!rig_is_cooked());
    rig_type("c");
    REQUIRE(rig_said("c"));
    rig_type("\x15\x04");
    CHECK_INT(0, end());
}

/* While lines are read whole, the terminal keeps that key as a zero byte. */
TEST(leaving_before_the_first_prompt)
{
    REQUIRE(start(check_tmp()));
    rig_type("\x04");
    REQUIRE(rig_said("Ctrl-D leaves"));
    CHECK_INT(0, end());
}

/* The sequence leaves before the words about it, and both at once. */
TEST(copying_is_done_at_once)
{
    static const char *const plain[] = {"chat", "--plain", "--temp", "0", "--seed", "1", NULL};
    rig_environment("PATH=/nonexistent");
    REQUIRE(rig_start(check_tmp(), 40, 200, "screen-256color", plain));
    REQUIRE(rig_said("> "));
    rig_type("Hello.\n");
    REQUIRE(rig_said(" read before Enter | "));
    REQUIRE(rig_said("> "));
    rig_type("/copy\n");
    REQUIRE(rig_said("\033[>c\033[c")); /* who is it? No screen, whatever TERM says */
    REQUIRE(rig_said("\033]52;c;"));
    REQUIRE(rig_said("bytes sent to the terminal (OSC 52)"));
    REQUIRE(rig_said("> "));
    rig_type("\x04");
    CHECK_INT(0, end());
    rig_environment(NULL);
}

/* A picture is encoded and read before a word of its message is typed. */
TEST(what_is_attached_is_read_at_once)
{
    const char *model = seeing_model(), *picture = check_data("src/image/corpus/decode/alpha.png");
    const char *arguments[] = {"chat", "--plain", "-m", model, "--temp", "0", "-c", "2048", "-n", "4", NULL};
    char line[500];
    if (!model) return;
    REQUIRE(rig_start(check_tmp(), 40, 200, "dumb", arguments) && rig_said("> "));
    snprintf(line, sizeof line, "/attach %s\n", picture);
    rig_type(line);
    REQUIRE(rig_said("goes before your next message") && rig_said("> "));
    REQUIRE(rig_wait_rest());
    rig_type("a\n");
    REQUIRE(rig_said(" read before Enter") && rig_said("> "));
    CHECK(rig_shows("19 in, 9 read") || rig_shows("19 in, 10 read")); /* without the key, or with it */
    rig_type("\x04");
    CHECK_INT(0, end());
}

static void write_history(const char *home, const char *text)
{
    char path[400];
    snprintf(path, sizeof path, "%s/tandem", home);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/tandem/history", home);
    FILE *f = fopen(path, "w");
    REQUIRE(f);
    fputs(text, f);
    fclose(f);
}

/* An entry that was changed, or emptied, and left by Ctrl-C is as it was, and the next Up begins with the last one. The
 * terminal drops what is typed and not read yet when Ctrl-C comes, so each change is waited for. */
TEST(entries_left_by_ctrl_c_are_whole)
{
    static const char up[] = "\033[A", down[] = "\033[B";
    const char *home = check_tmp();
    write_history(home, "entry one\nentry two\nentry three\n");
    REQUIRE(start(home));
    REQUIRE(rig_said("Ctrl-D leaves") && rig_said("> "));
    for (int way = 0; way < 4; way++) {
        rig_type(up);
        REQUIRE(rig_wait(way == 3 ? "> entr%" : "> entry three"));
        if (way == 3) rig_type(up), rig_wait("> entry three"); /* what the last way has left comes first */
        rig_type(up);
        REQUIRE(rig_wait("> entry two"));
        if (way < 2) rig_type("\025"); /* all of it */
        if (way < 2) REQUIRE(rig_wait_gone("> entry two"));
        if (way == 1) {
            rig_type(up); /* and of another one */
            REQUIRE(rig_wait("> entry one"));
            rig_type("\025");
            REQUIRE(rig_wait_gone("> entry one"));
        }
        if (way == 2) rig_type("\x7f\x7f\x7f\x7f\x7f%"); /* some of it */
        if (way == 2) REQUIRE(rig_wait("> entr%"));
        int prompts = rig_count("\n> ");
        rig_type("\x03");
        while (rig_count("\n> ") == prompts && rig_take(CHECK_PATIENCE_MS)) {
        }
        if (way == 2) continue;
        rig_type(up);
        if (way == 3) REQUIRE(rig_wait("> entr%"));
        if (way == 3) rig_type(up);
        CHECK(rig_wait("> entry three"));
        rig_type(up);
        CHECK(rig_wait("> entry two"));
        rig_type(up);
        CHECK(rig_wait("> entry one"));
        for (int i = 0; i < 5; i++) rig_type(down);
        CHECK(rig_wait_gone("> entry one"));
    }
    rig_type("\x04");
    CHECK_INT(0, end());
}

/* What a search has found and Ctrl-C leaves is no new entry; changes made before it, here and elsewhere, are undone. */
TEST(searches_left_by_ctrl_c_change_no_entry)
{
    static const char up[] = "\033[A", down[] = "\033[B";
    const char *home = check_tmp();
    write_history(home, "entry one\nentry two\nentry three\n");
    REQUIRE(start(home));
    REQUIRE(rig_said("Ctrl-D leaves") && rig_said("> "));
    for (int way = 0; way < 3; way++) {
        if (way) rig_type(up);
        if (way) REQUIRE(rig_wait("> entry three"));
        if (way) rig_type("\x7f\x7f\x7f");
        if (way) REQUIRE(rig_wait_gone("> entry three"));
        rig_type("\x12tw");
        REQUIRE(rig_wait("tw': entry two"));
        if (way == 2) { /* Ctrl-E takes what was found; another search finds nothing */
            rig_type("\005");
            REQUIRE(rig_wait("> entry two"));
            rig_type("\x12qq");
            REQUIRE(rig_wait("failed"));
        }
        int prompts = rig_count("\n> ");
        rig_type("\x03");
        while (rig_count("\n> ") == prompts && rig_take(CHECK_PATIENCE_MS)) {
        }
        rig_type(up);
        CHECK(rig_wait("> entry three"));
        rig_type(up);
        CHECK(rig_wait("> entry two"));
        rig_type(down);
        CHECK(rig_wait("> entry three"));
        rig_type(down);
        CHECK(rig_wait_gone("> entry three"));
    }
    rig_type("\x04");
    CHECK_INT(0, end());
}

TEST_MAIN(T(searches_left_by_ctrl_c_change_no_entry), T(entries_left_by_ctrl_c_are_whole),
          T(a_name_is_remembered), T(what_is_typed_during_a_reply_comes_after_it),
          T(ctrl_c_keeps_what_came), T(what_is_typed_in_private_is_in_no_file),
          T(what_is_refused_stands_in_the_next_line), T(commands_and_files_before_a_message), T(being_hung_up_saves),
          T(being_hung_up_keeps_the_line), T(a_paste_whose_end_is_lost), T(copying_is_done_at_once),
          T(not_suspended_for_ever), T(leaving_before_the_first_prompt), T(the_line_steers_no_terminal),
          T(backspace_takes_what_looks_like_one_character), T(what_is_attached_is_read_at_once))
