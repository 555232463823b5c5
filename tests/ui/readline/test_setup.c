/* What readline would wait for is not read, and said; what is empty on purpose is. */
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ui/readline/setup.h"

static const char *in(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", check_tmp(), name);
    return path;
}

static void given(const char *inputrc)
{
    if (inputrc)
        setenv("INPUTRC", inputrc, 1);
    else
        unsetenv("INPUTRC");
}

TEST(what_is_no_file_is_not_read)
{
    tdm_error err = {0};
    setenv("HOME", check_tmp(), 1);
    REQUIRE(!mkfifo(in("fifo"), 0600));
    given(in("fifo"));
    CHECK_INT(TDM_E_IO, setup_inputrc(&err));
    CHECK(strstr(err.text, "/fifo: expected a regular file, found a FIFO"));
    CHECK_STR("/dev/null", getenv("INPUTRC"));
    CHECK_INT(TDM_OK, setup_inputrc(&err));
    given("/dev/zero");
    CHECK_INT(TDM_E_IO, setup_inputrc(&err));
    CHECK(strstr(err.text, "/dev/zero: expected a regular file, found a device"));
    given(NULL);
    CHECK_INT(TDM_OK, setup_inputrc(&err)); /* there is none */
    REQUIRE(!mkfifo(in(".inputrc"), 0600));
    CHECK_INT(TDM_E_IO, setup_inputrc(&err));
    CHECK(strstr(err.text, "/.inputrc: expected a regular file, found a FIFO"));
    unlink(in(".inputrc"));
    REQUIRE(!symlink("/dev/null", in(".inputrc")));
    given("");
    CHECK_INT(TDM_OK, setup_inputrc(&err));
    CHECK_STR("", getenv("INPUTRC"));
}

TEST_MAIN(T(what_is_no_file_is_not_read))
