/* GPT-2 and gpt-oss on a GPU against their goldens (families.h): learned positions, LayerNorms, GELU; sinks, biases of
 * experts. */
#include <math.h>

#include "engine/model/half.h"
#include "tests/check.h"
#include "tests/engine/gpu/families.h"
#include "tests/engine/model/family.h"

TEST(families)
{
    static const struct families_case list[] = {{"gpt2", true, PROMPT}, {"gpt-oss", false, WHOLE}};
    families_check(list, sizeof list / sizeof *list);
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

TEST_MAIN(T(families), T(far_below_zero))
