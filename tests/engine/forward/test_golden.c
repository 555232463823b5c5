/* The forward pass against Hugging Face transformers (tests/goldens): logits of every position, the residual stream
 * after every layer, the states, and logits after feeding the golden greedy ids one by one. Reference kernels, float32
 * keys and values. */
#include "engine/forward/forward.h"
#include "engine/model/hf/safetensors.h"
#include "tests/check.h"
#include "tests/engine/forward/expected.h"
#include "tests/engine/forward/rig.h"

/* The value head that the golden calls `head`: GGUF files have them in another order. */
static uint32_t stored_head(const struct config *c, uint32_t head)
{
    uint32_t served = c->delta.value_heads / c->delta.key_heads;
    return c->delta.value_heads_tiled ? head / served + head % served * c->delta.key_heads : head;
}

static void compare_linear(const struct safetensors *golden, const struct config *c, const struct state *s,
                           uint32_t layer, uint32_t index)
{
    char name[64];
    uint32_t kd = c->delta.key_dim, vd = c->delta.value_dim, channels = config_conv_channels(&c->delta),
             taps = c->delta.conv_kernel;
    snprintf(name, sizeof name, "layer%u.recurrent_states", layer);
    const float *expected = expected_tensor(golden, name, "F32", (uint64_t)c->delta.value_heads * kd * vd);
    float *found = malloc((size_t)c->delta.value_heads * kd * vd * sizeof *found);
    for (uint32_t h = 0; h < c->delta.value_heads; h++)
        for (uint32_t d = 0; d < kd; d++)
            for (uint32_t v = 0; v < vd; v++) {
                uint32_t slab = v / DELTA_SLAB, width = state_shape_width(pool_shape(s->pool), slab);
                found[((size_t)h * kd + d) * vd + v] =
                    state_slab(s, index, stored_head(c, h), slab)[d * width + v % DELTA_SLAB];
            }
    expected_compare(name, found, expected, (size_t)c->delta.value_heads * kd * vd, 1e-3, true);
    free(found);

    snprintf(name, sizeof name, "layer%u.conv_states", layer);
    expected = expected_tensor(golden, name, "F32", (uint64_t)channels * taps);
    uint32_t first_value = 2 * c->delta.key_heads * kd;
    double largest = 0, worst = 0;
    for (uint32_t ch = 0; ch < channels; ch++) {
        uint32_t own = ch < first_value
                           ? ch
                           : first_value + stored_head(c, (ch - first_value) / vd) * vd + (ch - first_value) % vd;
        for (uint32_t t = 0; t + 1 < taps; t++) {
            float e = expected[(size_t)ch * taps + t + 1], f = state_conv(s, index)[(size_t)t * channels + own];
            largest = fmax(largest, fabsf(e));
            if (!(fabs((double)e - f) <= worst)) worst = fabs((double)e - f);
        }
    }
    if (!(worst <= 1e-3 * largest)) CHECK_FAIL("%s: differs by %g (largest value %g)", name, worst, largest);
}

static void compare_attention(const struct safetensors *golden, const struct config *c, const struct state *s,
                              uint32_t layer, uint32_t index)
{
    char name[2][64];
    size_t dim = c->attention.head_dim, n = (size_t)c->attention.kv_heads * s->length * dim;
    snprintf(name[0], sizeof name[0], "layer%u.keys", layer);
    snprintf(name[1], sizeof name[1], "layer%u.values", layer);
    float *keys = malloc(n * sizeof *keys), *values = malloc(n * sizeof *values);
    for (uint32_t h = 0; h < c->attention.kv_heads; h++)
        for (uint32_t i = 0; i < s->length; i++) {
            size_t at = ((size_t)h * s->length + i) * dim;
            pool_kernels(s->pool)->kv_load(pool_kv(s->pool), c->attention.head_dim,
                                           state_keys(s, index, i / KV_PAGE, h), state_values(s, index, i / KV_PAGE, h),
                                           i % KV_PAGE, keys + at, values + at);
        }
    expected_compare(name[0], keys, expected_tensor(golden, name[0], "F32", n), n, 1e-3, true);
    expected_compare(name[1], values, expected_tensor(golden, name[1], "F32", n), n, 1e-3, true);
    free(keys);
    free(values);
}

static void compare_states(const struct safetensors *golden, const struct config *c, const struct state *s)
{
    uint32_t linear = 0, attention = 0;
    for (uint32_t i = 0; i < c->layers; i++) {
        if (c->full_attention[i])
            compare_attention(golden, c, s, i, attention++);
        else
            compare_linear(golden, c, s, i, linear++);
    }
}

static void check_golden(struct rig *r, const char *folder, uint32_t n)
{
    const struct config *c = &r->weights->config;
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

    struct state *s = rig_state(r);
    float *logits = malloc((size_t)n * c->vocab * sizeof *logits);
    float *hidden = malloc((size_t)(c->layers + 1) * c->hidden * sizeof *hidden);
    rig_all_logits(r, s, ids, n, logits, hidden);
    expected_compare("logits", logits, expected_tensor(golden, "logits", "F32", (uint64_t)n * c->vocab),
                     (size_t)n * c->vocab, 2e-3, false);
    expected_compare_hidden(golden, hidden, c->layers, c->hidden);
    CHECK(s->logits_valid && !memcmp(s->logits, logits + (size_t)(n - 1) * c->vocab, c->vocab * sizeof *logits));
    if (n == 70) compare_states(golden, c, s);

    const float *expected = expected_tensor(golden, "greedy_logits", "F32", 24ull * c->vocab);
    for (int i = 0; i < 24; i++) {
        rig_eval(r, s, greedy + i, 1, 1);
        expected_compare("greedy logits", s->logits, expected + (size_t)i * c->vocab, c->vocab, 2e-3, false);
    }
    free(logits);
    free(hidden);
    state_free(s);
    safetensors_close(golden);
}

static void check_model(const char *model, const char *folder, bool bf16_frequencies)
{
    char kept[2][1024]; /* check_data and check_shared reuse their strings */
    snprintf(kept[0], sizeof kept[0], "%s", model);
    snprintf(kept[1], sizeof kept[1], "%s", folder);
    struct rig *r = rig_open(kept[0], "reference", KV_F32, 2);
    if (!r) return;
    if (bf16_frequencies) rig_round_frequencies(r);
    static const uint32_t lengths[] = {1, 13, 70, 200};
    for (int i = 0; i < 4; i++) check_golden(r, kept[1], lengths[i]);
    rig_close(r);
}

TEST(tiny_a)
{
    check_model("tests/goldens/tiny-a", "tests/goldens/tiny-a", true);
}
TEST(tiny_b)
{
    check_model("tests/goldens/tiny-b", "tests/goldens/tiny-b", true);
}
TEST(tiny_a_gguf)
{
    check_model("tests/goldens/gguf/tiny-a-bf16.gguf", "tests/goldens/tiny-a", true);
}
TEST(tiny_b_gguf)
{
    check_model("tests/goldens/gguf/tiny-b-bf16.gguf", "tests/goldens/tiny-b", true);
}

TEST(tiny_c)
{
    const char *path = check_shared("goldens/tiny-c");
    if (path) check_model(path, path, false);
}

/* Mixtures of experts. */
TEST(tiny_d)
{
    check_model("tests/goldens/tiny-d", "tests/goldens/tiny-d", true);
}
TEST(tiny_e)
{
    const char *path = check_shared("goldens/tiny-e");
    if (path) check_model(path, path, true);
}
TEST(tiny_d_gguf)
{
    const char *path = check_shared("goldens/gguf/tiny-d-bf16.gguf");
    if (path) check_model(path, "tests/goldens/tiny-d", true);
}

TEST_MAIN(T(tiny_a), T(tiny_b), T(tiny_a_gguf), T(tiny_b_gguf), T(tiny_c), T(tiny_d), T(tiny_e), T(tiny_d_gguf))
