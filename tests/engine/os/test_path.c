/* Paths as users write them: home folders, quotes, backslashes, and what exists as it is written. */
#include "tests/check.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/os/path.h"

static const char *own_home = "/home/me";

static void check_read(const char *expected, const char *text)
{
    char *path = path_read(text, strlen(text), own_home);
    CHECK_STR(expected, path);
    free(path);
}

TEST(home_folders)
{
    struct passwd *me = getpwuid(getuid());
    char text[300], expected[300];
    own_home = "/home/me";
    check_read("/home/me", "~");
    check_read("/home/me/", "~/");
    check_read("/home/me/a b", "~/a b");
    check_read("a~/b", "a~/b");
    check_read("~nobody-is-called-so/x", "~nobody-is-called-so/x");
    check_read("", "");
    if (me) {
        snprintf(text, sizeof text, "~%s/x", me->pw_name);
        snprintf(expected, sizeof expected, "%s/x", me->pw_dir);
        check_read(expected, text);
        text[strlen(text) - 2] = expected[strlen(expected) - 2] = 0;
        check_read(expected, text);
    }
    own_home = NULL;
    check_read("~/x", "~/x");
    own_home = "";
    check_read("~/x", "~/x");
}

TEST(quotes_and_backslashes)
{
    own_home = "/home/me";
    check_read("my notes.md", "my notes.md");
    check_read("my notes.md", "\"my notes.md\"");
    check_read("my notes.md", "'my notes.md'");
    check_read("my notes.md", "my\\ notes.md");
    check_read("/home/me/my notes.md", "\"~/my notes.md\"");
    check_read("/home/me/my notes.md", "~/my\\ notes.md");
    check_read("it's.md", "it's.md");
    check_read("it's.md", "\"it's.md\"");
    check_read("it's.md", "'it\\'s.md'");
    check_read("a\"b\\c", "\"a\\\"b\\\\c\"");
    check_read("\"open", "\"open");
    check_read("\"a\" b", "\"a\" b");
    check_read("\"", "\"");
    check_read("", "\"\"");
    check_read("end\\", "end\\");
}

TEST(what_exists_as_it_is_written)
{
    char text[400], *path;
    snprintf(text, sizeof text, "%s/a\\b", check_tmp());
    FILE *f = fopen(text, "w");
    REQUIRE(f);
    fclose(f);
    check_read(text, text);
    path = path_write(text);
    CHECK(path && strstr(path, "a\\\\b"));
    check_read(text, path);
    free(path);
}

TEST(what_is_written_is_read_back)
{
    static const char *const paths[] = {"a", "a b", "\"a\"", "'a'", "a\\", "\\\\a", "it's", "/x/\"y\"", ""};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char *text = path_write(paths[i]);
        REQUIRE(text);
        check_read(paths[i], text);
        free(text);
    }
}

TEST_MAIN(T(home_folders), T(quotes_and_backslashes), T(what_exists_as_it_is_written), T(what_is_written_is_read_back))
