/* The line-mode conversation in a pseudo-terminal, with the built-in model: editing, a name remembered over three
 * turns, several lines, Ctrl-C. Waits for what is shown, never for a time. */
#include "tests/check.h"

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 120000 };

static struct {
    pid_t child;
    int fd;
    char seen[1 << 18];  /* all that was shown */
    size_t length, from; /* from: where the next wait begins */
} t;

static void start(const char *state)
{
    const char *program = getenv("TANDEM");
    t.length = t.from = 0;
    t.child = forkpty(&t.fd, NULL, NULL, &(struct winsize){.ws_row = 40, .ws_col = 200});
    if (t.child) return;
    setenv("XDG_STATE_HOME", state, 1);
    setenv("XDG_CONFIG_HOME", state, 1);
    setenv("INPUTRC", "/dev/null", 1);
    setenv("TERM", "dumb", 1);
    execl(program ? program : "build/tandem", "tandem", "chat", "--plain", "--temp", "0", "--seed", "1", (char *)NULL);
    _exit(127);
}

static void type(const char *text)
{
    if (write(t.fd, text, strlen(text)) < 0) CHECK_FAIL("the terminal is closed");
}

/* Reads until `text` is shown after the last one that was waited for. */
static bool shown(const char *text)
{
    for (;;) {
        t.seen[t.length] = 0;
        char *found = strstr(t.seen + t.from, text);
        if (found) {
            t.from = (size_t)(found - t.seen) + strlen(text);
            return true;
        }
        struct pollfd p = {.fd = t.fd, .events = POLLIN};
        ssize_t n = t.length + 1 < sizeof t.seen && poll(&p, 1, PATIENCE_MS) > 0
                        ? read(t.fd, t.seen + t.length, sizeof t.seen - t.length - 1)
                        : -1;
        if (n <= 0) {
            CHECK_FAIL("'%s' was not shown after: %s", text, t.seen + t.from);
            return false;
        }
        t.length += (size_t)n;
    }
}

static int end(void)
{
    char rest[4096];
    int status;
    while (read(t.fd, rest, sizeof rest) > 0) {
    }
    close(t.fd);
    waitpid(t.child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(a_name_is_remembered)
{
    start(check_tmp());
    REQUIRE(shown("Ctrl-D leaves"));
    REQUIRE(shown("> "));
    type("Hello, I'm Tomek. My dog is called Brunx\bo.\n"); /* a slip corrected */
    REQUIRE(shown(" read before Enter | "));
    REQUIRE(shown("> "));
    type("What is the capital of \\\n");
    REQUIRE(shown(". "));
    type("Peru?\n");
    REQUIRE(shown("Lima"));
    REQUIRE(shown(" read before Enter | "));
    REQUIRE(shown("> "));
    type("What's my dog's name?\n");
    REQUIRE(shown("Your dog's name is Bruno."));
    REQUIRE(shown("warm "));
    REQUIRE(shown("> "));
    type("/undo\n");
    REQUIRE(shown("the last turn is taken back"));
    REQUIRE(shown("> "));
    type("\x04");
    REQUIRE(shown("saved as 'Hello, I'm Tomek."));
    CHECK_INT(0, end());
}

TEST(ctrl_c_keeps_what_came)
{
    start(check_tmp());
    REQUIRE(shown("/resume continues"));
    REQUIRE(shown("> "));
    type("/set ignore-eos on\n");
    REQUIRE(shown("> "));
    type("Tell me a long story.\n");
    REQUIRE(shown("story.\r\n"));
    REQUIRE(shown(" ")); /* the reply runs */
    type("\x03");
    REQUIRE(shown("(stopped; /continue goes on)"));
    REQUIRE(shown("> "));
    type("a draft");
    REQUIRE(shown("a draft"));
    type("\x03"); /* clears it */
    REQUIRE(shown("> "));
    type("/specul\t\toff\n");
    REQUIRE(shown("speculation        off"));
    REQUIRE(shown("> "));
    type("/export /nonexistent/x.md\n");
    REQUIRE(shown("can't be written"));
    type("\x03");
    REQUIRE(shown("Ctrl-C again quits"));
    type("\x03");
    REQUIRE(shown("saved as 'Tell me a long story.'"));
    CHECK_INT(0, end());
}

TEST(being_hung_up_saves)
{
    start(check_tmp());
    REQUIRE(shown("> "));
    type("Hello.\n");
    REQUIRE(shown(" read before Enter | "));
    REQUIRE(shown("> "));
    kill(t.child, SIGTERM);
    REQUIRE(shown("saved as 'Hello.'"));
    CHECK_INT(0, end());
}

TEST_MAIN(T(a_name_is_remembered), T(ctrl_c_keeps_what_came), T(being_hung_up_saves))
