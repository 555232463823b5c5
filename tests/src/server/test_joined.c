/* Texts that servers cut anywhere: within characters, between halves of surrogate pairs; and bytes that are none. */
#include "tests/check.h"

#include "engine/base/utf8.h"
#include "src/server/joined.h"

#define LOST "\xef\xbf\xbd"

/* What comes of the text in pieces of these lengths, the last of them again and again. */
static const char *pieces(const char *text, size_t n, const size_t *lengths)
{
    static struct buffer out;
    joined j = {0};
    tdm_error err = {0};
    buffer_clear(&out);
    for (size_t at = 0, part; at < n; at += part) {
        part = *lengths < n - at ? *lengths : n - at;
        if (lengths[1]) lengths++;
        CHECK(!joined_add(&j, text + at, part, &out, &err));
        int32_t code;
        for (size_t i = 0; i < out.n;) {
            i += utf8_decode(out.bytes + i, out.n - i, &code);
            CHECK(code >= 0);
        }
    }
    CHECK(!joined_end(&j, &out, &err) && !j.n);
    return out.n ? out.bytes : "";
}

static void check_everywhere(const char *text, const char *expected)
{
    size_t n = strlen(text);
    for (size_t first = 1; first <= n; first++)
        for (size_t then = 1; then <= n; then++) {
            const char *found = pieces(text, n, (const size_t[]){first, then, 0});
            if (strcmp(expected, found))
                CHECK_FAIL("cut at %zu, then every %zu: expected \"%s\", found \"%s\"", first, then, expected, found);
        }
}

TEST(what_is_cut_is_whole)
{
    check_everywhere("", "");
    check_everywhere("A \xf0\x9f\x8c\x8d B \xc3\xa4\xe2\x82\xac!", "A \xf0\x9f\x8c\x8d B \xc3\xa4\xe2\x82\xac!");
    /* U+1F30D, U+10000 and U+10FFFF by halves */
    check_everywhere("\xed\xa0\xbc\xed\xbc\x8d", "\xf0\x9f\x8c\x8d");
    check_everywhere("x\xed\xa0\x80\xed\xb0\x80\xed\xaf\xbf\xed\xbf\xbfy", "x\xf0\x90\x80\x80\xf4\x8f\xbf\xbfy");
}

TEST(what_is_broken_is_replaced)
{
    check_everywhere("A\xff" "B\xc3" "C\xf0\x9f\x8c", "A" LOST "B" LOST "C" LOST LOST LOST);
    check_everywhere("\xed\xa0\xbc", LOST);
    check_everywhere("\xed\xa0\xbc!", LOST "!");
    check_everywhere("\xed\xbc\x8d!", LOST "!");
    check_everywhere("\xed\xa0\xbc\xed\xa0\xbc\xed\xbc\x8d", LOST "\xf0\x9f\x8c\x8d");
    check_everywhere("\xed\xa0\xbc\xc3\xa4", LOST "\xc3\xa4");
    check_everywhere("\xc0\xaf\x80", LOST LOST LOST);
}

TEST(zero_bytes_are_text)
{
    CHECK(!memcmp(pieces("a\0b", 3, (const size_t[]){1, 0}), "a\0b", 4));
}

TEST_MAIN(T(what_is_cut_is_whole), T(what_is_broken_is_replaced), T(zero_bytes_are_text))
