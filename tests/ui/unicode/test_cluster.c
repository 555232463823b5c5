/* Where grapheme clusters begin and end, forwards and backwards alike, in any bytes. */
#include "tests/check.h"

#include "ui/unicode/cluster.h"

TEST(ends)
{
    const char *text = "a\U0001F468\u200D\U0001F469e\u0301\U0001F1E9\U0001F1EA\U0001F1EB\U0001F1F7x\r\n";
    static const size_t ends[] = {1, 12, 15, 23, 31, 32, 34};
    size_t n = strlen(text), at = 0, i = 0;
    for (; at < n; i++) {
        size_t end = cluster_end(text, n, at);
        CHECK_INT(ends[i], end);
        for (size_t k = at + 1; k <= end; k++) CHECK_INT(at, cluster_before(text, n, k));
        for (size_t k = at; k < end; k++) CHECK_INT(at, cluster_start(text, n, k));
        at = end;
    }
    CHECK_INT(7, i);
    CHECK_INT(0, cluster_before(text, n, 0));
    CHECK_INT(n, cluster_start(text, n, n));
    CHECK_INT(n, cluster_end(text, n, n));
}

TEST(any_bytes)
{
    unsigned seed = 7;
    for (int round = 0; round < 2000; round++) {
        char text[24];
        static const char *const parts[] = {"\xff",       "\x80", "\xe2\x80", "\u0301", "\u200D", "\U0001F1E9",
                                            "\U0001F469", "z",    "\n",       "\u1100", "\u1161"};
        size_t n = 0;
        for (seed = seed * 1103515245 + 12345; n < 20;) {
            const char *part = parts[(seed >> 16) % (sizeof parts / sizeof *parts)];
            seed = seed * 1103515245 + 12345;
            memcpy(text + n, part, strlen(part));
            n += strlen(part);
        }
        for (size_t at = 0, end; at < n; at = end) {
            end = cluster_end(text, n, at);
            if (end <= at || end > n) CHECK_FAIL("round %d: %zu to %zu of %zu", round, at, end, n);
        }
        for (size_t at = n, before; at > 0; at = before)
            if ((before = cluster_before(text, n, at)) >= at) CHECK_FAIL("round %d: before %zu", round, at);
    }
}

TEST_MAIN(T(ends), T(any_bytes))
