/* One line of the configuration file is changed, all others stay. */
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/cli/options.h"
#include "src/files/config_file.h"
#include "src/files/files.h"

static char path[300];

static void put(const char *text)
{
    FILE *f = fopen(path, "w");
    REQUIRE(f && fputs(text, f) >= 0 && !fclose(f));
}

static void check_file(const char *expected)
{
    char *text = NULL;
    size_t n;
    REQUIRE(files_read(path, 1 << 20, &text, &n, NULL) == TDM_OK);
    CHECK_STR(expected, text);
    free(text);
}

static void check_set(const char *before, const char *expected)
{
    put(before);
    CHECK(config_file_set(path, "model", "a/b:Q4_K_M", NULL) == TDM_OK);
    check_file(expected);
}

TEST(other_lines_stay)
{
    snprintf(path, sizeof path, "%s/config", check_tmp());
    check_set("", "model = a/b:Q4_K_M\n");
    check_set("# mine\n\ntemp = 0.5", "# mine\n\ntemp = 0.5\nmodel = a/b:Q4_K_M\n");
    check_set("model=old\ntemp = 0.5\n", "model = a/b:Q4_K_M\ntemp = 0.5\n");
    check_set("  model\t = old", "model = a/b:Q4_K_M\n");
    check_set("# model = x\nmodel-folders = /m\n", "# model = x\nmodel-folders = /m\nmodel = a/b:Q4_K_M\n");
    check_set("model = first\n# why\nmodel = second\nseed = 1\n",
              "model = first\n# why\nmodel = a/b:Q4_K_M\nseed = 1\n"); /* the last one counts */
    check_set("seed = 1\r\nmodel = x\r\n# end\r\n", "seed = 1\r\nmodel = a/b:Q4_K_M\n# end\r\n");
}

TEST(what_was_set_is_read)
{
    options o = {0};
    snprintf(path, sizeof path, "%s/config", check_tmp());
    put("temp = 0.5\nmodel = old\n# end");
    CHECK(config_file_set(path, "model", "/m/a model = x #1.gguf", NULL) == TDM_OK);
    CHECK(options_read_file(&o, path, NULL));
    CHECK_STR("/m/a model = x #1.gguf", options_text(&o, OPTION_MODEL));
    CHECK_STR("0.5", options_text(&o, OPTION_TEMP));
    options_free(&o);
}

TEST(a_file_is_made_and_a_link_stays)
{
    char link[320];
    struct stat st;
    snprintf(path, sizeof path, "%s/deep/er/config", check_tmp());
    CHECK(config_file_set(path, "model", "a/b", NULL) == TDM_OK);
    check_file("model = a/b\n");
    CHECK(!chmod(path, 0644));
    snprintf(link, sizeof link, "%s/link", check_tmp());
    CHECK(!symlink(path, link));
    CHECK(config_file_set(link, "model", "c/d", NULL) == TDM_OK);
    CHECK(!lstat(link, &st) && S_ISLNK(st.st_mode));
    CHECK(!stat(path, &st) && (st.st_mode & 0777) == 0644);
    check_file("model = c/d\n");
}

TEST(what_no_line_holds_is_refused)
{
    static const char *const values[] = {"", " a", "a ", "a\nseed = 1", "a\x1b[31m"};
    snprintf(path, sizeof path, "%s/refused", check_tmp());
    put("seed = 1\n");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        tdm_error err = {0};
        CHECK(config_file_set(path, "model", values[i], &err) == TDM_E_ARG);
        CHECK(strstr(err.text, "model: expected a value"));
    }
    check_file("seed = 1\n");
}

TEST_MAIN(T(other_lines_stay), T(what_was_set_is_read), T(a_file_is_made_and_a_link_stays),
          T(what_no_line_holds_is_refused))
