/* The table of classes, which passes over whole planes, against what utf8proc says of each code point. */
#include <utf8proc.h>

#include "engine/text/unicode.h"
#include "tests/check.h"

enum { CODES = 0x110000 };

TEST(each_code_point_has_the_class_of_its_category)
{
    const uint8_t *classes = unicode_classes();
    const uint8_t told = UNICODE_LETTER | UNICODE_MARK | UNICODE_NUMBER;
    const uint32_t letter = unicode_category("L", 1), mark = unicode_category("M", 1);
    const uint32_t number = unicode_category("N", 1);
    int letters = 0, wrong = 0;
    for (int32_t c = 0; c < CODES; c++) {
        uint32_t properties = unicode_properties(c);
        int expected = (properties & letter ? UNICODE_LETTER : 0) | (properties & mark ? UNICODE_MARK : 0) |
                       (properties & number ? UNICODE_NUMBER : 0);
        letters += expected == UNICODE_LETTER;
        if ((classes[c] & told) != expected && wrong++ < 5)
            CHECK_FAIL("U+%04X: expected %d, found %d", (unsigned)c, expected, classes[c] & told);
        if (!!(classes[c] & UNICODE_SPACE) != !!(properties & UNICODE_WHITE_SPACE) && wrong++ < 5)
            CHECK_FAIL("U+%04X: white space", (unsigned)c);
    }
    CHECK_INT(0, wrong);
    CHECK(letters > 100000);
}

TEST(what_nfc_changes_is_unsafe)
{
    const uint8_t *classes = unicode_classes();
    int unsafe = 0, wrong = 0;
    for (int32_t c = 0; c < CODES; c++) {
        utf8proc_int32_t out[8];
        const utf8proc_property_t *property = utf8proc_get_property(c);
        int boundary = 0;
        utf8proc_ssize_t n = utf8proc_decompose_char(c, out, 8, UTF8PROC_STABLE | UTF8PROC_COMPOSE, &boundary);
        bool changes = n > 0 && n <= 8 && (n > 1 || out[0] != c);
        if (changes) {
            n = utf8proc_normalize_utf32(out, n, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
            changes = n != 1 || out[0] != c;
        }
        if ((changes || property->combining_class) && !(classes[c] & UNICODE_UNSAFE) && wrong++ < 5)
            CHECK_FAIL("U+%04X is not unsafe", (unsigned)c);
        unsafe += !!(classes[c] & UNICODE_UNSAFE);
    }
    CHECK_INT(0, wrong);
    CHECK(unsafe > 1000 && unsafe < 10000);
}

TEST_MAIN(T(each_code_point_has_the_class_of_its_category), T(what_nfc_changes_is_unsafe))
