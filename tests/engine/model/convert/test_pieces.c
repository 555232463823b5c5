/* Pieces of SentencePiece from a tokenizer.json: the scores that stand for its merges, and the file that they go to. */
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/utf8.h"
#include "engine/model/convert/convert.h"
#include "engine/text/tokenizer_json.h"
#include "tests/check.h"
#include "tests/engine/text/golden.h"

#define PIECES "goldens/tokenizers/spm-llama-golden.json"

struct piece {
    const char *text;
    double score;
    int type;
};

static bool is_longer(struct piece p)
{
    int32_t code;
    return p.type == TOKENIZER_NORMAL && utf8_decode(p.text, strlen(p.text), &code) < strlen(p.text);
}

static struct piece piece_at(struct json_object *pieces, size_t i)
{
    struct json_object *p = json_object_array_get_idx(pieces, i);
    return (struct piece){json_object_get_string(json_object_array_get_idx(p, 0)),
                          json_object_get_double(json_object_array_get_idx(p, 1)),
                          json_object_get_int(json_object_array_get_idx(p, 2))};
}

/* Of the golden's pieces n: all characters, and the first of the longer ones. */
static struct json_object *some_pieces(struct json_object *pieces, size_t n)
{
    struct json_object *some = json_object_new_array();
    size_t all = json_object_array_length(pieces), longer = 0;
    for (size_t i = 0; i < all; i++) longer += is_longer(piece_at(pieces, i));
    for (size_t i = 0, left = n - (all - longer); i < all; i++) {
        bool is = is_longer(piece_at(pieces, i));
        if (!is || left) json_object_array_add(some, json_object_get(json_object_array_get_idx(pieces, i)));
        left -= is && left;
    }
    return some;
}

static void add(struct json_object *to, const char *key, const char *json)
{
    json_object_object_add(to, key, json_tokener_parse(json));
}

/* The pairs of pieces that spell a piece, the one with the highest score first. */
static struct json_object *merges_of(struct json_object *pieces, struct json_object *vocab)
{
    size_t n = json_object_array_length(pieces);
    struct json_object *merges = json_object_new_array();
    bool *done = calloc(n, sizeof *done);
    for (size_t round = 0; round < n; round++) {
        size_t best = n;
        for (size_t i = 0; i < n; i++)
            if (!done[i] && piece_at(pieces, i).type == TOKENIZER_NORMAL &&
                (best == n || piece_at(pieces, i).score > piece_at(pieces, best).score))
                best = i;
        if (best == n) break;
        done[best] = true;
        const char *text = piece_at(pieces, best).text;
        for (size_t at = 1; at < strlen(text); at++) {
            char left[100], merge[220];
            snprintf(left, sizeof left, "%.*s", (int)at, text);
            snprintf(merge, sizeof merge, "%s %s", left, text + at);
            if (json_object_object_get_ex(vocab, left, NULL) && json_object_object_get_ex(vocab, text + at, NULL))
                json_object_array_add(merges, json_object_new_string(merge));
        }
    }
    free(done);
    return merges;
}

/* A tokenizer.json of these pieces, with the rules of Llama's. */
static struct json_object *make_json(struct json_object *pieces)
{
    size_t n = json_object_array_length(pieces);
    struct json_object *root = json_object_new_object(), *model = json_object_new_object(),
                       *vocab = json_object_new_object(), *added = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        struct piece p = piece_at(pieces, i);
        json_object_object_add(vocab, p.text, json_object_new_int((int)i));
        if (p.type == TOKENIZER_NORMAL || p.type == TOKENIZER_BYTE) continue;
        struct json_object *token = json_object_new_object();
        json_object_object_add(token, "id", json_object_new_int((int)i));
        json_object_object_add(token, "content", json_object_new_string(p.text));
        json_object_object_add(token, "special", json_object_new_boolean(true));
        json_object_array_add(added, token);
    }
    json_object_object_add(model, "type", json_object_new_string("BPE"));
    json_object_object_add(model, "byte_fallback", json_object_new_boolean(true));
    json_object_object_add(model, "merges", merges_of(pieces, vocab));
    json_object_object_add(model, "vocab", vocab);
    json_object_object_add(root, "added_tokens", added);
    add(root, "normalizer",
        "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Prepend\", \"prepend\": \"\xE2\x96\x81\"}, {\"type\": "
        "\"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": \"\xE2\x96\x81\"}]}");
    add(root, "post_processor",
        "{\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": \"<s>\", \"type_id\": 0}}]}");
    json_object_object_add(root, "model", model);
    return root;
}

static struct json_object *merges_in(struct json_object *root)
{
    return json_object_object_get(json_object_object_get(root, "model"), "merges");
}

/* Of a tokenizer.json; NULL: none, with the reason in err. */
static float *scores_of(struct tokenizer_json *json, tdm_error *err)
{
    const struct tokenizer_parts *parts = tokenizer_json_parts(json);
    float *scores = calloc(parts->token_count, sizeof *scores);
    if (!convert_scores(parts, scores, err)) return scores;
    free(scores);
    return NULL;
}

static struct tokenizer_json *open_json(struct json_object *root)
{
    static char *bytes; /* which what was opened last refers to */
    struct tokenizer_json *json = NULL;
    tdm_error err;
    free(bytes);
    bytes = strdup(json_object_to_json_string(root));
    if (tokenizer_json_open_memory(&json, "made.json", bytes, strlen(bytes), &err)) CHECK_FAIL("%s", err.text);
    return json;
}

TEST(scores_stand_for_merges)
{
    struct json_object *golden = golden_open(check_data(PIECES)), *pieces = json_object_object_get(golden, "pieces");
    struct json_object *root = make_json(pieces);
    struct tokenizer_json *json = open_json(root);
    tdm_error err = {.text = ""};
    REQUIRE(json);
    struct tokenizer_parts parts = *tokenizer_json_parts(json);
    float *scores = scores_of(json, &err);
    if (!scores) CHECK_FAIL("%s", err.text);
    for (int with = 0; with < 2 && scores; with++) {
        struct tokenizer *t;
        if (with) parts.scores = scores, parts.merges = NULL, parts.merge_count = 0;
        REQUIRE(!tokenizer_load_parts(&t, &parts, &err));
        CHECK(golden_compare(t, check_data(PIECES)) > 60);
        tokenizer_free(t);
    }
    free(scores);
    tokenizer_json_close(json);
    json_object_put(root);
    json_object_put(golden);
}

static void check_refused(struct json_object *root, const char *message)
{
    struct tokenizer_json *json = open_json(root);
    tdm_error err = {.text = ""};
    float *scores = json ? scores_of(json, &err) : NULL;
    CHECK(!scores);
    if (!strstr(err.text, message)) CHECK_FAIL("expected \"%s\" in \"%s\"", message, err.text);
    free(scores);
    tokenizer_json_close(json);
}

/* The pairs of a piece that can be made of several. */
static size_t find_several(struct json_object *merges)
{
    char last[220] = "";
    for (size_t i = 0; i < json_object_array_length(merges); i++) {
        char text[220], *to = text;
        for (const char *c = json_object_get_string(json_object_array_get_idx(merges, i)); *c; c++)
            if (*c != ' ') *to++ = *c;
        *to = 0;
        if (!strcmp(text, last)) return i - 1;
        snprintf(last, sizeof last, "%s", text);
    }
    return 0;
}

TEST(merges_that_no_scores_stand_for_are_refused)
{
    struct json_object *golden = golden_open(check_data(PIECES)), *pieces = json_object_object_get(golden, "pieces");
    struct json_object *root = make_json(pieces), *merges = merges_in(root);
    size_t several = find_several(merges);
    REQUIRE(several);
    struct json_object *one = json_object_get(json_object_array_get_idx(merges, several));
    json_object_array_add(merges, json_object_get(one));
    json_object_array_del_idx(merges, several, 1);
    check_refused(root, "expected one after the other those of");
    json_object_array_del_idx(merges, json_object_array_length(merges) - 1, 1);
    check_refused(root, "expected all pairs that make");
    json_object_array_put_idx(merges, 0, json_object_new_string("e"));
    check_refused(root, "expected two parts of a piece, found \"e\"");
    json_object_put(one);
    json_object_put(root);
    json_object_put(golden);
}

static void write_text(const char *dir, const char *name, const char *text)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    REQUIRE(f);
    fputs(text, f);
    fclose(f);
}

/* A golden's folder with another tokenizer becomes a file whose ids are those of the folder. */
TEST(a_folder_becomes_a_file_with_the_same_ids)
{
    static const char *const linked[] = {"config.json", "model.safetensors"};
    enum { ROWS = 512 };
    char dir[200], path[300], resolved[PATH_MAX];
    tdm_error err = {.text = ""};
    snprintf(dir, sizeof dir, "%s/pieces", check_tmp());
    REQUIRE(!mkdir(dir, 0700));
    for (size_t i = 0; i < sizeof linked / sizeof *linked; i++) {
        char from[300];
        snprintf(from, sizeof from, "%s/%s", check_data("goldens/tiny-a"), linked[i]);
        snprintf(path, sizeof path, "%s/%s", dir, linked[i]);
        REQUIRE(realpath(from, resolved) && !symlink(resolved, path));
    }
    struct json_object *golden = golden_open(check_data(PIECES)),
                       *some = some_pieces(json_object_object_get(golden, "pieces"), ROWS), *root = make_json(some);
    CHECK_INT(ROWS, json_object_array_length(some));
    write_text(dir, "tokenizer.json", json_object_to_json_string(root));
    write_text(dir, "tokenizer_config.json", "{\"eos_token\": \"</s>\", \"bos_token\": \"<s>\"}");

    struct source *s;
    REQUIRE(!source_open(&s, dir, NULL, &err));
    snprintf(path, sizeof path, "%s/out.gguf", dir);
    if (convert_to_gguf(s, path, &(struct convert_options){.type = TYPE_Q8_0}, &err)) CHECK_FAIL("%s", err.text);
    source_close(s);
    REQUIRE(!source_open(&s, path, NULL, &err));
    const struct source_text *text = source_text(s);
    CHECK(text->scores && text->blank_before && span_is(text->bos, "<s>") && span_is(text->eos_token, "</s>"));
    struct tokenizer *from, *to;
    struct tokenizer_parts parts = {.name = path,
                                    .tokens = text->tokens,
                                    .token_count = text->token_count,
                                    .types = text->types,
                                    .pieces = true,
                                    .scores = text->scores,
                                    .before = TOKENIZER_BLANK};
    snprintf(path, sizeof path, "%s/tokenizer.json", dir);
    REQUIRE(!tokenizer_load_json(&from, path, NULL, &err) && !tokenizer_load_parts(&to, &parts, &err));
    struct json_object *cases = json_object_object_get(golden, "cases");
    for (size_t i = 0; i < json_object_array_length(cases); i++) {
        struct json_object *t = json_object_object_get(json_object_array_get_idx(cases, i), "text");
        const char *bytes = json_object_get_string(t);
        size_t n = (size_t)json_object_get_string_len(t);
        struct ids a = {0}, b = {0};
        REQUIRE(!tokenizer_encode(from, bytes, n, TOKENIZE_BEGIN | TOKENIZE_ADDED, 0, &a, &err));
        REQUIRE(!tokenizer_encode(to, bytes, n, TOKENIZE_BEGIN | TOKENIZE_ADDED, 0, &b, &err));
        CHECK(a.count == b.count && (!a.count || !memcmp(a.id, b.id, a.count * sizeof *a.id)));
        ids_free(&a);
        ids_free(&b);
    }
    tokenizer_free(from);
    tokenizer_free(to);
    source_close(s);
    json_object_put(root);
    json_object_put(some);
    json_object_put(golden);
}

TEST_MAIN(T(scores_stand_for_merges), T(merges_that_no_scores_stand_for_are_refused),
          T(a_folder_becomes_a_file_with_the_same_ids))
