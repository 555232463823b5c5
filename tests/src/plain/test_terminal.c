/* The line-mode conversation in a pseudo-terminal, with the built-in model: editing, a name remembered over three
 * turns, several lines, Ctrl-C. Waits for what is shown, never for a time. */
#include "engine/base/atomic_file.h"
#include "tests/check.h"
#include "tests/src/tui/rig.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "src/cli/files.h"

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

/* ---- The README's first conversation ----------------------------------------------------------------------------- */

static void wait_ms(int ms)
{
    int64_t until = clock_ns() + ms * INT64_C(1000000);
    while (clock_ns() < until && rig_take((int)((until - clock_ns()) / 1000000) + 1)) {
    }
}

/* As a person does: some keys a second, and a rest before Enter. */
static bool type_at_ease(const char *line, const char *answer)
{
    for (const char *at = line; *at; at++) {
        rig_type_n(at, 1);
        wait_ms(30);
    }
    wait_ms(400);
    rig_type("\n");
    return rig_said(answer) && rig_said("\n> ");
}

/* Puts the screen from its first prompt on, indented, between the marks of the file. */
static bool fill(const char *path)
{
    static const char opens[] = "<!-- conversation -->\n", closes[] = "<!-- end -->";
    char *text = NULL, row[RIG_ROW], *new = NULL;
    size_t n, length;
    int first = rig_row("> Hello"), rows = rig_row("same first token") + 1;
    if (files_read(path, 1 << 20, &text, &n, NULL)) return false;
    char *from = strstr(text, opens), *to = from ? strstr(from, closes) : NULL;
    FILE *out = to && first >= 0 && rows ? open_memstream(&new, &length) : NULL;
    if (out) {
        fprintf(out, "%.*s\n", (int)(from - text + (long)strlen(opens)), text);
        for (int i = first; i < rows; i++) {
            rig_text(i, row);
            fprintf(out, "%s%s\n", row[0] ? "    " : "", row);
        }
        fprintf(out, "\n%s", to);
        fclose(out);
    }
    bool done = new && !atomic_file_put(path, new, length, NULL);
    free(text);
    free(new);
    return done;
}

/* With $TANDEM_CONVERSATION set the conversation is written into that file (`make figures`). */
TEST(the_first_conversation)
{
    static const char *const talk[] = {"chat", "--plain", "--temp", "0", NULL};
    const char *kept = getenv("TANDEM_CONVERSATION");
    REQUIRE(rig_start(check_tmp(), 30, 110, "dumb", talk));
    REQUIRE(rig_said("Ctrl-D leaves") && rig_said("\n> "));
    CHECK(type_at_ease("Hello, I'm Tomek. My dog is called Bruno.", "first "));
    CHECK(type_at_ease("What is the capital of Peru?", "warm "));
    CHECK(type_at_ease("What's my dog's name?", "Your dog's name is Bruno."));
    CHECK(type_at_ease("/cold", "same first token: yes"));
    if (kept && kept[0]) CHECK(fill(kept));
    rig_type("\x04");
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
    rig_type("/rename ab\xe2\x80\xae\xc2\x9b" "cd\xe2\x80\x8f");
    REQUIRE(rig_said("ab?????cd???"));
    rig_type("\n");
    REQUIRE(rig_said("now called 'ab\xef\xbf\xbd\xef\xbf\xbd" "cd\xef\xbf\xbd'"));
    REQUIRE(rig_said("> "));
    rig_type("\x04");
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

TEST_MAIN(T(a_name_is_remembered), T(the_first_conversation), T(ctrl_c_keeps_what_came),
          T(commands_and_files_before_a_message), T(being_hung_up_saves),
          T(being_hung_up_keeps_the_line), T(the_line_steers_no_terminal))
