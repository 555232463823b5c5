/* `tandem bench pass`: where a forward pass spends its time, by function of the kernel set (engine/kernel/timed.h).
 * Milliseconds of all cores together; what is left of the cores' time is barriers, waiting for the slower core, and the
 * code between the functions. */
#include "engine/api/model.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/forward/forward.h"
#include "engine/kernel/timed.h"
#include "src/bench.h"
#include "src/load.h"

enum { MOST_TOKENS = 128, WARM_PASSES = 2 };

/* The parts as columns, in the order of enum timed_part; the wall clock before them, the rest behind. */
static const char columns[] = "pass:ms|products:ms|lm_head:ms|quantising:ms|delta_rule:ms|convolution:ms|norms:ms|silu:ms|"
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
        status = pool_new(&p->pool, &shape, p->weights.kernels, (enum kv_type)load_kv(b->o), MOST_TOKENS + 1, err);
    if (!status)
        status = workspace_new(&p->workspace, &p->weights, MOST_TOKENS, 1, (uint32_t)cores, MOST_TOKENS + 1, err);
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

tdm_status bench_pass(bench *b, tdm_error *err)
{
    int counts[BENCH_LIST], cores[BENCH_LIST], n_counts, n_cores;
    struct passes passes[BENCH_LIST] = {0};
    const char *p = options_text(b->o, OPTION_BENCH_DISPATCH), *c = options_text(b->o, OPTION_BENCH_THREADS);
    tdm_ids ids = {0};
    char usual[32];
    snprintf(usual, sizeof usual, b->host.cores.count > 1 ? "1,%d" : "1", b->host.cores.count);
    n_counts = bench_list(p ? p : "1,12,32,128", 1, MOST_TOKENS, counts, "dispatch", err);
    if (n_counts < 0) return err->code;
    n_cores = bench_list(c ? c : usual, 1, b->host.cores.count > 1 ? b->host.cores.count : 1, cores, "threads", err);
    if (n_cores < 0) return err->code;
    bench_table *t = bench_new_table(b, "", "where the time of one dispatch goes: wall clock, then milliseconds of all "
                                     "cores together; rest: barriers, waiting, all else", "cores|tokens", columns, err);
    if (!t) return err->code;

    const struct weights *w = b->models.model->weights;
    tdm_status status = bench_prompt_ids(&b->prompt, b->models.model, 0, MOST_TOKENS, &ids, err);
    for (int i = 0; i < n_cores && !status; i++) {
        passes[i].weights = *w;
        passes[i].weights.kernels = timed_kernels(w->kernels, w->lm_head);
        status = open_passes(b, &passes[i], cores[i], err);
    }
    for (int round = 0; !status && bench_again(b, round); round++)
        for (int i = 0; i < n_cores && !status; i++)
            for (int j = 0; j < n_counts && !status; j++) {
                if (!bench_wanted(b, "%d|%d", cores[i], counts[j])) continue;
                bench_step(b, "%d cores, %d tokens", cores[i], counts[j]);
                double wall = 0, ns[TIMED_PARTS];
                for (int warm = round == 0 ? WARM_PASSES : 0; warm > 0 && !status; warm--)
                    status = measure(&passes[i], ids.ids, counts[j], &wall, ns, err);
                if (!status) status = measure(&passes[i], ids.ids, counts[j], &wall, ns, err);
                if (!status) add_row(t, cores[i], counts[j], wall, ns);
            }
    for (int i = n_cores; i-- > 0;) close_passes(&passes[i]);
    tdm_ids_free(&ids);
    return status;
}
