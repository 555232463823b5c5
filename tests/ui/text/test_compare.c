/* What differs between two texts, by words. */
#include "tests/check.h"

#include "ui/text/compare.h"

static void is(const char *expected, const char *left, const char *right, int cols)
{
    char *found = compare_texts("1/2", left, "2/2", right, cols);
    REQUIRE(found);
    CHECK_STR(expected, found);
    free(found);
}

TEST(one_text_has_both_where_columns_do_not_fit)
{
    is("[-1/2-]  {+2/2+}\n\nThe [-old-] {+new+} bakery by the sea.\n", "The old bakery by the sea.",
       "The new bakery by the sea.", 60);
    is("[-1/2-]  {+2/2+}\n\na b\n\nc {+d e+}\n", "a b\n\nc", "a b\n\nc d e", 60);
    is("[-1/2-]  {+2/2+}\n\nsame\n", "same", "same", 60);
    is("[-1/2-]  {+2/2+}\n\n[-gone-]\n", "gone", "", 60);
    is("[-1/2-]  {+2/2+}\n\n\n", " \n", "", 60);
}

TEST(columns_have_a_text_each)
{
    is("1/2                                    | 2/2\n"
       "The [-old-] bakery by the sea.         | The {+new+} bakery by the sea.\n"
       "                                       | {+And more.+}\n",
       "The old bakery by the sea.", "The new bakery by the sea.\nAnd more.", 80);
    is("1/2                                    | 2/2\n"
       "[-one two three four five six seven    | {+uno+}\n"
       "eight nine ten-]                       | \n",
       "one two three four five six seven eight nine ten", "uno", 80);
}

TEST(long_texts_are_compared_as_far_as_that_goes)
{
    enum { WORDS = 6000 };
    static char left[WORDS * 8], right[WORDS * 8];
    size_t l = 0, r = 0;
    for (int i = 0; i < WORDS; i++) {
        l += (size_t)sprintf(left + l, "a%d ", i);
        r += (size_t)sprintf(right + r, "%c%d ", i == 0 || i == WORDS - 1 ? 'a' : 'b', i);
    }
    char *found = compare_texts("1", left, "2", right, 40);
    REQUIRE(found);
    CHECK(strstr(found, "a0 [-a1 a2 "));
    CHECK(strstr(found, "b5998+} a5999"));
    free(found);
}

TEST_MAIN(T(one_text_has_both_where_columns_do_not_fit), T(columns_have_a_text_each),
          T(long_texts_are_compared_as_far_as_that_goes))
