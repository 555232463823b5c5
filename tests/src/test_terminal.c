/* The line-mode conversation in a pseudo-terminal, with the built-in model: editing, a name remembered over three
 * turns, several lines, Ctrl-C. Waits for what is shown, never for a time. */
#include "tests/check.h"
#include "tests/tui/rig.h"

#include <signal.h>
#include <sys/wait.h>

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
    REQUIRE(rig_said("warm "));
    REQUIRE(rig_said("> "));
    rig_type("/undo\n");
    REQUIRE(rig_said("the last turn is taken back"));
    REQUIRE(rig_said("> "));
    rig_type("\x04");
    REQUIRE(rig_said("saved as 'Hello, I'm Tomek."));
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
    REQUIRE(rig_said("speculation        off"));
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

TEST_MAIN(T(a_name_is_remembered), T(ctrl_c_keeps_what_came), T(being_hung_up_saves))
