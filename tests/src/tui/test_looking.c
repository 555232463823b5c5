/* A user who only looks at a conversation on the full screen changes no file. */
#include "tests/check.h"
#include "tests/src/tui/rig.h"

#include <sys/stat.h>

static char home[300];

/* Every file with its time and size, and every folder, but for the cache of packed weights. */
static void list(char *out, size_t room)
{
    char command[900];
    size_t n = 0;
    snprintf(command, sizeof command,
             "cd '%s' && find . -path ./tandem/packed -prune -o "
             "\\( -type f -printf '%%p %%T@ %%s\\n' -o -type d -printf '%%p\\n' \\) | sort",
             home);
    FILE *f = popen(command, "r");
    if (f) n = fread(out, 1, room - 1, f);
    out[n] = 0;
    if (f) pclose(f);
}

/* A conversation of one turn, by a program whose standard input is no terminal: it has no history. */
static bool talk(void)
{
    char command[4096];
    const char *program = getenv("TANDEM") ? getenv("TANDEM") : "build/tandem";
    snprintf(command, sizeof command,
             "echo 'What is a wombat?' | HOME='%s' XDG_STATE_HOME='%s' XDG_CONFIG_HOME='%s' XDG_CACHE_HOME='%s' "
             "XDG_RUNTIME_DIR='%s' '%s' chat --plain --temp 0 -c 2048 -n 5 >/dev/null 2>&1",
             home, home, home, home, home, program);
    return !system(command);
}

static void look(void)
{
    static const char *const resume[] = {"chat", "--temp", "0", "-c", "2048", "-n", "24", "--resume", NULL};
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", resume) && rig_wait("IDLE") && rig_wait("a wombat?"));
    CHECK(rig_wait_rest());
    rig_type("\033[5~\033[6~"); /* a page up and down; a command would be in the history */
    CHECK(rig_wait_rest());
    LEAVE();
}

TEST(who_looks_changes_nothing)
{
    static char before[1 << 16], after[1 << 16];
    snprintf(home, sizeof home, "%s/looking", check_tmp());
    REQUIRE(!mkdir(home, 0700) && talk());
    for (int i = 0; i < 2; i++) {
        list(before, sizeof before);
        CHECK(strstr(before, ".state ") && !strstr(before, "/history") && !strstr(before, "/monitor"));
        look();
        list(after, sizeof after);
        CHECK_STR(before, after);
    }
}

/* The form of the monitor, and a message, are worth a file. */
TEST(what_is_done_is_kept)
{
    static char after[1 << 16];
    snprintf(home, sizeof home, "%s/doing", check_tmp());
    REQUIRE(!mkdir(home, 0700) && talk());
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    rig_type("/monitor line\r");
    CHECK(rig_wait_gone("/monitor"));
    rig_type("Hello\r");
    CHECK(rig_wait("read before Enter"));
    LEAVE();
    list(after, sizeof after);
    CHECK(strstr(after, "/history ") && strstr(after, "/monitor "));
}

TEST_MAIN(T(who_looks_changes_nothing), T(what_is_done_is_kept))
