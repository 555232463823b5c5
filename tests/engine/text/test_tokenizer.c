/* Loading, encoding and decoding against the goldens; ends of ids; the stable part of growing texts; bad files. */
#include <pthread.h>

#include "engine/model/gguf/gguf.h"
#include "engine/text/added.h"
#include "engine/text/detokenizer.h"
#include "engine/text/tokenizer_json.h"
#include "tests/check.h"
#include "tests/engine/text/golden.h"
#include "tests/engine/text/vocabulary.h"

static struct ids encode(const struct tokenizer *t, const char *text, size_t n, unsigned flags)
{
    struct ids ids = {0};
    tdm_error err = {.text = ""};
    if (tokenizer_encode(t, text, n, flags, 0, &ids, &err)) CHECK_FAIL("%s", err.text);
    return ids;
}

TEST(small_vocabulary)
{
    CHECK_INT(512, tokenizer_count(golden_small()));
    CHECK_INT(68, golden_compare(golden_small(), check_data("goldens/tokenizer-small-golden.json")));
}

static struct tokenizer *load_json(const char *name)
{
    char path[100];
    struct tokenizer *t;
    tdm_error err = {.text = ""};
    snprintf(path, sizeof path, "goldens/tokenizers/%s.json", name);
    if (tokenizer_load_json(&t, check_data(path), NULL, &err)) CHECK_FAIL("%s", err.text);
    return t;
}

TEST(other_pre_tokenizers)
{
    static const struct {
        const char *name;
        int texts;
    } cases[] = {{"gpt-2", 69}, {"llama-bpe", 73}, {"qwen2", 71}, {"gpt-4o", 77}, {"tekken", 75}, {"smollm", 71}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[100];
        struct tokenizer *t = load_json(cases[i].name);
        REQUIRE(t);
        snprintf(path, sizeof path, "goldens/tokenizers/%s-golden.json", cases[i].name);
        CHECK_INT(cases[i].texts, golden_compare(t, check_data(path)));
        tokenizer_free(t);
    }
}

/* A golden file of a SentencePiece model: its pieces as GGUF has them. */
static struct tokenizer *load_pieces(const char *path, enum tokenizer_before before)
{
    enum { ROOM = 1024 };
    static struct span tokens[ROOM];
    static int32_t types[ROOM];
    static float scores[ROOM];
    struct json_object *root = golden_open(path), *pieces = json_object_object_get(root, "pieces");
    struct tokenizer_parts parts = {.name = path,
                                    .tokens = tokens,
                                    .types = types,
                                    .scores = scores,
                                    .pieces = true,
                                    .before = before,
                                    .token_count = json_object_array_length(pieces)};
    struct tokenizer *t = NULL;
    tdm_error err = {.text = ""};
    for (size_t i = 0; i < parts.token_count && i < ROOM; i++) {
        struct json_object *piece = json_object_array_get_idx(pieces, i);
        struct json_object *text = json_object_array_get_idx(piece, 0);
        tokens[i] = (struct span){json_object_get_string(text), (size_t)json_object_get_string_len(text)};
        scores[i] = (float)json_object_get_double(json_object_array_get_idx(piece, 1));
        types[i] = json_object_get_int(json_object_array_get_idx(piece, 2));
    }
    if (tokenizer_load_parts(&t, &parts, &err)) CHECK_FAIL("%s", err.text);
    json_object_put(root);
    return t;
}

TEST(pieces)
{
    struct tokenizer *t = load_pieces(check_data("goldens/tokenizers/spm-llama-golden.json"), TOKENIZER_BLANK);
    REQUIRE(t);
    CHECK(golden_compare(t, check_data("goldens/tokenizers/spm-llama-golden.json")) > 60);
    tokenizer_free(t);
    t = load_pieces(check_data("goldens/tokenizers/spm-gemma-golden.json"), TOKENIZER_NOTHING);
    REQUIRE(t);
    CHECK(golden_compare(t, check_data("goldens/tokenizers/spm-gemma-golden.json")) > 60);
    tokenizer_free(t);
    t = load_json("gemma");
    REQUIRE(t);
    CHECK_INT(74, golden_compare(t, check_data("goldens/tokenizers/gemma-golden.json")));
    tokenizer_free(t);
}

static tdm_status load_json_memory(struct tokenizer **out, const char *name, const char *bytes, size_t n,
                                   tdm_error *err)
{
    *out = NULL;
    struct tokenizer_json *json;
    tdm_status status = tokenizer_json_open_memory(&json, name, bytes, n, err);
    CHECK(!status == !!json);
    if (!status) status = tokenizer_load_parts(out, tokenizer_json_parts(json), err);
    tokenizer_json_close(json);
    return status;
}

/* The token before a prompt: by a template of the post-processor, and never part of what encoding a text gives. */
TEST(begin_of_a_prompt)
{
    static const char before[] =
        "{\"post_processor\":{\"type\":\"Sequence\",\"processors\":[{\"type\":\"ByteLevel\"},{\"type\":"
        "\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<|begin_of_text|>\",\"type_id\":0}},"
        "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"pair\":[],\"special_tokens\":{}}]},\"rest\":null,";
    FILE *file = fopen(check_data("goldens/tokenizers/llama-bpe.json"), "rb");
    REQUIRE(file);
    char *bytes = malloc(1 << 20), *null;
    size_t n = strlen(before);
    memcpy(bytes, before, n);
    n += fread(bytes + n, 1, (1 << 20) - 1 - n, file);
    bytes[n] = 0;
    fclose(file);
    bytes[strlen(before)] = ' '; /* the brace of the file itself */
    null = strstr(bytes + strlen(before), "\"post_processor\"");
    if (null) memcpy(null, "\"post_processed\"", 16);
    struct tokenizer *t;
    tdm_error err = {.text = ""};
    if (load_json_memory(&t, "bos", bytes, n, &err)) CHECK_FAIL("%s", err.text);
    REQUIRE(t);
    CHECK_INT(507, tokenizer_bos(t));
    struct ids ids = encode(t, "a", 1, TOKENIZE_BEGIN);
    CHECK_INT(1, ids.count);
    ids_free(&ids);
    tokenizer_free(t);
    free(bytes);
    t = load_json("llama-bpe");
    REQUIRE(t);
    CHECK_INT(-1, tokenizer_bos(t));
    tokenizer_add_bos(t, (struct span){"<|nothing|>", 11});
    CHECK_INT(-1, tokenizer_bos(t));
    tokenizer_add_bos(t, (struct span){"<|begin_of_text|>", 17});
    CHECK_INT(507, tokenizer_bos(t));
    for (int written = 0; written < 2; written++) {
        const char *text = written ? "<|begin_of_text|>a" : "a";
        ids = (struct ids){0};
        CHECK(!tokenizer_encode_written(t, text, (const size_t[]){strlen(text)}, 1, &ids, NULL));
        CHECK(ids.count == 2 && ids.id[0] == 507 && ids.end[1] == strlen(text));
        ids_free(&ids);
    }
    tokenizer_free(t);
    CHECK_INT(-1, tokenizer_bos(golden_small()));
}

TEST(large_vocabulary)
{
    struct tokenizer *t = golden_large();
    if (!t) return;
    const char *path = check_shared("goldens/tokenizer-151k-golden.json");
    if (path) CHECK_INT(46, golden_compare(t, path));
    /* A second time, when every token is known to be whole or not. */
    if (path) golden_compare(t, path);
    tokenizer_free(t);
}

/* The same vocabularies out of GGUF files. */
static struct tokenizer *load_gguf(const char *path)
{
    struct gguf *g;
    tdm_error err;
    if (gguf_open(&g, path, &err)) {
        CHECK_FAIL("%s", err.text);
        return NULL;
    }
    struct span *tokens = NULL, *merges = NULL, pre = {"", 0};
    int32_t *types = NULL;
    uint64_t token_count = 0, merge_count = 0, type_count = 0;
    bool found;
    CHECK(!gguf_get_strings(g, "tokenizer.ggml.tokens", &tokens, &token_count, &found, &err));
    CHECK(!gguf_get_strings(g, "tokenizer.ggml.merges", &merges, &merge_count, &found, &err));
    CHECK(!gguf_get_i32s(g, "tokenizer.ggml.token_type", &types, &type_count, &found, &err));
    CHECK(!gguf_get_string(g, "tokenizer.ggml.pre", &pre, &found, &err));
    CHECK_INT(token_count, type_count);
    struct tokenizer_parts parts = {
        .name = path,
        .tokens = tokens,
        .token_count = token_count,
        .types = types,
        .merges = merges,
        .merge_count = merge_count,
        .pre = pre,
    };
    struct tokenizer *t;
    if (tokenizer_load_parts(&t, &parts, &err)) CHECK_FAIL("%s", err.text);
    free(tokens);
    free(merges);
    free(types);
    gguf_close(g);
    return t;
}

TEST(vocabularies_of_gguf_files)
{
    struct tokenizer *t = load_gguf(check_data("goldens/gguf/tiny-a-bf16.gguf"));
    REQUIRE(t);
    CHECK_INT(68, golden_compare(t, check_data("goldens/tokenizer-small-golden.json")));
    tokenizer_free(t);

    const char *path = check_shared("model/hf/tokenizer.json");
    if (!path) return;
    struct tokenizer *hf;
    REQUIRE(!tokenizer_load_json(&hf, path, NULL, NULL));
    t = load_gguf("assets/tandem-demo-51m-q6_k.gguf");
    REQUIRE(t);
    CHECK_INT(tokenizer_count(hf), tokenizer_count(t));
    for (tdm_id id = 0; id < tokenizer_count(hf); id++) {
        struct span a = tokenizer_bytes(hf, id), b = tokenizer_bytes(t, id);
        CHECK(a.length == b.length && !memcmp(a.bytes, b.bytes, a.length));
        CHECK(tokenizer_is_special(hf, id) == tokenizer_is_special(t, id));
    }
    tokenizer_free(t);
    tokenizer_free(hf);
}

TEST(added_tokens)
{
    const struct tokenizer *t = golden_small();
    CHECK_INT(507, tokenizer_find(t, "<|im_end|>"));
    CHECK_INT(508, tokenizer_find(t, "<think>"));
    CHECK_INT(-1, tokenizer_find(t, "<|im_en"));
    CHECK_INT(-1, tokenizer_find(t, "the"));
    CHECK_INT(-1, tokenizer_find(t, ""));
    CHECK(tokenizer_is_special(t, 507) && !tokenizer_is_special(t, 508) && !tokenizer_is_special(t, 0));
    CHECK(!tokenizer_is_special(t, -1) && !tokenizer_is_special(t, 512));
    CHECK(span_is(tokenizer_bytes(t, 507), "<|im_end|>"));
    CHECK_INT(0, tokenizer_bytes(t, 512).length);

    /* Without the flag the same text holds no added token, and is the same text still. */
    const char *text = "a<|im_end|>\n<think>b";
    struct ids with = encode(t, text, strlen(text), TOKENIZE_ADDED), without = encode(t, text, strlen(text), 0);
    CHECK_INT(5, with.count);
    for (size_t i = 0; i < without.count; i++) CHECK(without.id[i] < 505);
    CHECK_INT(strlen(text), without.end[without.count - 1]);
    ids_free(&with);
    ids_free(&without);
}

static void expect_ids(const struct tokenizer *t, const char *text, const int *expected, size_t n)
{
    struct ids ids = encode(t, text, strlen(text), TOKENIZE_ADDED);
    CHECK_INT(n, ids.count);
    for (size_t i = 0; i < n && i < ids.count; i++) CHECK_INT(expected[i], ids.id[i]);
    ids_free(&ids);
}

TEST(parts_with_flags)
{
    struct vocabulary v = {0};
    vocabulary_bytes(&v);                                                        /* 0-255 */
    vocabulary_token(&v, "ab", TOKENIZER_NORMAL, 0);                             /* 256 */
    vocabulary_token(&v, "abc", TOKENIZER_NORMAL, 0);                            /* 257: no merge makes it */
    vocabulary_token(&v, "bc", TOKENIZER_NORMAL, 0);                             /* 258 */
    vocabulary_token(&v, "", TOKENIZER_UNUSED, 0);                               /* 259 */
    vocabulary_token(&v, "<l>", TOKENIZER_CONTROL, ADDED_LSTRIP);                /* 260 */
    vocabulary_token(&v, "<r>", TOKENIZER_CONTROL, ADDED_RSTRIP);                /* 261 */
    vocabulary_token(&v, "word", TOKENIZER_USER_DEFINED, ADDED_SINGLE_WORD);     /* 262 */
    vocabulary_token(&v, "<r>>", TOKENIZER_CONTROL, 0);                          /* 263: the longest counts */
    vocabulary_token(&v, "\xC3\xA9!", TOKENIZER_USER_DEFINED, ADDED_NORMALIZED); /* 264: é! */
    struct span merges[] = {{"b c", 3}, {"a b", 3}};
    struct tokenizer_parts parts = vocabulary_parts(&v);
    parts.merges = merges;
    parts.merge_count = 2;
    struct tokenizer *t;
    tdm_error err = {.text = ""};
    if (tokenizer_load_parts(&t, &parts, &err)) CHECK_FAIL("%s", err.text);
    REQUIRE(t);
    expect_ids(t, "abc", (int[]){'a', 258}, 2);
    expect_ids(t, "ab", (int[]){256}, 1);
    expect_ids(t, "a <l> b", (int[]){'a', 260, ' ', 'b'}, 4);
    expect_ids(t, "a <r> b", (int[]){'a', ' ', 261, 'b'}, 4);
    expect_ids(t, "<r> <l>", (int[]){261, 260}, 2);
    expect_ids(t, "<r>>", (int[]){263}, 1);
    expect_ids(t, "word-word", (int[]){262, '-', 262}, 3);
    expect_ids(t, "wordy", (int[]){'w', 'o', 'r', 'd', 'y'}, 5);
    expect_ids(t, "e\xCC\x81!", (int[]){264}, 1);
    expect_ids(t, "\xFF\x80z", (int[]){0xFF, 0x80, 'z'}, 3);
    tokenizer_free(t);

    parts.ignore_merges = true;
    CHECK(!tokenizer_load_parts(&t, &parts, &err));
    REQUIRE(t);
    expect_ids(t, "abc", (int[]){257}, 1);
    tokenizer_free(t);

    parts.keep_form = true;
    CHECK(!tokenizer_load_parts(&t, &parts, &err));
    REQUIRE(t);
    expect_ids(t, "e\xCC\x81", (int[]){'e', 0xCC, 0x81}, 3);
    tokenizer_free(t);
}

TEST(rules_differ_on_marks)
{
    /* qwen2 takes a mark for punctuation; "q" + U+0307 is two pre-tokens there, one in qwen35. */
    struct vocabulary v = {0};
    vocabulary_bytes(&v);
    vocabulary_token(&v, "q\xC3\x8C", TOKENIZER_NORMAL, 0); /* the bytes q 0xCC, in the alphabet */
    struct span merge = {"q \xC3\x8C", 4};
    struct tokenizer_parts parts = vocabulary_parts(&v);
    parts.merges = &merge;
    parts.merge_count = 1;
    tdm_error err = {.text = ""};
    struct tokenizer *t;
    if (tokenizer_load_parts(&t, &parts, &err)) CHECK_FAIL("%s", err.text);
    REQUIRE(t);
    expect_ids(t, "q\xCC\x87", (int[]){256, 0x87}, 2);
    tokenizer_free(t);
    parts.pre = (struct span){"qwen2", 5};
    CHECK(!tokenizer_load_parts(&t, &parts, &err));
    REQUIRE(t);
    expect_ids(t, "q\xCC\x87", (int[]){'q', 0xCC, 0x87}, 3);
    tokenizer_free(t);
}

TEST(refused_parts)
{
    struct vocabulary v = {0};
    vocabulary_bytes(&v);
    struct tokenizer_parts parts = vocabulary_parts(&v);
    struct tokenizer *t;
    tdm_error err;
    parts.pre = (struct span){"bloom", 5};
    CHECK_INT(TDM_E_UNSUPPORTED, tokenizer_load_parts(&t, &parts, &err));
    CHECK(strstr(err.text, "bloom") && !t);
    parts = vocabulary_parts(&v);
    struct span merge = {"a b", 3};
    parts.merges = &merge;
    parts.merge_count = 1;
    CHECK_INT(TDM_E_FORMAT, tokenizer_load_parts(&t, &parts, &err));
    merge = (struct span){"ab", 2};
    CHECK_INT(TDM_E_FORMAT, tokenizer_load_parts(&t, &parts, &err));
    parts = vocabulary_parts(&v);
    parts.token_count = 255;
    CHECK_INT(TDM_E_FORMAT, tokenizer_load_parts(&t, &parts, &err));
    CHECK(strstr(err.text, "0xff"));
    vocabulary_token(&v, "a", TOKENIZER_NORMAL, 0);
    parts = vocabulary_parts(&v);
    CHECK_INT(TDM_E_FORMAT, tokenizer_load_parts(&t, &parts, &err));
    CHECK(strstr(err.text, "same text"));
    parts.token_count = SIZE_MAX / 64;
    CHECK_INT(TDM_E_FORMAT, tokenizer_load_parts(&t, &parts, &err));
}

/* ---- Threads ------------------------------------------------------------------------------------------------- */

/* One thread's share: the whole text, encoded from the first use of the tokenizer on. */
static void *encode_alone(void *argument)
{
    static const char text[] =
        "The quick brown fox jumps over the lazy dog, and don't we'll they're caf\xC3\xA9 again. ";
    struct ids *ids = malloc(sizeof *ids);
    if (ids) *ids = (struct ids){0};
    for (int i = 0; ids && i < 50; i++)
        if (tokenizer_encode(argument, text, sizeof text - 1, TOKENIZE_ADDED, 0, ids, NULL)) break;
    return ids;
}

TEST(threads_share_a_tokenizer)
{
    struct tokenizer *t;
    REQUIRE(!tokenizer_load_json(&t, check_data("goldens/tiny-a/tokenizer.json"), NULL, NULL));
    pthread_t threads[4];
    struct ids *ids[4];
    for (int i = 0; i < 4; i++) REQUIRE(!pthread_create(&threads[i], NULL, encode_alone, t));
    for (int i = 0; i < 4; i++) pthread_join(threads[i], (void **)&ids[i]);
    for (int i = 0; i < 4; i++) {
        CHECK(ids[i]->count > 1000 && ids[i]->count == ids[0]->count);
        if (ids[i]->count == ids[0]->count) CHECK(!memcmp(ids[i]->id, ids[0]->id, ids[0]->count * sizeof *ids[0]->id));
    }
    for (int i = 0; i < 4; i++) ids_free(ids[i]), free(ids[i]);
    tokenizer_free(t);
}

/* ---- Ends of ids --------------------------------------------------------------------------------------------- */

TEST(ends_count_the_original)
{
    const struct tokenizer *t = golden_small();
    const char *text = "cafe\xCC\x81 x \xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB<|im_end|>!";
    struct ids ids = {0};
    tdm_error err;
    CHECK(!tokenizer_encode(t, text, strlen(text), TOKENIZE_ADDED, 1000, &ids, &err));
    REQUIRE(ids.count > 3);
    CHECK_INT(1000 + strlen(text), ids.end[ids.count - 1]);
    CHECK_INT(507, ids.id[ids.count - 2]);
    CHECK_INT(1000 + strlen(text) - 1, ids.end[ids.count - 2]);
    CHECK_INT(1000 + strlen(text) - 11, ids.end[ids.count - 3]);
    bool accent = false;
    for (size_t i = 0; i < ids.count; i++) {
        CHECK(ids.end[i] != 1004 && ids.end[i] != 1005); /* inside e + U+0301 */
        accent |= ids.end[i] == 1006;
    }
    CHECK(accent);
    ids_free(&ids);
}

/* ---- The stable part ----------------------------------------------------------------------------------------- */

static const char *const pieces[] = {
    "a",
    "b",
    "word",
    "The",
    " ",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "'",
    "'s",
    "'re",
    "'L",
    "L",
    "'\xC5\xBF",
    "1",
    "23",
    ".",
    "!",
    "...",
    "=",
    "-",
    "\xCC\x81",
    "\xCC\xA3",
    "\xCC\x87",
    "\xCC\xB8",
    "\xCC\x88",
    "e\xCC\x81",
    "s\xCC\x87",
    "\xE4\xB8\xAD\xE6\x96\x87",
    "\xE3\x81\x8B",
    "\xE3\x82\x99",
    "\xE1\x84\x92",
    "\xE1\x85\xA1",
    "\xE1\x86\xAB",
    "\xED\x95\x9C",
    "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9",
    "\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD",
    "\xE2\x80\x8D",
    "\xEF\xB8\x8F",
    "\xC2\xA0",
    "\xE2\x80\x83",
    "\xE0\xA4\xB9\xE0\xA4\xBF",
    "\xE0\xA7\x87",
    "\xE0\xA6\xBE",
    "\xE0\xB8\xB2",
    "\xD9\x8E",
    "\xD9\x91",
    "\x01",
    "\xFF",
    "\xC3",
    "\xA9",
    "\xE2\x84\xAB",
    "\xEF\xAC\x81",
    "<think>",
    "<|im_end|>",
    "\xCD\x84",
    "\xE2\x80\xA8",
    "d",
    "q",
};

static size_t random_text(char *text, int most)
{
    size_t n = 0;
    int count = 1 + (int)vocabulary_random((uint32_t)most);
    for (int i = 0; i < count; i++) {
        const char *piece = pieces[vocabulary_random(sizeof pieces / sizeof *pieces)];
        memcpy(text + n, piece, strlen(piece));
        n += strlen(piece);
    }
    return n;
}

static void check_stable(const struct tokenizer *t, const char *text, size_t n)
{
    struct ids whole = encode(t, text, n, 0);
    size_t last = 0;
    for (size_t cut = 0; cut <= n; cut++) {
        size_t stable = 0;
        tdm_error err;
        CHECK(!tokenizer_stable_prefix(t, text, cut, 0, cut, &stable, &err));
        CHECK(stable <= cut && stable >= last);
        last = stable;
        struct ids part = encode(t, text, stable, 0);
        bool prefix = part.count <= whole.count;
        for (size_t i = 0; prefix && i < part.count; i++)
            prefix = part.id[i] == whole.id[i] && part.end[i] == whole.end[i];
        /* Going on from the stable part continues the ids. */
        struct ids rest = {0};
        CHECK(!tokenizer_encode(t, text + stable, n - stable, 0, stable, &rest, &err));
        bool continues = part.count + rest.count == whole.count;
        for (size_t i = 0; continues && i < rest.count; i++)
            continues = rest.id[i] == whole.id[part.count + i] && rest.end[i] == whole.end[part.count + i];
        if (!prefix || !continues) {
            CHECK_FAIL("stable %zu of %zu of %zu: prefix %d, continues %d", stable, cut, n, prefix, continues);
            printf("# ");
            for (size_t i = 0; i < n; i++) printf("%02x ", (unsigned char)text[i]);
            printf("\n");
        }
        ids_free(&part);
        ids_free(&rest);
    }
    ids_free(&whole);
}

static int times(int all, int with_sanitizers)
{
    return check_slow() && !getenv("TANDEM_LONG") ? with_sanitizers : all;
}

static void check_linear(const struct tokenizer *t, const char *piece, size_t length)
{
    size_t n = (size_t)times(1 << 20, 1 << 16) / length * length, stable;
    char *text = malloc(n);
    REQUIRE(text);
    for (size_t i = 0; i < n; i += length) memcpy(text + i, piece, length);
    struct ids ids = encode(t, text, n, 0);
    REQUIRE(ids.count);
    CHECK_INT(n, ids.end[ids.count - 1]);
    CHECK(!tokenizer_stable_prefix(t, text, n, 0, n, &stable, NULL));
    ids_free(&ids);
    free(text);
}

TEST(stable_prefixes)
{
    const struct tokenizer *t = golden_small();
    static const char *const others[] = {"qwen2", "llama-bpe", "gpt-2", "smollm", "tekken", "gpt-4o"};
    char text[1024];
    vocabulary_seed(7);
    for (int i = 0; i < times(6000, 700) && check_failures < 5; i++) check_stable(t, text, random_text(text, 12));
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        struct tokenizer *other = vocabulary_plain(others[k]), *golden = load_json(others[k]);
        for (int i = 0; i < times(400, 50) && check_failures < 5; i++) {
            size_t n = random_text(text, 12);
            check_stable(other, text, n);
            check_stable(golden, text, n);
        }
        tokenizer_free(other);
        tokenizer_free(golden);
    }
}

TEST(stable_prefixes_of_pieces)
{
    struct tokenizer *t[] = {load_json("gemma"),
                             load_pieces(check_data("goldens/tokenizers/spm-llama-golden.json"), TOKENIZER_BLANK)};
    char text[1024];
    vocabulary_seed(11);
    for (size_t k = 0; k < 2 && t[k]; k++) {
        for (int i = 0; i < times(600, 80) && check_failures < 5; i++) {
            size_t n = random_text(text, 12);
            if (i % 3 == 0) n += (size_t)sprintf(text + n, "\xE2\x96\x81 x\xE2\x96\x81");
            check_stable(t[k], text, n);
        }
        check_linear(t[k], "a", 1);
        check_linear(t[k], " ", 1);
        check_linear(t[k], "the \xE2\x96\x81", 7);
        tokenizer_free(t[k]);
    }
}

/* Expressions that no table has, one after the other: the stable part ends with a piece of the first. */
TEST(stable_prefixes_of_expressions)
{
    static const char *const sets[][2] = {
        {"\\p{N}{1,3}", "[A-Za-z]+|\\s+(?!\\S)|\\s+"},
        {"\\p{L}+(?:'s|'re)?|\\s*[\\r\\n]+|\\s+(?!\\S)", NULL},
        {"[\\r\\n]", "\\s?\\p{L}+|\\s?\\p{P}+"},
        {"x+y|x|'(?=r)|[^x]{3}", ".\\p{M}*"},
    };
    char text[1024];
    vocabulary_seed(9);
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        struct vocabulary v = {0};
        struct span expressions[2];
        vocabulary_bytes(&v);
        struct tokenizer_parts parts = vocabulary_parts(&v);
        for (int i = 0; i < 2 && sets[k][i]; i++, parts.expression_count++)
            expressions[i] = (struct span){sets[k][i], strlen(sets[k][i])};
        parts.expressions = expressions;
        struct tokenizer *t;
        tdm_error err = {.text = ""};
        if (tokenizer_load_parts(&t, &parts, &err)) CHECK_FAIL("%s", err.text);
        for (int i = 0; t && i < times(400, 100) && check_failures < 5; i++)
            check_stable(t, text, random_text(text, 12));
        tokenizer_free(t);
    }
}

TEST(stable_prefix_grows)
{
    static const struct {
        const char *text;
        size_t stable;
    } cases[] = {
        {"", 0},          {"hello", 0},       {"hello ", 5},
        {"hello wor", 5}, {"hello world", 5}, {"hello world!", 11},
        {"hello \n ", 5}, {"a  b c", 4},      {"don'", 3},
        {"don't x", 5},   {"x\n\ny", 1},      {"1234", 3},
        {"=\xCC\xB8", 0}, {"caf\xC3", 0},     {"a b\xE4\xB8", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t stable = 99;
        CHECK(!tokenizer_stable_prefix(golden_small(), cases[i].text, strlen(cases[i].text), 0, strlen(cases[i].text),
                                       &stable, NULL));
        if (stable != cases[i].stable)
            CHECK_FAIL("\"%s\": expected %zu, found %zu", cases[i].text, cases[i].stable, stable);
    }
}

/* ---- Decoding ------------------------------------------------------------------------------------------------ */

static void expect_text(const int *ids, size_t n, bool skip_special, const char *expected)
{
    struct tokenizer *t = vocabulary_plain("qwen35");
    struct detokenizer d;
    detokenizer_init(&d, t, skip_special);
    char found[256];
    size_t length = 0;
    struct span piece;
    for (size_t i = 0; i < n; i++) {
        CHECK(!detokenizer_push(&d, ids[i], &piece, NULL));
        for (size_t k = 0; k + 1 <= piece.length; k++) found[length++] = piece.bytes[k];
    }
    piece = detokenizer_finish(&d);
    memcpy(found + length, piece.bytes, piece.length);
    found[length + piece.length] = 0;
    CHECK_STR(expected, found);
    detokenizer_free(&d);
    tokenizer_free(t);
}

TEST(decoding_holds_back)
{
    expect_text((int[]){0xE4, 0xB8, 0xAD, 'x'}, 4, false, "\xE4\xB8\xADx");
    expect_text((int[]){0xE4, 0xB8, 'x'}, 3, false, "\xEF\xBF\xBDx");
    expect_text((int[]){0xE4, 0xB8}, 2, false, "\xEF\xBF\xBD");
    expect_text((int[]){0xFF, 0xFE, 'a'}, 3, false,
                "\xEF\xBF\xBD\xEF\xBF\xBD"
                "a");
    expect_text((int[]){0xF0, 0x9F, 0x91, 0xE4, 0xB8, 0xAD}, 6, false, "\xEF\xBF\xBD\xE4\xB8\xAD");
    expect_text((int[]){0xED, 0xA0, 0x80}, 3, false, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    expect_text((int[]){0xC0, 0x80}, 2, false, "\xEF\xBF\xBD\xEF\xBF\xBD");
    expect_text((int[]){'a', 9999, -1, 'b'}, 4, false, "ab");

    struct detokenizer d;
    detokenizer_init(&d, golden_small(), true);
    struct span piece;
    CHECK(!detokenizer_push(&d, 507, &piece, NULL) && piece.length == 0);
    CHECK(!detokenizer_push(&d, 508, &piece, NULL) && span_is(piece, "<think>"));
    detokenizer_free(&d);
}

/* ---- Bad files ----------------------------------------------------------------------------------------------- */

static char *read_small(size_t *n)
{
    FILE *file = fopen(check_data("goldens/tiny-a/tokenizer.json"), "rb");
    char *bytes = malloc(1 << 20);
    *n = file && bytes ? fread(bytes, 1, 1 << 20, file) : 0;
    if (file) fclose(file);
    return bytes;
}

TEST(damaged_files)
{
    size_t n;
    char *bytes = read_small(&n);
    REQUIRE(n > 1000);
    struct tokenizer *t;
    tdm_error err;
    for (size_t cut = 0; cut < n - 1; cut += 1 + cut / 50) {
        err.text[0] = 0;
        CHECK(load_json_memory(&t, "cut", bytes, cut, &err) != TDM_OK);
        CHECK(!t && err.text[0]);
    }
    vocabulary_seed(3);
    for (int i = 0; i < 400; i++) {
        size_t at = vocabulary_random((uint32_t)n);
        char kept = bytes[at];
        bytes[at] = (char)vocabulary_random(256);
        if (!load_json_memory(&t, "flipped", bytes, n, &err)) tokenizer_free(t);
        bytes[at] = kept;
    }
    free(bytes);
    CHECK_INT(TDM_E_IO, tokenizer_load_json(&t, "/nowhere/tokenizer.json", NULL, &err));
    CHECK_INT(TDM_E_IO, tokenizer_load_json(&t, "/tmp", NULL, &err));
    CHECK(strstr(err.text, "a folder"));
}

static void expect_refused(const char *document, const char *message)
{
    struct tokenizer *t;
    tdm_error err = {.text = ""};
    CHECK(load_json_memory(&t, "doc", document, strlen(document), &err) != TDM_OK);
    if (!strstr(err.text, message)) CHECK_FAIL("expected \"%s\" in \"%s\"", message, err.text);
}

TEST(refused_files)
{
    expect_refused("{}", "no token");
    expect_refused("[]", "expected an object");
    expect_refused("{\"model\":{\"type\":\"Unigram\"}}", "Unigram");
    expect_refused("{\"model\":{\"byte_fallback\":true,\"vocab\":{\"a\":1}}}", "byte_fallback");
    expect_refused("{\"model\":{\"vocab\":{\"a\":99999999}}}", "99999999");
    expect_refused("{\"model\":{\"vocab\":{\"a\":-1}}}", "-1");
    expect_refused("{\"model\":{\"vocab\":{\"a\":1.5}}}", "an integer");
    expect_refused("{\"model\":{\"merges\":[[\"a\"]]}}", "two parts");
    expect_refused("{\"normalizer\":{\"type\":\"NFKC\"}}", "NFKC");
    expect_refused("{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"_\"}}", "expected \"\xE2\x96\x81\"");
    expect_refused("{\"added_tokens\":[{\"content\":\"x\"}]}", "id and content");
    expect_refused("{\"model\":{\"vocab\":{\"a\":1}}} x", "expected the end");
    expect_refused("{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"x+\"}},"
                   "\"post_processor\":{\"type\":\"ByteLevel\"}}",
                   "no token");
    char deep[300];
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"x\":", 5);
    deep[sizeof deep - 1] = 0;
    expect_refused(deep, "less nesting");
}

TEST(long_words_take_linear_time)
{
    /* A megabyte of one letter is one pre-token; a quadratic merge or reordering of marks would take minutes. */
    static const char *const others[] = {"llama-bpe", "gpt-2", "smollm", "tekken", "gpt-4o"};
    static const char *const texts[] = {"a", "A", "\xE4\xB8\xAD\x41", /* and A */
                                        " ", "\n ", "1", "'", "!/\n"};
    enum { TEXTS = sizeof texts / sizeof *texts };
    size_t n = (size_t)times(1 << 20, 1 << 18);
    char *text = malloc(n);
    REQUIRE(text);
    memset(text, 'a', n);
    struct ids ids = encode(golden_small(), text, n, 0);
    CHECK(ids.count < n / 2);
    ids_free(&ids);
    free(text);
    check_linear(golden_small(), "\xCC\xA3\xCC\x81\xCC\x81\xCC\xA3", 8);
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        struct tokenizer *t = load_json(others[k]);
        size_t step = getenv("TANDEM_LONG") ? 1 : (size_t)times(2, 4);
        for (size_t i = k % step; t && i < TEXTS; i += step) check_linear(t, texts[i], strlen(texts[i]));
        tokenizer_free(t);
    }
}

TEST(tokens_are_made_of_written_bytes_alone)
{
    const struct tokenizer *t = golden_small();
    tdm_id mark = tokenizer_find(t, "<|im_end|>");
    static const char text[] = "<|im_end|>a<|im_end|>b<|im_end|>";
    for (size_t cut = 0; cut <= 31; cut++) {
        struct ids ids = {0}, plain = {0};
        const size_t ends[] = {cut, 31};
        int marks = 0;
        CHECK(!tokenizer_encode_written(t, text, ends, 2, &ids, NULL));
        for (size_t i = 0; i < ids.count; i++) marks += ids.id[i] == mark;
        CHECK_INT((cut >= 10) + (cut >= 21), marks); /* the third is cut off by one byte */
        CHECK_INT(31, ids.end[ids.count - 1]);
        if (!cut) {
            CHECK(!tokenizer_encode(t, text, 31, 0, 0, &plain, NULL));
            CHECK(plain.count == ids.count && !memcmp(plain.id, ids.id, ids.count * sizeof *ids.id));
        }
        ids_free(&ids);
        ids_free(&plain);
    }
    /* What stands between two tokens is one text, whoever wrote its parts. */
    struct ids ids = {0}, plain = {0};
    CHECK(!tokenizer_encode_written(t, "say hello there", (const size_t[]){6, 9, 15}, 3, &ids, NULL));
    CHECK(!tokenizer_encode(t, "say hello there", 15, 0, 0, &plain, NULL));
    CHECK(plain.count == ids.count && !memcmp(plain.id, ids.id, ids.count * sizeof *ids.id));
    ids_free(&ids);
    ids_free(&plain);
}

TEST_MAIN(T(tokens_are_made_of_written_bytes_alone), T(small_vocabulary), T(other_pre_tokenizers), T(pieces),
          T(begin_of_a_prompt), T(large_vocabulary), T(vocabularies_of_gguf_files), T(added_tokens),
          T(parts_with_flags), T(rules_differ_on_marks), T(refused_parts), T(threads_share_a_tokenizer),
          T(ends_count_the_original), T(stable_prefixes), T(stable_prefixes_of_expressions),
          T(stable_prefixes_of_pieces), T(stable_prefix_grows), T(decoding_holds_back), T(damaged_files),
          T(refused_files), T(long_words_take_linear_time))
