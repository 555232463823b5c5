/* The files of the library of prompts. */
#include "tests/check.h"

#include <sys/stat.h>
#include <unistd.h>

#include "src/chat/prompts.h"

static char folder[400];

static void begin(const char *name)
{
    char config[300], middle[350];
    snprintf(config, sizeof config, "%s/%s", check_tmp(), name);
    snprintf(middle, sizeof middle, "%s/tandem", config);
    snprintf(folder, sizeof folder, "%s/prompts", middle);
    setenv("XDG_CONFIG_HOME", config, 1);
    CHECK(!mkdir(config, 0700) && !mkdir(middle, 0700) && !mkdir(folder, 0700));
}

static const char *in(const char *name)
{
    static char path[500];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static bool is_link(const char *name)
{
    struct stat st;
    return !lstat(in(name), &st) && S_ISLNK(st.st_mode);
}

TEST(a_broken_link_is_told_as_such)
{
    static const char *const names[] = {"round", "nowhere"};
    begin("broken");
    CHECK(!symlink("round.md", in("round.md")) && !symlink("none", in("nowhere.md")));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tdm_error err = {0}, again = {0};
        prompt_file p;
        char *text;
        size_t n;
        bool own;
        CHECK(prompts_read(&p, names[i], &err));
        CHECK(strstr(err.text, ".md: can't be opened: "));
        CHECK(prompts_text(names[i], &text, &n, &own, &again));
        CHECK_STR(err.text, again.text);
    }
}

TEST(a_broken_link_can_be_deleted_and_renamed)
{
    tdm_error err = {0};
    begin("moved");
    CHECK(!symlink("none", in("one.md")) && !symlink("none", in("two.md")));
    CHECK_INT(TDM_OK, prompts_rename("one", "three", &err));
    CHECK(is_link("three.md") && !is_link("one.md"));
    CHECK_INT(TDM_OK, prompts_delete("two", &err));
    CHECK(is_link("trash/two.md") && !is_link("two.md"));
}

TEST(nothing_takes_the_place_of_a_broken_link)
{
    tdm_error err = {0};
    begin("kept");
    CHECK_INT(TDM_OK, prompts_put("one", "text", 4, &err));
    CHECK(!symlink("none", in("two.md")));
    CHECK_INT(TDM_E_BUSY, prompts_rename("one", "two", &err));
    CHECK_STR("there is a prompt 'two' already", err.text);
    CHECK(is_link("two.md") && !access(in("one.md"), F_OK));
}

TEST_MAIN(T(a_broken_link_is_told_as_such), T(a_broken_link_can_be_deleted_and_renamed),
          T(nothing_takes_the_place_of_a_broken_link))
