/* A text that is edited has the ids and the stable part that the tokenizer gives for all of it, whatever was edited
 * before; and an edit at its end leaves nearly all of it alone. */
#include "tests/check.h"

#include "engine/text/incremental.h"
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

/* The text as one message of a prompt, or with a turn of the template's within it at every few bytes. */
static void fill_prompt(struct written *w, const char *text, size_t n, bool turns)
{
    static const char turn[] = "<|im_end|>\n<|im_start|>user\n";
    written_clear(w);
    for (size_t at = 0, part; at < n; at += part) {
        part = turns && n - at > 900 ? 900 : n - at;
        CHECK(!written_add(w, (struct span){text + at, part}, true, &err));
        if (at + part < n) CHECK(!written_add(w, (struct span){turn, sizeof turn - 1}, false, &err));
    }
}

/* The first `length` bytes have the ids that they have in the whole text. */
static void check_ids(struct incremental *g, const struct written *w, size_t length)
{
    struct ids b = {0}, *a;
    CHECK(tokenizer_encode_written(golden_small(), w->text, w->ends, w->n_ends, &b, &err) == TDM_OK);
    CHECK(incremental_encode(g, length, &a, &err) == TDM_OK);
    if (length == w->n) CHECK_INT(b.count, a->count);
    for (size_t k = 0; k < a->count && k < b.count && !check_failures; k++)
        if (a->id[k] != b.id[k] || a->end[k] != b.end[k])
            CHECK_FAIL("id %zu of %zu: %d to byte %zu, expected %d to %zu", k, b.count, a->id[k], a->end[k], b.id[k],
                       b.end[k]);
    ids_free(&b);
}

static void check_same(struct incremental *g, const char *text, size_t n)
{
    size_t begin = 0, whole, stable;
    struct written w = {0};
    bool turns = n % 7 < 3;
    fill_prompt(&w, text, n, turns);
    size_t limit = w.n;
    if (w.n) unicode_strip(w.text, &begin, &limit);
    if (vocabulary_random(2)) limit = w.n;
    REQUIRE(incremental_set(g, &w, 0, limit, &err) == TDM_OK);
    CHECK(incremental_stable(g, &stable, &err) == TDM_OK);
    CHECK(!turns || stable <= limit);
    if (!turns) {
        CHECK(tokenizer_stable_prefix(golden_small(), text, n, TOKENIZE_BEGIN, limit, &whole, &err) == TDM_OK);
        CHECK_INT(whole, stable);
    }
    check_ids(g, &w, stable);
    check_ids(g, &w, w.n);
    written_free(&w);
}

TEST(an_edited_text_has_the_ids_of_the_whole)
{
    static char text[12000];
    struct incremental *g;
    REQUIRE(incremental_new(&g, golden_small(), &err) == TDM_OK);
    int rounds = getenv("TANDEM_LONG") ? 40000 : check_slow() ? 500 : 1500;
    size_t n = fill(text, sizeof text, 2000);
    for (int i = 0; i < rounds && !check_failures; i++) {
        if (vocabulary_random(200) == 0) n = fill(text, sizeof text, vocabulary_random(3000));
        n = edit(text, n, sizeof text);
        check_same(g, text, n);
    }
    incremental_free(g);
}

static void set(struct incremental *g, struct written *w, const char *text, size_t n)
{
    fill_prompt(w, text, n, false);
    CHECK(incremental_set(g, w, 0, n, &err) == TDM_OK);
}

TEST(a_key_at_the_end_of_a_long_text_looks_at_its_end_only)
{
    enum { LONG = 100000 };
    static char text[LONG + 1000];
    struct incremental *g;
    struct written w = {0};
    REQUIRE(incremental_new(&g, golden_small(), &err) == TDM_OK);
    size_t n = 0;
    while (n < LONG) n += (size_t)snprintf(text + n, sizeof text - n, "line %zu of a long text,\n", n);
    set(g, &w, text, n);
    CHECK_INT(0, incremental_kept(g)); /* all of it is new */
    for (int i = 0; i < 500; i++) {
        text[n] = " word"[i % 5];
        n++;
        set(g, &w, text, n);
        CHECK(incremental_kept(g) + 3000 > n);
    }
    for (int i = 0; i < 300; i++) {
        n--;
        set(g, &w, text, n);
        CHECK(incremental_kept(g) + 3000 > n);
    }
    text[LONG / 2] = '!';
    set(g, &w, text, n);
    CHECK(incremental_kept(g) > LONG / 2 - 3000 && incremental_kept(g) <= LONG / 2);
    incremental_free(g);
    written_free(&w);
}

/* Random edits seldom meet the place where an anchor's ids end. What comes there may join what is before it. */
TEST(what_comes_behind_an_anchor_may_join_what_is_before_it)
{
    enum { LONG = 1500 };
    char text[LONG + 100], with[LONG + 200];
    struct incremental *g;
    struct written w = {0};
    REQUIRE(incremental_new(&g, golden_small(), &err) == TDM_OK);
    size_t n = 0;
    while (n < LONG) n += (size_t)snprintf(text + n, sizeof text - n, "line %zu of a long text,\n", n);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        set(g, &w, text, n - 1);
        set(g, &w, text, n);
        size_t kept = incremental_kept(g), length = strlen(pieces[i]);
        REQUIRE(kept > LONG / 3 && kept < n);
        memcpy(with, text, kept);
        memcpy(with + kept, pieces[i], length);
        memcpy(with + kept + length, text + kept, n - kept);
        set(g, &w, with, n + length);
        check_ids(g, &w, w.n);
    }
    incremental_free(g);
    written_free(&w);
}

/* The same text, which may end earlier than was said before. */
TEST(a_smaller_limit_holds_for_the_stable_part)
{
    enum { LONG = 5000, LIMIT = 1800 };
    char text[LONG + 100];
    struct incremental *g;
    struct written w = {0};
    size_t n = 0, stable = 0;
    REQUIRE(incremental_new(&g, golden_small(), &err) == TDM_OK);
    while (n < LONG) n += (size_t)snprintf(text + n, sizeof text - n, "line %zu of a long text,\n", n);
    set(g, &w, text, n);
    CHECK(!incremental_stable(g, &stable, &err) && stable > LONG - 100);
    CHECK(!incremental_set(g, &w, 0, LIMIT, &err));
    CHECK(!incremental_stable(g, &stable, &err) && stable <= LIMIT && stable > LIMIT - 100);
    check_ids(g, &w, stable);
    incremental_free(g);
    written_free(&w);
}

TEST_MAIN(T(an_edited_text_has_the_ids_of_the_whole), T(what_comes_behind_an_anchor_may_join_what_is_before_it),
          T(a_smaller_limit_holds_for_the_stable_part), T(a_key_at_the_end_of_a_long_text_looks_at_its_end_only))
