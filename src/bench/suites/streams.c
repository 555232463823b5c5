/* `tandem bench streams`: several streams of tokens decoded together, each pass a token of every stream, sampled. What
 * they share is the reading of the weights; states, keys and values are each stream's own. */
#include <math.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/forward/forward.h"
#include "engine/forward/sampler.h"
#include "engine/object/residence.h"
#include "src/bench/bench.h"
#include "src/bench/loop.h"
#include "src/bench/report/plan.h"
#include "src/io/output.h"
#include "src/models/load.h"

enum {
    MAX_STREAMS = 16,
    PROMPT = BENCH_LOOP_START,
    TOKENS = 32,
    WARM_TOKENS = 2,
    CONTEXT = PROMPT + WARM_TOKENS + TOKENS
};

static const char columns[] = "total:tok/s|each:tok/s|of_one:x|pass:ms|weights:MB|states:MB";
enum { TOTAL, EACH, OF_ONE, PASS, WEIGHTS, STATES };

struct stream {
    struct state *state;
    struct sampler *sampler;
    tdm_id next;
};

struct streams {
    bench_table *t;
    const struct weights *weights;
    struct team *team;
    struct pool *pool;
    struct workspace *workspace;
    struct state *prompt;
    struct stream stream[MAX_STREAMS];
    int counts[BENCH_LIST], n_counts;
    double one_tps; /* of the last run of a single stream; 0: none was measured */
    /* of the pass that runs */
    int n;
    uint32_t index;
};

static const tdm_sampling sampling = {.temperature = 0.7f, .top_k = 20, .top_p = 0.8f, .repeat_penalty = 1, .seed = 1};

static tdm_status open_streams(bench *b, struct streams *x, const tdm_id *ids, tdm_error *err)
{
    const struct weights *w = x->weights;
    struct state_shape shape = state_shape_of(&w->config);
    uint32_t cores = (uint32_t)b->host.cores.count;
    tdm_status status = team_open(&x->team, (int)cores, cores ? b->host.cores.cpu : NULL, err);
    if (!status) status = pool_new(&x->pool, &shape, w->kernels, residence_kv(load_kv(b->o)), CONTEXT + 1, err);
    if (!status) status = workspace_new(&x->workspace, w, PROMPT, MAX_STREAMS, cores, CONTEXT + 1, err);
    if (!status) status = state_new(&x->prompt, x->pool, err);
    struct forward_run run = {.state = x->prompt, .tokens = ids, .n = PROMPT, .logits = LOGITS_LAST};
    if (!status) status = forward(x->team, w, x->workspace, &run, 1, NULL, NULL, err);
    for (int i = 0; i < MAX_STREAMS && !status; i++) {
        status = state_new(&x->stream[i].state, x->pool, err);
        if (!status) status = sampler_new(&x->stream[i].sampler, w->config.vocab, err);
    }
    return status;
}

static void close_streams(struct streams *x)
{
    for (int i = 0; i < MAX_STREAMS; i++) {
        state_free(x->stream[i].state);
        sampler_free(x->stream[i].sampler);
    }
    state_free(x->prompt);
    workspace_free(x->workspace);
    pool_free(x->pool);
    team_close(x->team);
}

static void draw(void *ctx, struct member *m)
{
    struct streams *x = ctx;
    uint32_t i, end;
    while (member_claim(m, (uint32_t)x->n, 1, &i, &end)) {
        struct stream *s = &x->stream[i];
        s->next = sampler_sample(s->sampler, &sampling, s->state->logits, 1, i, x->index);
    }
}

/* This many passes, each with a token of every stream. */
static tdm_status decode(struct streams *x, int passes, uint64_t *bytes, tdm_error *err)
{
    struct forward_run run[MAX_STREAMS];
    tdm_status status = TDM_OK;
    for (int p = 0; p < passes && !status; p++) {
        team_run(x->team, draw, x);
        x->index++;
        for (int i = 0; i < x->n; i++) {
            struct stream *s = &x->stream[i];
            sampler_accept(s->sampler, s->next);
            run[i] = (struct forward_run){.state = s->state, .tokens = &s->next, .n = 1, .logits = LOGITS_LAST};
        }
        status = forward(x->team, x->weights, x->workspace, run, (uint32_t)x->n, NULL, bytes, err);
    }
    return status;
}

static tdm_status measure(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    struct streams *x = ctx;
    uint64_t bytes = 0;
    (void)round;
    x->n = x->counts[number];
    x->index = 0;
    bench_step(b, "%d streams", x->n);
    tdm_status status = TDM_OK;
    for (int i = 0; i < x->n && !status; i++) {
        status = state_copy(x->stream[i].state, x->prompt, err);
        sampler_start(x->stream[i].sampler, x->prompt->tokens, PROMPT);
    }
    if (!status) status = decode(x, WARM_TOKENS, &bytes, err);
    int64_t began = clock_ns();
    if (!status) status = decode(x, TOKENS, &bytes, err);
    double seconds = (double)(clock_ns() - began) / 1e9, total = x->n * TOKENS / seconds;
    if (status) return status;
    double weights = (double)(x->weights->layer_bytes + x->weights->lm_head->bytes);
    if (x->n == 1) x->one_tps = total;
    int row = bench_table_row(x->t, "%d", x->n);
    bench_table_add(x->t, row, TOTAL, total);
    bench_table_add(x->t, row, EACH, total / x->n);
    if (x->n > 1 && x->one_tps > 0) bench_table_add(x->t, row, OF_ONE, total / x->one_tps);
    bench_table_add(x->t, row, PASS, 1e3 * seconds / TOKENS);
    bench_table_add(x->t, row, WEIGHTS, weights / 1e6);
    bench_table_add(x->t, row, STATES, fmax((double)bytes - weights, 0) / 1e6);
    return TDM_OK;
}

tdm_status bench_streams(bench *b, tdm_error *err)
{
    struct streams x = {.weights = b->models.model->weights};
    const char *counts = options_text(b->o, OPTION_BENCH_STREAMS);
    tdm_ids ids = {0};
    x.n_counts = bench_list(counts ? counts : "1,2,4,8,16", 1, MAX_STREAMS, x.counts, "streams", err);
    if (x.n_counts < 0) return err->code;
    if (b->info.experts) {
        output_note("bench: streams: not for a mixture of experts, whose streams share few weights");
        return TDM_OK;
    }
    x.t = bench_new_table(b, "", "streams decoded together, each token sampled: tokens a second, and what a pass reads "
                          "and writes", "streams", columns, err);
    if (!x.t) return err->code;
    bench_table_note(x.t, "published by the ancestor for several conversations at once: up to 5.5x, on a GPU "
                          "(assets/published.jsonl)");
    tdm_status status = bench_prompt_ids(&b->prompt, b->models.model, 0, PROMPT, &ids, err);
    if (!status) status = open_streams(b, &x, ids.ids, err);
    bench_plan plan;
    bench_plan_open(&plan, x.t);
    for (int i = 0; i < x.n_counts; i++) {
        bench_plan_add(b, &plan, "%d", x.counts[i]);
        if (x.counts[i] == 1 && i == 0) bench_plan_base(&plan);
    }
    if (!status) status = bench_plan_run(b, &plan, measure, &x, err);
    bench_plan_close(&plan);
    close_streams(&x);
    tdm_ids_free(&ids);
    return status;
}
