#include "tests/engine/gpu/families.h"

#include <unistd.h>

#include "engine/model/hf/safetensors.h"
#include "tests/check.h"
#include "tests/engine/forward/expected.h"
#include "tests/engine/model/family.h"

enum { FAMILY_GREEDY = 16 }; /* tokens of their goldens */

void families_check_one(const char *name, uint32_t n, int fed, bool together, uint32_t context)
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

void families_check(const struct families_case *list, size_t n)
{
    bool all = getenv("TANDEM_LONG");
    for (size_t i = 0; i < n; i++) {
        enum families_brief brief = all ? WHOLE : list[i].brief;
        if (brief) families_check_one(list[i].name, 70, brief == WHOLE ? 3 : 0, list[i].together, GPU_RIG_CONTEXT);
        if (all) families_check_one(list[i].name, 150, 0, false, GPU_RIG_CONTEXT);
    }
}
