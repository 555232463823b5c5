/* What a reader takes for the same is found, whatever case and form it is written in. */
#include "tests/check.h"

#include "ui/unicode/fold.h"

static size_t find(const char *text, const char *words)
{
    size_t at = 999, length = fold_find(text, strlen(text), 0, words, strlen(words), &at);
    return length ? at * 100 + length : 0;
}

TEST(case_and_form)
{
    static const struct {
        const char *a, *b;
    } same[] = {
        {"abc", "aBC"},
        {"\u00E9", "e\u0301"},
        {"\u00C9", "e\u0301"},
        {"\u1EC7", "e\u0323\u0302"},
        {"e\u0302\u0323", "e\u0323\u0302"}, /* marks of different places, in either order */
        {"Stra\u00DFe", "STRASSE"},
        {"\u03A3\u03AF\u03C3\u03C5\u03C6\u03BF\u03C2", "\u03C3\u03AF\u03C3\u03C5\u03C6\u03BF\u03C3"},
        {"\u0416\u0423\u041A", "\u0436\u0443\u043A"},
        {"\uAC01", "\u1100\u1161\u11A8"},
        {"\u212B", "\u00E5"},
        {"\uFB03", "ffi"},
        {"\U00010400", "\U00010428"},
        {"a\xff", "A\xff"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const char *a = same[i].a, *b = same[i].b;
        if (fold_compare(a, b) || fold_compare(b, a)) CHECK_FAIL("%s and %s differ", a, b);
        CHECK_INT(strlen(a), find(a, b));
        CHECK_INT(strlen(b), find(b, a));
        CHECK(strlen(a) <= FOLD_GROWTH * strlen(b) && strlen(b) <= FOLD_GROWTH * strlen(a));
    }
    CHECK(fold_compare("a", "b") < 0 && fold_compare("b", "A") > 0 && fold_compare("ab", "a") > 0);
    CHECK(fold_compare("a\xff", "a\xfe") && fold_compare("", "a") < 0 && !fold_compare("", ""));
}

TEST(whole_characters)
{
    CHECK_INT(0, find("\u00E9", "e"));
    CHECK_INT(0, find("e\u0301", "e"));
    CHECK_INT(0, find("\uAC01", "\uAC00"));
    CHECK_INT(0, find("\u1100\u1161\u11A8", "\uAC00"));
    CHECK_INT(0, find("e\u0301", "\u0301"));
    CHECK_INT(0, find("\u00DF", "s"));
    CHECK_INT(0, find("\xe2\x82\xac", "\x82"));
    CHECK_INT(301, find("e\u0301ea", "e"));
    CHECK_INT(203, find("x e\u0301x", "\u00C9"));
    CHECK_INT(0, find("abc", ""));
    CHECK_INT(0, find("", "a"));
    CHECK(fold_holds("a", "") && fold_holds("x\u00C9", "e\u0301") && !fold_holds("", "a"));
    CHECK(fold_begins("anything", "", FOLD_FORM) && fold_begins("\u00E9a", "e\u0301", FOLD_FORM));
    CHECK(!fold_begins("\u00C9a", "e\u0301", FOLD_FORM) && fold_begins("\u00C9a", "e\u0301", FOLD_CASE));
}

/* All bytes: ends, and finds each text in itself. */
TEST(any_bytes)
{
    unsigned seed = 3;
    for (int round = 0; round < 3000; round++) {
        static const char *const parts[] = {"\xff", "\x80",   "\xe2\x80", "\u0301", "\u0323",     "\u00DF", "S",
                                            "z",    "\u1100", "\u1161",   "\u0390", "\U0001D160", "\n"};
        char text[600] = "";
        for (int i = 0, n = round % 100; i < n; i++) {
            seed = seed * 1103515245 + 12345;
            strcat(text, parts[(seed >> 16) % (sizeof parts / sizeof *parts)]);
        }
        size_t n = strlen(text);
        if (n && fold_match(text, n, 0, text, n, FOLD_CASE) != n) CHECK_FAIL("round %d", round);
        for (size_t at = 0; at < n; at++)
            if (fold_match(text, n, at, text, n / 2, FOLD_CASE) > n - at) CHECK_FAIL("round %d, from %zu", round, at);
    }
}

TEST_MAIN(T(case_and_form), T(whole_characters), T(any_bytes))
