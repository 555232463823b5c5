/* A text that is edited has the ids and the stable part that the tokenizer gives for all of it, whatever was edited
 * before; and an edit at its end leaves nearly all of it alone. */
#include "tests/check.h"

#include "engine/text/growing.h"
#include "engine/text/unicode.h"
#include "tests/engine/text/golden.h"
#include "tests/engine/text/vocabulary.h"

static tdm_error err;
/* What splits, joins, composes, or goes on for long. */
static const char *const pieces[] = {
    "the ", "word", " it's", "42", "  ", "\n", "\r\n\r\n", "\t ", ", ", "_->", "<|im_end|>", "x", "\x1c",
    "e\xcc\x81", "\xcc\x81", "\xe4\xbd\xa0\xe5\xa5\xbd", "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb",
    "\xe1\x84\x80\xe1\x85\xa1", "\xff", "\xe2\x82", "\xc2\xa0"};

static size_t fill(char *text, size_t room, uint32_t count)
{
    size_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *piece = pieces[vocabulary_random(sizeof pieces / sizeof *pieces)];
        if (n + strlen(piece) > room) break;
        memcpy(text + n, piece, strlen(piece));
        n += strlen(piece);
    }
    return n;
}

/* One edit of text[0..n): returns its new length. */
static size_t edit(char *text, size_t n, size_t room)
{
    char fresh[600];
    size_t at = vocabulary_random(3) ? n : vocabulary_random((uint32_t)n + 1), in = 0;
    size_t out = vocabulary_random(4) ? 0 : vocabulary_random(40);
    switch (vocabulary_random(12)) {
    case 0: in = fill(fresh, sizeof fresh, 40); break;
    case 1: memset(fresh, vocabulary_random(2) ? ' ' : 'a', sizeof fresh), in = vocabulary_random(sizeof fresh); break;
    case 2: at = n - vocabulary_random((uint32_t)(n < 3000 ? n : 3000) + 1), out = n - at; break;
    default: in = fill(fresh, sizeof fresh, 1); break;
    }
    if (out > n - at) out = n - at;
    if (n - out + in > room) in = 0;
    memmove(text + at + in, text + at + out, n - at - out);
    memcpy(text + at, fresh, in);
    return n - out + in;
}

static void check_same(struct growing *g, const char *text, size_t n)
{
    size_t begin = 0, limit = n, whole, stable;
    unicode_strip(text, &begin, &limit);
    if (vocabulary_random(2)) limit = n;
    REQUIRE(growing_set(g, text, n, limit, &err) == TDM_OK);
    CHECK(growing_stable(g, &stable, &err) == TDM_OK);
    CHECK(tokenizer_stable_prefix(golden_small(), text, n, limit, &whole, &err) == TDM_OK);
    CHECK_INT(whole, stable);
    for (int i = 0; i < 2; i++) {
        struct ids a = {0}, b = {0};
        size_t length = i ? n : stable;
        CHECK(growing_encode(g, length, 100, &a, &err) == TDM_OK);
        CHECK(tokenizer_encode(golden_small(), text, length, 0, 100, &b, &err) == TDM_OK);
        CHECK_INT(b.count, a.count);
        for (size_t k = 0; k < a.count && k < b.count && !check_failures; k++)
            if (a.id[k] != b.id[k] || a.end[k] != b.end[k])
                CHECK_FAIL("id %zu of %zu: %d to byte %zu, expected %d to %zu", k, b.count, a.id[k], a.end[k],
                           b.id[k], b.end[k]);
        ids_free(&a);
        ids_free(&b);
    }
}

TEST(an_edited_text_has_the_ids_of_the_whole)
{
    static char text[12000];
    struct growing *g;
    REQUIRE(growing_new(&g, golden_small(), &err) == TDM_OK);
    int rounds = getenv("TANDEM_LONG") ? 40000 : 1500;
    size_t n = fill(text, sizeof text, 2000);
    for (int i = 0; i < rounds && !check_failures; i++) {
        if (vocabulary_random(200) == 0) n = fill(text, sizeof text, vocabulary_random(3000));
        n = edit(text, n, sizeof text);
        check_same(g, text, n);
    }
    growing_free(g);
}

TEST(a_key_at_the_end_of_a_long_text_looks_at_its_end_only)
{
    enum { LONG = 100000 };
    static char text[LONG + 1000];
    struct growing *g;
    REQUIRE(growing_new(&g, golden_small(), &err) == TDM_OK);
    size_t n = 0;
    while (n < LONG) n += (size_t)snprintf(text + n, sizeof text - n, "line %zu of a long text,\n", n);
    REQUIRE(growing_set(g, text, n, n, &err) == TDM_OK);
    CHECK_INT(0, growing_kept(g)); /* all of it is new */
    for (int i = 0; i < 500; i++) {
        text[n] = " word"[i % 5];
        n++;
        REQUIRE(growing_set(g, text, n, n, &err) == TDM_OK);
        CHECK(growing_kept(g) + 3000 > n);
    }
    for (int i = 0; i < 300; i++) {
        n--;
        REQUIRE(growing_set(g, text, n, n, &err) == TDM_OK);
        CHECK(growing_kept(g) + 3000 > n);
    }
    text[LONG / 2] = '!';
    REQUIRE(growing_set(g, text, n, n, &err) == TDM_OK);
    CHECK(growing_kept(g) > LONG / 2 - 3000 && growing_kept(g) <= LONG / 2);
    growing_free(g);
}

TEST_MAIN(T(an_edited_text_has_the_ids_of_the_whole), T(a_key_at_the_end_of_a_long_text_looks_at_its_end_only))
