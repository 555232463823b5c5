/* The GPU's forward pass with models of other families against Hugging Face transformers (../shared/goldens/families):
 * logits of every position, and after feeding the golden greedy ids one by one. Weights as stored and float32 keys and
 * values, with the tolerances that the cores have. */
#include <math.h>
#include <unistd.h>

#include "engine/model/half.h"
#include "engine/model/hf/safetensors.h"
#include "tests/check.h"
#include "tests/engine/forward/expected.h"
#include "tests/engine/gpu/rig.h"
#include "tests/engine/model/family.h"

enum { FAMILY_GREEDY = 16 }; /* tokens of their goldens */

/* A prompt in one pass, then, for `fed` of the golden's tokens, passes of one in one dispatch, where it can be
 * (together). 150 positions go beyond a block of attention, and beyond what scaled positions were first made for. */
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

TEST_MAIN(T(families), T(gemma_and_gpt_oss), T(far_below_zero))
