/* Where the draft is cut into rows. */
#include "tests/check.h"

#include "ui/edit/rows.h"

/* The rows of a text, with a bar between them. */
static const char *cut(const char *text, int columns, int used)
{
    static char out[256];
    size_t n = 0, len = strlen(text);
    for (size_t at = 0;;) {
        size_t end = rows_end(text, len, at, columns, used);
        memcpy(out + n, text + at, end - at);
        n += end - at;
        if (end == len) break;
        out[n++] = '|';
        at = end + (text[end] == '\n');
        used = 0;
    }
    out[n] = 0;
    return out;
}

TEST(rows_end_at_words)
{
    CHECK_STR("the |quick |brown |fox", cut("the quick brown fox", 8, 0));
    CHECK_STR("the quick |brown fox", cut("the quick brown fox", 10, 0));
    CHECK_STR("the |quick |brown fox", cut("the quick brown fox", 9, 0)); /* the blank behind 'quick' has no cell */
    CHECK_STR("the quick", cut("the quick", 9, 0));
    CHECK_STR("ab|cd ef|", cut("ab\ncd ef\n", 8, 0));
    CHECK_STR("", cut("", 8, 0));
}

TEST(long_words_are_cut)
{
    CHECK_STR("abcd|efgh|ij", cut("abcdefghij", 4, 0));
    CHECK_STR("a |bcde|fg h", cut("a bcdefg h", 4, 0));
    CHECK_STR("ab    |    cd", cut("ab        cd", 6, 0)); /* blanks are shown, all of them */
}

TEST(wide_characters)
{
    CHECK_STR("漢字|漢字", cut("漢字漢字", 5, 0));
    CHECK_STR("ab漢|字cd", cut("ab漢字cd", 4, 0));
    CHECK_STR("漢|字。", cut("漢字。", 4, 0)); /* a closing mark begins no row */
    CHECK_STR("漢|字", cut("漢字", 1, 0));     /* narrower than a character */
}

TEST(tabs_reach_to_their_stop)
{
    CHECK_STR("a\t|b", cut("a\tb", 8, 0));
    CHECK_STR("a\tb", cut("a\tb", 9, 0));
    CHECK_STR("abcd\t|e", cut("abcd\te", 6, 0)); /* at most to the end of the row */
}

TEST(beside_a_prompt)
{
    CHECK_STR("ab |cdef gh", cut("ab cdef gh", 8, 4));
    CHECK_STR("|abcdef", cut("abcdef", 6, 4));
    CHECK_STR("|abcd|ef", cut("abcdef", 4, 4));
}

TEST(endless_rows)
{
    CHECK_STR("a long line without an end|b", cut("a long line without an end\nb", 0, 0));
}

TEST_MAIN(T(rows_end_at_words), T(long_words_are_cut), T(wide_characters), T(tabs_reach_to_their_stop),
          T(beside_a_prompt), T(endless_rows))
