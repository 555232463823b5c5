/* Experts in MXFP4: what convert writes, and a checkpoint made of it, whose quants and scales are tensors of their own,
 * have the same bits; what is wrong with such tensors is said. */
#include <string.h>

#include "engine/model/convert/convert.h"
#include "engine/model/hf/safetensors.h"
#include "engine/model/source.h"
#include "tests/check.h"
#include "tests/engine/model/family.h"

enum { EXPERTS = 8, WIDTH = 128, BLOCKS = WIDTH / 32, ROOM = 64 << 10 };

static struct source *open_model(const char *path)
{
    struct source *s = NULL;
    tdm_error err;
    if (source_open(&s, path, NULL, &err)) CHECK_FAIL("%s", err.text);
    return s;
}

/* The GGUF file of a golden, its experts in MXFP4. */
static struct source *converted(const char *folder)
{
    static char path[400];
    tdm_error err;
    struct source *s = open_model(folder);
    snprintf(path, sizeof path, "%s/model.gguf", check_tmp());
    if (s && convert_to_gguf(s, path, &(struct convert_options){.type = TYPE_MXFP4}, &err)) CHECK_FAIL("%s", err.text);
    source_close(s);
    return open_model(path);
}

/* Row `row` of an expert tensor as a checkpoint has it: gate and up alternate. */
static void write_row(const struct source *s, uint32_t layer, bool down, uint32_t expert, uint32_t row, FILE *blocks,
                      FILE *scales)
{
    enum role role = down ? ROLE_EXPERTS_DOWN : row % 2 ? ROLE_EXPERTS_UP : ROLE_EXPERTS_GATE;
    const struct tensor *t = source_tensor(s, role, layer);
    uint8_t room[17 * BLOCKS];
    const uint8_t *in = source_rows(s, t, expert * WIDTH + (down ? row : row / 2), 1, room);
    for (int b = 0; b < BLOCKS; b++, in += 17) {
        fputc(in[0], scales);
        for (int i = 0; i < 16; i++) {
            int at = 2 * i % 16, high = i >= 8; /* of elements 2i and 2i + 1 */
            fputc((in[1 + at] >> 4 * high & 15) | (in[2 + at] >> 4 * high & 15) << 4, blocks);
        }
    }
}

static void add_header(char *header, const char *name, const char *dtype, const char *shape, uint64_t begin,
                       uint64_t end)
{
    size_t n = strlen(header);
    snprintf(header + n, ROOM - n, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%llu,%llu]}",
             n > 1 ? "," : "", name, dtype, shape, (unsigned long long)begin, (unsigned long long)end);
}

/* The same checkpoint with the experts of the GGUF file; shape: what blocks of gate and up are said to have. */
static void write_checkpoint(const char *from, const struct source *gguf, const char *to, const char *shape)
{
    char path[2000], *header = calloc(1, ROOM), *data = NULL;
    size_t size = 0;
    struct safetensors *old;
    const struct safetensors_tensor *list;
    tdm_error err;
    snprintf(path, sizeof path, "%s/model.safetensors", from);
    REQUIRE(!safetensors_open(&old, path, &err));
    FILE *out = open_memstream(&data, &size);
    size_t n = safetensors_tensors(old, &list);
    uint64_t at = 0;
    header[0] = '{';
    for (size_t i = 0; i < n; i++) {
        const struct safetensors_tensor *t = &list[i];
        bool down = strstr(t->name, "experts.down_proj"),
             expert = strstr(t->name, "experts.") && !strstr(t->name, "bias");
        char name[120], dims[100] = "[", *blocks = NULL, *scales = NULL;
        size_t block_bytes, scale_bytes;
        if (!expert) {
            for (uint32_t d = 0; d < t->dims; d++)
                sprintf(dims + strlen(dims), "%s%llu", d ? "," : "", (unsigned long long)t->shape[d]);
            add_header(header, t->name, t->dtype, strcat(dims, "]"), at, at + t->bytes);
            fwrite(t->data, 1, t->bytes, out);
            at += t->bytes;
            continue;
        }
        FILE *b = open_memstream(&blocks, &block_bytes), *s = open_memstream(&scales, &scale_bytes);
        uint32_t layer = (uint32_t)atoi(strstr(t->name, "layers.") + 7), rows = down ? WIDTH : 2 * WIDTH;
        for (uint32_t e = 0; e < EXPERTS; e++)
            for (uint32_t r = 0; r < rows; r++) write_row(gguf, layer, down, e, r, b, s);
        fclose(b);
        fclose(s);
        fwrite(blocks, 1, block_bytes, out);
        fwrite(scales, 1, scale_bytes, out);
        snprintf(name, sizeof name, "%s_blocks", t->name);
        snprintf(dims, sizeof dims, "[%d,%u,%d,16]", EXPERTS, rows, BLOCKS);
        add_header(header, name, "U8", down ? dims : shape, at, at + block_bytes);
        snprintf(name, sizeof name, "%s_scales", t->name);
        snprintf(dims, sizeof dims, "[%d,%u,%d]", EXPERTS, rows, BLOCKS);
        add_header(header, name, "U8", dims, at + block_bytes, at + block_bytes + scale_bytes);
        at += block_bytes + scale_bytes;
        free(blocks);
        free(scales);
    }
    fclose(out);
    safetensors_close(old);
    snprintf(path, sizeof path, "mkdir -p '%s' && cp '%s/config.json' '%s/tokenizer.json' '%s'", to, from, from, to);
    REQUIRE(!system(path));
    snprintf(path, sizeof path, "%s/model.safetensors", to);
    FILE *f = fopen(path, "wb");
    uint64_t length = strlen(strcat(header, "}"));
    fwrite(&length, 8, 1, f);
    fwrite(header, 1, length, f);
    fwrite(data, 1, size, f);
    fclose(f);
    free(header);
    free(data);
}

static void check_rows(const struct source *a, const struct source *b, enum role role, uint32_t layer)
{
    const struct tensor *t = source_tensor(a, role, layer), *u = source_tensor(b, role, layer);
    REQUIRE(t && u && t->rows == u->rows && t->cols == u->cols && t->type == TYPE_MXFP4 && u->type == TYPE_MXFP4);
    uint8_t *x = malloc(t->bytes), *y = malloc(t->bytes), *copy = malloc(t->bytes);
    tdm_error err;
    const void *rows = source_rows(a, t, 0, t->rows, x);
    CHECK(!memcmp(rows, source_rows(b, u, 0, u->rows, y), t->bytes));
    CHECK(!source_copy_rows(b, u, 0, u->rows, copy, &err) && !memcmp(rows, copy, t->bytes));
    source_release(b, u);
    free(x);
    free(y);
    free(copy);
}

TEST(quants_and_scales_of_a_checkpoint)
{
    char folder[FAMILY_ROOM], to[400];
    if (!family_find("gpt-oss", folder)) return;
    struct source *gguf = converted(folder);
    REQUIRE(gguf);
    snprintf(to, sizeof to, "%s/checkpoint", check_tmp());
    write_checkpoint(folder, gguf, to, "[8,256,4,16]");
    struct source *s = open_model(to);
    REQUIRE(s);
    for (uint32_t layer = 0; layer < 4; layer++)
        for (enum role role = ROLE_EXPERTS_GATE; role <= ROLE_EXPERTS_DOWN; role++) check_rows(gguf, s, role, layer);
    CHECK(source_tensor(s, ROLE_Q, 0)->type == TYPE_BF16 && source_tensor(gguf, ROLE_Q, 0)->type == TYPE_BF16);
    source_close(s);

    tdm_error err = {0};
    write_checkpoint(folder, gguf, to, "[8,128,8,16]");
    CHECK(source_open(&s, to, NULL, &err) && strstr(err.text, "a scale for each block"));
    source_close(gguf);
}

/* Each value becomes the nearest of its block's; those that fit stay. */
TEST(narrowing_to_mxfp4)
{
    float x[64], y[64];
    uint8_t row[34];
    for (int i = 0; i < 64; i++) x[i] = (float)(i % 13 - 6) * (i < 32 ? 1.0f : 0.01f);
    type_narrow(TYPE_MXFP4, x, row, 64);
    type_widen(TYPE_MXFP4, row, y, 64);
    for (int i = 0; i < 32; i++) CHECK(fabsf(x[i]) == 5 ? fabsf(x[i] - y[i]) == 1 : x[i] == y[i]);
    for (int i = 32; i < 64; i++) CHECK(fabsf(x[i] - y[i]) <= 0.014f);
    memset(x, 0, sizeof x);
    type_narrow(TYPE_MXFP4, x, row, 64);
    type_widen(TYPE_MXFP4, row, y, 64);
    for (int i = 0; i < 64; i++) CHECK(y[i] == 0);
}

TEST_MAIN(T(quants_and_scales_of_a_checkpoint), T(narrowing_to_mxfp4))
