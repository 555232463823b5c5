/* The number of drafts follows what they are worth, and drafts from the context are what followed there. */
#include "engine/chat/policy/drafts.h"
#include "tests/check.h"

/* A machine on which a pass of 1 + k tokens costs 1 + slope k, and a draft `draft`; drafts are right with a share.
 * Times that are measured are off by up to `noise` of themselves, and now and then, with the share `held_up`, up to
 * three times as long; `shared`: all are for half of the time. */
struct machine {
    double slope, draft, right, noise, held_up;
    bool shared;
    uint32_t passes; /* so far */
    uint64_t seed;
};

static double uniform(struct machine *m)
{
    m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(m->seed >> 33) / (double)(1u << 31);
}

static double as_measured(struct machine *m, double time)
{
    if (uniform(m) < m->held_up) time *= 1 + 2 * uniform(m);
    if (m->shared && m->passes / 50 % 2) time *= 3;
    return time * (1 + m->noise * (2 * uniform(m) - 1));
}

/* Makes passes until there are so many tokens; returns their true time relative to one without drafts. */
static double run(struct drafts *d, struct machine *m, uint32_t tokens, uint32_t *used)
{
    double time = 0;
    uint32_t made = 0;
    memset(used, 0, (DRAFTS_MAX + 1) * sizeof *used);
    while (made < tokens) {
        uint32_t k = drafts_choose(d, DRAFTS_MAX), right = 0;
        double pass = 1 + m->slope * k, drafting = m->draft * k;
        while (right < k && uniform(m) < m->right) right++;
        /* Each draws random numbers: their order is the same with every compiler. */
        double drafting_s = as_measured(m, drafting * 0.01), pass_s = as_measured(m, pass * 0.01);
        drafts_count(d, k, right, pass_s, drafting_s, true);
        m->passes++;
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
    uint32_t used[DRAFTS_MAX + 1];
    drafts_init(&d, 0.1);
    CHECK(run(&d, &m, 2000, used) < 1 / 1.75);
    CHECK(used[3] + used[4] + used[5] > 9 * used[0]);
}

TEST(poor_drafts_are_left_at_a_small_cost)
{
    struct drafts d;
    struct machine m = {.slope = 0.3, .draft = 0.3, .right = 0.3};
    uint32_t used[DRAFTS_MAX + 1];
    drafts_init(&d, 0.1);
    run(&d, &m, 500, used);
    CHECK(run(&d, &m, 4000, used) < 1.02);
    CHECK(used[0] > 3500 && used[1] > 20); /* and it keeps looking */
    m.slope = 0.02, m.draft = 0.05, m.right = 0.9; /* the text changed, and the machine */
    run(&d, &m, 4000, used);
    CHECK(run(&d, &m, 1000, used) < 0.6);
}

/* The time of a token where k is always the best one. */
static double best_time(const struct machine *m)
{
    double best = 1;
    for (int k = 1; k <= DRAFTS_MAX; k++) {
        double expected = 1, right = 1;
        for (int i = 0; i < k; i++) expected += right *= m->right;
        double time = (1 + (m->slope + m->draft) * k) / expected;
        if (time < best) best = time;
    }
    return best;
}

/* On a machine that others use, too, the choice stays near the best one for every kind of model and text. */
TEST(times_may_be_far_off)
{
    double most = 0, sum = 0;
    int n = 0;
    for (double slope = 0.03; slope < 0.5; slope *= 2)
        for (double right = 0.1; right < 0.95; right += 0.2)
            for (uint64_t seed = 1; seed <= 16; seed++, n++) {
                struct drafts d;
                struct machine m = {.slope = slope, .draft = 0.06, .right = right, .noise = 0.1, .held_up = 0.1,
                                    .shared = seed % 2, .seed = seed};
                uint32_t used[DRAFTS_MAX + 1];
                drafts_init(&d, 0.1);
                run(&d, &m, 300, used);
                double over = run(&d, &m, 3000, used) / best_time(&m);
                sum += over;
                if (over > most) most = over;
                if (over > 1.12)
                    CHECK_FAIL("slope %.2f, right %.1f, seed %d: %.3f of the best", slope, right, (int)seed, over);
            }
    printf("# of the best time %.3f on average, at most %.3f\n", sum / n, most);
    CHECK(sum / n < 1.03);
}

/* What it costs to find out that drafts are never right, in a first reply. */
TEST(useless_drafts_are_given_up_soon)
{
    struct drafts d;
    struct machine m = {.slope = 0.1, .draft = 0.06, .right = 0, .seed = 1};
    uint32_t used[DRAFTS_MAX + 1];
    drafts_init(&d, 0.1);
    CHECK(run(&d, &m, 128, used) < 1.02);
    CHECK(run(&d, &m, 2000, used) < 1.005);
}

TEST(never_more_than_there_is_room_for)
{
    struct drafts d;
    struct machine m = {.slope = 0.01, .draft = 0.01, .right = 0.95};
    uint32_t used[DRAFTS_MAX + 1];
    drafts_init(&d, 0.1);
    run(&d, &m, 400, used);
    CHECK_INT(0, drafts_choose(&d, 0));
    CHECK_INT(1, drafts_choose(&d, 1));
    CHECK(drafts_choose(&d, 99) <= DRAFTS_MAX);
}

static uint32_t context(const char *text, char next, char *out, uint32_t most)
{
    tdm_id ids[100], drafts[DRAFTS_MAX];
    uint32_t n = (uint32_t)strlen(text);
    for (uint32_t i = 0; i < n; i++) ids[i] = text[i];
    uint32_t k = drafts_from_context(ids, n, next, drafts, most);
    for (uint32_t i = 0; i < k; i++) out[i] = (char)drafts[i];
    out[k] = 0;
    return k;
}

TEST(drafts_from_the_context)
{
    char out[DRAFTS_MAX + 1];
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

TEST_MAIN(T(good_drafts_are_made), T(poor_drafts_are_left_at_a_small_cost), T(times_may_be_far_off),
          T(useless_drafts_are_given_up_soon), T(never_more_than_there_is_room_for), T(drafts_from_the_context))
