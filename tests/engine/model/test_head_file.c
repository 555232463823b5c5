/* An MTP head in a file of its own beside the model gives the tensors that it has as a block of the model's file. */
#include "tests/check.h"

#include <string.h>
#include <sys/stat.h>

#include "engine/model/source.h"
#include "engine/os/atomic_file.h"

enum { LAYERS = 8 };

static const char whole[] = "goldens/gguf/tiny-d-q8_0.gguf";

enum part { TRUNK, HEAD };

static bool belongs(const struct gguf_tensor *t, enum part part)
{
    bool in_head = t->name.length > 6 && !memcmp(t->name.bytes, "blk.8.", 6);
    bool shared = t->name.length > 10 && !memcmp(t->name.bytes, "token_embd", 10); /* such files often repeat it */
    return part == TRUNK ? !in_head : in_head || shared;
}

/* Writes a part of the golden file; hidden: the width that its metadata says. */
static void write_part(const char *path, enum part part, uint32_t hidden)
{
    struct gguf *g;
    struct atomic_file *file;
    struct gguf_writer *w = gguf_writer_new();
    const struct gguf_key *keys;
    const struct gguf_tensor *list;
    tdm_error err;
    if (gguf_open(&g, check_data(whole), &err) || atomic_file_new(&file, path, &err)) {
        CHECK_FAIL("%s", err.text);
        abort();
    }
    size_t n_keys = gguf_keys(g, &keys), n = gguf_tensors(g, &list);
    for (size_t i = 0; i < n_keys; i++)
        if (!span_is(keys[i].name, "qwen35moe.block_count") &&
            !span_is(keys[i].name, "qwen35moe.nextn_predict_layers") &&
            !span_is(keys[i].name, "qwen35moe.embedding_length"))
            gguf_add_key(w, &keys[i]);
    gguf_add_u32(w, "qwen35moe.embedding_length", hidden);
    gguf_add_u32(w, "qwen35moe.block_count", LAYERS + (part == HEAD));
    gguf_add_u32(w, "qwen35moe.nextn_predict_layers", part == HEAD);
    for (size_t i = 0; i < n; i++)
        if (belongs(&list[i], part)) gguf_add_tensor(w, list[i].name, list[i].dims, list[i].shape, list[i].type);
    CHECK(!gguf_write_start(w, file, &err));
    for (size_t i = 0; i < n; i++)
        if (belongs(&list[i], part)) CHECK(!gguf_write_data(w, list[i].data, list[i].bytes, &err));
    CHECK(gguf_write_done(w));
    gguf_writer_free(w);
    gguf_close(g);
    if (atomic_file_commit(file, &err)) CHECK_FAIL("%s", err.text);
}

static struct source *open_model(const char *path)
{
    struct source *s;
    tdm_error err;
    if (source_open(&s, path, NULL, &err)) {
        CHECK_FAIL("%s", err.text);
        abort();
    }
    return s;
}

static void check_equal(const struct source *a, const struct source *b)
{
    const struct tensor *const *list;
    size_t n = source_tensors(a, &list);
    CHECK_INT(n, source_tensors(b, &list));
    for (size_t i = 0; i < n; i++) {
        const struct tensor *x = list[i], *y = source_tensor(a, x->role, x->layer);
        REQUIRE(y && x->bytes == y->bytes);
        void *p = malloc(x->bytes), *q = malloc(x->bytes);
        if (memcmp(source_rows(b, x, 0, x->rows, p), source_rows(a, y, 0, y->rows, q), x->bytes))
            CHECK_FAIL("%s differs", x->name);
        free(p), free(q);
    }
}

TEST(a_head_beside_the_model_is_used)
{
    char dir[200], model[256], head[256];
    snprintf(dir, sizeof dir, "%s/beside", check_tmp());
    REQUIRE(!mkdir(dir, 0700));
    snprintf(model, sizeof model, "%s/tiny.gguf", dir);
    write_part(model, TRUNK, 64);
    struct source *all = open_model(check_data(whole)), *alone = open_model(model);
    CHECK(source_config(all)->mtp.there && !source_config(alone)->mtp.there);
    CHECK(!source_tensor(alone, ROLE_MTP_FC, LAYERS));

    snprintf(head, sizeof head, "%s/mtp-another.gguf", dir); /* of another model: left alone */
    write_part(head, HEAD, 96);
    struct source *s = open_model(model);
    CHECK(!source_config(s)->mtp.there);
    source_close(s);

    snprintf(head, sizeof head, "%s/mtp-b.gguf", dir);
    write_part(head, HEAD, 64);
    s = open_model(model);
    CHECK(source_config(s)->mtp.there);
    check_equal(all, s);
    CHECK(source_fingerprint(s) != source_fingerprint(alone) && source_stamp(s) != source_stamp(alone));
    CHECK_INT(source_parameter_count(alone), source_parameter_count(s));
    source_close(s);

    source_close(alone);
    source_close(all);
}

TEST_MAIN(T(a_head_beside_the_model_is_used))
