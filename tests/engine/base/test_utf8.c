#include "tests/check.h"

#include "engine/base/utf8.h"

TEST(every_code_point_is_encoded_and_decoded)
{
    for (uint32_t c = 0; c < 0x110000; c++) {
        char bytes[4];
        int32_t code;
        size_t n = utf8_encode(c, bytes);
        bool surrogate = c >= 0xD800 && c < 0xE000;
        size_t length = utf8_decode(bytes, n, &code);
        if (length != (surrogate ? 1 : n) || code != (surrogate ? -1 : (int32_t)c)) CHECK_FAIL("U+%04X", c);
        if (!surrogate && utf8_before(bytes, n)) CHECK_FAIL("before U+%04X", c);
        for (size_t cut = 1; cut < n && !surrogate; cut++)
            if (utf8_incomplete(bytes, cut) != cut) CHECK_FAIL("U+%04X, cut after %zu", c, cut);
    }
}

TEST(what_is_malformed_has_no_code)
{
    static const char *const bad[] = {
        "\x80", "\xc0\x80", "\xc1\xbf",    "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xff", "\xe4\xbd", "\xe4\x41\x42"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int32_t code;
        CHECK_INT(1, utf8_decode(bad[i], strlen(bad[i]), &code));
        CHECK_INT(-1, code);
    }
    CHECK(utf8_continues('\x80') && utf8_continues('\xbf') && !utf8_continues('\xc0') && !utf8_continues('a'));
}

TEST_MAIN(T(every_code_point_is_encoded_and_decoded), T(what_is_malformed_has_no_code))
