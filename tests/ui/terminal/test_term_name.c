/* Which entry of terminfo is taken for what TERM says. */
#include "tests/check.h"

#include <stdlib.h>
#include <unistd.h>

#include "ui/terminal/term_name.h"

static void takes(const char *term, const char *colorterm, const char *name, const char *note)
{
    struct term_name chosen;
    CHECK_INT(*name != 0, term_name_choose(&chosen, term, colorterm, STDOUT_FILENO));
    if (*name) CHECK_STR(name, chosen.name);
    CHECK_STR(note, chosen.note);
}

TEST(what_terminfo_knows)
{
    takes("xterm-256color", NULL, "xterm-256color", "");
    takes("xterm", "truecolor", "xterm", "");
    takes("vt100", NULL, "vt100", "");
    takes("linux", NULL, "linux", "");
}

TEST(what_it_does_not_know)
{
    takes("no-such-terminal", NULL, "xterm", "TERM=no-such-terminal is unknown here: xterm is used instead");
    takes("no-such-terminal", "truecolor", "xterm-256color",
          "TERM=no-such-terminal is unknown here: xterm-256color is used instead");
    takes("xterm-nobodys", NULL, "xterm-256color",
          "TERM=xterm-nobodys is unknown here: xterm-256color is used instead");
    takes("tmux-nobodys", NULL, "screen-256color",
          "TERM=tmux-nobodys is unknown here: screen-256color is used instead");
    takes("../x/xterm", NULL, "xterm", "TERM=../x/xterm is unknown here: xterm is used instead");
    takes("a\033[2Jb", NULL, "xterm", "TERM=a?[2Jb is unknown here: xterm is used instead");
    char endless[5000];
    struct term_name chosen;
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    CHECK(term_name_choose(&chosen, endless, NULL, STDOUT_FILENO));
    CHECK_STR("xterm", chosen.name);
}

TEST(no_terminal_in_particular)
{
    takes(NULL, NULL, "", "TERM is not set");
    takes("", NULL, "", "TERM is empty");
    takes("dumb", NULL, "", "");
}

/* An entry of our own, so that the test needs none that few machines have. */
TEST(colours_that_are_rgb_values)
{
    char path[300], command[700];
    struct term_name chosen;
    snprintf(path, sizeof path, "%s/entries", check_tmp());
    FILE *out = fopen(path, "w");
    REQUIRE(out);
    fputs("own-direct|one,\n\tuse=xterm-256color, colors#0x1000000, pairs#0x7FFF,\n"
          "\tsetaf=\\E[%?%p1%{8}%<%t3%p1%d%e38\\:2\\:\\:%p1%{65536}%/%d\\:%p1%{256}%/%{255}%&%d\\:%p1%{255}%&%d%;m,\n"
          "own-direct256|with a palette,\n\tuse=xterm-256color, colors#0x1000000, pairs#0x7FFF,\n"
          "own-bare|without a cursor,\n\tam, cols#80, bel=^G, cr=\\r, cud1=\\n, ind=\\n,\n", out);
    fclose(out);
    snprintf(command, sizeof command, "tic -x -o %s/terminfo %s 2>/dev/null", check_tmp(), path);
    if (system(command)) SKIP("no tic");
    snprintf(path, sizeof path, "%s/terminfo", check_tmp());
    setenv("TERMINFO", path, 1);
    CHECK(term_name_choose(&chosen, "own-direct", NULL, STDOUT_FILENO));
    CHECK_STR("xterm-256color", chosen.name);
    CHECK_STR("TERM=own-direct has RGB values for colours: xterm-256color is used instead", chosen.note);
    takes("own-direct256", NULL, "own-direct256", "");
    takes("own-bare", NULL, "", "TERM=own-bare can't place the cursor");
    unsetenv("TERMINFO");
}

TEST_MAIN(T(what_terminfo_knows), T(what_it_does_not_know), T(no_terminal_in_particular),
          T(colours_that_are_rgb_values))
