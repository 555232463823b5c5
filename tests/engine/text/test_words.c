/* Pieces that end with a word: a Metaspace that splits, as a tokenizer.json may have it. */
#include "engine/text/tokenizer_json.h"
#include "tests/check.h"

#define MARK "\xE2\x96\x81"

enum { A, B, BLANK, A_BLANK, TWO_BLANKS, BLANK_B, A_BLANK_B, BYTES };

/* With all pairs of a, b and blanks among its merges. */
static struct tokenizer *make(const char *split, const char *scheme)
{
    char document[20000];
    struct tokenizer_json *json;
    struct tokenizer *t = NULL;
    tdm_error err = {.text = ""};
    size_t n = (size_t)snprintf(document, sizeof document,
                                "{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"" MARK
                                "\",\"prepend_scheme\":\"%s\"%s},"
                                "\"model\":{\"byte_fallback\":true,\"merges\":[\"a " MARK "\",\"" MARK " " MARK
                                "\",\"" MARK " b\",\"a " MARK "b\"],\"vocab\":{\"a\":0,\"b\":1,\"" MARK "\":2,\"a" MARK
                                "\":3,\"" MARK MARK "\":4,\"" MARK "b\":5,\"a" MARK "b\":6",
                                scheme, split);
    for (int b = 0; b < 256; b++)
        n += (size_t)snprintf(document + n, sizeof document - n, ",\"<0x%02X>\":%d", (unsigned)b, BYTES + b);
    n += (size_t)snprintf(document + n, sizeof document - n, "}}}");
    tdm_status status = tokenizer_json_open_memory(&json, "made", document, n, &err);
    if (!status) status = tokenizer_load_parts(&t, tokenizer_json_parts(json), &err);
    if (status) CHECK_FAIL("%s", err.text);
    tokenizer_json_close(json);
    return t;
}

TEST(a_blank_begins_a_word)
{
    static const char no[] = ",\"split\":false", yes[] = ",\"split\":true";
    static const struct {
        const char *split, *scheme, *text;
        tdm_id ids[8];
        size_t n;
    } cases[] = {
        {yes, "first", "a b", {BLANK, A, BLANK_B}, 3},
        {"", "first", "a b", {BLANK, A, BLANK_B}, 3}, /* it does unless it says no */
        {no, "first", "a b", {BLANK, A_BLANK, B}, 3},
        {yes, "never", "a b", {A, BLANK_B}, 2},
        {yes, "always", "b  b a", {BLANK_B, BLANK, BLANK_B, BLANK, A}, 5},
        {no, "first", "  a", {TWO_BLANKS, A}, 2},
        {yes, "first", "  a", {BLANK, BLANK, A}, 3},
        {yes, "first", "a ", {BLANK, A, BLANK}, 3},
        {yes, "first", "a" MARK "b", {BLANK, A, BLANK_B}, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tokenizer *t = make(cases[i].split, cases[i].scheme);
        struct ids ids = {0};
        tdm_error err;
        REQUIRE(t);
        REQUIRE(!tokenizer_encode(t, cases[i].text, strlen(cases[i].text), TOKENIZE_BEGIN, 0, &ids, &err));
        if (ids.count != cases[i].n || memcmp(ids.id, cases[i].ids, ids.count * sizeof *ids.id))
            CHECK_FAIL("case %zu: %zu ids", i, ids.count);
        ids_free(&ids);
        tokenizer_free(t);
    }
}

/* What is stable of a text that grows has the ids that it has in the whole. */
TEST(stable_parts)
{
    static const char text[] = "a b  ab ba   b a b";
    struct tokenizer *t = make("", "first");
    struct ids whole = {0};
    tdm_error err;
    REQUIRE(t);
    REQUIRE(!tokenizer_encode(t, text, strlen(text), TOKENIZE_BEGIN, 0, &whole, &err));
    size_t most = 0;
    for (size_t n = 1; n <= strlen(text); n++) {
        struct ids ids = {0};
        size_t stable;
        REQUIRE(!tokenizer_stable_prefix(t, text, n, TOKENIZE_BEGIN, n, &stable, &err));
        REQUIRE(!tokenizer_encode(t, text, stable, TOKENIZE_BEGIN, 0, &ids, &err));
        REQUIRE(!tokenizer_encode(t, text + stable, strlen(text) - stable, stable ? 0 : TOKENIZE_BEGIN, stable, &ids,
                                  &err));
        CHECK(ids.count == whole.count && !memcmp(ids.id, whole.id, ids.count * sizeof *ids.id));
        most = stable > most ? stable : most;
        ids_free(&ids);
    }
    CHECK(most > 10);
    ids_free(&whole);
    tokenizer_free(t);
}

TEST_MAIN(T(a_blank_begins_a_word), T(stable_parts))
