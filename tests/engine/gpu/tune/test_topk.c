/* The best logits, as the device lists them: with them the sampler draws what it draws from all logits, which are still
 * there when they are asked for. In one dispatch and in several, for one run and for some, for forks and copies; and of
 * rows that no model gives: with equal logits, with ones that are none, and with nothing else. */
#include <math.h>

#include "engine/forward/sampler.h"
#include "tests/check.h"
#include "tests/engine/gpu/rig.h"

#ifdef TANDEM_GPU
#include "engine/gpu/device/fused.h"

enum { VOCAB = 512, LIMIT = 500 };

static uint64_t random_of(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); /* Knuth's MMIX */
    return *seed >> 33;
}

static const tdm_sampling ways[] = {
    {.temperature = 0, .top_p = 1, .repeat_penalty = 1},
    {.temperature = 0, .top_p = 1, .repeat_penalty = 1.2f, .presence_penalty = 1},
    {.temperature = 1, .top_k = 20, .top_p = 0.95f, .presence_penalty = 1.5f, .repeat_penalty = 1},
    {.temperature = 0.7f, .top_k = 5, .top_p = 1, .min_p = 0.05f, .repeat_penalty = 1},
    {.temperature = 0.02f, .top_p = 0.9f, .repeat_penalty = 1},
    {.temperature = 1, .top_p = 1, .repeat_penalty = 1},
};
enum { WAYS = sizeof ways / sizeof *ways, FEW = 4 /* the first ones need no more than a few */ };

/* A pass of one token is one dispatch, or it is not. */
static struct gpu_model *open_model(struct gpu **g, bool together)
{
    struct gpu_tuning tuning = gpu_rig_fused;
    tuning.fused_workgroups = together;
    *g = gpu_rig_open(&(struct gpu_options){.validate = false, .tuning = &tuning});
    struct gpu_model *m = *g ? gpu_rig_model(*g, "tests/goldens/gguf/tiny-a-q8_0.gguf", KV_Q8_0) : NULL;
    if (m) CHECK_INT(together, gpu_model_fused_workgroups(m));
    return m;
}

/* The list holds each logit from its bound on once, and no other. */
static void check_list(const struct gpu_candidate *best, uint32_t n, float from, const float *row)
{
    uint32_t expected = 0, finite = 0;
    bool there[VOCAB] = {false};
    for (uint32_t i = 0; i < n; i++) {
        tdm_id id = best[i].id;
        if (id < 0 || id >= VOCAB || there[id] || best[i].logit != row[id] || !(row[id] >= from)) {
            CHECK_FAIL("the list has %d, %g", (int)id, (double)best[i].logit);
            return;
        }
        there[id] = true;
    }
    for (int i = 0; i < VOCAB; i++) {
        finite += isfinite(row[i]) != 0;
        expected += isfinite(row[i]) && row[i] >= from;
    }
    CHECK_INT(expected, n);
    CHECK(n >= GPU_TOPK_LEAST || n == finite);
    CHECK(from == -INFINITY || n < finite || n >= GPU_TOPK_LEAST);
}

/* Draws of all ways from a state's list and from the row. unknown: what the list can't tell is fetched. */
static void check_draws(const struct gpu_state *s, const float *row, struct sampler *sampler, uint32_t index)
{
    static struct gpu_candidate best[GPU_TOPK_MAX];
    static struct candidate all[GPU_TOPK_MAX];
    struct topk_logits known = {.all = all};
    known.n = gpu_state_topk(s, best, &known.from);
    if (known.n) check_list(best, known.n, known.from, row);
    for (uint32_t i = 0; i < known.n; i++) all[i] = (struct candidate){best[i].logit, best[i].id};
    for (int w = 0; w < WAYS && known.n; w++) {
        tdm_id id;
        bool drew = sampler_sample_topk(sampler, &ways[w], &known, 1, 0, index, &id);
        if (w < FEW) CHECK(drew);
        if (drew) CHECK_INT(sampler_sample(sampler, &ways[w], row, 1, 0, index), id);
    }
}

static struct sampler *open_sampler(void)
{
    struct sampler *sampler;
    if (sampler_new(&sampler, LIMIT, NULL)) abort();
    sampler_start(sampler, NULL, 0);
    return sampler;
}

/* A text of two states in passes together and alone, each beside a fork that gets all its logits. */
static void same_draws(bool together)
{
    enum { STEPS = 24 };
    struct gpu *g;
    struct gpu_model *m = open_model(&g, together);
    REQUIRE(m);
    struct sampler *sampler = open_sampler();
    struct gpu_state *s[2] = {gpu_rig_state(m), gpu_rig_state(m)}, *plain[2] = {gpu_rig_state(m), gpu_rig_state(m)};
    tdm_id ids[2][STEPS + 40];
    tdm_error err;
    for (int i = 0; i < 2; i++) {
        for (uint64_t t = 0, seed = 9 + (uint64_t)i; t < STEPS + 40; t++)
            ids[i][t] = (tdm_id)(random_of(&seed) % VOCAB);
        gpu_rig_eval(m, s[i], ids[i], 30 + (uint32_t)i, 40);
        gpu_rig_eval(m, plain[i], ids[i], 30 + (uint32_t)i, 40);
    }
    for (uint32_t step = 0; step < STEPS && !check_failures; step++) {
        struct gpu_run runs[2];
        uint32_t n = step % 3 == 2 ? 2 : 1, some = step == 5 ? 9 : 1;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t at = gpu_state_length(s[i]);
            gpu_rig_eval(m, plain[i], ids[i] + at % STEPS, some, 40);
            runs[i] =
                (struct gpu_run){.state = s[i], .tokens = ids[i] + at % STEPS, .n = some, .logits = GPU_LOGITS_TOPK};
        }
        REQUIRE(!gpu_forward(m, runs, n, NULL, &err));
        for (uint32_t i = 0; i < n; i++) {
            const float *row = gpu_state_logits(plain[i]), *own;
            struct gpu_state *fork = gpu_rig_fork(s[i]);
            CHECK(gpu_state_has_logits(s[i]) && !gpu_state_logits(s[i]));
            check_draws(s[i], row, sampler, step);
            check_draws(fork, row, sampler, step);
            CHECK(step % 4 || gpu_rig_equal(s[i], plain[i])); /* which fetches */
            CHECK(!gpu_state_fetch_logits(fork, &own, &err) && !memcmp(own, row, VOCAB * sizeof *row));
            CHECK(gpu_state_logits(fork) == own);
            gpu_state_free(fork);
        }
        sampler_accept(sampler, (tdm_id)(step * 37 % LIMIT));
    }
    static struct gpu_candidate best[GPU_TOPK_MAX];
    float from;
    gpu_rig_eval(m, s[0], ids[0], 1, 1); /* all logits, and no list */
    CHECK(gpu_state_logits(s[0]) && !gpu_state_topk(s[0], best, &from));
    gpu_state_clear(s[0]);
    CHECK(!gpu_state_has_logits(s[0]) && !gpu_state_topk(s[0], best, &from));
    for (int i = 0; i < 2; i++) gpu_state_free(s[i]), gpu_state_free(plain[i]);
    sampler_free(sampler);
    gpu_model_free(m);
    gpu_close(g);
}

TEST(the_best_give_the_same_token)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    same_draws(true);
    same_draws(false);
}

/* ---- Rows that no model gives ---- */

enum row_kind {
    ROW_EQUAL,
    ROW_FEW_VALUES,
    ROW_ZEROS,
    ROW_MANY_NAN,
    ROW_NOTHING,
    ROW_ONE,
    ROW_INFINITE,
    ROW_DENSE,
    ROWS
};

static void make_row(float *row, enum row_kind kind, uint64_t *seed)
{
    for (int i = 0; i < VOCAB; i++) {
        float x = (float)(int)(random_of(seed) % 100000) / 9000.0f - 6;
        if (kind == ROW_EQUAL) x = -2.5f;
        if (kind == ROW_FEW_VALUES) x = (float)(i * 7 % 5);
        if (kind == ROW_ZEROS) x = i % 3 == 0 ? 0.0f : i % 3 == 1 ? -0.0f : -1e-42f;
        if (kind == ROW_MANY_NAN && random_of(seed) % 4) x = i % 2 ? NAN : -NAN;
        if (kind == ROW_NOTHING) x = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY;
        if (kind == ROW_ONE) x = i == 417 ? -3e38f : NAN;
        if (kind == ROW_INFINITE && i % 5 == 0) x = i % 2 ? INFINITY : -INFINITY;
        if (kind == ROW_DENSE) x = i % 128 < 10 ? 50 + x : x; /* the best in few blocks */
        row[i] = x;
    }
}

/* The lists of a row that lies where a pass would have left it. */
static tdm_status list_row(struct gpu_model *m, struct gpu_state *s, const float *row, tdm_error *err)
{
    struct gpu *g = m->gpu;
    struct scratch *scratch = m->scratch[SCRATCH_SHORT];
    const struct fused *p = scratch->fused && scratch->fused->groups ? scratch->fused : NULL;
    device_lock(g);
    tdm_status status = p ? device_write(g, &s->buffer->block, model_logits_at(m), row, VOCAB * sizeof *row, err)
                          : device_write(g, &scratch->memory, scratch->logits_at, row, VOCAB * sizeof *row, err);
    if (!status) status = device_begin(g, g->once, true, err);
    if (!status) {
        struct recording r = {.model = m, .s = scratch, .commands = g->once, .shape = {.head_rows = 1}, .err = err};
        record_topk(&r, p, true);
        device_barrier(g, g->once);
        status = r.status;
    }
    if (!status) status = device_end(g, g->once, err);
    if (!status) status = device_run(g, &g->once, 1, err);
    s->logits_valid = s->buffer->away = s->buffer->listed = true;
    device_unlock(g);
    return status;
}

static void odd_rows(bool together)
{
    struct gpu *g;
    struct gpu_model *m = open_model(&g, together);
    REQUIRE(m);
    struct sampler *sampler = open_sampler();
    struct gpu_state *s = gpu_rig_state(m);
    tdm_error err;
    uint64_t seed = 3;
    struct gpu_run run = {.state = s, .tokens = &(tdm_id){7}, .n = 1, .logits = GPU_LOGITS_TOPK};
    REQUIRE(!gpu_forward(m, &run, 1, NULL, &err)); /* its tables stay */
    for (uint32_t i = 0; i < 2 * ROWS && !check_failures; i++) {
        static struct gpu_candidate best[GPU_TOPK_MAX];
        float row[VOCAB], from;
        make_row(row, (enum row_kind)(i % ROWS), &seed);
        REQUIRE(!list_row(m, s, row, &err));
        check_draws(s, row, sampler, i);
        CHECK(!gpu_state_topk(s, best, &from) == (i % ROWS == ROW_NOTHING)); /* which all logits tell */
        if (check_failures) printf("# row of kind %u\n", i % ROWS);
        sampler_accept(sampler, (tdm_id)(i * 71 % LIMIT));
    }
    gpu_state_free(s);
    sampler_free(sampler);
    gpu_model_free(m);
    gpu_close(g);
}

TEST(rows_that_no_model_gives)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    odd_rows(true);
    odd_rows(false);
}
#else
TEST(the_best_give_the_same_token)
{
    SKIP(gpu_absence());
}
TEST(rows_that_no_model_gives)
{
    SKIP(gpu_absence());
}
#endif

TEST_MAIN(T(the_best_give_the_same_token), T(rows_that_no_model_gives))
