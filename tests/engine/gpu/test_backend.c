/* A real GPU (lavapipe where there is no other) as a unit of a machine, beside the cores. */
#include "tests/check.h"

#include "tests/engine/chat/seeded.h"
#include "tests/engine/gpu/rig.h"

static const struct pair {
    bool prefill, decode;
} pairs[] = {{true, false}, {false, true}, {true, true}};

static void use(const struct pair *p)
{
    static char name[16];
    if (!name[0]) snprintf(name, sizeof name, "%s", gpu_rig_name());
    talk_units[TDM_PREFILL_UNIT] = p && p->prefill ? name : NULL;
    talk_units[TDM_DECODE_UNIT] = p && p->decode ? name : NULL;
}

TEST(no_level_of_speculation_changes_a_token)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    static const struct way plain = {TDM_PIPE_TANDEM, TDM_SPEC_OFF, 32, 0};
    static const struct way ways[] = {
        {TDM_PIPE_TANDEM, TDM_SPEC_FULL, 32, 0}, {TDM_PIPE_TANDEM, -1, 7, 0}, {TDM_PIPE_SLOTS, TDM_SPEC_FULL, 32, 0}};
    static struct talk first, other;
    if (!getenv("TANDEM_LONG")) seeded_steps = 4;
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs && !check_failures; p++) {
        use(&pairs[p]);
        seeded_play(&first, NULL, &plain, p + 1, 1);
        CHECK(first.n > 2);
        for (int i = 0; i < (p ? 2 : 3) && !check_failures; i++) { /* slots: the prefill unit alone */
            if (i != 2 - (int)p && !getenv("TANDEM_LONG")) continue;
            seeded_play(&other, NULL, &ways[i], p + 1, 100 + (uint64_t)i);
            seeded_compare(&first, &other, "gpu", &ways[i], p + 1);
        }
    }
    use(NULL);
}

TEST_MAIN(T(no_level_of_speculation_changes_a_token))
