/* The GPU's forward pass against Hugging Face transformers (tests/goldens): logits of every position, the residual
 * stream after every layer, the states, and logits after feeding the golden greedy ids one by one. Weights as stored
 * and float32 keys and values, so the arithmetic is float32's as on the cores, and so are the tolerances. */
#include "engine/model/half.h"
#include "engine/model/hf/safetensors.h"
#include "tests/check.h"
#include "tests/engine/forward/expected.h"
#include "tests/engine/gpu/rig.h"

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

TEST_MAIN(T(tiny_a), T(tiny_b), T(tiny_b_in_slices), T(tiny_a_gguf), T(tiny_c), T(tiny_d), T(tiny_e))
