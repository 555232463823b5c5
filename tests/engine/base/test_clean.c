/* Text from outside as messages have it. */
#include "tests/check.h"

#include "engine/base/clean.h"

TEST(what_is_not_text_is_cleaned)
{
    static const struct {
        const char *in, *out;
    } cases[] = {{"a\r\nb\rc\n", "a\nb\nc\n"},
                 {"\377\303\244\303", "\357\277\275\303\244\357\277\275"},
                 {"\355\240\200", "\357\277\275\357\277\275\357\277\275"}, /* a surrogate */
                 {"\300\257", "\357\277\275\357\277\275"},                 /* an overlong slash */
                 {"tab\tesc\033", "tab\tesc\033"},
                 {"\357\273\277a\357\273\277b", "a\357\273\277b"},         /* a byte order mark, and what is none */
                 {"\357\273", "\357\277\275\357\277\275"},
                 {"a\r", "a\n"},
                 {"\r\r\n", "\n\n"},
                 {"\n\r", "\n\n"},
                 {"", ""}};
    size_t n;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *clean = clean_text(cases[i].in, strlen(cases[i].in), &n);
        CHECK_STR(cases[i].out, clean);
        CHECK_INT(strlen(cases[i].out), n);
        free(clean);
    }
    char *clean = clean_text("\0a\0\r\0b\0", 7, &n);
    CHECK_STR("a\nb", clean);
    CHECK_INT(3, n);
    free(clean);
}

TEST_MAIN(T(what_is_not_text_is_cleaned))
