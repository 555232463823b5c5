#include "tests/check.h"

#include "src/io/output.h"

static const char *harmless(const char *text, size_t n, size_t piece)
{
    static char out[400];
    output_held held = {0};
    size_t length = 0;
    for (size_t i = 0; i < n; i += piece)
        length += output_harmless(&held, text + i, n - i < piece ? n - i : piece, out + length);
    out[length] = 0;
    return out;
}

TEST(control_characters_never_pass)
{
    for (size_t piece = 1; piece < 5; piece++) {
        CHECK_STR("a\n\tb", harmless("a\n\tb", 4, piece));
        CHECK_STR("^[[31mred^G^@^?", harmless("\x1b[31mred\a\0\x7f", 11, piece));
        CHECK_STR("z\xc5\xbc\xe6\xbc\xa2\xf0\x9f\x99\x82",
                  harmless("z\xc5\xbc\xe6\xbc\xa2\xf0\x9f\x99\x82", 10, piece));
        CHECK_STR("\xef\xbf\xbdx", harmless("\xc2\x9bx", 3, piece));     /* C1: CSI in one character */
        CHECK_STR("\xef\xbf\xbdx", harmless("\xe2\x80\xaex", 4, piece)); /* right-to-left override */
        CHECK_STR("\xef\xbf\xbdx", harmless("\xe6\xbcx", 3, piece));     /* cut short */
        CHECK_STR("\xef\xbf\xbd^[", harmless("\xe6\x1b", 2, piece));     /* an escape inside a sequence */
        CHECK_STR("\xef\xbf\xbd\xef\xbf\xbd", harmless("\xff\xc0", 2, piece));
    }
}

TEST_MAIN(T(control_characters_never_pass))
