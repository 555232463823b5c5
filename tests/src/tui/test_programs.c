/* The programs that the full screen starts: found in absolute folders only, without what is to be kept from them. */
#include "tests/check.h"
#include "tests/src/tui/rig.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static char home[300];

static const char *in_home(const char *name)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", home, name);
    return path;
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(in_home(name), "w");
    REQUIRE(f);
    fputs(text, f);
    fclose(f);
    CHECK(!chmod(in_home(name), 0700));
}

static const char *contents(const char *name)
{
    static char text[1 << 16];
    FILE *f = fopen(in_home(name), "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    return text;
}

/* The current folder is the user's home, which PATH names as ".", and absolute ones behind it. */
static bool prepare(void)
{
    char program[PATH_MAX], assets[PATH_MAX], path[PATH_MAX];
    static const char server[] = "server.mine.url = http://127.0.0.1:9\nserver.mine.key-env = MINE_KEY\n";
    snprintf(home, sizeof home, "%s/home", check_tmp());
    if (mkdir(home, 0700) || mkdir(in_home("bin"), 0700) || mkdir(in_home("tandem"), 0700)) return false;
    if (!realpath(getenv("TANDEM") ? getenv("TANDEM") : "build/tandem", program)) return false;
    if (!realpath("assets", assets) || chdir(home)) return false;
    put("tandem/config", server);
    snprintf(path, sizeof path, ".:bin:%s/bin:/usr/bin:/bin", home);
    setenv("TANDEM", program, 1);
    setenv("TANDEM_DATADIR", assets, 1);
    setenv("PATH", path, 1);
    setenv("HF_TOKEN", "wombat", 1);
    setenv("HUGGING_FACE_HUB_TOKEN", "wombat", 1);
    setenv("MINE_KEY", "wombat", 1);
    setenv("ANOTHER", "aardvark", 1);
    return true;
}

static void check_environment(const char *name)
{
    char path[500];
    const char *all = contents(name);
    snprintf(path, sizeof path, "PATH=%s/bin:/usr/bin:/bin\n", home);
    CHECK(strstr(all, path));
    CHECK(strstr(all, "ANOTHER=aardvark\n"));
    CHECK(!strstr(all, "wombat"));
}

TEST(an_editor_is_found_in_absolute_folders)
{
    put("here", "#!/bin/sh\necho evil >evil\n");
    put("bin/there", "#!/bin/sh\nenv >editor.env\n");
    rig_environment("VISUAL=here");
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    rig_type("half a thought\x18\x05");
    CHECK(rig_wait("here: not found; set VISUAL or EDITOR"));
    rig_type("\x03");
    CHECK(rig_wait_gone("half a thought"));
    LEAVE();
    CHECK(access(in_home("evil"), F_OK));
    rig_environment("VISUAL=there");
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    rig_type("half a thought\x18\x05");
    CHECK(rig_wait_rest() && rig_wait("> half a thought"));
    rig_type("\x03");
    LEAVE();
    check_environment("editor.env");
    rig_environment(NULL);
}

TEST(so_are_commands_of_the_shell)
{
    put("env", "#!/bin/sh\necho evil >evil\n");
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    rig_type("!env >shell.env\r");
    CHECK(rig_wait("Enter once more runs it"));
    rig_type("\r");
    CHECK(rig_wait("1 $ env >shell.env"));
    rig_type("\x03");
    LEAVE();
    check_environment("shell.env");
    CHECK(access(in_home("evil"), F_OK));
}

TEST(so_is_what_reaches_the_clipboard)
{
    put("xclip", "#!/bin/sh\necho evil >evil\n");
    put("bin/xclip", "#!/bin/sh\ncat >copied; /usr/bin/env >clipboard.env\n");
    rig_environment("DISPLAY=:9");
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    rig_type("Hi\r");
    CHECK(rig_wait("read before Enter"));
    rig_type("/copy\r");
    CHECK(rig_wait("copied with xclip"));
    LEAVE();
    rig_environment(NULL);
    check_environment("clipboard.env");
    CHECK(access(in_home("evil"), F_OK));
}

TEST(so_is_what_opens_links)
{
    put("xdg-open", "#!/bin/sh\necho evil >evil\n");
    put("bin/xdg-open", "#!/bin/sh\necho \"$1\" >opened; /usr/bin/env >browser.tmp; mv browser.tmp browser.env\n");
    rig_environment("DISPLAY=:9");
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    rig_type("See <https://example.org/page>, please.\r");
    CHECK(rig_wait("read before Enter"));
    rig_type("/browse\r");
    CHECK(rig_wait_gone("/browse"));
    rig_type("[o");
    CHECK(rig_wait("opened https://example.org/page"));
    while (access(in_home("browser.env"), F_OK) && rig_take(20)) {
    }
    rig_type("q");
    LEAVE();
    rig_environment(NULL);
    CHECK_STR("https://example.org/page\n", contents("opened"));
    check_environment("browser.env");
    CHECK(access(in_home("evil"), F_OK));
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {T(an_editor_is_found_in_absolute_folders),
                                              T(so_are_commands_of_the_shell), T(so_is_what_reaches_the_clipboard),
                                              T(so_is_what_opens_links)};
    if (!prepare()) return 1;
    return check_main(argc, argv, tests, 4);
}
