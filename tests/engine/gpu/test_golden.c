/* The GPU's forward pass against Hugging Face transformers (tests/goldens): logits of every position, the residual
 * stream after every layer, the states, and logits after feeding the golden greedy ids one by one. Weights as stored
 * and float32 keys and values, so the arithmetic is float32's as on the cores, and so are the tolerances. */
#include <math.h>
#include <unistd.h>

#include "engine/model/half.h"
#include "engine/model/hf/safetensors.h"
#include "tests/check.h"
#include "tests/engine/forward/expected.h"
#include "tests/engine/gpu/rig.h"
#include "tests/engine/model/family.h"

/* The value head that the golden calls `head`: GGUF files have them in another order. */
static uint32_t stored_head(const struct config *c, uint32_t head)
{
    uint32_t served = c->delta.value_heads / c->delta.key_heads;
    return c->delta.value_heads_tiled ? head / served + head % served * c->delta.key_heads : head;
}

static void compare_linear(const struct safetensors *golden, const struct config *c, const struct gpu_image *s,
                           uint32_t layer, uint32_t index)
{
    char name[64];
    size_t head = (size_t)c->delta.key_dim * c->delta.value_dim, channels = config_conv_channels(&c->delta),
           taps = c->delta.conv_kernel;
    snprintf(name, sizeof name, "layer%u.recurrent_states", layer);
    const float *expected = expected_tensor(golden, name, "F32", c->delta.value_heads * head);
    for (uint32_t h = 0; h < c->delta.value_heads; h++)
        expected_compare(name, s->recurrent + (index * c->delta.value_heads + stored_head(c, h)) * head,
                         expected + h * head, head, 1e-3, true);

    snprintf(name, sizeof name, "layer%u.conv_states", layer);
    expected = expected_tensor(golden, name, "F32", channels * taps);
    uint32_t first_value = 2 * c->delta.key_heads * c->delta.key_dim, vd = c->delta.value_dim;
    float *found = calloc(channels * taps, sizeof *found), *wanted = calloc(channels * taps, sizeof *wanted);
    for (uint32_t ch = 0; ch < channels; ch++) {
        uint32_t own = ch;
        if (ch >= first_value)
            own = first_value + stored_head(c, (ch - first_value) / vd) * vd + (ch - first_value) % vd;
        for (uint32_t t = 0; t + 1 < taps; t++) {
            wanted[ch * taps + t] = expected[ch * taps + t + 1];
            found[ch * taps + t] = s->conv[(index * (taps - 1) + t) * channels + own];
        }
    }
    expected_compare(name, found, wanted, channels * taps, 1e-3, true);
    free(found);
    free(wanted);
}

static void compare_attention(const struct safetensors *golden, const struct gpu_model *m, const struct gpu_image *s,
                              uint32_t layer, uint32_t index)
{
    const struct config *c = gpu_model_config(m);
    size_t dim = c->attention.head_dim, n = (size_t)c->attention.kv_heads * s->content.length * dim,
           block = KV_PAGE * dim;
    for (int values = 0; values < 2; values++) {
        char name[64];
        snprintf(name, sizeof name, "layer%u.%s", layer, values ? "values" : "keys");
        float *found = malloc(n * sizeof *found);
        for (uint32_t h = 0; h < c->attention.kv_heads; h++)
            for (uint32_t i = 0; i < s->content.length; i++) {
                const float *page =
                    (const float *)((const char *)s->pages[0] + i / KV_PAGE * gpu_part_bytes(m, GPU_PAGES));
                memcpy(found + ((size_t)h * s->content.length + i) * dim,
                       page + ((index * c->attention.kv_heads + h) * 2 + (size_t)values) * block + i % KV_PAGE * dim,
                       dim * sizeof *found);
            }
        expected_compare(name, found, expected_tensor(golden, name, "F32", n), n, 1e-3, true);
        free(found);
    }
}

static void compare_states(const struct safetensors *golden, const struct gpu_model *m, const struct gpu_state *s)
{
    const struct config *c = gpu_model_config(m);
    struct gpu_image image = gpu_rig_image(s);
    uint32_t linear = 0, attention = 0;
    for (uint32_t i = 0; i < c->layers; i++) {
        if (c->full_attention[i])
            compare_attention(golden, m, &image, i, attention++);
        else
            compare_linear(golden, c, &image, i, linear++);
    }
    gpu_rig_image_free(&image);
}

static void check_golden(struct gpu_model *m, const char *folder, uint32_t n)
{
    const struct config *c = gpu_model_config(m);
    char path[1100];
    struct safetensors *golden;
    tdm_error err;
    snprintf(path, sizeof path, "%s/golden-%u.safetensors", folder, n);
    if (safetensors_open(&golden, path, &err)) {
        CHECK_FAIL("%s", err.text);
        return;
    }
    const tdm_id *ids = expected_tensor(golden, "prompt_ids", "I32", n),
                 *greedy = expected_tensor(golden, "greedy_ids", "I32", 24);
    struct gpu_state *s = gpu_rig_state(m);
    float *logits = malloc((size_t)n * c->vocab * sizeof *logits);
    float *hidden = malloc((size_t)(c->layers + 1) * c->hidden * sizeof *hidden);
    gpu_rig_logits(m, s, ids, n, logits, hidden);
    expected_compare("logits", logits, expected_tensor(golden, "logits", "F32", (uint64_t)n * c->vocab),
                     (size_t)n * c->vocab, 2e-3, false);
    expected_compare_hidden(golden, hidden, c->layers, c->hidden);
    CHECK(gpu_state_logits(s) &&
          !memcmp(gpu_state_logits(s), logits + (size_t)(n - 1) * c->vocab, c->vocab * sizeof *logits));
    if (n == 70) compare_states(golden, m, s);

    const float *expected = expected_tensor(golden, "greedy_logits", "F32", 24ull * c->vocab);
    int fed = getenv("TANDEM_LONG") ? 24 : 4;
    for (int i = 0; i < fed && !check_failures; i++) {
        gpu_rig_eval(m, s, greedy + i, 1, 1);
        expected_compare("greedy logits", gpu_state_logits(s), expected + (size_t)i * c->vocab, c->vocab, 2e-3, false);
    }
    free(logits);
    free(hidden);
    gpu_state_free(s);
    safetensors_close(golden);
}

/* As on the cores: the goldens of the BF16 models were made with RoPE's frequencies rounded to bfloat16. tuning: NULL:
 * the device's. */
static void check_model_with(const char *model, const char *folder, bool bf16_frequencies, uint64_t slice,
                             const struct gpu_tuning *tuning)
{
    char kept[2][1024]; /* check_data and check_shared reuse their strings */
    snprintf(kept[0], sizeof kept[0], "%s", model);
    snprintf(kept[1], sizeof kept[1], "%s", folder);
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    struct gpu *g = gpu_rig_shared(slice, tuning);
    struct gpu_model *m = g ? gpu_rig_model(g, kept[0], KV_F32) : NULL;
    if (m) {
        double *frequency = gpu_model_frequencies(m);
        for (uint32_t i = 0; i < gpu_model_config(m)->rope.dims / 2 && bf16_frequencies; i++)
            frequency[i] = bf16_widen(bf16_narrow((float)frequency[i]));
        static const uint32_t lengths[] = {13, 70, 1, 200}; /* the last two, which attend to more blocks, take long */
        bool all = getenv("TANDEM_LONG") || !strcmp(kept[0], "tests/goldens/tiny-b");
        for (int i = all ? 0 : 1; i < (all ? 4 : 2) && !check_failures; i++) check_golden(m, kept[1], lengths[i]);
    }
    gpu_model_free(m);
    CHECK_INT(0, g ? (int)(gpu_used(g) >> 26) : 0); /* staging memory only */
}

static void check_model(const char *model, const char *folder, bool bf16_frequencies, uint64_t slice)
{
    check_model_with(model, folder, bf16_frequencies, slice, NULL);
}

TEST(tiny_a)
{
    check_model("tests/goldens/tiny-a", "tests/goldens/tiny-a", true, 0);
}
TEST(tiny_b)
{
    check_model("tests/goldens/tiny-b", "tests/goldens/tiny-b", true, 0);
}
/* Every matrix in many pieces. */
TEST(tiny_b_in_slices)
{
    check_model("tests/goldens/gguf/tiny-b-bf16.gguf", "tests/goldens/tiny-b", true, 64 << 10);
}
TEST(tiny_a_gguf)
{
    check_model("tests/goldens/gguf/tiny-a-bf16.gguf", "tests/goldens/tiny-a", true, 0);
}

TEST(tiny_c)
{
    const char *path = check_shared("goldens/tiny-c");
    if (path) check_model(path, path, false, 0);
}

/* Mixtures of experts. */
TEST(tiny_d)
{
    check_model("tests/goldens/tiny-d", "tests/goldens/tiny-d", true, 0);
}
TEST(tiny_e)
{
    /* Of 20 experts two are equally probable once, but for 3e-6: columns of the delta rule's state are added whole, as
     * by the library that made the golden, which the choice depends on. */
    static const struct gpu_tuning tuning = {2, 1, 4, 32, 32, 4096, 4096, 0, 8192, 0, 0, 0, 0, false, 0};
    if (!getenv("TANDEM_LONG")) SKIP("only in the long form: all its shaders are cut like no other test's");
    const char *path = check_shared("goldens/tiny-e");
    if (path) check_model_with(path, path, true, 64 << 10, &tuning);
}

enum { FAMILY_GREEDY = 16 }; /* tokens of their goldens */

/* Other families (../shared/goldens/families): a prompt in one pass, then, for `fed` of the golden's tokens, passes of
 * one in one dispatch, where it can be (together). 150 positions go beyond a block of attention, and beyond what scaled
 * positions were first made for. */
static void check_family(const char *name, uint32_t n, int fed, bool together, uint32_t context)
{
    char path[FAMILY_ROOM + 40], folder[FAMILY_ROOM];
    struct safetensors *golden = NULL;
    tdm_error err;
    double most = strcmp(name, "gemma4-e") ? 2e-3 : 4e-3; /* as for cores (test_families.c) */
    if (check_failures) return;
    if (!family_find(name, folder)) return;
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    snprintf(path, sizeof path, "%s/golden-%u.safetensors", folder, n);
    if (access(path, F_OK)) { /* a family in the tree has its shortest alone */
        char below[200];
        snprintf(below, sizeof below, "goldens/families/%s/golden-%u.safetensors", name, n);
        const char *shared = check_shared(below);
        if (!shared) return;
        snprintf(path, sizeof path, "%s", shared);
    }
    struct gpu *g = gpu_rig_open(&(struct gpu_options){.tuning = fed ? &gpu_rig_fused : NULL});
    struct gpu_model *m = g ? gpu_rig_model_for(g, folder, KV_F32, context) : NULL;
    if (m && fed) CHECK_INT(together, gpu_model_fused_workgroups(m));
    if (safetensors_open(&golden, path, &err)) CHECK_FAIL("%s", err.text);
    if (m && golden) {
        size_t vocab = gpu_model_config(m)->vocab;
        struct gpu_state *s = gpu_rig_state(m);
        float *logits = malloc(n * vocab * sizeof *logits);
        gpu_rig_logits(m, s, expected_tensor(golden, "prompt_ids", "I32", n), n, logits, NULL);
        expected_compare("logits", logits, expected_tensor(golden, "logits", "F32", n * vocab), n * vocab, most, false);
        for (int i = 0; i < fed && !check_failures; i++) {
            gpu_rig_eval(m, s, (const tdm_id *)expected_tensor(golden, "greedy_ids", "I32", FAMILY_GREEDY) + i, 1, 1);
            expected_compare("greedy logits", gpu_state_logits(s),
                             (const float *)expected_tensor(golden, "greedy_logits", "F32", FAMILY_GREEDY * vocab) +
                                 (size_t)i * vocab,
                             vocab, most, false);
        }
        free(logits);
        gpu_state_free(s);
    }
    if (check_failures) printf("# with %s, %u tokens\n", name, n);
    safetensors_close(golden);
    gpu_model_free(m);
    gpu_close(g);
}

/* In the short form there is one of each kind, and the prompt alone where its tokens, one by one, would need a shader
 * that drivers on cores compile for ten seconds. */
enum brief { LEFT_OUT, PROMPT, WHOLE };
struct family {
    const char *name;
    bool together;
    enum brief brief;
};

static void check_families(const struct family *list, size_t n)
{
    bool all = getenv("TANDEM_LONG");
    for (size_t i = 0; i < n; i++) {
        enum brief brief = all ? WHOLE : list[i].brief;
        if (brief) check_family(list[i].name, 70, brief == WHOLE ? 3 : 0, list[i].together, GPU_RIG_CONTEXT);
        if (all) check_family(list[i].name, 150, 0, false, GPU_RIG_CONTEXT);
    }
}

TEST(families)
{
    static const struct family list[] = {
        {"qwen3next", false, LEFT_OUT}, {"qwen3", true, LEFT_OUT},         {"qwen3-yarn", true, LEFT_OUT},
        {"llama", true, LEFT_OUT},      {"mistral", true, LEFT_OUT},       {"ministral3", true, PROMPT},
        {"smollm3", true, LEFT_OUT},    {"llama-tied", true, LEFT_OUT},    {"qwen2", true, LEFT_OUT},
        {"qwen3moe", false, WHOLE},     {"granite", true, LEFT_OUT},       {"phi3", true, LEFT_OUT},
        {"gpt2", true, PROMPT},          {"mistral-window", true, LEFT_OUT}};
    check_families(list, sizeof list / sizeof *list);
    check_family("qwen3moe-plain", 24, 0, false, GPU_RIG_CONTEXT);
    /* Two sets of divisors, by the room that a state has. */
    check_family("phi3-longrope", 40, 0, false, 64);
    check_family("phi3-longrope", 150, 0, false, GPU_RIG_CONTEXT);
}

/* Windows in some layers, with heads of a shape of their own in Gemma 4; experts beside a dense network;
 * layers that share keys and values and are told of the token; sinks, biases of experts. */
TEST(gemma_and_gpt_oss)
{
    static const struct family list[] = {{"gemma2", true, WHOLE},           {"gemma3", true, LEFT_OUT},
                                         {"gemma4-dense", false, LEFT_OUT}, {"gemma4-moe", false, LEFT_OUT},
                                         {"gemma4-e", false, WHOLE},        {"gpt-oss", false, WHOLE}};
    check_families(list, sizeof list / sizeof *list);
}

/* Writes a float into all of a tensor of bfloat16 of a checkpoint. */
static void fill_tensor(const char *path, const char *name, float value)
{
    uint64_t header, at[2];
    static char text[1 << 16];
    FILE *f = fopen(path, "r+b");
    REQUIRE(f);
    REQUIRE(fread(&header, 8, 1, f) == 1 && header < sizeof text && fread(text, 1, header, f) == header);
    const char *entry = strstr(text, name), *offsets = entry ? strstr(entry, "data_offsets") : NULL;
    REQUIRE(offsets && sscanf(offsets, "data_offsets\":[%lu,%lu]", &at[0], &at[1]) == 2);
    uint16_t bits = bf16_narrow(value);
    fseek(f, (long)(8 + header + at[0]), SEEK_SET);
    for (uint64_t i = at[0]; i < at[1]; i += 2) fwrite(&bits, 2, 1, f);
    fclose(f);
}

/* Where GELU's sigmoid has arguments that exp reaches its bound for, logits are numbers all the same. */
TEST(far_below_zero)
{
    char room[FAMILY_ROOM], path[FAMILY_ROOM + 40];
    tdm_id ids[3] = {5, 70, 200};
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    const char *folder = family_find("gpt2", room);
    REQUIRE(folder);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    fill_tensor(path, "h.0.mlp.c_fc.bias", -30);
    struct gpu *g = gpu_rig_shared(0, NULL);
    struct gpu_model *m = g ? gpu_rig_model(g, folder, KV_F32) : NULL;
    REQUIRE(m);
    struct gpu_state *s = gpu_rig_state(m);
    gpu_rig_eval(m, s, ids, 3, 3);
    const float *logits = gpu_state_logits(s);
    REQUIRE(logits);
    for (uint32_t i = 0; i < gpu_model_config(m)->vocab; i++) CHECK(isfinite(logits[i]));
    gpu_state_free(s);
    gpu_model_free(m);
}

TEST_MAIN(T(tiny_a), T(tiny_b), T(tiny_b_in_slices), T(tiny_a_gguf), T(tiny_c), T(tiny_d), T(tiny_e), T(families),
          T(gemma_and_gpt_oss), T(far_below_zero))
