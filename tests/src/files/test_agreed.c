/* The servers that the user has agreed to send to. */
#include "tests/check.h"

#include <sys/stat.h>

#include "src/files/agreed.h"
#include "src/files/files.h"

static void keep(const char *text)
{
    char *folder = files_path(FILES_STATE, ""), *path = files_path(FILES_STATE, "servers");
    FILE *f = NULL;
    if (folder && path) mkdir(folder, 0700), f = fopen(path, "w");
    REQUIRE(f);
    fputs(text, f);
    fclose(f);
    free(folder);
    free(path);
}

TEST(a_byte_order_mark_is_no_part_of_the_first)
{
    setenv("XDG_STATE_HOME", check_tmp(), 1);
    keep("\357\273\277http://127.0.0.1:9\nhttps://host\n");
    CHECK(agreed_with("http://127.0.0.1:9/v1"));
    CHECK(agreed_with("https://host"));
    CHECK(!agreed_with("http://127.0.0.1:8"));
    CHECK_INT(TDM_OK, agreed_keep("http://127.0.0.1:8", NULL));
    CHECK(agreed_with("http://127.0.0.1:9") && agreed_with("http://127.0.0.1:8"));
}

TEST_MAIN(T(a_byte_order_mark_is_no_part_of_the_first))
