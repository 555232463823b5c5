/* Words of a draft that name files, and the words behind /attach. */
#include "tests/check.h"

#include "ui/edit/path_word.h"

/* "[path]" of each word, "{path}" of one in quotes. */
static const char *words(const char *text, bool (*next)(const char *, size_t, size_t *, struct path_word *))
{
    static char out[400];
    struct path_word w;
    out[0] = 0;
    for (size_t at = 0; next(text, strlen(text), &at, &w);) {
        char *path = path_word_read(text, &w);
        size_t n = strlen(out);
        snprintf(out + n, sizeof out - n, w.quoted ? "{%s}" : "[%s]", path);
        if (w.end > strlen(text) || at != w.end || w.start >= w.end) strcat(out, "!");
        free(path);
    }
    return out;
}

TEST(words_of_a_draft)
{
    CHECK_STR("[notes.md]", words("Does it do what @notes.md says?", path_word_next));
    CHECK_STR("[a][b]", words("@a\n@b", path_word_next));
    CHECK_STR("", words("me@home.org, a@b and @", path_word_next));
    CHECK_STR("", words("@ x @\"\" @", path_word_next));
    CHECK_STR("{my notes.md}[x]", words("@\"my notes.md\" @x", path_word_next));
    CHECK_STR("[my notes.md]", words("see @my\\ notes.md there", path_word_next));
    CHECK_STR("{a\"b\\c}", words("@\"a\\\"b\\\\c\"", path_word_next));
    CHECK_STR("{open to the end}", words("@\"open to the end", path_word_next));
    CHECK_STR("[x)][y\"]", words("(@x) \"@y\"", path_word_next));
    CHECK_STR("[@x]", words("@@x", path_word_next));
    CHECK_STR("", words("x(@y", path_word_next));
    CHECK_STR("[end\\]", words("@end\\", path_word_next));
    CHECK_STR("[\303\274 \346\274\242]", words("@\303\274\\ \346\274\242", path_word_next));
}

TEST(words_of_an_argument)
{
    CHECK_STR("[a.c][b.c]{c d}[e f]", words(" a.c  b.c \"c d\" e\\ f ", path_word_argument));
    CHECK_STR("[src/*.c]", words("src/*.c", path_word_argument));
    CHECK_STR("{}", words("\"\"", path_word_argument));
    CHECK_STR("", words("  ", path_word_argument));
}

TEST(sentence_marks_come_off_one_by_one)
{
    const char *text = "(@a.md?).";
    struct path_word w;
    size_t at = 0;
    int n = 0;
    REQUIRE(path_word_next(text, strlen(text), &at, &w));
    while (path_word_shorten(text, &w)) n++;
    CHECK_INT(3, n);
    CHECK_INT(6, w.end);
    at = 0;
    text = "@\"a.\"";
    REQUIRE(path_word_next(text, strlen(text), &at, &w));
    CHECK(!path_word_shorten(text, &w));
    at = 0;
    text = "@.";
    REQUIRE(path_word_next(text, strlen(text), &at, &w));
    CHECK(!path_word_shorten(text, &w)); /* something is left */
}

TEST(a_path_is_read_as_it_was_written)
{
    static const char *const paths[] = {"notes.md", "my notes.md", "a\"b", "a\\b\\", " ", "\303\274 x"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        for (int quoted = 0; quoted < 2; quoted++) {
            char *word = path_word_write(paths[i], quoted ? '"' : 0), text[60];
            snprintf(text, sizeof text, quoted ? "@\"%s\" x" : "@%s x", word);
            size_t at = 0;
            struct path_word w;
            REQUIRE(path_word_next(text, strlen(text), &at, &w));
            char *path = path_word_read(text, &w);
            CHECK_STR(paths[i], path);
            free(path);
            free(word);
        }
}

TEST_MAIN(T(words_of_a_draft), T(words_of_an_argument), T(sentence_marks_come_off_one_by_one),
          T(a_path_is_read_as_it_was_written))
