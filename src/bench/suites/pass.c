/* `tandem bench pass`: where a forward pass spends its time, by function of the kernel set (engine/kernel/timed.h).
 * Milliseconds of all cores together; what is left of the cores' time is barriers, waiting for the slower core, and the
 * code between the functions. */
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/forward/forward.h"
#include "engine/kernel/timed.h"
#include "engine/object/residence.h"
#include "src/bench/bench.h"
#include "src/bench/report/plan.h"
#include "src/models/load.h"

enum { MAX_TOKENS = 512, WARM_PASSES = 2 };

/* The parts as columns, in the order of enum timed_part; the wall clock before them, the rest behind. */
static const char columns[] =
    "pass:ms|products:ms|lm_head:ms|quantising:ms|delta_rule:ms|convolution:ms|norms:ms|silu:ms|"
    "attention:ms|embedding:ms|rest:ms";

/* What the passes of one number of cores share. */
struct passes {
    struct weights weights; /* the model's, with the timed set */
    struct team *team;
    struct pool *pool;
    struct workspace *workspace;
};

static tdm_status open_passes(const bench *b, struct passes *p, int cores, tdm_error *err)
{
    struct state_shape shape = state_shape_of(&p->weights.config);
    tdm_status status = team_open(&p->team, cores, b->host.cores.count ? b->host.cores.cpu : NULL, err);
    if (!status)
        status = pool_new(&p->pool, &shape, p->weights.kernels, residence_kv(load_kv(b->o)), MAX_TOKENS + 1, err);
    if (!status)
        status = workspace_new(&p->workspace, &p->weights, MAX_TOKENS, 1, (uint32_t)cores, MAX_TOKENS + 1, err);
    return status;
}

static void close_passes(struct passes *p)
{
    workspace_free(p->workspace);
    pool_free(p->pool);
    team_close(p->team);
}

/* One dispatch of the first n ids by a fresh state, the logits of its last token included. */
static tdm_status measure(struct passes *p, const tdm_id *ids, int n, double *wall_ns, double ns[TIMED_PARTS],
                          tdm_error *err)
{
    struct state *s;
    tdm_status status = state_new(&s, p->pool, err);
    if (status) return status;
    struct forward_run run = {.state = s, .tokens = ids, .n = (uint32_t)n, .logits = LOGITS_LAST};
    timed_reset();
    int64_t began = clock_ns();
    status = forward(p->team, &p->weights, p->workspace, &run, 1, NULL, NULL, err);
    *wall_ns = (double)(clock_ns() - began);
    timed_read(ns);
    state_free(s);
    return status;
}

static void add_row(bench_table *t, int cores, int n, double wall_ns, const double ns[TIMED_PARTS])
{
    int row = bench_table_row(t, "%d|%d", cores, n);
    double rest = cores * wall_ns;
    bench_table_add(t, row, 0, 1e-6 * wall_ns);
    for (int i = 0; i < TIMED_PARTS; i++) {
        bench_table_add(t, row, 1 + i, 1e-6 * ns[i]);
        rest -= ns[i];
    }
    bench_table_add(t, row, 1 + TIMED_PARTS, 1e-6 * rest);
}

/* All rows: each number of cores with each of tokens. */
struct pass_bench {
    bench_table *t;
    struct passes passes[BENCH_LIST];
    int counts[BENCH_LIST], cores[BENCH_LIST], n_counts, n_cores;
    tdm_ids ids;
};

static tdm_status measure_row(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    struct pass_bench *x = ctx;
    struct passes *p = &x->passes[number / x->n_counts];
    int cores = x->cores[number / x->n_counts], n = x->counts[number % x->n_counts];
    double wall = 0, ns[TIMED_PARTS];
    tdm_status status = TDM_OK;
    bench_step(b, "%d cores, %d tokens", cores, n);
    for (int warm = round == 0 ? WARM_PASSES : 0; warm > 0 && !status; warm--)
        status = measure(p, x->ids.ids, n, &wall, ns, err);
    if (!status) status = measure(p, x->ids.ids, n, &wall, ns, err);
    if (!status) add_row(x->t, cores, n, wall, ns);
    return status;
}

static void plan_rows(bench *b, const struct pass_bench *x, bench_plan *plan)
{
    for (int i = 0; i < x->n_cores; i++)
        for (int j = 0; j < x->n_counts; j++) bench_plan_add(b, plan, "%d|%d", x->cores[i], x->counts[j]);
}

tdm_status bench_pass(bench *b, tdm_error *err)
{
    struct pass_bench x = {0};
    const char *p = options_text(b->o, OPTION_BENCH_DISPATCH), *c = options_text(b->o, OPTION_BENCH_THREADS);
    char usual[32];
    snprintf(usual, sizeof usual, b->host.cores.count > 1 ? "1,%d" : "1", b->host.cores.count);
    if (!p) p = b->info.experts ? "1,12,128,512" : "1,12,32,128";
    x.n_counts = bench_list(p, 1, MAX_TOKENS, x.counts, "dispatch", err);
    if (x.n_counts < 0) return err->code;
    x.n_cores =
        bench_list(c ? c : usual, 1, b->host.cores.count > 1 ? b->host.cores.count : 1, x.cores, "threads", err);
    if (x.n_cores < 0) return err->code;
    x.t = bench_new_table(b, "", "where the time of one dispatch goes: wall clock, then milliseconds of all "
                          "cores together; rest: barriers, waiting, all else", "cores|tokens", columns, err);
    if (!x.t) return err->code;

    const struct weights *w = b->models.model->weights;
    tdm_status status = bench_prompt_ids(&b->prompt, b->models.model, 0, MAX_TOKENS, &x.ids, err);
    for (int i = 0; i < x.n_cores && !status; i++) {
        x.passes[i].weights = *w;
        x.passes[i].weights.kernels = timed_kernels(w->kernels, w->lm_head);
        status = open_passes(b, &x.passes[i], x.cores[i], err);
    }
    bench_plan plan;
    bench_plan_open(&plan, x.t);
    plan_rows(b, &x, &plan);
    if (!status) status = bench_plan_run(b, &plan, measure_row, &x, err);
    bench_plan_close(&plan);
    for (int i = x.n_cores; i-- > 0;) close_passes(&x.passes[i]);
    tdm_ids_free(&x.ids);
    return status;
}
