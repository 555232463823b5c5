/* Whatever the pipeline, the level of speculation, the size of dispatches, the threads and the moments of keys: the
 * same conversation gives the same tokens and the same logits, bit for bit, for each kernel set.
 *
 * A conversation is drawn from a seed; how it is played (moments, wrong keys, pastes) from another one. All that
 * decides what is said is placed by tokens (max_tokens), never by time. */
#include "tests/check.h"

#include "engine/kernel/kernel.h"
#include "engine/tandem/measure.h"
#include "tests/engine/chat/seeded.h"
#include "tests/seeing.h"

enum { WAYS = 12, SOME = 3, FEW = 4, FEWER = 6 }; /* and steps through the ways */

/* The ways from the `from`th on, every `step`th, each beside the plain one. */
static void check_ways(const char *kernels, uint64_t seeds, size_t from, size_t step)
{
    static const struct way plain = {TDM_PIPE_SINGLE, TDM_SPEC_OFF, 32, 1};
    static const struct way ways[WAYS] = {
        {TDM_PIPE_TANDEM, TDM_SPEC_FULL, 32, 0},     {TDM_PIPE_TANDEM, -1, 7, 0},
        {TDM_PIPE_TANDEM, TDM_SPEC_FULL, 1, 1},      {TDM_PIPE_BATCH, TDM_SPEC_FULL, 5, 0},
        {TDM_PIPE_TANDEM, TDM_SPEC_OFF, 32, 0},      {TDM_PIPE_TANDEM, TDM_SPEC_HISTORY, 4, 0},
        {TDM_PIPE_TANDEM, TDM_SPEC_DRAFT, 16, 2},    {TDM_PIPE_SINGLE, TDM_SPEC_FULL, 64, 0},
        {TDM_PIPE_SLOTS, TDM_SPEC_FULL, 32, 0},      {TDM_PIPE_SEQUENTIAL_SOLO, TDM_SPEC_FULL, 32, 0},
        {TDM_PIPE_SEQUENTIAL, TDM_SPEC_FULL, 32, 0}, {TDM_PIPE_BATCH_SOLO, TDM_SPEC_FULL, 64, 0},
    };
    static struct talk first, other;
    for (uint64_t seed = 1; seed <= seeds && !check_failures; seed++) {
        seeded_play(&first, kernels, &plain, seed, 1);
        CHECK(first.n > 2);
        for (size_t i = from % step; i < WAYS && !check_failures; i += step) {
            seeded_play(&other, kernels, &ways[i], seed, seed * 1000 + i);
            seeded_compare(&first, &other, kernels, &ways[i], seed);
        }
    }
}

/* The long form: 20 seeds in all ways with each set. The short one: one seed, with the best set in every `step`th way,
 * with the others in one way each, and half of the conversation. */
static void each_set(size_t step)
{
    const struct kernels *sets[8];
    int n = kernels_available(sets, 8);
    for (int i = 0; i < n && !check_failures; i++) {
        seeded_steps = getenv("TANDEM_LONG") || i == n - 1 ? 8 : 4;
        if (getenv("TANDEM_LONG"))
            check_ways(sets[i]->name, 20, 0, 1);
        else
            check_ways(sets[i]->name, 1, (size_t)i + step, i == n - 1 ? step : WAYS);
    }
    seeded_steps = 8;
}

TEST(one_conversation_whatever_the_way)
{
    each_set(SOME);
}

TEST(one_conversation_with_experts_whatever_the_way)
{
    const char *before = talk_path;
    talk_path = "tests/goldens/gguf/tiny-d-q8_0.gguf";
    each_set(FEWER);
    talk_path = before;
}

TEST(one_conversation_that_keeps_its_form_whatever_the_way)
{
    seeded_template = "qwen38";
    if (getenv("TANDEM_LONG"))
        each_set(1);
    else
        check_ways(NULL, 1, 5, FEWER);
    seeded_template = NULL;
}

/* Marks that the vocabulary lacks, texts with their blanks, a system prompt before the last message; and thinking that
 * a model opens by itself. */
TEST(one_conversation_by_other_templates_whatever_the_way)
{
    static const char *const others[] = {"instructions", "channels", "harmony"};
    for (size_t i = 0; i < 3; i++) {
        seeded_template = others[i];
        if (getenv("TANDEM_LONG"))
            check_ways(NULL, 20, 0, 1);
        else
            check_ways(NULL, 1, i, FEWER);
    }
    seeded_template = NULL;
}

/* States without recurrent layers, which are cut where targets change, and whose windows pass pages: of all layers, of
 * some, with sinks, with layers that have no keys of their own. Past turns lose their thinking and keep it. */
TEST(one_conversation_with_windows_whatever_the_way)
{
    static const struct {
        const char *family, *template;
    } rows[] = {{"mistral-window", "qwen35"}, {"gemma3", "qwen38"}, {"gpt-oss", "harmony"}, {"gemma4-e", "qwen36"}};
    const char *before = talk_path;
    seeded_chooses = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !check_failures; i++) {
        if (!talk_family(rows[i].family)) continue;
        seeded_template = rows[i].template;
        if (getenv("TANDEM_LONG"))
            check_ways(NULL, 20, 0, 1);
        else
            check_ways(NULL, 1, i, FEW);
    }
    seeded_chooses = false;
    seeded_template = NULL;
    talk_path = before;
}

/* How many pictures were encoded so far; afterwards no rows are kept. */
static uint64_t encoded(void)
{
    struct talk t;
    tdm_picture_figures f = {0};
    tdm_chat_options o = talk_options(talk_model(NULL));
    o.picture_bytes = 1;
    if (!talk_open(&t, NULL, 0, &o)) return 0;
    tdm_chat_picture_figures(t.chat, &f);
    CHECK_INT(0, f.kept_bytes);
    talk_close(&t);
    return f.encoded;
}

/* Paths that branch, messages that are written anew and chosen again, pictures that come and go while they are
 * encoded: by every number of threads, and none is encoded twice. */
TEST(one_conversation_with_pictures_whatever_the_way)
{
    static const struct way ways[] = {
        {TDM_PIPE_TANDEM, TDM_SPEC_FULL, 32, 3},  {TDM_PIPE_TANDEM, -1, 7, 2},
        {TDM_PIPE_TANDEM, TDM_SPEC_FULL, 5, 1},   {TDM_PIPE_BATCH, TDM_SPEC_FULL, 5, 3},
        {TDM_PIPE_SINGLE, TDM_SPEC_DRAFT, 16, 2}, {TDM_PIPE_TANDEM, TDM_SPEC_HISTORY, 4, 2},
        {TDM_PIPE_SLOTS, TDM_SPEC_FULL, 32, 1},   {TDM_PIPE_TANDEM, -1, 3, 0},
    };
    static const uint32_t sides[][2] = {{128, 96}, {64, 64}, {40, 100}, {150, 101}};
    static struct talk first, other;
    const char *before = talk_path, *folder = seeing_model();
    if (!folder) return;
    talk_path = folder;
    seeded_template = "pictures";
    seeded_chooses = true;
    seeded_n_pictures = sizeof sides / sizeof *sides;
    for (uint32_t i = 0; i < seeded_n_pictures; i++) seeded_pictures[i] = seeing_picture(sides[i][0], sides[i][1], i);
    uint64_t so_far = 0;
    bool all = getenv("TANDEM_LONG"); /* otherwise each way with one of three seeds */
    for (uint64_t seed = 1; seed <= (all ? 40 : 3) && !check_failures; seed++) {
        seeded_play(&first, NULL, &(struct way){TDM_PIPE_SINGLE, TDM_SPEC_OFF, 32, 1}, seed, 1);
        uint64_t shown = encoded() - so_far;
        so_far += shown;
        CHECK(first.n > 2 && shown >= 1 && shown <= seeded_n_pictures);
        for (size_t i = all ? 0 : seed - 1; i < sizeof ways / sizeof *ways && !check_failures; i += all ? 1 : 3) {
            seeded_play(&other, NULL, &ways[i], seed, seed * 1000 + i);
            seeded_compare(&first, &other, NULL, &ways[i], seed);
            uint64_t now = encoded();
            CHECK_INT(shown, now - so_far);
            so_far = now;
        }
    }
    for (uint32_t i = 0; i < seeded_n_pictures; i++) tdm_picture_drop(seeded_pictures[i]);
    seeded_n_pictures = 0;
    seeded_chooses = false;
    seeded_template = NULL;
    talk_path = before;
}

TEST_MAIN(T(one_conversation_whatever_the_way), T(one_conversation_with_experts_whatever_the_way),
          T(one_conversation_that_keeps_its_form_whatever_the_way),
          T(one_conversation_by_other_templates_whatever_the_way), T(one_conversation_with_windows_whatever_the_way),
          T(one_conversation_with_pictures_whatever_the_way))
