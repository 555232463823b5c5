#include "tests/check.h"
#include "tests/src/tui/rig.h"

/* In the locale C: UTF-8 where the terminal shows it, else ASCII. The probe's answer is no key, and what is typed while
 * it is awaited is kept. */
TEST(a_locale_without_utf8)
{
    static const char *const chat[] = {"chat", "--temp", "0", "-c", "1024", NULL};
    rig_locale("C", true);
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", chat));
    rig_type("ab");
    CHECK(rig_wait("IDLE") && rig_wait("\xe2\x94\x80\xe2\x94\x80 ")); /* the rule's lines */
    CHECK(rig_wait("> ab"));
    rig_type("\xc3\xa9");
    CHECK(rig_wait("> ab\xc3\xa9"));
    rig_type("\x15\x04");
    CHECK_INT(0, rig_end());
    rig_locale("C", false);
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", chat));
    CHECK(rig_wait("IDLE") && rig_wait("-- "));
    rig_type("\x04");
    CHECK_INT(0, rig_end());
    rig_locale("C.UTF-8", true);
}

TEST_MAIN(T(a_locale_without_utf8))
