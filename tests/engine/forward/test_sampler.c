#include "engine/forward/logits.h"
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
        tdm_id id = sampler_draw(s, sampling, logits, 3, 0, (uint32_t)i);
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
    CHECK_INT(36, sampler_draw(s, &greedy, logits, 0, 0, 0)); /* the lowest of many */
    logits[1050] = 1e9f;                                      /* beyond the limit */
    logits[7] = NAN;
    logits[8] = INFINITY;
    logits[999] = 37;
    CHECK_INT(999, sampler_draw(s, &greedy, logits, 0, 0, 0));
    logits[0] = NAN;
    CHECK_INT(999, sampler_draw(s, &greedy, logits, 0, 0, 0));
    for (int i = 0; i < 1000; i++) logits[i] = NAN;
    CHECK_INT(-1, sampler_draw(s, &greedy, logits, 0, 0, 0));
    CHECK_INT(-1, sampler_draw(s, &plain, logits, 0, 0, 0));
    logits[500] = -1e30f;
    CHECK_INT(500, sampler_draw(s, &plain, logits, 0, 0, 0));
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
        CHECK_INT(best, sampler_draw(s, &greedy, logits, 0, 0, 0));
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
        tdm_id id = sampler_draw(s, &t, logits, 0, 0, (uint32_t)i);
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
    CHECK_INT(0, sampler_draw(s, &t, logits, 0, 0, 0)); /* the prompt does not count */
    sampler_accept(s, 0);
    CHECK_INT(1, sampler_draw(s, &t, logits, 0, 0, 1));
    sampler_accept(s, 1);
    CHECK_INT(0, sampler_draw(s, &t, logits, 0, 0, 2));
    t.frequency_penalty = 0.2f;
    sampler_accept(s, 0); /* 2 - 0.2 - 0.4 against 1.9 - 0.4 */
    CHECK_INT(1, sampler_draw(s, &t, logits, 0, 0, 3));

    t = plain;
    t.temperature = 0;
    t.repeat_penalty = 1.1f;
    sampler_start(s, prompt, 5);
    CHECK_INT(1, sampler_draw(s, &t, logits, 0, 0, 0)); /* 2 / 1.1 < 1.9: here the prompt counts */
    const float negative[5] = {-5, -5, -5, -1, -1.05f};
    sampler_start(s, (const tdm_id[]){3}, 1);
    CHECK_INT(4, sampler_draw(s, &t, negative, 0, 0, 0)); /* -1 * 1.1 < -1.05 */
    sampler_start(s, NULL, 0);
    CHECK_INT(3, sampler_draw(s, &t, negative, 0, 0, 0)); /* forgotten */
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
        tdm_id id = sampler_draw(a, &t, logits, 2, 1, i);
        for (int j = 0; j < 3; j++) sampler_draw(b, &t, logits, 7, 7, i); /* no hidden state */
        CHECK_INT(id, sampler_draw(b, &t, logits, 2, 1, i));
        other_turn += sampler_draw(a, &t, logits, 3, 1, i) != id;
        other_attempt += sampler_draw(a, &t, logits, 2, 2, i) != id;
        tdm_sampling seeded = t;
        seeded.seed++;
        other_seed += sampler_draw(a, &seeded, logits, 2, 1, i) != id;
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
    uint64_t h = logits_hash(LOGITS_HASH_START, a, 19);
    CHECK(h == logits_hash(LOGITS_HASH_START, b, 19));
    CHECK(logits_hash(h, a, 19) != h);
    for (int i = 0; i < 19; i++) {
        b[i] = nextafterf(b[i], 100);
        CHECK(h != logits_hash(LOGITS_HASH_START, b, 19));
        b[i] = a[i];
    }
}

TEST_MAIN(T(greedy), T(greedy_everywhere), T(distribution), T(top_p_over_many), T(penalties), T(deterministic),
          T(ranges), T(hash))
