/* Whatever the pipeline, the level of speculation, the size of dispatches, the threads and the moments of keys: the
 * same conversation gives the same tokens and the same logits, bit for bit, for each kernel set.
 *
 * A conversation is drawn from a seed; how it is played (moments, wrong keys, pastes) from another one. All that
 * decides what is said is placed by tokens (max_tokens), never by time. */
#include "tests/check.h"

#include "engine/kernel/kernel.h"
#include "tests/engine/chat/drawn.h"

static void check_ways(const char *kernels, uint64_t seeds, bool all, bool best)
{
    static const struct way plain = {TDM_PIPE_SINGLE, TDM_SPEC_OFF, 32, 1};
    static const struct way ways[] = {
        {TDM_PIPE_TANDEM, TDM_SPEC_FULL, 32, 0},    {TDM_PIPE_TANDEM, -1, 7, 0},
        {TDM_PIPE_TANDEM, TDM_SPEC_FULL, 1, 1},     {TDM_PIPE_BATCH, TDM_SPEC_FULL, 5, 0},
        {TDM_PIPE_TANDEM, TDM_SPEC_OFF, 32, 0},     {TDM_PIPE_TANDEM, TDM_SPEC_HISTORY, 4, 0},
        {TDM_PIPE_TANDEM, TDM_SPEC_DRAFT, 16, 2},   {TDM_PIPE_SINGLE, TDM_SPEC_FULL, 64, 0},
        {TDM_PIPE_SLOTS, TDM_SPEC_FULL, 32, 0},     {TDM_PIPE_SEQUENTIAL_SOLO, TDM_SPEC_FULL, 32, 0},
        {TDM_PIPE_SEQUENTIAL, TDM_SPEC_FULL, 32, 0}, {TDM_PIPE_BATCH_SOLO, TDM_SPEC_FULL, 64, 0},
    };
    static struct talk first, other;
    for (uint64_t seed = 1; seed <= seeds && !check_failures; seed++) {
        size_t n = all || (best && seed == 1) ? sizeof ways / sizeof *ways : 3;
        drawn_play(&first, kernels, &plain, seed, 1);
        CHECK(first.n > 2);
        for (size_t i = 0; i < n && !check_failures; i++) {
            drawn_play(&other, kernels, &ways[i], seed, seed * 1000 + i);
            drawn_compare(&first, &other, kernels, &ways[i], seed);
        }
    }
}

static void each_set(void)
{
    const struct kernels *sets[8];
    int n = kernels_available(sets, 8);
    bool full = getenv("TANDEM_LONG");
    for (int i = 0; i < n && !check_failures; i++)
        check_ways(sets[i]->name, full ? 20 : i == n - 1 ? 2 : 1, full, i == n - 1);
}

TEST(one_conversation_whatever_the_way)
{
    each_set();
}

TEST(one_conversation_with_experts_whatever_the_way)
{
    const char *before = talk_path;
    talk_path = "tests/goldens/gguf/tiny-d-q8_0.gguf";
    each_set();
    talk_path = before;
}

TEST(one_conversation_that_keeps_its_form_whatever_the_way)
{
    drawn_keeps = true;
    each_set();
    drawn_keeps = false;
}

TEST_MAIN(T(one_conversation_whatever_the_way), T(one_conversation_with_experts_whatever_the_way),
          T(one_conversation_that_keeps_its_form_whatever_the_way))
