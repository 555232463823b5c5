#include "tests/engine/forward/rig.h"

#include "engine/forward/pass.h"
#include "engine/model/half.h"
#include "tests/check.h"

static bool failed(tdm_status status, const tdm_error *err)
{
    if (status) CHECK_FAIL("%s", err->text);
    return status != TDM_OK;
}

struct rig *rig_open(const char *model, const char *kernels, enum kv_type kv, int threads)
{
    struct rig *r = calloc(1, sizeof *r);
    const struct kernels *set;
    struct state_shape shape;
    tdm_error err;
    struct source_options options = {.builtin = "assets/tandem-demo-51m-q6_k.gguf"};
    bool bad = failed(tested_find(&set, kernels, &err), &err) ||
               failed(team_open(&r->team, threads, NULL, &err), &err) ||
               failed(source_open(&r->source, model, &options, &err), &err) ||
               failed(weights_new(&r->weights, r->source, set, r->team, NULL, &err), &err);
    if (!bad) {
        shape = state_shape_of(&r->weights->config);
        r->fingerprint = source_fingerprint(r->source);
        bad = failed(pool_new(&r->pool, &shape, set, kv, RIG_CONTEXT, &err), &err) ||
              failed(workspace_new(&r->workspace, r->weights, RIG_TOKENS, RIG_RUNS, RIG_MEMBERS, RIG_CONTEXT, &err),
                     &err);
    }
    if (!bad) return r;
    rig_close(r);
    return NULL;
}

void rig_close(struct rig *r)
{
    if (!r) return;
    workspace_free(r->workspace);
    pool_free(r->pool);
    weights_free(r->weights);
    source_close(r->source);
    team_close(r->team);
    free(r);
}

void rig_round_frequencies(struct rig *r)
{
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < r->weights->config.rope.dims / 2; i++)
            r->workspace->angles.frequency[k][i] = bf16_widen(bf16_narrow((float)r->workspace->angles.frequency[k][i]));
}

struct pool *rig_pool(const struct rig *r, enum kv_type kv)
{
    struct pool *pool;
    tdm_error err;
    if (failed(pool_new(&pool, pool_shape(r->pool), r->weights->kernels, kv, RIG_CONTEXT, &err), &err)) abort();
    return pool;
}

struct state *rig_state(const struct rig *r)
{
    struct state *s;
    tdm_error err;
    if (failed(state_new(&s, r->pool, &err), &err)) abort();
    return s;
}

struct state *rig_fork(const struct state *s)
{
    struct state *fork;
    tdm_error err;
    if (failed(state_fork(&fork, s, &err), &err)) abort();
    return fork;
}

void rig_eval(struct rig *r, struct state *s, const tdm_id *ids, uint32_t n, uint32_t dispatch)
{
    tdm_error err;
    for (uint32_t i = 0; i < n; i += dispatch) {
        struct forward_run run = {.state = s, .tokens = ids + i, .n = n - i < dispatch ? n - i : dispatch};
        run.logits = i + run.n == n ? LOGITS_LAST : LOGITS_NONE;
        if (failed(forward(r->team, r->weights, r->workspace, &run, 1, NULL, NULL, &err), &err)) return;
    }
}

void rig_all_logits(struct rig *r, struct state *s, const tdm_id *ids, uint32_t n, float *out, float *hidden)
{
    tdm_error err;
    struct forward_run run = {.state = s, .tokens = ids, .n = n, .logits = out ? LOGITS_ALL : LOGITS_NONE, .all = out};
    struct forward_options options = {.hidden = hidden};
    failed(forward(r->team, r->weights, r->workspace, &run, 1, &options, NULL, &err), &err);
}

uint64_t rig_random(uint64_t *seed)
{
    uint64_t z = *seed += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

void rig_ids(tdm_id *ids, uint32_t n, uint32_t vocab, uint64_t seed)
{
    for (uint32_t i = 0; i < n; i++) ids[i] = (tdm_id)(rig_random(&seed) % vocab);
}
