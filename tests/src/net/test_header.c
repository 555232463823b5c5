/* Lines of a response's head. */
#include "tests/check.h"

#include <time.h>

#include "src/net/header.h"

static int seconds(const char *text)
{
    return header_seconds((struct span){text, strlen(text)});
}

TEST(a_value_is_trimmed)
{
    static const char line[] = "retry-after: \t 17 \r\n";
    struct span v;
    REQUIRE(header_value(line, strlen(line), "Retry-After", &v));
    CHECK(span_is(v, "17"));
    CHECK(header_value("A:", 2, "A", &v) && v.length == 0);
    CHECK(!header_value(line, strlen(line), "Retry", &v));
    CHECK(!header_value("Retry-After", 11, "Retry-After", &v));
}

TEST(numbers)
{
    CHECK_INT(0, seconds("0"));
    CHECK_INT(120, seconds("120"));
    CHECK_INT(2147483647, seconds("2147483647"));
    CHECK_INT(-1, seconds("2147483648"));
    CHECK_INT(-1, seconds("-1"));
    CHECK_INT(-1, seconds(""));
    CHECK_INT(-1, seconds("soon"));
    CHECK_INT(-1, seconds("1\n2"));
}

/* A date of each form, so many seconds from now. */
static void check_dates(int from_now, int least, int most)
{
    static const char *const forms[] = {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                        "%a %b %e %H:%M:%S %Y"};
    time_t then = time(NULL) + from_now;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char text[64];
        strftime(text, sizeof text, forms[i], gmtime(&then));
        int found = seconds(text);
        if (found < least || found > most) CHECK_FAIL("%s: expected %d to %d, found %d", text, least, most, found);
    }
}

TEST(dates)
{
    check_dates(50000, 1, 50000); /* some of it may have gone since */
    check_dates(-50000, 0, 0);
    CHECK_INT(0, seconds("Sun, 06 Nov 1994 08:49:37 GMT"));
    CHECK_INT(2147483647, seconds("Fri, 31 Dec 9999 23:59:59 GMT"));
    CHECK_INT(-1, seconds("Sun, 06 Nov 1994 08:49:37 GMT, really"));
    CHECK_INT(-1, seconds("Sun, 46 Nov 1994 08:49:37 GMT"));
}

TEST_MAIN(T(a_value_is_trimmed), T(numbers), T(dates))
