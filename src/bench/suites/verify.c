/* `tandem bench mtp`, tables passes and prefill: what verifying drafts costs, and what the MTP head costs a prompt.
 * What is compared is measured in turn, pass by pass or dispatch by dispatch, so that a machine that is busy for a
 * while slows both. */
#include <stdlib.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/forward/head.h"
#include "engine/forward/sampler.h"
#include "engine/object/residence.h"
#include "src/bench/loop.h"
#include "src/bench/report/plan.h"
#include "src/bench/suites/mtp.h"
#include "src/models/load.h"

enum {
    MAX_TOKENS = 6,
    PROMPT = BENCH_LOOP_START,
    PAIRS = 3,
    PREFILL = 512,
    QUICK_PREFILL = 96,
    CONTEXT = PREFILL + 2 * MAX_TOKENS
};

static const tdm_sampling greedy = {.top_p = 1, .repeat_penalty = 1};

/* What both tables need: two states of one model, on all cores. */
struct verifying {
    bench_table *t;
    const struct weights *weights;
    struct team *team;
    struct pool *pool;
    struct workspace *workspace;
    struct state *prompt, *state; /* prefill: without and with the head */
    struct forward_kept *kept;
    struct sampler *sampler;
    float *logits; /* [MAX_TOKENS][vocab] */
    tdm_ids ids;
    int tokens; /* of a prefill */
};

static tdm_status open_verifying(bench *b, struct verifying *x, int ids, tdm_error *err)
{
    const struct weights *w = x->weights = b->models.model->weights;
    struct state_shape shape = state_shape_of(&w->config);
    uint32_t cores = (uint32_t)b->host.cores.count;
    tdm_status status = team_open(&x->team, (int)cores, cores ? b->host.cores.cpu : NULL, err);
    if (!status) status = pool_new(&x->pool, &shape, w->kernels, residence_kv(load_kv(b->o)), CONTEXT, err);
    if (!status) status = workspace_new(&x->workspace, w, PROMPT, 1, cores, CONTEXT, err);
    if (!status) status = state_new(&x->prompt, x->pool, err);
    if (!status) status = state_new(&x->state, x->pool, err);
    if (!status) status = forward_kept_new(&x->kept, w, MAX_TOKENS, err);
    if (!status) status = sampler_new(&x->sampler, w->config.vocab, err);
    if (!status) status = bench_prompt_ids(&b->prompt, b->models.model, 0, (size_t)ids, &x->ids, err);
    x->logits = malloc(MAX_TOKENS * (size_t)w->config.vocab * sizeof *x->logits);
    if (!status && !x->logits) status = error_set(err, TDM_E_NOMEM, "bench: no memory for logits");
    return status;
}

static void close_verifying(struct verifying *x)
{
    free(x->logits);
    sampler_free(x->sampler);
    forward_kept_free(x->kept);
    state_free(x->state);
    state_free(x->prompt);
    workspace_free(x->workspace);
    pool_free(x->pool);
    team_close(x->team);
    tdm_ids_free(&x->ids);
}

static double ms_since(int64_t start)
{
    return 1e-6 * (double)(clock_ns() - start);
}

/* ---- Passes ------------------------------------------------------------------------------------------------------ */

static const char pass_columns[] = "pass:ms|of_one:x|drafts:ms|draws:ms|accept:ms|all_of_one:x";
enum { PASS, OF_ONE, DRAFTS, DRAWS, ACCEPT, ALL_OF_ONE };

static const int counts[] = {1, 2, 3, 4, 6};
enum { COUNTS = sizeof counts / sizeof *counts };

/* What one way of writing takes, in ms. */
struct costs {
    double drafts, pass, draws, accept;
};

static void draw(struct verifying *x, const float *logits, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++)
        sampler_sample(x->sampler, &greedy, logits + (size_t)i * x->weights->config.vocab, 1, 0, i);
}

static tdm_status one_token(struct verifying *x, struct costs *c, tdm_error *err)
{
    struct forward_run run = {.state = x->state, .tokens = x->ids.ids + PROMPT, .n = 1, .logits = LOGITS_LAST};
    tdm_status status = state_copy(x->state, x->prompt, err);
    int64_t start = clock_ns();
    if (!status) status = forward(x->team, x->weights, x->workspace, &run, 1, NULL, NULL, err);
    c->pass += ms_since(start);
    start = clock_ns();
    if (!status) draw(x, x->state->logits, 1);
    c->draws += ms_since(start);
    return status;
}

/* A pass of n tokens, n - 1 of them drafted, all of them accepted. */
static tdm_status drafted(struct verifying *x, uint32_t n, struct costs *c, tdm_error *err)
{
    const tdm_id *ids = x->ids.ids + PROMPT;
    tdm_id made[MAX_TOKENS];
    struct draft_run wish = {.state = x->state, .next = ids[0], .n = n - 1, .drafts = made};
    struct forward_run run = {.state = x->state, .tokens = ids, .n = n, .logits = LOGITS_ALL, .all = x->logits,
                              .kept = x->kept};
    tdm_status status = state_copy(x->state, x->prompt, err);
    int64_t start = clock_ns();
    if (!status && !x->state->headless)
        status = forward_draft(x->team, x->weights, x->workspace, &wish, 1, NULL, err);
    c->drafts += ms_since(start);
    start = clock_ns();
    if (!status) status = forward(x->team, x->weights, x->workspace, &run, 1, NULL, NULL, err);
    c->pass += ms_since(start);
    if (status) return status;
    start = clock_ns();
    draw(x, x->logits, n);
    c->draws += ms_since(start);
    start = clock_ns();
    forward_accept(x->team, x->weights, x->workspace, &run, &n, 1);
    c->accept += ms_since(start);
    return TDM_OK;
}

static tdm_status measure_pass(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    struct verifying *x = ctx;
    struct costs one = {0}, some = {0};
    uint32_t n = (uint32_t)counts[number];
    (void)round;
    bench_step(b, "passes of %u tokens", n);
    tdm_status status = TDM_OK;
    for (int i = 0; i < PAIRS && !status; i++) {
        status = one_token(x, &one, err);
        if (!status && n > 1) status = drafted(x, n, &some, err);
    }
    if (status) return status;
    const struct costs *c = n > 1 ? &some : &one;
    int row = bench_table_row(x->t, "%u", n);
    bench_table_add(x->t, row, PASS, c->pass / PAIRS);
    bench_table_add(x->t, row, DRAWS, c->draws / PAIRS);
    if (n == 1) return TDM_OK;
    bench_table_add(x->t, row, OF_ONE, some.pass / one.pass);
    if (!x->state->headless) bench_table_add(x->t, row, DRAFTS, c->drafts / PAIRS);
    bench_table_add(x->t, row, ACCEPT, c->accept / PAIRS);
    bench_table_add(x->t, row, ALL_OF_ONE,
                    (c->drafts + c->pass + c->draws + c->accept) / (one.pass + one.draws));
    return TDM_OK;
}

tdm_status bench_mtp_passes(bench *b, tdm_error *err)
{
    struct verifying x = {0};
    x.t = bench_new_table(b, "passes", "a pass that verifies drafts, beside one of a single token just before: the "
                          "drafts, the pass, draws from each row, appending what is accepted; all_of_one: all four",
                          "tokens", pass_columns, err);
    if (!x.t) return err->code;
    tdm_status status = open_verifying(b, &x, PROMPT + MAX_TOKENS, err);
    struct forward_run run = {.state = x.prompt, .tokens = x.ids.ids, .n = PROMPT, .logits = LOGITS_LAST};
    if (!status) status = forward(x.team, x.weights, x.workspace, &run, 1, NULL, NULL, err);
    bench_plan plan;
    bench_plan_open(&plan, x.t);
    for (int i = 0; i < COUNTS; i++) bench_plan_add(b, &plan, "%d", counts[i]);
    if (!status) status = bench_plan_run(b, &plan, measure_pass, &x, err);
    bench_plan_close(&plan);
    close_verifying(&x);
    return status;
}

/* ---- Prefill ----------------------------------------------------------------------------------------------------- */

static tdm_status dispatch(struct verifying *x, struct state *s, int at, double *ms, tdm_error *err)
{
    int n = x->tokens - at < BENCH_LOOP_DISPATCH ? x->tokens - at : BENCH_LOOP_DISPATCH;
    bool last = at + n == x->tokens;
    struct forward_run run = {.state = s, .tokens = x->ids.ids + at, .n = (uint32_t)n,
                              .logits = last ? LOGITS_LAST : LOGITS_NONE};
    int64_t start = clock_ns();
    tdm_status status = forward(x->team, x->weights, x->workspace, &run, 1, NULL, NULL, err);
    *ms += ms_since(start);
    return status;
}

static tdm_status measure_prefill(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    struct verifying *x = ctx;
    double without = 0, with = 0;
    tdm_status status = TDM_OK;
    (void)number;
    bench_step(b, "prefill of %d tokens", x->tokens);
    state_clear(x->prompt);
    state_clear(x->state);
    x->prompt->headless = true;
    for (int at = 0; at < x->tokens && !status; at += BENCH_LOOP_DISPATCH) {
        bool turned = (at / BENCH_LOOP_DISPATCH + round) % 2; /* who is first */
        status = dispatch(x, turned ? x->state : x->prompt, at, turned ? &with : &without, err);
        if (!status) status = dispatch(x, turned ? x->prompt : x->state, at, turned ? &without : &with, err);
    }
    if (status) return status;
    int row = bench_table_row(x->t, "%d|without", x->tokens);
    bench_table_add(x->t, row, 0, 1e3 * x->tokens / without);
    row = bench_table_row(x->t, "%d|with", x->tokens);
    bench_table_add(x->t, row, 0, 1e3 * x->tokens / with);
    bench_table_add(x->t, row, 1, without / with);
    return TDM_OK;
}

tdm_status bench_mtp_prefill(bench *b, tdm_error *err)
{
    struct verifying x = {.tokens = b->quick ? QUICK_PREFILL : PREFILL};
    char title[120];
    snprintf(title, sizeof title, "prefill in dispatches of %d tokens, in turn with and without the MTP head's entries",
             BENCH_LOOP_DISPATCH);
    x.t = bench_new_table(b, "prefill", title, "prompt_tokens|head", "prefill:tok/s|of_without:x", err);
    if (!x.t) return err->code;
    tdm_status status = open_verifying(b, &x, x.tokens, err);
    bench_plan plan;
    bench_plan_open(&plan, x.t);
    bench_plan_add(b, &plan, "%d", x.tokens);
    if (!status) status = bench_plan_run(b, &plan, measure_prefill, &x, err);
    bench_plan_close(&plan);
    close_verifying(&x);
    return status;
}
