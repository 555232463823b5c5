/* The splitting rules, pre-token by pre-token: each case is a text cut with '|'. */
#include "engine/text/split/split.h"
#include "engine/text/unicode.h"
#include "tests/check.h"
#include "tests/engine/text/vocabulary.h"

static struct span span_of(const char *text)
{
    return (struct span){text, strlen(text)};
}

/* expressions: up to three, one after the other; or a name alone. */
static bool make(struct split *s, const char *name, const char *const expressions[3])
{
    struct span list[3];
    size_t n = 0;
    tdm_error err = {.text = ""};
    while (!name && n < 3 && expressions[n]) list[n] = span_of(expressions[n]), n++;
    tdm_status status =
        name ? split_init_name(s, "test", span_of(name), &err) : split_init_expressions(s, "test", list, n, &err);
    if (status) CHECK_FAIL("%s", err.text);
    return !status;
}

static void expect_cuts_of(const struct split *s, const char *cut)
{
    char text[256], found[512];
    size_t n = 0, m = 0;
    struct split_progress progress = {0};
    for (const char *c = cut; *c; c++)
        if (*c != '|') text[n++] = *c;
    for (size_t at = 0, end; at < n; at = end) {
        REQUIRE(!split_next(s, &progress, text, n, at, &end, NULL) && end > at);
        if (at) found[m++] = '|';
        memcpy(found + m, text + at, end - at);
        m += end - at;
    }
    found[m] = 0;
    split_end(&progress);
    CHECK_STR(cut, found);
}

static void expect_cuts(const char *name, const char *cut)
{
    struct split s;
    if (make(&s, name, NULL)) expect_cuts_of(&s, cut);
    split_free(&s);
}

static void expect_pieces(const char *first, const char *second, const char *cut)
{
    struct split s;
    if (make(&s, NULL, (const char *const[3]){first, second, NULL})) expect_cuts_of(&s, cut);
    split_free(&s);
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
        expect_cuts("qwen2", cases[i]);
        expect_cuts("qwen35", cases[i]);
    }
}

TEST(marks)
{
    expect_cuts("qwen2", "q|\xCC\x87u");
    expect_cuts("qwen35", "q\xCC\x87u");
    expect_cuts("qwen2", "\xE0\xA4\xB9|\xE0\xA4\xBF\xE0\xA4\xA8|\xE0\xA5\x8D\xE0\xA4\xA6");
    expect_cuts("qwen35", "\xE0\xA4\xB9\xE0\xA4\xBF\xE0\xA4\xA8\xE0\xA5\x8D\xE0\xA4\xA6");
    expect_cuts("qwen2", "a| \xCC\x81!");
    expect_cuts("qwen35", "a| \xCC\x81|!");
}

TEST(other_rules)
{
    expect_cuts("gpt-2", "don|'t| WE|'|LL| 123|abc|  | x|\n\n| y");
    expect_cuts("gpt-2", "'re|'|R|'|r");
    expect_cuts("smollm", "a| |1|2|3|  |4| !?|\n|b|'s");
    expect_cuts("llama-bpe", "123|456|7| x|'LL|!\n|  | y");
    expect_cuts("tekken", "Hello|World|Ab|CDe|1|2| !/\n|x");
    expect_cuts("gpt-4o", "HTTPServer|Don't|we'LL|123|4|\xE4\xB8\xADXy|X");
}

TEST(rules_are_recognised)
{
    static const char llama[] =
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
        "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    static const struct {
        const char *expressions[3], *merging, *ignoring;
    } cases[] = {
        {{"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
          "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
         "qwen2",
         NULL},
        {{llama}, "smaug-bpe", "llama-bpe"},
        {{SPLIT_BYTE_LEVEL}, "gpt-2", NULL},
        {{"\\p{N}", SPLIT_BYTE_LEVEL}, "smollm", NULL},
        {{"\\p{N}"}, NULL, NULL},
        {{llama, SPLIT_BYTE_LEVEL}, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct split s;
        if (!make(&s, NULL, cases[i].expressions)) continue;
        for (int k = 0; k < 2; k++) {
            const char *expected = k ? cases[i].ignoring : cases[i].merging;
            struct span name = split_name(&s, k);
            CHECK(expected ? span_is(name, expected) : !name.length);
        }
        split_free(&s);
    }
    struct split s;
    CHECK_INT(TDM_E_UNSUPPORTED, split_init_name(&s, "test", span_of("qwen"), NULL));
    CHECK_INT(TDM_E_UNSUPPORTED, split_init_name(&s, "test", span_of(""), NULL));
    CHECK_INT(TDM_E_UNSUPPORTED, split_init_name(&s, "test", span_of("qwen2|deepseek-r1-qwen"), NULL));
}

/* ---- Expressions --------------------------------------------------------------------------------------------- */

TEST(expressions)
{
    expect_pieces("a|ab", NULL, "a|b");
    expect_pieces("ab|a", NULL, "ab|a|cc");
    expect_pieces("a{2,3}", NULL, "x|aaa|aa|x");
    expect_pieces("a{2,}b?", NULL, "x|aaaaab|c");
    expect_pieces("(ab)+c|b", NULL, "ababc|a|b|a|b|x");
    expect_pieces("[^a-c]+", NULL, "abc|xyz|a|\xFF\xC3|b");
    expect_pieces("[\\w-]+", NULL, "a-b_1|!|c");
    expect_pieces("\\W", NULL, "ab| |c");
    expect_pieces(".+", NULL, "ab c|\n|d");
    expect_pieces("\\P{L}+", NULL, "ab|12 |c");
    expect_pieces("x(?=y)", NULL, "x|y");
    expect_pieces("x(?=y)|xx", NULL, "xx|y");
    expect_pieces("(?i:[sd]|ll)", NULL, "a|S|\xC5\xBF|D|lL|l");
    expect_pieces("[^\\r\\n\\p{L}]?+\\p{L}+| ?[^\\s\\p{L}]++[\\r\\n]*", NULL, "!ab| !?\n|c");
    expect_pieces("a++b|a", NULL, "aab|a|a|c");
    expect_pieces("a*+ab|a", NULL, "a|a|b");
    expect_pieces("a?+b|x", NULL, "ab|b|x|a");
    expect_pieces("\\p{N}{1,3}", "[a-z]+", "ab|!|123|4|cd");
}

TEST(refused_expressions)
{
    static const char *const cases[][2] = {
        {"a*", "it can match nothing"},
        {"", "it can match nothing"},
        {"a|", "it can match nothing"},
        {"(a|b", "a group without its end"},
        {"a)", "a sign that is not understood"},
        {"[ab", "a set that is not understood"},
        {"[a&&b]", "a set that is not understood"},
        {"[[:alpha:]]", "a set that is not understood"},
        {"[]", "an empty set"},
        {"[b-a]", "a range"},
        {"a+?", "a repetition that is not understood"},
        {"(ab)++", "a possessive repetition"},
        {"(a*)*", "a repetition of what can be nothing"},
        {"a{3,2}", "a repetition that is not understood"},
        {"a{1,100}", "a repetition that is not understood"},
        {"^a", "a sign"},
        {"a$", "a sign"},
        {"\\bx", "an escape"},
        {"\\p{Greek}", "a property"},
        {"(?<=a)b", "a group that is not known"},
        {"a(?!bc)", "more than one character"},
        {"(?i:ss)", "letters in any case that are one together"},
        {"(?i:\xC3\xA4)", "a character in any case"},
        {"((((((((((a))))))))))", "its groups are too deep"},
        {"(((a{64}){64}){64}){64}", "it has too many sets"},
        {"\xFF", "a byte that is no UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct split s;
        struct span text = span_of(cases[i][0]);
        tdm_error err = {.text = ""};
        CHECK_INT(TDM_E_UNSUPPORTED, split_init_expressions(&s, "test", &text, 1, &err));
        if (!strstr(err.text, cases[i][1])) CHECK_FAIL("%s: \"%s\" in \"%s\"", cases[i][0], cases[i][1], err.text);
    }
}

static size_t random_text(char *text)
{
    static const char *const pieces[] = {
        "a", "B",  "re", "'",  "'s",       "'LL",          " ",        "  ",       "\n",   "\r\n",        "\t",
        "1", "23", "!",  "./", "\xC5\xBF", "\xE4\xB8\xAD", "\xCC\x81", "\xC2\xBD", "\xFF", "\xE2\x80\x83"};
    size_t n = 0;
    for (uint32_t i = vocabulary_random(24) + 1; i; i--) {
        const char *piece = pieces[vocabulary_random(sizeof pieces / sizeof *pieces)];
        memcpy(text + n, piece, strlen(piece));
        n += strlen(piece);
    }
    return n;
}

/* The functions against the expressions that they stand for: a group around one makes it unknown to the table. */
TEST(functions_do_as_their_expressions)
{
    static const char *const rest = "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    static const struct {
        const char *name, *first, *second;
        bool ends; /* it ends with what the others end with */
    } cases[] = {
        {"qwen2", "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*",
         NULL, true},
        {"qwen35",
         "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
         "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*",
         NULL, true},
        {"llama-bpe",
         "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
         "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*",
         NULL, true},
        {"gpt-2", SPLIT_BYTE_LEVEL, NULL, false},
        {"smollm", "\\p{N}", SPLIT_BYTE_LEVEL, false},
    };
    int times = check_slow() && !getenv("TANDEM_LONG") ? 1500 : 5000;
    vocabulary_seed(5);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char first[400], text[200];
        snprintf(first, sizeof first, "(?:%s%s)", cases[i].first, cases[i].ends ? rest : "");
        struct split by_name, by_expression;
        if (!make(&by_name, cases[i].name, NULL)) continue;
        if (!make(&by_expression, NULL, (const char *const[3]){first, cases[i].second, NULL})) continue;
        CHECK(!by_name.stage_count && by_expression.stage_count);
        for (int k = 0; k < times && check_failures < 5; k++) {
            size_t n = random_text(text), at = 0;
            struct split_progress a = {0}, b = {0};
            while (at < n) {
                size_t end, other;
                REQUIRE(!split_next(&by_name, &a, text, n, at, &end, NULL));
                REQUIRE(!split_next(&by_expression, &b, text, n, at, &other, NULL));
                if (end != other) CHECK_FAIL("%s: %zu, not %zu, in \"%.*s\"", cases[i].name, end, other, (int)n, text);
                at = end > at ? end : n;
            }
            split_end(&a);
            split_end(&b);
        }
        split_free(&by_name);
        split_free(&by_expression);
    }
}

/* An expression that reads on to the end for each character would take time by the square of the text's length. It is
 * given up after some characters, in the shorter text of the short form under a sanitizer as well. */
TEST(long_searches_end)
{
    struct split s;
    if (!make(&s, NULL, (const char *const[3]){"a+b|a", NULL, NULL})) return;
    size_t n = check_slow() && !getenv("TANDEM_LONG") ? 1 << 16 : 1 << 20, at = 0, end;
    char *text = malloc(n);
    REQUIRE(text);
    memset(text, 'a', n);
    struct split_progress progress = {0};
    tdm_status status = TDM_OK;
    for (; at < n && !status; at = end) status = split_next(&s, &progress, text, n, at, &end, NULL);
    CHECK_INT(TDM_E_REFUSED, status);
    split_end(&progress);
    split_free(&s);
    free(text);
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

TEST_MAIN(T(both_rules), T(marks), T(other_rules), T(rules_are_recognised), T(expressions), T(refused_expressions),
          T(functions_do_as_their_expressions), T(long_searches_end), T(python_strip))
