/* Types of weights: the GPU's logits beside the cores' with the same int8 arithmetic (the set `scalar`), for what
 * model files hold and for matrices that are quantised on loading; the built-in model with a short prompt. */
#include "engine/backend/selftest.h"
#include "tests/check.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/gpu/rig.h"

enum { TOKENS = 9 };

/* The cores' logits, [TOKENS][vocab]. */
static float *expected_logits(const char *model, enum type quant, const tdm_id *ids, uint32_t *vocab)
{
    const struct kernels *set;
    struct source *source = NULL;
    struct weights *w = NULL;
    struct pool *pool = NULL;
    struct workspace *ws = NULL;
    struct state *s = NULL;
    struct team team;
    tdm_error err = {0};
    float *logits = NULL;
    struct source_options options = {.quant = quant};
    team_solo(&team);
    tdm_status status = kernels_find(&set, "scalar", &err);
    if (!status) status = source_open(&source, model, &options, &err);
    if (!status) status = weights_new(&w, source, set, &team, NULL, &err);
    source_close(source);
    struct state_shape shape;
    if (!status) shape = state_shape_of(&w->config);
    if (!status) status = pool_new(&pool, &shape, set, KV_F32, 64, &err);
    if (!status) status = workspace_new(&ws, w, TOKENS, 1, 1, 64, &err);
    if (!status) status = state_new(&s, pool, &err);
    if (!status) {
        *vocab = w->config.vocab;
        logits = malloc((size_t)TOKENS * *vocab * sizeof *logits);
        struct forward_run run = {.state = s, .tokens = ids, .n = TOKENS, .logits = LOGITS_ALL, .all = logits};
        status = forward(&team, w, ws, &run, 1, NULL, NULL, &err);
    }
    if (status) CHECK_FAIL("%s", err.text);
    state_free(s);
    workspace_free(ws);
    pool_free(pool);
    weights_free(w);
    return logits;
}

/* tuning: NULL, or that of another kind of device. */
static void compare(const char *model, enum type quant, const struct gpu_tuning *tuning, double most)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    static const tdm_id ids[TOKENS] = {5, 311, 7, 42, 99, 100, 3, 17, 256};
    uint32_t vocab = 0;
    float *expected = expected_logits(model, quant, ids, &vocab);
    struct gpu *g = expected ? gpu_rig_shared(0, tuning) : NULL;
    struct gpu_model *m = NULL;
    struct source *source;
    tdm_error err;
    struct gpu_model_options options = {
        .lm_head = TYPE_COUNT, .kv = KV_F32, .context = 64, .tokens = TOKENS, .runs = 1};
    if (g && !source_open(&source, model, &(struct source_options){.quant = quant}, &err)) {
        if (gpu_model_new(&m, g, source, &options, &err)) CHECK_FAIL("%s", err.text);
        source_close(source);
    }
    if (m) {
        float *found = malloc((size_t)TOKENS * vocab * sizeof *found);
        struct gpu_state *s = gpu_rig_state(m);
        gpu_rig_logits(m, s, ids, TOKENS, found, NULL);
        double d = selftest_difference(found, expected, (size_t)TOKENS * vocab);
        if (!(d <= most)) CHECK_FAIL("%s: differs by %g of the standard deviation", type_info(quant)->name, d);
        struct gpu_state *one = gpu_rig_state(m);
        for (uint32_t i = 0; i < TOKENS && !check_failures; i++) gpu_rig_eval(m, one, ids + i, 1, 1);
        CHECK(gpu_rig_equal(one, s));
        gpu_state_free(one);
        gpu_state_free(s);
        free(found);
    }
    gpu_model_free(m);
    free(expected);
}

/* Exact integers scaled in the same order: what remains are the sums of floats, and a value of an activation here and
 * there that is rounded to the next integer. */
static void quantised(enum type quant, const struct gpu_tuning *tuning)
{
    bool again = quant == TYPE_Q8_0 || quant == TYPE_Q6_K || quant == TYPE_MXFP4; /* files below have these */
    if ((tuning || again) && !getenv("TANDEM_LONG")) SKIP("only in the long form");
    const char *path = check_shared("goldens/tiny-c");
    char kept[1024];
    if (!path) return;
    snprintf(kept, sizeof kept, "%s", path);
    compare(kept, quant, tuning, 0.005);
}

TEST(q8_0)
{
    quantised(TYPE_Q8_0, NULL);
}
TEST(q4_0)
{
    quantised(TYPE_Q4_0, NULL);
}
TEST(q4_k)
{
    quantised(TYPE_Q4_K, NULL);
}
TEST(q6_k)
{
    quantised(TYPE_Q6_K, NULL);
}
TEST(mxfp4)
{
    quantised(TYPE_MXFP4, NULL);
}
/* All that its experts and its projections have. */
TEST(mxfp4_mixture)
{
    compare("tests/goldens/tiny-d", TYPE_MXFP4, NULL, 0.005);
}
TEST(f16)
{
    quantised(TYPE_F32, NULL); /* as stored */
}
TEST(q8_0_file)
{
    compare("tests/goldens/gguf/tiny-a-q8_0.gguf", TYPE_F32, NULL, 0.005);
}
TEST(built_in)
{
    compare("assets/tandem-demo-51m-q6_k.gguf", TYPE_F32, NULL, 0.03);
}

/* Cut as for discrete devices, which takes cores long. */
static const struct gpu_tuning discrete = {8, 16, 8, 512, 256, 8192, 1056, 32, 200, 1, 6, 2, 2, true, 0};
TEST(q8_0_discrete)
{
    quantised(TYPE_Q8_0, &discrete);
}
TEST(q4_k_discrete)
{
    quantised(TYPE_Q4_K, &discrete);
}
TEST(mxfp4_discrete)
{
    quantised(TYPE_MXFP4, &discrete);
}
TEST(f16_discrete)
{
    quantised(TYPE_F32, &discrete);
}

TEST_MAIN(T(q8_0_discrete), T(q4_k_discrete), T(mxfp4_discrete), T(f16_discrete), T(q8_0), T(q4_0), T(q4_k), T(q6_k),
          T(mxfp4), T(mxfp4_mixture), T(f16), T(q8_0_file), T(built_in))
