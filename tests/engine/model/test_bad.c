/* Damaged and hostile files: every one ends in a status and one line, never in a crash (run with the sanitizers) or in
 * memory without bound. Buffers have the exact size, so that reading past their end is seen. */
#include "tests/check.h"

#include <sys/stat.h>

#include "engine/json/write.h"
#include "engine/model/config.h"
#include "engine/model/gguf/gguf.h"
#include "engine/model/hf/safetensors.h"
#include "engine/model/map.h"
#include "engine/model/source.h"

struct bytes {
    uint8_t *data;
    size_t size;
};

static struct bytes read_file(const char *path)
{
    struct bytes b = {NULL, 0};
    FILE *f = fopen(path, "rb");
    if (!f) abort();
    fseek(f, 0, SEEK_END);
    b.size = (size_t)ftell(f);
    b.data = malloc(b.size);
    rewind(f);
    if (fread(b.data, 1, b.size, f) != b.size) abort();
    fclose(f);
    return b;
}

static void check_line(const tdm_error *err, tdm_status status)
{
    CHECK_INT(status, err->code);
    CHECK(err->text[0] && !strchr(err->text, '\n'));
}

/* Opens a copy of exactly `size` bytes; a file that opens must have a valid configuration or say why not. */
static tdm_status open_gguf(const uint8_t *data, size_t size, tdm_error *err)
{
    uint8_t *copy = malloc(size ? size : 1);
    struct gguf *g;
    struct config c;
    memcpy(copy, data, size);
    tdm_status status = gguf_open_memory(&g, copy, size, "bad.gguf", err);
    if (!status) {
        struct unknowns u = {0};
        status = config_from_gguf(&c, g, &u, err);
        unknowns_free(&u);
        c.vocab = 512;
        if (!status) status = config_validate(&c, "bad.gguf", err);
        gguf_close(g);
    }
    free(copy);
    return status;
}

static uint64_t data_start(const struct bytes *b)
{
    struct gguf *g;
    const struct gguf_tensor *t;
    if (gguf_open_memory(&g, b->data, b->size, "x", NULL)) abort();
    gguf_tensors(g, &t);
    uint64_t at = (uint64_t)(t[0].data - b->data);
    gguf_close(g);
    return at;
}

TEST(gguf_cut_off_anywhere)
{
    struct bytes b = read_file("tests/engine/model/corpus/gguf/small");
    for (size_t n = 0; n < b.size; n++) {
        tdm_error err = {0};
        tdm_status status = open_gguf(b.data, n, &err);
        if (status != TDM_E_FORMAT) CHECK_FAIL("cut at %zu of %zu: status %d", n, b.size, status);
        check_line(&err, status);
    }
    tdm_error err = {0};
    CHECK_INT(TDM_OK, open_gguf(b.data, b.size, &err));
    free(b.data);
    b = read_file(check_data("goldens/gguf/tiny-a-q8_0.gguf"));
    size_t header = data_start(&b);
    for (size_t n = 0; n < header; n += 7) CHECK_INT(TDM_E_FORMAT, open_gguf(b.data, n, &err));
    free(b.data);
}

TEST(gguf_with_flipped_bits)
{
    struct bytes b = read_file("tests/engine/model/corpus/gguf/small");
    size_t opened = 0, header = data_start(&b);
    for (size_t i = 0; i < 8 * header; i++) {
        tdm_error err = {0};
        b.data[i / 8] ^= 1 << i % 8;
        tdm_status status = open_gguf(b.data, b.size, &err);
        b.data[i / 8] ^= 1 << i % 8;
        if (status)
            check_line(&err, status);
        else
            opened++;
    }
    CHECK(opened > 100 && opened < 7 * header); /* names and values may change; structure may not */
    free(b.data);
}

/* A header by hand: magic, version, counts, then raw bytes. */
static tdm_status open_made(uint32_t version, uint64_t tensors, uint64_t keys, const void *rest, size_t n,
                            tdm_error *err)
{
    uint8_t buffer[512];
    memcpy(buffer, "GGUF", 4);
    memcpy(buffer + 4, &version, 4);
    memcpy(buffer + 8, &tensors, 8);
    memcpy(buffer + 16, &keys, 8);
    memcpy(buffer + 24, rest, n);
    return open_gguf(buffer, 24 + n, err);
}

#define U64(x)                                                                                                         \
    (x) & 0xff, (x) >> 8 & 0xff, (x) >> 16 & 0xff, (x) >> 24 & 0xff, (x) >> 32 & 0xff, (x) >> 40 & 0xff,               \
        (x) >> 48 & 0xff, (x) >> 56 & 0xff
#define U32(x) (x) & 0xff, (x) >> 8 & 0xff, (x) >> 16 & 0xff, (x) >> 24 & 0xff

TEST(gguf_with_hostile_sizes)
{
    static const struct {
        const char *part; /* of the error line */
        uint32_t version;
        uint64_t tensors, keys;
        uint8_t rest[120];
        size_t n;
    } cases[] = {
        {"version 2 or 3, found 1", 1, 0, 0, {0}, 0},
        {"version 2 or 3, found a file for big-endian machines, version 3", 0x03000000, 0, 0, {0}, 0},
        {"do not fit", 3, UINT64_MAX, 0, {0}, 0},
        {"do not fit", 3, 0, 1ull << 60, {0}, 0},
        {"a metadata key", 3, 0, 1, {U64(UINT64_MAX), 'k'}, 100},
        {"expected a key of 1", 3, 0, 1, {U64(0ull), U32(4), U32(1)}, 100},
        {"the values of key k, found a length", 3, 0, 1, {U64(1ull), 'k', U32(9), U32(8), U64(UINT64_MAX)}, 60},
        {"the values of key k, found a length",
         3,
         0,
         1,
         {U64(1ull), 'k', U32(9), U32(10), U64(1ull << 61)},
         60}, /* x 8 overflows */
        {"the values of key k, found a length", 3, 0, 1, {U64(1ull), 'k', U32(8), U64(1ull << 40)}, 60},
        {"arrays of arrays", 3, 0, 1, {U64(1ull), 'k', U32(9), U32(9), U64(1ull)}, 60},
        {"value type", 3, 0, 1, {U64(1ull), 'k', U32(13)}, 60},
        {"1 to 4 dimensions, found 5", 3, 1, 0, {U64(1ull), 't', U32(5)}, 60},
        {"1 to 4 dimensions, found 0", 3, 1, 0, {U64(1ull), 't', U32(0)}, 60},
        {"found dimension 0 of 0", 3, 1, 0, {U64(1ull), 't', U32(1), U64(0ull)}, 60},
        {"found dimension 1", 3, 1, 0, {U64(1ull), 't', U32(2), U64(1ull << 40), U64(1ull << 40)}, 60},
        {"type IQ1_S (19) is not supported; expected one of f32, f16,",
         3,
         1,
         0,
         {U64(1ull), 't', U32(1), U64(256ull), U32(19), U64(0ull)},
         60},
        {"type TQ1_0 (34) is not supported; expected one of f32, f16,",
         3,
         1,
         0,
         {U64(1ull), 't', U32(1), U64(256ull), U32(34), U64(0ull)},
         60},
        {"type unknown (999)", 3, 1, 0, {U64(1ull), 't', U32(1), U64(256ull), U32(999), U64(0ull)}, 60},
        {"multiple of 32 elements", 3, 1, 0, {U64(1ull), 't', U32(1), U64(33ull), U32(8), U64(0ull)}, 60},
        {"multiple of 32, found 8", 3, 1, 0, {U64(1ull), 't', U32(1), U64(4ull), U32(0), U64(8ull)}, 100},
        {"run past the end", 3, 1, 0, {U64(1ull), 't', U32(1), U64(4ull), U32(0), U64(0x7fffffffffffffe0ull)}, 100},
        {"run past the end", 3, 1, 0, {U64(1ull), 't', U32(1), U64(4ull), U32(0), U64(0xffffffffffffffe0ull)}, 100},
        {"power of two",
         3,
         0,
         1,
         {U64(17ull), 'g', 'e', 'n', 'e', 'r', 'a', 'l', '.',    'a',
          'l',        'i', 'g', 'n', 'm', 'e', 'n', 't', U32(4), U32(24)},
         60},
        {"occurs twice", 3, 0, 2, {U64(1ull), 'k', U32(0), 1, U64(1ull), 'k', U32(0), 1}, 60},
        {"tensors b and a: expected data of their own",
         3,
         2,
         0,
         {U64(1ull), 'a', U32(1), U64(8ull), U32(0), U64(0ull), U64(1ull), 'b', U32(1), U64(4ull), U32(0), U64(0ull)},
         110},
        {"architecture is missing", 3, 0, 0, {0}, 100},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tdm_error err = {0};
        tdm_status status =
            open_made(cases[i].version, cases[i].tensors, cases[i].keys, cases[i].rest, cases[i].n, &err);
        CHECK(status == TDM_E_FORMAT || status == TDM_E_UNSUPPORTED);
        if (!strstr(err.text, cases[i].part))
            CHECK_FAIL("case %zu: expected \"%s\", found \"%s\"", i, cases[i].part, err.text);
    }
}

static tdm_status open_safetensors(const void *data, size_t size, tdm_error *err)
{
    uint8_t *copy = malloc(size ? size : 1);
    struct safetensors *s;
    memcpy(copy, data, size);
    tdm_status status = safetensors_open_memory(&s, copy, size, "bad.safetensors", err);
    if (!status) safetensors_close(s);
    free(copy);
    return status;
}

TEST(safetensors_cut_off_or_flipped)
{
    struct bytes b = read_file("tests/engine/model/corpus/safetensors/small");
    tdm_error err = {0};
    CHECK_INT(TDM_OK, open_safetensors(b.data, b.size, &err));
    for (size_t n = 0; n < b.size; n++) {
        tdm_status status = open_safetensors(b.data, n, &err);
        if (status != TDM_E_FORMAT) CHECK_FAIL("cut at %zu of %zu: status %d", n, b.size, status);
        check_line(&err, status);
    }
    for (size_t i = 0; i < 8 * b.size; i++) {
        b.data[i / 8] ^= 1 << i % 8;
        tdm_status status = open_safetensors(b.data, b.size, &err);
        b.data[i / 8] ^= 1 << i % 8;
        if (status) check_line(&err, status);
    }
    free(b.data);
}

TEST(safetensors_with_hostile_headers)
{
    static const char *const cases[][2] = {
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", "overflows"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", "2 elements of 4 bytes, found 4"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,4]}}", "within 16 bytes"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[16,20]}}", "within 16 bytes"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", "non-negative"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", "at most 8"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", "data_offsets of two"},
        {"{\"a\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", "string as dtype"},
        {"{\"a\":[]}", "expected an object"},
        {"[]", "JSON object"},
        {"{", "found the end"},
        {"{} x", "byte 3"},
        {"{\"a\":nan}", "byte 5"},
        {"{\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
         "tensor b is there twice"},
        {"{\"b\":{},\"c\":{},\"\\u0062\":{}}", "tensor b is there twice"},
        {"{\"b\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[4,12]},\"e\":{\"dtype\":\"U8\",\"shape\":[0],"
         "\"data_offsets\":[2,2]},\"a\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[0,5]}}",
         "tensors a and b: expected data of their own"},
        {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "less nesting"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t buffer[256] = {0};
        tdm_error err = {0};
        uint64_t n = strlen(cases[i][0]);
        memcpy(buffer, &n, 8);
        memcpy(buffer + 8, cases[i][0], n);
        CHECK_INT(TDM_E_FORMAT, open_safetensors(buffer, 8 + n + 16, &err));
        if (!strstr(err.text, cases[i][1])) CHECK_FAIL("expected \"%s\", found \"%s\"", cases[i][1], err.text);
    }
    tdm_error err = {0};
    CHECK_INT(TDM_E_FORMAT, open_safetensors("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, &err));
    CHECK(strstr(err.text, "header length of at most 2, found 18446744073709551615"));
}

/* A byte of a length that lies so far behind a key, or before it, is damaged: no download is asked for. */
static void check_damaged_length(const struct bytes *b, const char *key, int behind, const char *words)
{
    uint8_t *at = memmem(b->data, b->size, key, strlen(key));
    REQUIRE(at);
    at += behind < 0 ? behind + 5 : (int)strlen(key) + behind + 5;
    tdm_error err = {0};
    *at ^= 0x80;
    CHECK_INT(TDM_E_FORMAT, open_gguf(b->data, b->size, &err));
    *at ^= 0x80;
    if (!strstr(err.text, words)) CHECK_FAIL("expected \"%s\", found \"%s\"", words, err.text);
}

/* A file that ends too early is most often an interrupted download: the line says that first, and how much is there. */
TEST(incomplete_downloads)
{
    struct bytes b = read_file("assets/tandem-demo-51m-q6_k.gguf");
    struct { size_t size; const char *words; } cuts[] = {
        {12 * 1000000, "bad.gguf: incomplete download? 12 of 42 MB are there; tensor "},
        {b.size - 1, "bad.gguf: incomplete download? "},
        {20000, "bad.gguf: incomplete download? only 20000 bytes are there; key "},
        {100, "bad.gguf: incomplete download? only 100 bytes are there; offset 8: "}};
    char all[64];
    snprintf(all, sizeof all, "? %zu of %zu bytes are there", b.size - 1, b.size);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        tdm_error err = {0};
        CHECK_INT(TDM_E_FORMAT, open_gguf(b.data, cuts[i].size, &err));
        if (strncmp(err.text, cuts[i].words, strlen(cuts[i].words)))
            CHECK_FAIL("expected \"%s\", found \"%s\"", cuts[i].words, err.text);
        if (i == 1 && !strstr(err.text, all)) CHECK_FAIL("expected \"%s\", found \"%s\"", all, err.text);
    }
    check_damaged_length(&b, "general.architecture", 4, ": damaged? expected the values of key general.architecture");
    check_damaged_length(&b, "tokenizer.ggml.tokens", 8, ": damaged? expected the values of key tokenizer.ggml.tokens");
    check_damaged_length(&b, "general.architecture", -8, ": damaged? expected a metadata key and its type, found");
    free(b.data);

    static const char header[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1000],\"data_offsets\":[0,4000]},"
                                 "\"b\":{\"dtype\":\"F32\",\"shape\":[5000],\"data_offsets\":[4000,24000]}}";
    uint64_t n = strlen(header);
    uint8_t *file = calloc(1, 24000 + 8 + n);
    memcpy(file, &n, 8);
    memcpy(file + 8, header, n);
    tdm_error err = {0};
    CHECK_INT(TDM_OK, open_safetensors(file, 24000 + 8 + n, &err));
    CHECK_INT(TDM_E_FORMAT, open_safetensors(file, 7000, &err));
    CHECK(strstr(err.text, ": incomplete download? 7 of 24 kB are there; tensor b: expected data_offsets within"));
    CHECK_INT(TDM_E_FORMAT, open_safetensors(file, 2000, &err));
    CHECK(strstr(err.text, ": incomplete download? 2 of 24 kB are there; tensor a: "));
    CHECK_INT(TDM_E_FORMAT, open_safetensors(file, 100, &err));
    char part[96];
    snprintf(part, sizeof part, ": incomplete download? 100 of %d bytes are there; offset 0: expected a header",
             (int)n + 8);
    if (!strstr(err.text, part)) CHECK_FAIL("expected \"%s\", found \"%s\"", part, err.text);
    free(file);
}

/* A working config.json of the fuzz targets' corpus with one field replaced. */
static tdm_status open_config(const char *file, const char *field, const char *value, tdm_error *err)
{
    struct json_object *json = NULL;
    struct config c;
    char text[200];
    snprintf(text, sizeof text, "tests/engine/model/corpus/config/%s", file);
    if (map_json(&json, text, err)) return err->code;
    snprintf(text, sizeof text, "{\"v\":%s}", value);
    struct json_object *holder = NULL;
    if (json_parse_object(&holder, "value", text, strlen(text), err)) abort();
    json_add_shared(json, field, json_get(holder, "v"));
    struct unknowns u = {0};
    tdm_status status = config_from_json(&c, json, "config.json", &u, err);
    unknowns_free(&u);
    if (!status) status = config_validate(&c, "config.json", err);
    json_free(holder);
    json_free(json);
    return status;
}

static void check_config(const char *file, const char *field, const char *value, const char *part)
{
    tdm_error err = {0};
    CHECK(open_config(file, field, value, &err) < 0);
    if (!strstr(err.text, part)) CHECK_FAIL("%s: expected \"%s\", found \"%s\"", field, part, err.text);
}

TEST(configurations_out_of_range)
{
    static const char *const cases[][3] = {
        {"model_type", "\"mamba\"", "unsupported architecture mamba"},
        {"model_type", "null", "field model_type is missing"},
        {"model_type", "5", "field model_type: expected a string, found int"},
        {"hidden_size", "0", "field hidden_size: expected 1 to"},
        {"hidden_size", "-64", "found -64"},
        {"hidden_size", "1e3", "expected an integer, found double"},
        {"hidden_size", "99999999999999999999", "field hidden_size"},
        {"num_hidden_layers", "513", "expected 1 to 512"},
        {"num_hidden_layers", "7", "field layer_types: expected 7 entries"},
        {"head_dim", "514", "head size: expected an even number from 16 to 512"},
        {"head_dim", "31", "head size: expected an even number"},
        {"head_dim", "8", "head size"},
        {"num_key_value_heads", "3", "attention heads: expected a multiple of the 3"},
        {"linear_num_key_heads", "3", "linear value heads: expected a multiple of the 3"},
        {"linear_num_key_heads", "8", "linear value heads: expected a multiple of the 8"},
        {"linear_key_head_dim", "512", "linear key head size"},
        {"linear_conv_kernel_dim", "1", "convolution kernel: expected 2 to 8, found 1"},
        {"linear_conv_kernel_dim", "9", "convolution kernel"},
        {"rms_norm_eps", "0", "RMS norm epsilon"},
        {"rms_norm_eps", "1e999", "field rms_norm_eps"},
        {"hidden_act", "\"gelu\"", "field hidden_act: expected silu"},
        {"attn_output_gate", "false", "field attn_output_gate: expected true, found false"},
        {"attention_bias", "true", "field attention_bias: expected false, found true"},
        {"rope_parameters", "{\"rope_type\":\"yarn\",\"rope_theta\":1e7}", "rope_type: expected default, found yarn"},
        {"rope_parameters", "{\"rope_theta\":0.5}", "RoPE theta"},
        {"rope_parameters", "{\"rope_theta\":1e7,\"partial_rotary_factor\":2}", "partial_rotary_factor"},
        {"layer_types", "[1,2,3,4,5,6,7,8]", "field layer_types: expected full_attention"},
        {"text_config", "[]", "field text_config: expected an object"},
        {"text_config", "{}", "is missing"},
    };
    tdm_error err = {0};
    CHECK_INT(TDM_OK, open_config("flat", "hidden_size", "64", &err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_config("flat", cases[i][0], cases[i][1], cases[i][2]);
}

TEST(mixtures_out_of_range)
{
    static const char *const cases[][3] = {
        {"num_experts", "0", "field num_experts: expected 1 to 4096, found 0"},
        {"num_experts", "4097", "found 4097"},
        {"num_experts", "null", "field num_experts is missing"},
        {"num_experts", "1", "experts used: expected 1 to 1, found 2"},
        {"num_experts_per_tok", "9", "experts used: expected 1 to 8, found 9"},
        {"num_experts_per_tok", "65", "expected 1 to 64"},
        {"moe_intermediate_size", "0", "field moe_intermediate_size"},
        {"shared_expert_intermediate_size", "-1", "field shared_expert_intermediate_size"},
        {"norm_topk_prob", "false", "field norm_topk_prob: expected true, found false"},
        {"decoder_sparse_step", "2", "field decoder_sparse_step: expected 1, found 2"},
        {"mlp_only_layers", "[0]", "field mlp_only_layers: expected [], found [0]"},
        {"model_type", "\"mixtral\"", "unsupported architecture mixtral (this engine runs qwen3_5, qwen3_5_moe, "},
    };
    tdm_error err = {0};
    CHECK_INT(TDM_OK, open_config("mixture", "hidden_size", "64", &err));
    CHECK_INT(TDM_OK, open_config("mixture", "mlp_only_layers", "[]", &err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_config("mixture", cases[i][0], cases[i][1], cases[i][2]);
}

/* ---- Whole models ------------------------------------------------------------------------------------------------ */

static void put_file(const char *dir, const char *name, const void *data, size_t n)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f)) abort();
}

static void check_source(const char *path, const char *part)
{
    struct source *s;
    tdm_error err = {0};
    tdm_status status = source_open(&s, path, NULL, &err);
    CHECK(status != TDM_OK);
    check_line(&err, status);
    if (!strstr(err.text, part)) CHECK_FAIL("expected \"%s\", found \"%s\"", part, err.text);
}

/* A replacement of the same length in the header of the checkpoint. */
static void check_renamed(const char *dir, const struct bytes *b, const char *from, const char *to, const char *part)
{
    uint8_t *at = memmem(b->data, b->size, from, strlen(from));
    REQUIRE(at && strlen(from) == strlen(to));
    memcpy(at, to, strlen(to));
    put_file(dir, "model.safetensors", b->data, b->size);
    memcpy(at, from, strlen(from));
    check_source(dir, part);
}

TEST(damaged_directories)
{
    char dir[200];
    snprintf(dir, sizeof dir, "%s/hf", check_tmp());
    REQUIRE(!mkdir(dir, 0700));
    struct bytes config = read_file(check_data("goldens/tiny-a/config.json"));
    struct bytes weights = read_file(check_data("goldens/tiny-a/model.safetensors"));
    put_file(dir, "config.json", config.data, config.size);
    check_source(dir, ": no weights: expected model.safetensors, or its parts");
    put_file(dir, "model.safetensors", weights.data, weights.size);
    struct source *s;
    tdm_error err;
    CHECK_INT(TDM_OK, source_open(&s, dir, NULL, &err));
    source_close(s);

    check_renamed(dir, &weights, "model.layers.5.mlp.up_proj.weight", "model.layers.9.mlp.up_proj.weight",
                  "has no place");
    check_renamed(dir, &weights, "model.layers.5.mlp.up_proj.weight", "model.layers.4.mlp.up_proj.weight",
                  "tensor model.layers.4.mlp.up_proj.weight is there twice");
    check_renamed(dir, &weights, "model.layers.5.mlp.up_proj.weight", "mtp.x.layers.5.mlp.up_proj.weight",
                  "model.layers.5.mlp.up_proj.weight is missing");
    check_renamed(dir, &weights, "\"shape\":[512,64]", "\"shape\":[64,512]", "expected 512 x 64, found 64 x 512");
    free(config.data);
    free(weights.data);
}

TEST(damaged_experts)
{
    char dir[200];
    snprintf(dir, sizeof dir, "%s/experts", check_tmp());
    REQUIRE(!mkdir(dir, 0700));
    struct bytes config = read_file(check_data("goldens/tiny-d/config.json"));
    struct bytes weights = read_file(check_data("goldens/tiny-d/model.safetensors"));
    put_file(dir, "config.json", config.data, config.size);
    const char up[] = "model.layers.5.mlp.experts.6.up_proj.weight";
    check_renamed(dir, &weights, up, "model.layers.5.mlp.experts.8.up_proj.weight", "has no place");
    check_renamed(dir, &weights, up, "model.layers.5.mlp.experts.7.up_proj.weight",
                  "tensor model.layers.5.mlp.experts.7.up_proj.weight is there twice");
    check_renamed(dir, &weights, up, "model.layers.5.mlp.experts..6up_proj.weight", "has no place");
    check_renamed(dir, &weights, up, "model.layers.9.mlp.experts.6.up_proj.weight", "has no place");
    check_renamed(dir, &weights, up, "mtp.x.layers.5.mlp.experts.6.up_proj.weight",
                  "expert 6 of tensor model.layers.5.mlp.experts.0.up_proj.weight is missing");
    check_renamed(dir, &weights, "model.layers.2.mlp.gate.weight", "model.layers.2.mlp.gate.weighs", "has no place");
    check_renamed(dir, &weights, "\"shape\":[32,64]", "\"shape\":[64,32]", "expected 32 x 64, found 64 x 32");
    free(config.data);
    free(weights.data);
}

TEST(damaged_indexes)
{
    static const char *const cases[][2] = {
        {"{}", "weight_map is missing"},
        {"{\"weight_map\":{\"a\":\"../x.safetensors\"}}", "the name of a file in the directory"},
        {"{\"weight_map\":{\"a\":\"/etc/passwd\"}}", "the name of a file in the directory"},
        {"{\"weight_map\":{\"a\":5}}", "the name of a file in the directory"},
        {"{\"weight_map\":{\"a\":\"model-1.safetensors\"}}",
         "index.json: model-1.safetensors, which it names, isn't there: an incomplete download?"},
        {"{\"weight_map\":{}}", "model.embed_tokens.weight is missing"},
        {"{\"weight_map\":", "found the end"},
        {"", "empty file"},
    };
    char dir[200];
    snprintf(dir, sizeof dir, "%s/index", check_tmp());
    REQUIRE(!mkdir(dir, 0700));
    struct bytes config = read_file(check_data("goldens/tiny-a/config.json"));
    put_file(dir, "config.json", config.data, config.size);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_file(dir, "model.safetensors.index.json", cases[i][0], strlen(cases[i][0]));
        check_source(dir, cases[i][1]);
    }
    static const char twice[] = "{\"weight_map\":{\"a\":\"1.safetensors\",\"b\":\"2.safetensors\"}}";
    struct bytes weights = read_file(check_data("goldens/tiny-a/model.safetensors"));
    put_file(dir, "1.safetensors", weights.data, weights.size);
    put_file(dir, "2.safetensors", weights.data, weights.size);
    put_file(dir, "model.safetensors.index.json", twice, sizeof twice - 1);
    check_source(dir, "is in 1.safetensors and in 2.safetensors, and no index says which counts");
    free(weights.data);
    free(config.data);
}

/* Every byte of a model's header damaged in turn: whatever opens has all its tensors, which can be read. */
static void check_flipped(const char *golden, enum role last)
{
    char path[200];
    snprintf(path, sizeof path, "%s/flipped.gguf", check_tmp());
    struct bytes b = read_file(check_data(golden));
    size_t header = data_start(&b), opened = 0, tried = 0;
    for (size_t i = header - 7000; i < header; i += 31, tried++) {
        tdm_error err = {0};
        struct source *s;
        b.data[i] ^= (uint8_t)(1 << i % 8);
        put_file(check_tmp(), "flipped.gguf", b.data, b.size);
        b.data[i] ^= (uint8_t)(1 << i % 8);
        tdm_status status = source_open(&s, path, NULL, &err);
        if (status) {
            check_line(&err, status);
            continue;
        }
        opened++;
        const struct tensor *t = source_tensor(s, ROLE_EMBED, 0);
        float row[64];
        type_widen(t->type, source_rows(s, t, 511, 1, NULL), row, 64);
        t = source_tensor(s, last, 7);
        type_widen(t->type, source_rows(s, t, t->rows - 1, 1, NULL), row, t->cols);
        source_close(s);
    }
    CHECK(opened < tried);
    free(b.data);
}

TEST(a_model_with_flipped_bits)
{
    check_flipped("goldens/gguf/tiny-a-q8_0.gguf", ROLE_GATE);
    check_flipped("goldens/gguf/tiny-d-q8_0.gguf", ROLE_EXPERTS_DOWN);
}

TEST_MAIN(T(gguf_cut_off_anywhere), T(gguf_with_flipped_bits), T(gguf_with_hostile_sizes),
          T(safetensors_cut_off_or_flipped), T(safetensors_with_hostile_headers), T(incomplete_downloads),
          T(configurations_out_of_range), T(mixtures_out_of_range), T(damaged_directories), T(damaged_experts),
          T(damaged_indexes), T(a_model_with_flipped_bits))
