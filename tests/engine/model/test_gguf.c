/* The GGUF writer read back by the reader: every kind of value, alignment, and split files. */
#include "tests/check.h"

#include <unistd.h>

#include "engine/model/gguf/gguf.h"
#include "engine/model/source.h"
#include "engine/os/atomic_file.h"

static struct span text(const char *s)
{
    return (struct span){s, strlen(s)};
}

TEST(what_is_written_reads_back)
{
    char path[200];
    snprintf(path, sizeof path, "%s/a.gguf", check_tmp());
    const struct span words[] = {text("one"), text(""), text("three")};
    const int32_t numbers[] = {-1, 0, INT32_MAX};
    const uint64_t vector[] = {3}, matrix[] = {32, 2};
    const float floats[] = {1, 2, 3};
    uint8_t rows[2 * 34];
    for (size_t i = 0; i < sizeof rows; i++) rows[i] = (uint8_t)i;

    struct gguf_writer *w = gguf_writer_new();
    struct atomic_file *f;
    tdm_error err = {0};
    gguf_add_u32(w, "u", 7);
    gguf_add_i32(w, "i", -7);
    gguf_add_f32(w, "f", 0.5f);
    gguf_add_bool(w, "b", true);
    gguf_add_string(w, "s", text("hello"));
    gguf_add_strings(w, "words", words, 3);
    gguf_add_i32s(w, "numbers", numbers, 3);
    gguf_add_strings(w, "none", NULL, 0);
    gguf_add_tensor(w, text("v"), 1, vector, TYPE_F32);
    gguf_add_tensor(w, text("m"), 2, matrix, TYPE_Q8_0);
    REQUIRE(!atomic_file_new(&f, path, &err));
    CHECK(access(path, F_OK)); /* not there before it is whole */
    REQUIRE(!gguf_write_start(w, f, &err));
    REQUIRE(!gguf_write_data(w, floats, sizeof floats, &err));
    CHECK(!gguf_write_done(w));
    REQUIRE(!gguf_write_data(w, rows, 34, &err));
    REQUIRE(!gguf_write_data(w, rows + 34, 34, &err));
    CHECK(gguf_write_done(w));
    REQUIRE(!atomic_file_commit(f, &err));
    gguf_writer_free(w);

    struct gguf *g;
    REQUIRE(!gguf_open(&g, path, &err));
    uint64_t u = 0, n = 0;
    float x = 0;
    struct span s = {0}, *strings = NULL;
    int32_t *ints = NULL;
    bool found;
    CHECK_INT(TDM_OK, gguf_get_u64(g, "u", 0, 10, &u, &found, &err));
    CHECK_INT(7, u);
    CHECK_INT(TDM_E_FORMAT, gguf_get_u64(g, "u", 8, 10, &u, &found, &err));
    CHECK_INT(TDM_E_FORMAT, gguf_get_u64(g, "i", 0, 10, &u, &found, &err));
    CHECK(strstr(err.text, "key i: expected 0 to 10, found -7"));
    CHECK_INT(TDM_E_FORMAT, gguf_get_u64(g, "s", 0, 10, &u, &found, &err));
    CHECK_INT(TDM_OK, gguf_get_u64(g, "absent", 0, 10, &u, &found, &err));
    CHECK(!found && u == 7);
    CHECK_INT(TDM_OK, gguf_get_float(g, "f", &x, NULL, &err));
    CHECK_NEAR(0.5, x, 0);
    CHECK_INT(TDM_E_FORMAT, gguf_get_float(g, "u", &x, NULL, &err));
    CHECK_INT(TDM_OK, gguf_get_string(g, "s", &s, NULL, &err));
    CHECK(span_is(s, "hello"));
    CHECK_INT(TDM_OK, gguf_get_strings(g, "words", &strings, &n, NULL, &err));
    CHECK(n == 3 && span_is(strings[0], "one") && span_is(strings[1], "") && span_is(strings[2], "three"));
    free(strings);
    CHECK_INT(TDM_OK, gguf_get_strings(g, "none", &strings, &n, &found, &err));
    CHECK(found && n == 0 && !strings);
    CHECK_INT(TDM_OK, gguf_get_i32s(g, "numbers", &ints, &n, NULL, &err));
    CHECK(n == 3 && ints[0] == -1 && ints[2] == INT32_MAX);
    free(ints);
    CHECK_INT(TDM_E_FORMAT, gguf_get_i32s(g, "words", &ints, &n, NULL, &err));
    const struct gguf_tensor *t;
    CHECK_INT(2, gguf_tensors(g, &t));
    CHECK(!memcmp(t[0].data, floats, sizeof floats) && t[0].dims == 1);
    CHECK(!memcmp(t[1].data, rows, sizeof rows) && t[1].bytes == sizeof rows && t[1].shape[1] == 2);
    CHECK((uintptr_t)t[1].data % 32 == 0);
    gguf_close(g);
}

/* Writes tensors [first, end) of g as one part of a split file. */
static void write_part(const struct gguf *g, const char *path, size_t first, size_t end, uint32_t part, uint32_t parts)
{
    struct gguf_writer *w = gguf_writer_new();
    struct atomic_file *f;
    const struct gguf_key *keys;
    const struct gguf_tensor *t;
    size_t key_count = gguf_keys(g, &keys), count = gguf_tensors(g, &t);
    for (size_t i = 0; part == 0 && i < key_count; i++) gguf_add_key(w, &keys[i]);
    gguf_add_u32(w, "split.no", part);
    gguf_add_u32(w, "split.count", parts);
    gguf_add_u32(w, "split.tensors.count", (uint32_t)count);
    for (size_t i = first; i < end; i++) gguf_add_tensor(w, t[i].name, t[i].dims, t[i].shape, t[i].type);
    tdm_error err = {0};
    if (atomic_file_new(&f, path, &err) || gguf_write_start(w, f, &err)) abort();
    for (size_t i = first; i < end; i++)
        if (gguf_write_data(w, t[i].data, t[i].bytes, &err)) abort();
    CHECK(gguf_write_done(w));
    if (atomic_file_commit(f, &err)) abort();
    gguf_writer_free(w);
}

TEST(split_files_are_one_model)
{
    struct gguf *g;
    tdm_error err = {0};
    char path[3][200], other[200];
    const struct gguf_tensor *t;
    REQUIRE(!gguf_open(&g, check_data("goldens/gguf/tiny-a-q8_0.gguf"), &err));
    size_t n = gguf_tensors(g, &t);
    for (uint32_t i = 0; i < 3; i++) {
        snprintf(path[i], sizeof path[i], "%s/m-%05u-of-00003.gguf", check_tmp(), i + 1);
        write_part(g, path[i], n * i / 3, n * (i + 1) / 3, i, 3);
    }
    gguf_close(g);
    struct source *whole, *split = NULL;
    REQUIRE(!source_open(&whole, check_data("goldens/gguf/tiny-a-q8_0.gguf"), NULL, &err));
    for (int i = 0; i < 3; i++) { /* any part stands for all */
        if (source_open(&split, path[i], NULL, &err)) CHECK_FAIL("%s", err.text);
        REQUIRE(split);
        CHECK(source_fingerprint(whole) == source_fingerprint(split));
        CHECK_STR(path[0], source_path(split));
        source_close(split);
    }
    source_close(whole);

    snprintf(other, sizeof other, "%s/other.gguf", check_tmp());
    REQUIRE(!rename(path[0], other));
    CHECK_INT(TDM_E_FORMAT, source_open(&split, other, NULL, &err));
    CHECK(strstr(err.text, "expected the name of a split file's part (NAME-00001-of-00003.gguf"));
    REQUIRE(!rename(other, path[0]));
    REQUIRE(!rename(path[2], other));
    CHECK_INT(TDM_E_IO, source_open(&split, path[0], NULL, &err));
    CHECK(strstr(err.text, "m-00003-of-00003.gguf: can't be opened"));
    REQUIRE(!link(path[1], path[2]));
    CHECK_INT(TDM_E_FORMAT, source_open(&split, path[0], NULL, &err));
    CHECK(strstr(err.text, "key split.no: expected 2, found 1"));
}

TEST_MAIN(T(what_is_written_reads_back), T(split_files_are_one_model))
