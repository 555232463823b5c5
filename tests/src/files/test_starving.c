/* Files that grow line by line, written without memory: what they had stays whole. */
#include "src/files/agreed.h"
#include "src/files/config_file.h"
#include "src/files/files.h"
#include "src/files/recent.h"
#include "tests/check.h"
#include "tests/starved.h"

#include <sys/stat.h>

static const char *home(void)
{
    const char *folder = check_tmp();
    setenv("HOME", folder, 1);
    setenv("XDG_STATE_HOME", folder, 1);
    return folder;
}

static void agree(void)
{
    agreed_keep("http://127.0.0.1:3", NULL);
}

TEST(servers_that_were_agreed_to)
{
    if (!starved_can() || !home()) return;
    CHECK_INT(TDM_OK, agreed_keep("http://127.0.0.1:1", NULL));
    CHECK_INT(TDM_OK, agreed_keep("http://127.0.0.1:2", NULL));
    long n = 0;
    for (; starved_by(n, agree); n++)
        if (!agreed_with("http://127.0.0.1:1") || !agreed_with("http://127.0.0.1:2")) CHECK_FAIL("allocation %ld", n);
    CHECK(n > 3);
    CHECK(agreed_with("http://127.0.0.1:3"));
}

static char third[1024];

static void add(void)
{
    recent_add(third);
}

TEST(models_that_were_used)
{
    static const char *const names[] = {"first", "second", "third"};
    if (!starved_can()) return;
    const char *folder = home();
    for (int i = 0; i < 3; i++) {
        snprintf(third, sizeof third, "%s/%s", folder, names[i]);
        CHECK_INT(0, mkdir(third, 0700));
        if (i < 2) recent_add(third);
    }
    long n = 0;
    for (; starved_by(n, add); n++) {
        char **list = recent_list();
        int count = 0;
        while (list && list[count]) count++;
        if (count < 2) CHECK_FAIL("allocation %ld: %d of 2 are left", n, count);
        recent_free(list);
    }
    CHECK(n > 5);
}

static char config[1024];
static tdm_status set;

static void set_one(void)
{
    set = config_file_set(config, "temp", "0.5", NULL);
}

TEST(the_configuration)
{
    enum { LINES = 2000 };
    if (!starved_can()) return;
    snprintf(config, sizeof config, "%s/config", home());
    FILE *f = fopen(config, "w");
    REQUIRE(f);
    for (int i = 0; i < LINES; i++) fprintf(f, "# line %d\n", i);
    fclose(f);
    long n = 0;
    for (bool more = true; more; n++) {
        more = starved_by(n, set_one);
        char *text = NULL;
        size_t length = 0;
        int lines = 0;
        CHECK_INT(TDM_OK, files_read(config, 1 << 20, &text, &length, NULL));
        for (size_t i = 0; i < length; i++) lines += text[i] == '\n';
        bool added = length && strstr(text, "temp = 0.5\n");
        if (lines != LINES + added || (!set && !added)) CHECK_FAIL("allocation %ld: %d lines", n, lines);
        free(text);
    }
    CHECK_INT(TDM_OK, set);
    CHECK(n > 5);
}

TEST_MAIN(T(servers_that_were_agreed_to), T(models_that_were_used), T(the_configuration))
