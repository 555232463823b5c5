#include "engine/base/fnv.h"
#include "engine/forward/sampler.h"
#include "tests/check.h"

static const tdm_sampling plain = {.temperature = 1, .top_p = 1, .repeat_penalty = 1};

static struct sampler *open_sampler(uint32_t limit)
{
    struct sampler *s;
    if (sampler_new(&s, limit, NULL)) abort();
    return s;
}

/* Shares of n draws of a few ids, one turn each. */
static void draw_many(struct sampler *s, const tdm_sampling *sampling, const float *logits, double *share, int ids,
                      int n)
{
    for (int i = 0; i < ids; i++) share[i] = 0;
    for (int i = 0; i < n; i++) {
        tdm_id id = sampler_sample(s, sampling, logits, 3, 0, (uint32_t)i);
        if (id < 0 || id >= ids)
            CHECK_FAIL("drew %d", (int)id);
        else
            share[id] += 1.0 / n;
    }
}

TEST(greedy)
{
    struct sampler *s = open_sampler(1000);
    float logits[1100];
    for (int i = 0; i < 1100; i++) logits[i] = (float)(i % 37);
    tdm_sampling greedy = plain;
    greedy.temperature = 0;
    CHECK_INT(36, sampler_sample(s, &greedy, logits, 0, 0, 0)); /* the lowest of many */
    logits[1050] = 1e9f;                                      /* beyond the limit */
    logits[7] = NAN;
    logits[8] = INFINITY;
    logits[999] = 37;
    CHECK_INT(999, sampler_sample(s, &greedy, logits, 0, 0, 0));
    logits[0] = NAN;
    CHECK_INT(999, sampler_sample(s, &greedy, logits, 0, 0, 0));
    for (int i = 0; i < 1000; i++) logits[i] = NAN;
    CHECK_INT(-1, sampler_sample(s, &greedy, logits, 0, 0, 0));
    CHECK_INT(-1, sampler_sample(s, &plain, logits, 0, 0, 0));
    logits[500] = -1e30f;
    CHECK_INT(500, sampler_sample(s, &plain, logits, 0, 0, 0));
    sampler_free(s);
}

TEST(greedy_everywhere)
{
    /* Every place of the best, so that blocks and tails of the scan are all met. */
    struct sampler *s = open_sampler(300);
    tdm_sampling greedy = plain;
    greedy.temperature = 0;
    float logits[300];
    for (int best = 0; best < 300; best++) {
        for (int i = 0; i < 300; i++) logits[i] = -1.0f - (float)(i % 5);
        logits[best] = 0;
        if (best < 299) logits[299] = 0;
        CHECK_INT(best, sampler_sample(s, &greedy, logits, 0, 0, 0));
    }
    sampler_free(s);
}

TEST(distribution)
{
    struct sampler *s = open_sampler(4);
    float logits[4] = {logf(0.1f), logf(0.2f), logf(0.3f), logf(0.4f)};
    double share[4];
    enum { N = 40000 };
    draw_many(s, &plain, logits, share, 4, N);
    for (int i = 0; i < 4; i++) CHECK_NEAR(0.1 * (i + 1), share[i], 0.012); /* five standard deviations */

    tdm_sampling t = plain;
    t.top_k = 2;
    draw_many(s, &t, logits, share, 4, N);
    CHECK(share[0] == 0 && share[1] == 0);
    CHECK_NEAR(0.4 / 0.7, share[3], 0.013);

    t = plain;
    t.top_p = 0.65f; /* 0.4 + 0.3 reach it */
    draw_many(s, &t, logits, share, 4, N);
    CHECK(share[0] == 0 && share[1] == 0 && share[2] > 0);
    t.top_p = 0.75f;
    draw_many(s, &t, logits, share, 4, N);
    CHECK(share[0] == 0);
    CHECK_NEAR(0.2 / 0.9, share[1], 0.011);
    t.top_p = 0.01f;
    draw_many(s, &t, logits, share, 4, 100);
    CHECK(share[3] > 0.999);
    t.top_k = 3;
    t.top_p = 0.7f; /* of what top-k leaves: (0.4 + 0.3) / 0.9 */
    draw_many(s, &t, logits, share, 4, N);
    CHECK(share[1] == 0 && share[2] > 0.4);

    t = plain;
    t.min_p = 0.6f; /* 0.24 and more */
    draw_many(s, &t, logits, share, 4, N);
    CHECK(share[0] == 0 && share[1] == 0);
    CHECK_NEAR(0.3 / 0.7, share[2], 0.013);

    t = plain;
    t.temperature = 0.5f; /* squares */
    draw_many(s, &t, logits, share, 4, N);
    for (int i = 0; i < 4; i++) CHECK_NEAR((i + 1) * (i + 1) / 30.0, share[i], 0.013);
    sampler_free(s);
}

TEST(top_p_over_many)
{
    /* A flat vocabulary: the candidates must grow until p is reached. */
    enum { N = 5000 };
    struct sampler *s = open_sampler(N);
    static float logits[N];
    tdm_sampling t = plain;
    t.top_p = 0.5f;
    bool low = true, high = false;
    for (int i = 0; i < 2000; i++) {
        tdm_id id = sampler_sample(s, &t, logits, 0, 0, (uint32_t)i);
        low &= id >= 0 && id <= N / 2;
        high |= id > N / 2 - 100;
    }
    CHECK(low && high);
    sampler_free(s);
}

TEST(penalties)
{
    struct sampler *s = open_sampler(5);
    const float logits[5] = {2, 1.9f, 1, -1, -1.1f};
    tdm_sampling t = plain;
    t.temperature = 0;
    t.presence_penalty = 0.2f;
    const tdm_id prompt[] = {0, 0, 0, 99, -4};
    sampler_start(s, prompt, 5);
    CHECK_INT(0, sampler_sample(s, &t, logits, 0, 0, 0)); /* the prompt does not count */
    sampler_accept(s, 0);
    CHECK_INT(1, sampler_sample(s, &t, logits, 0, 0, 1));
    sampler_accept(s, 1);
    CHECK_INT(0, sampler_sample(s, &t, logits, 0, 0, 2));
    t.frequency_penalty = 0.2f;
    sampler_accept(s, 0); /* 2 - 0.2 - 0.4 against 1.9 - 0.4 */
    CHECK_INT(1, sampler_sample(s, &t, logits, 0, 0, 3));

    t = plain;
    t.temperature = 0;
    t.repeat_penalty = 1.1f;
    sampler_start(s, prompt, 5);
    CHECK_INT(1, sampler_sample(s, &t, logits, 0, 0, 0)); /* 2 / 1.1 < 1.9: here the prompt counts */
    const float negative[5] = {-5, -5, -5, -1, -1.05f};
    sampler_start(s, (const tdm_id[]){3}, 1);
    CHECK_INT(4, sampler_sample(s, &t, negative, 0, 0, 0)); /* -1 * 1.1 < -1.05 */
    sampler_start(s, NULL, 0);
    CHECK_INT(3, sampler_sample(s, &t, negative, 0, 0, 0)); /* forgotten */
    sampler_free(s);
}

TEST(deterministic)
{
    enum { N = 3000 };
    struct sampler *a = open_sampler(N), *b = open_sampler(N);
    static float logits[N];
    for (int i = 0; i < N; i++) logits[i] = (float)(8 * sampler_random(5, 0, 0, (uint32_t)i));
    tdm_sampling t = {.temperature = 0.7f, .top_k = 20, .top_p = 0.8f, .repeat_penalty = 1, .seed = 9};
    int other_turn = 0, other_attempt = 0, other_seed = 0;
    for (uint32_t i = 0; i < 200; i++) {
        tdm_id id = sampler_sample(a, &t, logits, 2, 1, i);
        for (int j = 0; j < 3; j++) sampler_sample(b, &t, logits, 7, 7, i); /* no hidden state */
        CHECK_INT(id, sampler_sample(b, &t, logits, 2, 1, i));
        other_turn += sampler_sample(a, &t, logits, 3, 1, i) != id;
        other_attempt += sampler_sample(a, &t, logits, 2, 2, i) != id;
        tdm_sampling seeded = t;
        seeded.seed++;
        other_seed += sampler_sample(a, &seeded, logits, 2, 1, i) != id;
    }
    CHECK(other_turn > 100 && other_attempt > 100 && other_seed > 100);
    double sum = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        double u = sampler_random(1, i % 7, i % 3, i);
        CHECK(u >= 0 && u < 1);
        sum += u / 10000;
    }
    CHECK_NEAR(0.5, sum, 0.015);
    sampler_free(a);
    sampler_free(b);
}

TEST(ranges)
{
    tdm_error err;
    tdm_sampling t = plain;
    CHECK_INT(TDM_OK, sampler_check(&t, &err));
    t.top_p = 0;
    CHECK_INT(TDM_E_ARG, sampler_check(&t, &err));
    CHECK_STR("top-p: expected more than 0, at most 1, found 0", err.text);
    t = plain;
    t.temperature = NAN;
    CHECK_INT(TDM_E_ARG, sampler_check(&t, &err));
    t = plain;
    t.min_p = 1.5f;
    CHECK_INT(TDM_E_ARG, sampler_check(&t, &err));
    t = plain;
    t.repeat_penalty = 0;
    CHECK_INT(TDM_E_ARG, sampler_check(&t, &err));
    t = plain;
    t.top_k = -1;
    CHECK_INT(TDM_E_ARG, sampler_check(&t, &err));
}

TEST(hash)
{
    float a[19], b[19];
    for (int i = 0; i < 19; i++) a[i] = b[i] = (float)i / 7;
    uint64_t h = fnv_floats(FNV_START, a, 19);
    CHECK(h == fnv_floats(FNV_START, b, 19));
    CHECK(fnv_floats(h, a, 19) != h);
    for (int i = 0; i < 19; i++) {
        b[i] = nextafterf(b[i], 100);
        CHECK(h != fnv_floats(FNV_START, b, 19));
        b[i] = a[i];
    }
}

/* ---- From the best logits alone ---- */

static uint64_t hashed(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    return z ^ z >> 29;
}

enum { IDS = 700, LIMIT = 640 };

/* Rows with many equal logits, some that are none, and some without any. */
static void fill_row(float *row, uint64_t *seed)
{
    uint64_t kind = hashed(seed) % 8;
    for (int i = 0; i < IDS; i++) {
        float x = (float)(int)(hashed(seed) % (kind < 4 ? 1000000 : 9)) / (kind < 4 ? 70000.0f : 1.0f) - 5;
        if (kind == 1 && hashed(seed) % 9 == 0) x = hashed(seed) % 2 ? NAN : INFINITY;
        if (kind == 2) x = i % 3 ? -INFINITY : -x;
        if (kind == 7) x = i % 300 == 17 ? 0.0f : NAN;
        if (kind == 5 && x == 0 && i % 2) x = -0.0f;
        row[i] = x;
    }
    if (hashed(seed) % 50 == 0)
        for (int i = 0; i < IDS; i++) row[i] = NAN;
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* Of the finite logits the best n, and all that are equal to the last of these; in a disorder. */
static void best_of_row(struct topk_logits *out, struct candidate *all, const float *row, uint32_t n, uint64_t *seed)
{
    float sorted[IDS];
    uint32_t finite = 0;
    for (int i = 0; i < IDS; i++)
        if (isfinite(row[i])) sorted[finite++] = row[i];
    qsort(sorted, finite, sizeof *sorted, compare_floats);
    *out = (struct topk_logits){.all = all, .from = n < finite ? sorted[n - 1] : -INFINITY};
    for (int i = 0; i < IDS; i++)
        if (isfinite(row[i]) && row[i] >= out->from) all[out->n++] = (struct candidate){row[i], i};
    for (uint32_t i = out->n; i > 1; i--) {
        uint32_t other = (uint32_t)(hashed(seed) % i);
        struct candidate c = all[other];
        all[other] = all[i - 1];
        all[i - 1] = c;
    }
}

static tdm_sampling some_sampling(uint64_t *seed)
{
    static const float temperatures[] = {0, 0.05f, 0.3f, 0.7f, 1, 2}, presences[] = {0, 0, 1.5f, -1},
                       repeats[] = {1, 1, 1.3f, 0.9f}, top_ps[] = {1, 0.95f, 0.5f}, min_ps[] = {0, 0.05f};
    static const int top_ks[] = {0, 1, 5, 20, 50, 1000};
    return (tdm_sampling){.temperature = temperatures[hashed(seed) % 6],
                          .top_k = top_ks[hashed(seed) % 6],
                          .top_p = top_ps[hashed(seed) % 3],
                          .min_p = min_ps[hashed(seed) % 2],
                          .presence_penalty = presences[hashed(seed) % 4],
                          .frequency_penalty = presences[hashed(seed) % 4] / 4,
                          .repeat_penalty = repeats[hashed(seed) % 4],
                          .seed = hashed(seed)};
}

TEST(the_best_give_the_same_token)
{
    struct sampler *s = open_sampler(LIMIT);
    uint64_t seed = 5;
    int few = 0, drew_few = 0, refused = 0;
    const uint32_t rounds = getenv("TANDEM_LONG") ? 20000 : 5000;
    for (uint32_t round = 0; round < rounds; round++) {
        float row[IDS];
        struct candidate all[IDS];
        struct topk_logits best;
        tdm_id prompt[40], id = -2;
        fill_row(row, &seed);
        for (int i = 0; i < 40; i++) prompt[i] = (tdm_id)(hashed(&seed) % LIMIT);
        sampler_start(s, prompt, hashed(&seed) % 41);
        for (uint64_t i = hashed(&seed) % 60; i > 0; i--) sampler_accept(s, (tdm_id)(hashed(&seed) % LIMIT));
        tdm_sampling sampling = some_sampling(&seed);
        best_of_row(&best, all, row, 1 + (uint32_t)(hashed(&seed) % 160), &seed);
        bool likely = best.n >= 150 && sampler_needs_few(&sampling, 50);
        bool drew = sampler_sample_topk(s, &sampling, &best, 1, 2, round, &id);
        few += likely;
        drew_few += likely && drew;
        refused += !drew;
        if (drew && id != sampler_sample(s, &sampling, row, 1, 2, round))
            CHECK_FAIL("round %u: another token, %d", round, (int)id);
    }
    CHECK(few > (int)rounds / 40 && drew_few > few * 9 / 10);
    CHECK(refused > (int)rounds / 20);
    sampler_free(s);
}

TEST(what_others_may_decide_is_refused)
{
    struct sampler *s = open_sampler(100);
    struct candidate all[] = {{5, 3}, {4, 9}, {4, 7}, {3, 50}};
    struct topk_logits best = {all, 4, 3};
    tdm_id id;
    tdm_sampling t = plain;
    sampler_start(s, NULL, 0);
    CHECK(!sampler_sample_topk(s, &t, &best, 0, 0, 0, &id)); /* every token counts */
    t.temperature = 0.0625f;
    CHECK(sampler_sample_topk(s, &t, &best, 0, 0, 0, &id)); /* those from 3 on */
    t.temperature = 0.07f;
    CHECK(!sampler_sample_topk(s, &t, &best, 0, 0, 0, &id));
    t = plain;
    t.top_k = 4;
    CHECK(sampler_sample_topk(s, &t, &best, 0, 0, 0, &id));
    t.top_k = 5;
    CHECK(!sampler_sample_topk(s, &t, &best, 0, 0, 0, &id));
    best.from = -INFINITY; /* there are no more */
    CHECK(sampler_sample_topk(s, &t, &best, 0, 0, 0, &id));
    best.from = 3;
    t.top_k = 4;
    t.presence_penalty = 1;
    sampler_accept(s, 50);
    CHECK(!sampler_sample_topk(s, &t, &best, 0, 0, 0, &id)); /* another one may be better now */
    t.top_k = 3;
    CHECK(sampler_sample_topk(s, &t, &best, 0, 0, 0, &id));
    t.presence_penalty = -1;
    CHECK(!sampler_sample_topk(s, &t, &best, 0, 0, 0, &id)); /* any token that was said may be */
    t = plain;
    t.temperature = 0;
    all[0].id = 200; /* is none */
    CHECK(sampler_sample_topk(s, &t, &best, 0, 0, 0, &id) && id == 7);
    best = (struct topk_logits){all, 0, -INFINITY};
    CHECK(sampler_sample_topk(s, &t, &best, 0, 0, 0, &id) && id == -1);
    sampler_free(s);
}

TEST_MAIN(T(greedy), T(greedy_everywhere), T(distribution), T(top_p_over_many), T(penalties), T(deterministic),
          T(ranges), T(hash),
          T(the_best_give_the_same_token), T(what_others_may_decide_is_refused))
