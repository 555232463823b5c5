/* Vocabularies that aren't of bytes, and the token that a prompt begins with, as files have them. */
#include "tests/check.h"

#include "engine/model/gguf/gguf.h"
#include "engine/model/source.h"
#include "tests/engine/model/made.h"

enum { ROWS = 512 };

static const char *const keys[] = {
    "tokenizer.ggml.model",  "tokenizer.ggml.tokens",        "tokenizer.ggml.merges",
    "tokenizer.ggml.pre",    "tokenizer.ggml.token_type",    "tokenizer.ggml.bos_token_id",
    "tokenizer.ggml.scores", "tokenizer.ggml.add_bos_token", NULL};

static struct {
    size_t scores;
    bool extra, quiet, no_blank;
} made;

static struct span span_of(const char *text)
{
    return (struct span){text, strlen(text)};
}

/* <unk>, <s>, </s>, the bytes, and letters, as in SentencePiece. */
static void add_pieces(struct gguf_writer *w)
{
    static char texts[ROWS][8];
    static struct span tokens[ROWS];
    static int32_t types[ROWS];
    static float scores[ROWS];
    for (int i = 0; i < ROWS; i++) {
        types[i] = i == 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1;
        scores[i] = i < 259 ? 0 : -(float)i;
        if (i < 3)
            snprintf(texts[i], sizeof texts[i], "%s", i == 0 ? "<unk>" : i == 1 ? "<s>" : "</s>");
        else if (i < 259)
            snprintf(texts[i], sizeof texts[i], "<0x%02X>", (unsigned)i - 3);
        else
            snprintf(texts[i], sizeof texts[i], "%c%c", 'a' + (i - 259) % 16, 'a' + (i - 259) / 16);
        tokens[i] = span_of(texts[i]);
    }
    struct gguf_key key = {.name = {"tokenizer.ggml.scores", 21},
                           .type = GGUF_F32,
                           .array = true,
                           .count = made.scores,
                           .data = (const uint8_t *)scores,
                           .bytes = made.scores * sizeof *scores};
    gguf_add_string(w, "tokenizer.ggml.model", span_of("llama"));
    gguf_add_strings(w, "tokenizer.ggml.tokens", tokens, ROWS);
    gguf_add_i32s(w, "tokenizer.ggml.token_type", types, ROWS);
    gguf_add_key(w, &key);
    gguf_add_u32(w, "tokenizer.ggml.bos_token_id", 1);
    if (made.extra) gguf_add_bool(w, "tokenizer.ggml.remove_extra_whitespaces", true);
    if (made.quiet) gguf_add_bool(w, "tokenizer.ggml.add_bos_token", false);
    if (made.no_blank) gguf_add_bool(w, "tokenizer.ggml.add_space_prefix", false);
}

static void expect_pieces(const char *name, const char *bos, bool blank)
{
    char *path = made_gguf(name, "tiny-a-q8_0", keys, add_pieces);
    struct source *s;
    tdm_error err = {.text = ""};
    if (source_open(&s, path, NULL, &err)) {
        CHECK_FAIL("%s", err.text);
    } else {
        const struct source_text *text = source_text(s);
        CHECK(text->scores && text->scores[300] == -300);
        CHECK(bos ? span_is(text->bos, bos) : !text->bos.length);
        CHECK(text->blank_before == blank);
        source_close(s);
    }
    free(path);
}

static void expect_refused(const char *name, const char *message)
{
    char *path = made_gguf(name, "tiny-a-q8_0", keys, add_pieces);
    struct source *s;
    tdm_error err = {.text = ""};
    CHECK(source_open(&s, path, NULL, &err));
    if (!strstr(err.text, message)) CHECK_FAIL("expected \"%s\" in \"%s\"", message, err.text);
    free(path);
}

TEST(pieces_of_gguf_files)
{
    made.scores = ROWS;
    expect_pieces("pieces.gguf", "<s>", true);
    made.quiet = made.no_blank = true;
    expect_pieces("quiet.gguf", NULL, false);
    made.extra = true;
    expect_refused("extra.gguf", "remove_extra_whitespaces: expected false, found true");
    made.extra = false;
    made.scores = ROWS - 1;
    expect_refused("few.gguf", "tokenizer.ggml.scores: expected 512 entries, found 511");
}

static void expect_bos(const char *config, const char *bos)
{
    static int count;
    char name[40];
    snprintf(name, sizeof name, "begin-%d", count++);
    char *folder = made_folder(name, "tiny-a");
    made_text(folder, "tokenizer_config.json", config);
    struct source *s;
    tdm_error err = {.text = ""};
    if (source_open(&s, folder, NULL, &err)) {
        CHECK_FAIL("%s", err.text);
    } else {
        CHECK(bos ? span_is(source_text(s)->bos, bos) : !source_text(s)->bos.length);
        source_close(s);
    }
    free(folder);
}

TEST(begin_of_a_prompt)
{
    expect_bos("{\"add_bos_token\":true,\"bos_token\":\"<s>\"}", "<s>");
    expect_bos("{\"add_bos_token\":true,\"bos_token\":{\"content\":\"<s>\"}}", "<s>");
    expect_bos("{\"add_bos_token\":false,\"bos_token\":\"<s>\"}", NULL);
    expect_bos("{\"bos_token\":\"<s>\"}", NULL);
    expect_bos("{\"add_bos_token\":true,\"bos_token\":null}", NULL);
}

TEST_MAIN(T(pieces_of_gguf_files), T(begin_of_a_prompt))
