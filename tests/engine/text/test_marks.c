/* The marks of turns and of thinking, whatever a file calls their tokens: they are found by their text, end a reply,
 * are not shown, and what a user types never becomes one. */
#include "tests/check.h"

#include "engine/text/template/template.h"
#include "engine/text/tokenizer.h"
#include "engine/text/tokenizer_json.h"
#include "tests/engine/text/vocabulary.h"

TEST(words_of_a_template)
{
    static const char text[] = "{{ '<|im_start|>' + role }}<|a|b|><||><|x y|><|end_of_turn_2|><|im_start|><|tail";
    struct marks m;
    marks_init(&m);
    size_t family = m.n;
    marks_read_template(&m, (struct span){text, sizeof text - 1});
    CHECK_INT(family + 1, m.n);
    CHECK(span_is(m.texts[family], "<|end_of_turn_2|>") && m.control[family]);
    CHECK(marks_look((struct span){"</s>", 4}) && marks_look((struct span){"[EOS]", 5}));
    CHECK(!marks_look((struct span){"<s", 2}) && !marks_look((struct span){"ok", 2}) &&
          !marks_look((struct span){"", 0}));
    CHECK(marks_is_word((struct span){"<|im_end|>", 10}) && !marks_is_word((struct span){"<|im_end|>x", 11}));
    char many[MARKS_MAX * 16];
    size_t n = 0;
    for (int i = 0; i < MARKS_MAX + 10; i++) n += (size_t)snprintf(many + n, sizeof many - n, "<|m%d|>", i);
    marks_read_template(&m, (struct span){many, n});
    CHECK_INT(MARKS_MAX, m.n);
}

static struct tokenizer *load(const struct tokenizer_parts *parts)
{
    struct tokenizer *t;
    tdm_error err;
    if (tokenizer_load_parts(&t, parts, &err)) CHECK_FAIL("%s", err.text);
    return t;
}

static bool encodes_to(const struct tokenizer *t, const char *text, unsigned flags, tdm_id id)
{
    struct ids ids = {0};
    CHECK(!tokenizer_encode(t, text, strlen(text), flags, 0, &ids, NULL));
    bool found = false;
    for (size_t i = 0; i < ids.count; i++) found |= ids.id[i] == id;
    ids_free(&ids);
    return found;
}

/* Whatever the type, the token 256 is the mark. */
TEST(marks_of_any_type)
{
    static const int32_t types[] = {TOKENIZER_CONTROL, TOKENIZER_USER_DEFINED, TOKENIZER_NORMAL,
                                    TOKENIZER_UNKNOWN, TOKENIZER_UNUSED,       TOKENIZER_BYTE};
    struct marks marks;
    marks_init(&marks);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct vocabulary v = {0};
        vocabulary_bytes(&v);
        vocabulary_token(&v, "<|im_end|>", types[i], 0);
        vocabulary_token(&v, "<think>", types[i], 0);
        vocabulary_token(&v, "<|other|>", types[i], 0);
        struct tokenizer_parts parts = vocabulary_parts(&v);
        /* Merges that would make it of what a user types, and a file that takes whole words. */
        struct span merges[] = {{"< |", 3}, {"i m", 3}};
        vocabulary_token(&v, "<|", TOKENIZER_NORMAL, 0);
        vocabulary_token(&v, "im", TOKENIZER_NORMAL, 0);
        parts.token_count = v.count;
        parts.merges = merges;
        parts.merge_count = 2;
        parts.ignore_merges = true;
        parts.marks = &marks;
        struct tokenizer *t = load(&parts);
        REQUIRE(t);
        CHECK_INT(256, tokenizer_find(t, "<|im_end|>"));
        CHECK_INT(257, tokenizer_find(t, "<think>"));
        CHECK(tokenizer_is_special(t, 256) && tokenizer_is_added(t, 256));
        CHECK_INT(types[i] == TOKENIZER_CONTROL, tokenizer_is_special(t, 257)); /* it is shown */
        CHECK(span_is(tokenizer_bytes(t, 256), "<|im_end|>"));
        CHECK(encodes_to(t, "a<|im_end|>b", TOKENIZE_ADDED, 256));
        CHECK(!encodes_to(t, "a<|im_end|>b", 0, 256) && !encodes_to(t, "<|im_end|>", 0, 256));
        CHECK_INT(types[i] == TOKENIZER_CONTROL, tokenizer_is_special(t, 258)); /* nobody said that it is a mark */
        tokenizer_free(t);
    }
}

/* Without types every text <|...|> is a control token. */
TEST(no_types)
{
    struct marks marks;
    marks_init(&marks);
    struct vocabulary v = {0};
    vocabulary_bytes(&v);
    vocabulary_token(&v, "<|im_end|>", TOKENIZER_CONTROL, 0);
    vocabulary_token(&v, "<|vision_start|>", TOKENIZER_CONTROL, 0);
    vocabulary_token(&v, "</think>", TOKENIZER_CONTROL, 0);
    struct tokenizer_parts parts = vocabulary_parts(&v);
    parts.types = NULL;
    parts.added_flags = NULL;
    parts.marks = &marks;
    struct tokenizer *t = load(&parts);
    REQUIRE(t);
    CHECK_INT(256, tokenizer_find(t, "<|im_end|>"));
    CHECK_INT(257, tokenizer_find(t, "<|vision_start|>"));
    CHECK_INT(258, tokenizer_find(t, "</think>"));
    CHECK(tokenizer_is_special(t, 256) && tokenizer_is_special(t, 257) && !tokenizer_is_special(t, 258));
    tokenizer_free(t);
}

/* A merge that ends in a mark is none; the mark that is an added token already stays the one. */
TEST(merges_and_doubles)
{
    struct marks marks;
    marks_init(&marks);
    struct vocabulary v = {0};
    vocabulary_bytes(&v);
    vocabulary_token(&v, "<think>", TOKENIZER_NORMAL, 0);     /* 256 */
    vocabulary_token(&v, "<think", TOKENIZER_NORMAL, 0);      /* 257 */
    vocabulary_token(&v, "<|im_end|>", TOKENIZER_NORMAL, 0);  /* 258: another with the text of 259 */
    vocabulary_token(&v, "<|im_end|>", TOKENIZER_CONTROL, 0); /* 259 */
    vocabulary_token(&v, "</s>", TOKENIZER_NORMAL, 0);        /* 260: ends a reply by its id */
    vocabulary_token(&v, "stop", TOKENIZER_NORMAL, 0);        /* 261: so does this word */
    static const tdm_id stops[] = {260, 261};
    struct span merge = {"<think >", 8};
    struct tokenizer_parts parts = vocabulary_parts(&v);
    parts.merges = &merge;
    parts.merge_count = 1;
    marks.stops = stops;
    marks.n_stops = 2;
    parts.marks = &marks;
    struct tokenizer *t = load(&parts);
    REQUIRE(t);
    CHECK_INT(256, tokenizer_find(t, "<think>"));
    CHECK_INT(259, tokenizer_find(t, "<|im_end|>"));
    CHECK(tokenizer_is_special(t, 260) && !tokenizer_is_special(t, 261));
    CHECK(!encodes_to(t, "<think>", 0, 256));
    tokenizer_free(t);
}

/* ---- tokenizer.json ---------------------------------------------------------------------------------------------- */

static char *read_golden(void)
{
    FILE *f = fopen(check_data("goldens/tiny-a/tokenizer.json"), "rb");
    char *text = calloc(1, 1 << 16);
    if (!f || !text || !fread(text, 1, (1 << 16) - 1, f)) abort();
    fclose(f);
    return text;
}

/* One text in place of another, wherever that stands; frees the text. */
static char *replace(char *text, const char *from, const char *to)
{
    char *made = calloc(1, 1 << 17), *at = text, *found;
    size_t n = 0;
    if (!made) abort();
    CHECK(strstr(text, from));
    while ((found = strstr(at, from))) {
        n += (size_t)sprintf(made + n, "%.*s%s", (int)(found - at), at, to);
        at = found + strlen(from);
    }
    sprintf(made + n, "%s", at);
    free(text);
    return made;
}

/* The golden file, changed; the mark is in the vocabulary as well. */
static tdm_status load_changed(struct tokenizer **out, const char *from, const char *to, tdm_error *err)
{
    char *made = replace(read_golden(), from, to), path[200];
    made = replace(made, "\"vocab\": {", "\"vocab\": {\"<|im_end|>\": 507,");
    snprintf(path, sizeof path, "%s/tokenizer.json", check_tmp());
    FILE *f = fopen(path, "w");
    if (!f || fputs(made, f) < 0 || fclose(f)) abort();
    struct marks marks;
    marks_init(&marks);
    free(made);
    return tokenizer_load_json(out, path, &marks, err);
}

TEST(a_tokenizer_json_that_says_otherwise)
{
    static const char *const cases[][2] = {
        {"\"special\": true", "\"special\": false"},
        {"\"special\": true", "\"special\": null"},
        {"\"added_tokens\"", "\"other_tokens\""},
        {"\"added_tokens\": [", "\"added_tokens\": null, \"others\": ["},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tokenizer *t;
        tdm_error err = {0};
        tdm_status status = load_changed(&t, cases[i][0], cases[i][1], &err);
        if (status) CHECK_FAIL("case %zu: %s", i, err.text);
        if (status) continue;
        CHECK_INT(507, tokenizer_find(t, "<|im_end|>"));
        CHECK(tokenizer_is_special(t, 507));
        CHECK(encodes_to(t, "a<|im_end|>b", TOKENIZE_ADDED, 507) && !encodes_to(t, "a<|im_end|>b", 0, 507));
        tokenizer_free(t);
    }
}

static void check_refused(const char *from, const char *to, const char *part)
{
    struct tokenizer *t = NULL;
    tdm_error err = {0};
    CHECK(load_changed(&t, from, to, &err) < 0);
    if (!strstr(err.text, part)) CHECK_FAIL("expected \"%s\", found \"%s\"", part, err.text);
    tokenizer_free(t);
}

TEST(parts_that_are_missing_or_in_another_form)
{
    check_refused("\"merges\"", "\"other\"", "the tokenizer's merges are missing: expected those that make its words");
    check_refused("\"merges\": [", "\"merges\": null, \"other\": [", "the tokenizer's merges are missing");
    check_refused("\"merges\": [", "\"merges\": [], \"other\": [", "the tokenizer's merges are missing");
    check_refused("\"dropout\": null", "\"dropout\": 0.1", "model.dropout: expected 0, found \"0.1\"");
    struct tokenizer *t;
    static const char *const same[][2] = {
        {"\"dropout\": null", "\"dropout\": 0.0"},
        {"\"normalizer\": {",
         "\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFC\"}]}, \"old\": {"},
        {"\"added_tokens\": [", "\"added_tokens\": [{\"id\": 507, \"content\": \"<|im_end|>\", \"special\": true},"},
        {"{\n  \"version\"", "\xEF\xBB\xBF{\n  \"version\""},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        tdm_error err = {0};
        if (load_changed(&t, same[i][0], same[i][1], &err)) CHECK_FAIL("case %zu: %s", i, err.text);
        if (t) CHECK(!encodes_to(t, "e\xCC\x81", 0, 68)); /* composed */
        tokenizer_free(t);
    }
    check_refused("\"id\": 507", "\"id\": 506", "two tokens have the id 506");
}

TEST_MAIN(T(words_of_a_template), T(marks_of_any_type), T(no_types), T(merges_and_doubles),
          T(a_tokenizer_json_that_says_otherwise), T(parts_that_are_missing_or_in_another_form))
