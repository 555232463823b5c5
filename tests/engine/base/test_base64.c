/* Base64 in both directions, and texts that are none. */
#include "tests/check.h"

#include "engine/base/base64.h"

TEST(rfc_4648)
{
    /* RFC 4648, chapter 10. */
    static const char *const cases[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = 99;
        char *text = base64_text(cases[i][0], strlen(cases[i][0]));
        char *bytes = base64_bytes(cases[i][1], strlen(cases[i][1]), &n);
        CHECK_STR(cases[i][1], text);
        CHECK_STR(cases[i][0], bytes);
        CHECK_INT(strlen(cases[i][0]), n);
        free(bytes);
        free(text);
    }
}

TEST(every_byte_and_length)
{
    unsigned char all[256];
    for (int i = 0; i < 256; i++) all[i] = (unsigned char)(255 - i);
    for (size_t length = 250; length <= 256; length++) {
        size_t n = 0;
        char *text = base64_text(all, length), *bytes = base64_bytes(text, strlen(text), &n);
        CHECK_INT(length, n);
        CHECK(bytes && !memcmp(all, bytes, length));
        free(bytes);
        free(text);
    }
}

TEST(what_is_none_is_refused)
{
    static const char *const cases[] = {"Z",        "Zg",   "Zg=",   "Zm9vY", "=",    "==",   "===",    "====",
                                        "Zg==Zg==", "Z===", "Zm9\n", "Zm-v",  "Zm_v", "Zm 9", "Zm9v\n", "\xc3\xa9Zg"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = 7;
        char *bytes = base64_bytes(cases[i], strlen(cases[i]), &n);
        if (bytes) CHECK_FAIL("'%s' is taken", cases[i]);
        free(bytes);
    }
    size_t n;
    CHECK(!base64_bytes("Zm\0v", 4, &n));
}

TEST_MAIN(T(rfc_4648), T(every_byte_and_length), T(what_is_none_is_refused))
