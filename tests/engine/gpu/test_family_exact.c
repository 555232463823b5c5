/* Exactness on one device of other families (../shared/goldens/families): windows in all layers and in some, soft caps,
 * norms of what is added, LayerNorms, learned positions. In the short form one of them. */
#include "tests/check.h"
#include "tests/engine/gpu/exact.h"
#include "tests/engine/model/family.h"

static const struct exact_case families[] = {
    {"gemma2", KV_F32, 0, 140, 1, 40},         {"gpt2", KV_F32, 0, 70, 1, 0},
    {"mistral-window", KV_Q8_0, 0, 140, 1, 0}, {"qwen2", KV_F16, 0, 70, 1, 0},
    {"qwen3moe", KV_F32, 0, 70, 0, 0},         {"gemma3", KV_F16, 64 << 10, 140, 1, 0},
    {"gemma4-dense", KV_Q8_0, 0, 140, 0, 0},   {"gemma4-moe", KV_F16, 0, 70, 0, 0},
    {"gemma4-e", KV_F32, 0, 140, 0, 0},        {"gpt-oss", KV_F16, 0, 140, 0, 0},
};

static void all_of_it(struct gpu_model *m, struct exact_text *e, uint64_t seed)
{
    exact_any_split(m, e, seed);
    exact_any_runs(m, e, seed);
    exact_forks(m, e, seed);
    exact_refusals(m, e, seed);
}

TEST(other_families)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        char room[FAMILY_ROOM];
        if (!families[i].brief && !getenv("TANDEM_LONG")) continue;
        const char *path = family_find(families[i].name, room);
        if (path) exact_with(&families[i], path, all_of_it, i + 1, EXACT_LIMIT);
    }
}

TEST_MAIN(T(other_families))
