#include "tests/engine/gpu/types.h"

#include "engine/backend/selftest.h"
#include "tests/check.h"
#include "tests/engine/forward/rig.h"

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

void types_compare(const char *model, enum type quant, const struct gpu_tuning *tuning, double most)
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
