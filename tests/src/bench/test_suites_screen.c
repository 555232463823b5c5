/* The suites that watch a terminal (suites.h), which wait most of their time: both run at once. The long form has turns
 * of one more kind, and a reply on the screen. */
#include "tests/check.h"
#include "tests/src/bench/suites.h"

TEST(glyph_and_screen)
{
    bool all = getenv("TANDEM_LONG");
    FILE *glyph = suites_start(all ? SUITES_FORM "glyph -m builtin --rows 'at once' --rows queued"
                                   : SUITES_FORM "glyph -m builtin --rows 'at once'");
    FILE *screen = suites_start(all ? SUITES_FORM "screen -m builtin --rows first --rows strip"
                                    : SUITES_FORM "screen -m builtin --rows first");
    CHECK_SUITES(suites_written(glyph), {"glyph", all ? 9 : 6});
    CHECK_SUITES(suites_written(screen), {"screen", all ? 5 : 1});
}

TEST_MAIN(T(glyph_and_screen))
