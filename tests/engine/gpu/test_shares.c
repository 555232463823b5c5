/* The delta rule cut as on a discrete device, where several threads share a column of its state: the same bits whatever
 * the split of a text into passes, and whichever way the shares are added. */
#include "tests/check.h"
#include "tests/engine/gpu/exact.h"

/* What a model has after a text that is read in passes of any size; NULL: it depends on that. */
static float *logits_of_any_split(struct gpu_model *m, uint32_t tokens)
{
    static const uint32_t sizes[] = {33, 5, 16, 1}; /* those below 16 only near the end, as each pass takes long */
    struct exact_text e;
    uint64_t seed = 1;
    bool same = true;
    exact_read(m, &e, tokens, 9);
    for (int i = 0; i < (getenv("TANDEM_LONG") ? 4 : 2); i++) {
        struct gpu_state *s = gpu_rig_state(m);
        if (sizes[i] < 16) gpu_rig_eval(m, s, e.ids, tokens - exact_near_end(20), 37);
        same = same && exact_follow(m, s, &e, tokens, sizes[i], &seed) && gpu_rig_equal(s, e.state);
        gpu_state_free(s);
    }
    float *logits = e.logits;
    e.logits = NULL;
    if (!same) free(logits);
    exact_drop(&e);
    return same ? logits : NULL;
}

/* The delta rule cut as on a discrete device, eight shares a column: added through subgroups and through shared memory,
 * in batches of tokens that are full or not. */
TEST(shares)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    uint32_t tokens = getenv("TANDEM_LONG") ? 75 : 45;
    float *logits[2] = {NULL, NULL};
    for (uint32_t i = 0; i < 2; i++) {
        const struct gpu_tuning tuning = {2, 1, 4, 32, 256, 4096, 4096, i ? 32 : 1, 100, 0, 0, 0, 0, false, 0};
        struct gpu *g = gpu_rig_open(&(struct gpu_options){.tuning = &tuning});
        struct gpu_model *m = g ? gpu_rig_model(g, "tests/goldens/tiny-b", KV_F32) : NULL;
        if (m) logits[i] = logits_of_any_split(m, tokens);
        CHECK(logits[i]);
        gpu_model_free(m);
        gpu_close(g);
    }
    if (logits[0] && logits[1]) CHECK(!memcmp(logits[0], logits[1], sizeof(float) * tokens * EXACT_VOCAB));
    free(logits[0]);
    free(logits[1]);
}

TEST_MAIN(T(shares))
