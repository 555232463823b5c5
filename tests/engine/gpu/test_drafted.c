/* Drafts of a unit on a GPU: the text is the one without them, bit for bit, also where the prompt comes from the cores
 * through the bridge. With penalties and stop strings; 20 seeds, and the built-in model's head, in the long form. */
#include "tests/check.h"

#include "tests/engine/chat/drafted.h"
#include "tests/engine/gpu/rig.h"

/* tokens: of a reply, with one number of drafts; 0: as many as usual, with several. */
static void with_seeds(const char *prefill, const char *decode, uint64_t first, uint64_t last, int tokens)
{
    static const char *const stops[] = {" the", "a dog", "apit", ", 1", NULL};
    talk_units[TDM_PREFILL_UNIT] = prefill;
    talk_units[TDM_DECODE_UNIT] = decode;
    for (uint64_t seed = first; seed <= last && !check_failures; seed++) {
        struct words w = drafted_words(seed, seed % 5 ? 0.7f : 0);
        if (tokens) w.max_tokens = tokens, w.once = true;
        if (seed % 3 == 0) w.sampling.presence_penalty = 1.5f, w.sampling.frequency_penalty = 0.3f;
        if (seed % 3 == 1) w.sampling.repeat_penalty = 1.2f;
        w.ends = seed % 2;
        if (seed % 4 == 0) w.stops = stops;
        drafted_check(NULL, &w);
    }
    talk_units[TDM_PREFILL_UNIT] = talk_units[TDM_DECODE_UNIT] = NULL;
}

TEST(drafts_change_no_token)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    static char name[16];
    snprintf(name, sizeof name, "%s", gpu_rig_name());
    bool all = getenv("TANDEM_LONG");
    drafted_accepted = drafted_made = 0;
    const char *shared = check_shared("goldens/gguf/tiny-f-q8_0.gguf"); /* small, with a head that guesses */
    if (!shared) return;
    static char path[1024];
    snprintf(path, sizeof path, "%s", shared);
    talk_path = path;
    with_seeds(name, name, all ? 1 : 4, all ? 20 : 4, all ? 0 : 9);
    with_seeds(NULL, name, 3, all ? 20 : 3, all ? 0 : 9);
    talk_path = talk_builtin;
    CHECK(drafted_made > 20);
}

TEST(a_trained_head_is_right_often)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    if (!getenv("TANDEM_LONG")) SKIP("long: drivers on cores take a second for each token"); /* its bits: test_mtp.c */
    static char name[16];
    snprintf(name, sizeof name, "%s", gpu_rig_name());
    drafted_accepted = drafted_made = 0;
    talk_path = talk_builtin;
    with_seeds(name, name, 5, 9, 0);
    printf("# %u of %u drafts accepted\n", drafted_accepted, drafted_made);
    CHECK(drafted_accepted > drafted_made / 5);
}

TEST_MAIN(T(drafts_change_no_token), T(a_trained_head_is_right_often))
