/* What curses writes for blinking becomes what strikes text through, and nothing else does. */
#include "tests/check.h"

#include "ui/terminal/strike.h"

static const char *put(const char *bytes)
{
    static char out[100];
    snprintf(out, sizeof out, "%s", bytes);
    strike_put(out, strlen(out));
    return out;
}

TEST(blinking_is_struck_through)
{
    CHECK_STR("a\033[9mb\033[0;1;9mc\033[0;9;7md", put("a\033[5mb\033[0;1;5mc\033[0;5;7md"));
    CHECK_STR("5m\033[38;5;5m\033[48;5;5;9;38;5;9m", put("5m\033[38;5;5m\033[48;5;5;5;38;5;9m"));
    CHECK_STR("\033[38;2;5;5;5;9m\033[45m\033[55;9m", put("\033[38;2;5;5;5;5m\033[45m\033[55;5m"));
    CHECK_STR("\033[5;5H\033[5d\033[?5m\033[5", put("\033[5;5H\033[5d\033[?5m\033[5"));
    CHECK_STR("\033\033[9m\033[", put("\033\033[5m\033["));
}

static const char *strike, *blink;

static const char *capability(void *arg, const char *name)
{
    (void)arg;
    return !strcmp(name, "smxx") ? strike : !strcmp(name, "blink") ? blink : NULL;
}

TEST(terminals_that_can)
{
    CHECK(!strike_able(capability, NULL));
    strike = "\033[9m";
    CHECK(!strike_able(capability, NULL));
    blink = "\033[5m$<2>";
    CHECK(!strike_able(capability, NULL));
    blink = "\033[5m";
    CHECK(strike_able(capability, NULL));
}

TEST_MAIN(T(blinking_is_struck_through), T(terminals_that_can))
