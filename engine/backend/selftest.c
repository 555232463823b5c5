#include "engine/backend/selftest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/backend/known.h"
#include "engine/base/error.h"
#include "engine/forward/forward.h"

/* ---- The test ---------------------------------------------------------------------------------------------------- */

/* The numbers of tokens of a long pass, a short one and a single one; and of a long text, for attention over several
 * blocks. */
enum { FIRST = 9, SECOND = 3, SHORT_TEXT = FIRST + SECOND + 1, LONG_TEXT = 140, CONTEXT = 160 };

static const struct trial {
    const char *model, *what;
    uint32_t tokens;
} trials[] = {
    {"synthetic:small:q4_k", "products of Q4_K", SHORT_TEXT},
    {"synthetic:small:q6_k", "products of Q6_K", SHORT_TEXT},
    {"synthetic:small:bf16", "products of BF16", SHORT_TEXT},
    {"synthetic:small:f16", "products of F16", SHORT_TEXT},
    {"synthetic:small:f32", "products of F32", SHORT_TEXT},
    {"synthetic:small-moe:q8_0", "a mixture of experts", SHORT_TEXT},
    {"synthetic:small:q8_0", "products of Q8_0", LONG_TEXT},
};

/* Of the logits' standard deviation. Sums of floats in another order, and here and there an activation that is rounded
 * to the next integer, make up to 0.013 of it; a step that is left out makes more than all of it. */
static const double most_off = 0.04;

static uint32_t piece_of(uint32_t done, uint32_t tokens)
{
    uint32_t n = done < FIRST ? FIRST : done < FIRST + SECOND ? SECOND : done == FIRST + SECOND ? 1 : tokens;
    return n < tokens - done ? n : tokens - done;
}

/* The cores' logits, [tokens][vocab]. */
static tdm_status on_cores(float *out, const struct source *source, const tdm_id *ids, uint32_t tokens, tdm_error *err)
{
    const struct kernels *set;
    struct weights *w = NULL;
    struct pool *pool = NULL;
    struct workspace *ws = NULL;
    struct state *s = NULL;
    struct team team;
    team_solo(&team);
    tdm_status status = kernels_find(&set, "scalar", err); /* which computes with int8 as the shaders do */
    if (!status) status = weights_new(&w, source, set, &team, NULL, err);
    if (!status) {
        struct state_shape shape = state_shape_of(&w->config);
        status = pool_new(&pool, &shape, set, KV_F16, CONTEXT, err);
    }
    if (!status) status = workspace_new(&ws, w, tokens, 1, 1, CONTEXT, err);
    if (!status) status = state_new(&s, pool, err);
    if (!status) {
        struct forward_run run = {.state = s, .tokens = ids, .n = tokens, .logits = LOGITS_ALL, .all = out};
        status = forward(&team, w, ws, &run, 1, NULL, NULL, err);
    }
    state_free(s);
    workspace_free(ws);
    pool_free(pool);
    weights_free(w);
    return status;
}

static tdm_id best_of(const float *logits, uint32_t vocab)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < vocab; i++)
        if (logits[i] > logits[best]) best = i;
    return (tdm_id)best;
}

/* Appends `next` and what follows it, `n` tokens at most, each the best of its list or sampled by the device itself. */
static tdm_status reply(struct gpu_model *m, struct gpu_state *s, tdm_id next, uint32_t *n, tdm_id sampled[GPU_BURST],
                        tdm_error *err)
{
    uint32_t burst = gpu_model_burst(m);
    if (gpu_model_fused_workgroups(m)) {
        struct gpu_reply r = {.state = s, .next = next, .n = *n < burst ? *n : burst};
        return gpu_reply(&r, sampled, n, err);
    }
    struct gpu_run run = {.state = s, .tokens = &next, .n = 1, .logits = GPU_LOGITS_TOPK};
    struct gpu_candidate *list = malloc(GPU_TOPK_MAX * sizeof *list);
    tdm_status status = list ? gpu_forward(m, &run, 1, NULL, err) : error_set(err, TDM_E_NOMEM, "no memory for a list");
    float from;
    uint32_t found = status ? 0 : gpu_state_topk(s, list, &from), best = 0;
    for (uint32_t i = 1; i < found; i++)
        if (list[i].logit > list[best].logit || (list[i].logit == list[best].logit && list[i].id < list[best].id))
            best = i;
    sampled[0] = found ? list[best].id : -1;
    free(list);
    *n = 1;
    return status;
}

/* Compares the tokens that the device samples by itself with those that the host samples after a pass over the same
 * tokens. */
static tdm_status draws_alike(struct gpu_model *m, struct gpu_state *s, tdm_id first, uint32_t vocab, tdm_error *err)
{
    enum { REPLY = 4 };
    tdm_id ids[REPLY + GPU_BURST] = {first};
    struct gpu_state *again = NULL;
    float *logits = malloc((size_t)REPLY * vocab * sizeof *logits);
    tdm_status status = logits ? gpu_state_fork(&again, s, err) : error_set(err, TDM_E_NOMEM, "no memory for logits");
    bool alike = true;
    for (uint32_t done = 0, n; done < REPLY && !status && alike; done += n) {
        n = REPLY - done;
        status = reply(m, s, ids[done], &n, &ids[done + 1], err);
        alike = n > 0 && n <= REPLY - done;
        for (uint32_t i = 0; alike && i < n; i++) alike = ids[done + 1 + i] >= 0 && (uint32_t)ids[done + 1 + i] < vocab;
    }
    if (!status && alike) {
        struct gpu_run run = {.state = again, .tokens = ids, .n = REPLY, .logits = GPU_LOGITS_ALL, .all = logits};
        status = gpu_forward(m, &run, 1, NULL, err);
        for (int i = 0; i < REPLY && !status && alike; i++)
            alike = best_of(logits + (size_t)i * vocab, vocab) == ids[i + 1];
    }
    gpu_state_free(again);
    free(logits);
    if (status || alike) return status;
    return error_set(err, TDM_E_UNSUPPORTED, "the tokens that it draws differ from the best of their logits");
}

static tdm_status on_device(float *out, struct gpu *g, const struct source *source, const tdm_id *ids, uint32_t tokens,
                            tdm_error *err)
{
    struct gpu_model_options o = {
        .lm_head = TYPE_COUNT, .kv = KV_F16, .context = CONTEXT, .tokens = CONTEXT, .runs = 1};
    struct gpu_model *m = NULL;
    struct gpu_state *s = NULL;
    tdm_status status = gpu_model_new(&m, g, source, &o, err);
    if (!status) status = gpu_state_new(&s, m, err);
    for (uint32_t done = 0, n; done < tokens && !status; done += n) {
        n = piece_of(done, tokens);
        struct gpu_run run = {.state = s, .tokens = ids + done, .n = n, .logits = GPU_LOGITS_ALL,
                              .all = out + (size_t)done * source_config(source)->vocab};
        status = gpu_forward(m, &run, 1, NULL, err);
    }
    if (!status) status = draws_alike(m, s, ids[0], source_config(source)->vocab, err);
    gpu_state_free(s);
    gpu_model_free(m);
    return status;
}

double selftest_difference(const float *found, const float *expected, size_t n)
{
    double sum = 0, squares = 0, off = 0;
    for (size_t i = 0; i < n; i++) {
        sum += expected[i], squares += (double)expected[i] * expected[i];
        off += ((double)found[i] - expected[i]) * ((double)found[i] - expected[i]);
    }
    return sqrt(off / (squares - sum * sum / (double)n));
}

static tdm_status try(struct selftest_result *out, struct gpu *g, const struct trial *t, tdm_error *err)
{
    struct source *source;
    tdm_id ids[LONG_TEXT];
    tdm_status status = source_open(&source, t->model, NULL, err);
    if (status) return status;
    uint32_t vocab = source_config(source)->vocab;
    size_t n = (size_t)t->tokens * vocab;
    float *expected = calloc(2 * n, sizeof *expected);
    for (uint32_t i = 0; i < t->tokens; i++) ids[i] = (tdm_id)(i * 2654435761u % vocab);
    status = expected ? on_cores(expected, source, ids, t->tokens, err)
                      : error_set(err, TDM_E_NOMEM, "no memory for the self-test");
    if (!status) {
        status = on_device(expected + n, g, source, ids, t->tokens, err);
        double off = status ? 0 : selftest_difference(expected + n, expected, n);
        out->passed = !status && off <= most_off;
        if (status && status != TDM_E_NOMEM)
            snprintf(out->why, sizeof out->why, "%s: %.120s", t->what, err->text);
        else if (!status && !out->passed)
            snprintf(out->why, sizeof out->why, "%s: logits differ by %.2g of their standard deviation", t->what, off);
        if (status != TDM_E_NOMEM) status = TDM_OK;
    }
    free(expected);
    source_close(source);
    return status;
}

tdm_status selftest_run(struct selftest_result *out, struct gpu *g, tdm_progress progress, void *progress_ctx,
                        tdm_error *err)
{
    *out = (struct selftest_result){.known = true, .passed = true};
    tdm_status status = TDM_OK;
    struct gpu_info info;
    gpu_about(g, &info);
    size_t all = sizeof trials / sizeof *trials, n = info.kind == GPU_SOFTWARE ? 2 : all; /* it compiles slowly */
    for (size_t i = 0; i < n && out->passed && !status; i++) {
        if (progress && progress(progress_ctx, TDM_STEP_TESTING_GPU, i, n))
            status = error_set(err, TDM_E_CANCELLED, "the test of the GPU's driver was stopped");
        else
            status = try(out, g, &trials[all - n + i], err);
    }
    out->known = !status;
    if (out->known && out->passed) snprintf(out->units, sizeof out->units, "%s", gpu_matrix_units(g));
    return status;
}

/* ---- What is kept ------------------------------------------------------------------------------------------------ */

static const char passed[] = "passed";

static void take_line(char *out, size_t room, const char *line)
{
    snprintf(out, room, "%.*s", (int)room - 1, line);
    for (; *out; out++)
        if ((unsigned char)*out < ' ' || *out == 127) *out = '?';
}

void selftest_kept(struct selftest_result *out, const char *folder, const struct gpu_info *info)
{
    char *text = known_text(folder, info, ""), *end = text ? strchr(text, '\n') : NULL, *units = end ? end + 1 : NULL;
    *out = (struct selftest_result){0};
    if (end && end != text && strchr(units, '\n')) {
        *end = *strchr(units, '\n') = 0;
        out->known = true;
        out->passed = !strcmp(text, passed);
        if (out->passed)
            take_line(out->units, sizeof out->units, units);
        else
            take_line(out->why, sizeof out->why, text);
    }
    free(text);
}

tdm_status selftest_keep(const struct selftest_result *result, const char *folder, const struct gpu_info *info,
                         tdm_error *err)
{
    char text[400];
    snprintf(text, sizeof text, "%s\n%s\n", result->passed ? passed : result->why, result->units);
    return known_keep(folder, info, "", text, err);
}
