/* The splitting rules, pre-token by pre-token: each case is a text cut with '|'. */
#include "engine/text/split.h"
#include "engine/text/unicode.h"
#include "tests/check.h"

static void expect_cuts(enum split_rule rule, const char *cut)
{
    char text[256], found[512];
    size_t n = 0, m = 0;
    for (const char *c = cut; *c; c++)
        if (*c != '|') text[n++] = *c;
    for (size_t at = 0, end; at < n; at = end) {
        end = split_next(rule, unicode_classes(), text, n, at);
        if (at) found[m++] = '|';
        memcpy(found + m, text + at, end - at);
        m += end - at;
    }
    found[m] = 0;
    CHECK_STR(cut, found);
}

TEST(both_rules)
{
    static const char *const cases[] = {
        "Hello|,| world|!",
        "don|'t| WE|'LL| I|'m| he|'D| you|'re| '|S",
        "x|'s|y", /* a contraction ends where it ends */
        "'S|T",
        "'rx",
        "'\xC5\xBF|x", /* the long s is a case of s */
        "'\xC5\xBD",   /* another letter with the same lead byte is not */
        "a|1|2|3|b",
        "(foo|_bar| +=|\tx",
        "a|  | b",
        ("a|   |\xC2\xA0"
         "b"),
        "a|  \n\n|  | b",
        "a| !?\r\n\r\n|b",
        "\r\n|x",
        "x|\n \n|\t ",
        "\xE4\xBD\xA0\xE5\xA5\xBD|\xEF\xBC\x8C\xE4\xB8\x96",
        "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9| \xF0\x9F\x91\x8D",
        "\xC2\xBD|\xE2\x85\xA7",      /* other numbers are digits too */
        "a|\xFF\xFE\x01|b",           /* invalid bytes are no letters, nor white space */
        "\xE2\x80\xA8|\xE2\x80\xA8x", /* white space, but no line break */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_cuts(SPLIT_QWEN2, cases[i]);
        expect_cuts(SPLIT_QWEN35, cases[i]);
    }
}

TEST(marks)
{
    expect_cuts(SPLIT_QWEN2, "q|\xCC\x87u");
    expect_cuts(SPLIT_QWEN35, "q\xCC\x87u");
    expect_cuts(SPLIT_QWEN2, "\xE0\xA4\xB9|\xE0\xA4\xBF\xE0\xA4\xA8|\xE0\xA5\x8D\xE0\xA4\xA6");
    expect_cuts(SPLIT_QWEN35, "\xE0\xA4\xB9\xE0\xA4\xBF\xE0\xA4\xA8\xE0\xA5\x8D\xE0\xA4\xA6");
    expect_cuts(SPLIT_QWEN2, "a| \xCC\x81!");
    expect_cuts(SPLIT_QWEN35, "a| \xCC\x81|!");
}

TEST(rules_are_recognised)
{
    enum split_rule rule = SPLIT_QWEN2;
    CHECK(split_rule_of_name("qwen35", 6, &rule) && rule == SPLIT_QWEN35);
    CHECK(split_rule_of_name("qwen2", 5, &rule) && rule == SPLIT_QWEN2);
    CHECK(!split_rule_of_name("qwen", 4, &rule) && !split_rule_of_name("", 0, &rule));
    const char *regex =
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
        "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    rule = SPLIT_QWEN35;
    CHECK(split_rule_of_regex(regex, strlen(regex), &rule) && rule == SPLIT_QWEN2);
    CHECK(!split_rule_of_regex(regex, strlen(regex) - 1, &rule));
}

TEST(python_strip)
{
    const char *text = "\x1C \xC2\x85\xE3\x80\x80"
                       "a b\xE2\x80\x8B\x1F\xE2\x81\x9F\n";
    size_t begin = 0, end = strlen(text);
    unicode_strip(text, &begin, &end);
    CHECK_INT(7, begin);
    CHECK_INT(13, end); /* U+200B is no white space */
    text = "\t \xC2\xA0";
    begin = 0, end = strlen(text);
    unicode_strip(text, &begin, &end);
    CHECK_INT(begin, end);
}

TEST_MAIN(T(both_rules), T(marks), T(rules_are_recognised), T(python_strip))
