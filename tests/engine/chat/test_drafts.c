/* The number of drafts follows what they are worth, and drafts from the context are what followed there. */
#include "engine/chat/drafts.h"
#include "tests/check.h"

/* A machine on which a pass of 1 + k tokens costs 1 + slope k, and a draft `draft`; drafts are right with a share. */
struct machine {
    double slope, draft, right;
    uint64_t seed;
};

static double uniform(struct machine *m)
{
    m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(m->seed >> 33) / (double)(1u << 31);
}

/* Makes passes until there are so many tokens; returns their time relative to one without drafts. */
static double run(struct drafts *d, struct machine *m, uint32_t tokens, uint32_t *used)
{
    double time = 0;
    uint32_t made = 0;
    memset(used, 0, (DRAFTS_MOST + 1) * sizeof *used);
    while (made < tokens) {
        uint32_t k = drafts_choose(d, DRAFTS_MOST), right = 0;
        double pass = 1 + m->slope * k, drafting = m->draft * k;
        while (right < k && uniform(m) < m->right) right++;
        drafts_count(d, k, right, pass * 0.01, drafting * 0.01, true);
        time += pass + drafting;
        made += 1 + right;
        used[k]++;
    }
    return time / made;
}

TEST(good_drafts_are_made)
{
    struct drafts d;
    struct machine m = {.slope = 0.05, .draft = 0.08, .right = 0.8};
    uint32_t used[DRAFTS_MOST + 1];
    drafts_init(&d, 0.1);
    CHECK(run(&d, &m, 2000, used) < 1 / 1.75);
    CHECK(used[3] + used[4] + used[5] > 9 * used[0]);
}

TEST(poor_drafts_are_left_at_a_small_cost)
{
    struct drafts d;
    struct machine m = {.slope = 0.3, .draft = 0.3, .right = 0.3};
    uint32_t used[DRAFTS_MOST + 1];
    drafts_init(&d, 0.1);
    run(&d, &m, 500, used);
    CHECK(run(&d, &m, 4000, used) < 1.02);
    CHECK(used[0] > 3500 && used[1] > 20); /* and it keeps looking */
    m.slope = 0.02, m.draft = 0.05, m.right = 0.9; /* the text changed, and the machine */
    run(&d, &m, 4000, used);
    CHECK(run(&d, &m, 1000, used) < 0.6);
}

TEST(never_more_than_there_is_room_for)
{
    struct drafts d;
    struct machine m = {.slope = 0.01, .draft = 0.01, .right = 0.95};
    uint32_t used[DRAFTS_MOST + 1];
    drafts_init(&d, 0.1);
    run(&d, &m, 400, used);
    CHECK_INT(0, drafts_choose(&d, 0));
    CHECK_INT(1, drafts_choose(&d, 1));
    CHECK(drafts_choose(&d, 99) <= DRAFTS_MOST);
}

static uint32_t context(const char *text, char next, char *out, uint32_t most)
{
    tdm_id ids[100], drafts[DRAFTS_MOST];
    uint32_t n = (uint32_t)strlen(text);
    for (uint32_t i = 0; i < n; i++) ids[i] = text[i];
    uint32_t k = drafts_from_context(ids, n, next, drafts, most);
    for (uint32_t i = 0; i < k; i++) out[i] = (char)drafts[i];
    out[k] = 0;
    return k;
}

TEST(drafts_from_the_context)
{
    char out[DRAFTS_MOST + 1];
    CHECK_INT(0, context("", 'a', out, 5));
    CHECK_INT(0, context("abcdabx", 'c', out, 5)); /* no three in a row */
    CHECK_INT(5, context("abcdefgh-ab", 'c', out, 5));
    CHECK_STR("defgh", out);
    CHECK_INT(2, context("abcdefgh-ab", 'c', out, 2));
    CHECK_STR("de", out);
    context("-xabcP.yabcQ.-xab", 'c', out, 1); /* the longer one, though older */
    CHECK_STR("P", out);
    context("abcP.abcQ.ab", 'c', out, 1); /* the newest of two */
    CHECK_STR("Q", out);
    CHECK_INT(2, context("abab", 'a', out, 3)); /* as far as there is any */
    CHECK_STR("ba", out);
}

TEST_MAIN(T(good_drafts_are_made), T(poor_drafts_are_left_at_a_small_cost), T(never_more_than_there_is_room_for),
          T(drafts_from_the_context))
