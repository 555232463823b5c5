/* A TERM that says little: one line tells what is used instead, and colours are those of the theme. */
#include "tests/check.h"
#include "tests/src/tui/rig.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const plain_too[] = {"chat", "--temp", "0", NULL};

TEST(an_unknown_name)
{
    unsetenv("COLORTERM");
    REQUIRE(rig_start(check_tmp(), 24, 100, "no-such-terminal", rig_greedy));
    REQUIRE(rig_wait("TERM=no-such-terminal is unknown here: xterm is used instead") && rig_wait("IDLE"));
    CHECK(rig_alternate() && rig_coloured());
    LEAVE();
    rig_environment("NO_COLOR=1");
    REQUIRE(rig_start(check_tmp(), 24, 100, "xterm-nobodys", rig_greedy));
    REQUIRE(rig_wait("TERM=xterm-nobodys is unknown here: xterm-256color is used instead") && rig_wait("IDLE"));
    CHECK(!rig_coloured());
    LEAVE();
    rig_environment(NULL);
}

TEST(no_name)
{
    REQUIRE(rig_start(check_tmp(), 24, 100, "", plain_too));
    REQUIRE(rig_said("tandem: TERM is empty: no full screen"));
    REQUIRE(rig_said("> "));
    rig_type("\x04");
    CHECK_INT(0, rig_end());
    rig_environment("TERM");
    REQUIRE(rig_start(check_tmp(), 24, 100, "xterm", plain_too));
    REQUIRE(rig_said("tandem: TERM is not set: no full screen"));
    REQUIRE(rig_said("> "));
    rig_type("\x04");
    CHECK_INT(0, rig_end());
    rig_environment(NULL);
}

/* An entry whose colours are RGB values: those of the palette's numbers would be shades of blue. */
TEST(colours_that_are_rgb_values)
{
    char path[300], command[700], terminfo[340];
    snprintf(path, sizeof path, "%s/entry", check_tmp());
    FILE *out = fopen(path, "w");
    REQUIRE(out);
    fputs("own-direct|one,\n\tuse=xterm-256color, colors#0x1000000, pairs#0x7FFF,\n"
          "\tsetaf=\\E[%?%p1%{8}%<%t3%p1%d%e38\\:2\\:\\:%p1%{65536}%/%d\\:%p1%{256}%/%{255}%&%d"
          "\\:%p1%{255}%&%d%;m,\n", out);
    fclose(out);
    snprintf(command, sizeof command, "tic -x -o %s/terminfo %s 2>/dev/null", check_tmp(), path);
    if (system(command)) SKIP("no tic");
    REQUIRE(rig_start(check_tmp(), 24, 100, "xterm-256color", rig_greedy) && rig_wait("IDLE"));
    int expected = rig_colour("IDLE");
    CHECK(expected >= 0);
    LEAVE();
    snprintf(terminfo, sizeof terminfo, "TERMINFO=%s/terminfo", check_tmp());
    rig_environment(terminfo);
    REQUIRE(rig_start(check_tmp(), 24, 100, "own-direct", rig_greedy));
    REQUIRE(rig_wait("own-direct has RGB values for colours: xterm-256color is used instead") && rig_wait("IDLE"));
    CHECK_INT(expected, rig_colour("IDLE"));
    LEAVE();
    rig_environment(NULL);
}

TEST_MAIN(T(an_unknown_name), T(no_name), T(colours_that_are_rgb_values))
