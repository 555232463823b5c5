/* `tandem bench model` and `dispatch`: prefill and decode of one sequence, beside the machine's limits. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/kernel/ceiling.h"
#include "engine/object/model.h"
#include "src/bench/bench.h"
#include "src/bench/report/plan.h"

static const tdm_sampling greedy = {.top_p = 1, .repeat_penalty = 1};

/* Tokens a second of ids evaluated in one go. last: the logits of the last one too, as a prompt needs them. */
static tdm_status prefill(tdm_sequence *s, const tdm_id *ids, int n, bool last, double *tps, tdm_error *err)
{
    tdm_sequence_clear(s);
    int64_t start = clock_ns();
    tdm_status status = tdm_sequence_eval(s, ids, (size_t)n, last, NULL, err);
    *tps = n * 1e9 / (double)(clock_ns() - start);
    return status;
}

/* Tokens a second of n tokens decoded after what is there. */
static tdm_status decode(tdm_sequence *s, int n, double *tps, tdm_error *err)
{
    tdm_status status = TDM_OK;
    int64_t start = clock_ns();
    for (int i = 0; i < n && !status; i++) {
        tdm_id next;
        status = tdm_sequence_sample(s, &greedy, 0, 0, (uint32_t)i, &next, err);
        if (!status) status = tdm_sequence_eval(s, &next, 1, true, NULL, err);
    }
    *tps = n * 1e9 / (double)(clock_ns() - start);
    return status;
}

/* The same without logits: the layers alone. */
static tdm_status decode_layers(tdm_sequence *s, const tdm_id *ids, int n, double *tps, tdm_error *err)
{
    tdm_status status = TDM_OK;
    int64_t start = clock_ns();
    for (int i = 0; i < n && !status; i++) status = tdm_sequence_eval(s, &ids[i], 1, false, NULL, err);
    *tps = n * 1e9 / (double)(clock_ns() - start);
    return status;
}

/* ---- model ------------------------------------------------------------------------------------------------------- */

struct wanted {
    int prompts[BENCH_LIST], threads[BENCH_LIST], dispatches[BENCH_LIST];
    int n_prompts, n_threads, n_dispatches, reply;
};

static tdm_status read_wanted(bench *b, struct wanted *w, tdm_error *err)
{
    const options *o = b->o;
    int cores = b->host.cores.count;
    char usual[32];
    snprintf(usual, sizeof usual, cores > 1 ? "1,%d" : "1", cores);
    const char *p = options_text(o, OPTION_BENCH_PROMPTS), *t = options_text(o, OPTION_BENCH_THREADS),
               *d = options_text(o, OPTION_BENCH_DISPATCH);
    w->reply = (int)options_int(o, OPTION_BENCH_REPLY, b->quick ? 16 : 64);
    w->n_prompts = bench_list(p ? p : b->quick ? "74" : "32,74,128,512", 1, 65536, w->prompts, "prompt-tokens", err);
    w->n_threads = bench_list(t ? t : usual, 1, cores, w->threads, "threads", err);
    if (!d) d = b->info.experts ? "512,128,32" : "32,8,128";
    w->n_dispatches = bench_list(d, 1, 512, w->dispatches, "dispatch", err);
    return w->n_prompts < 0 || w->n_threads < 0 || w->n_dispatches < 0 ? TDM_E_ARG : TDM_OK;
}

struct model_run {
    tdm_machine *machine;
    tdm_sequence *session[BENCH_LIST]; /* by dispatch */
    bench_reader reader;
};

/* All machines before any reader: a reader's team pins the calling thread, and a machine has the cores that its caller
 * may use. For the same reason they are closed in the reverse order. */
static tdm_status open_runs(bench *b, const struct wanted *w, const struct kernels *k, struct model_run *runs,
                            tdm_error *err)
{
    int most = 0;
    tdm_status status = TDM_OK;
    for (int i = 0; i < w->n_prompts; i++) most = w->prompts[i] > most ? w->prompts[i] : most;
    for (int t = 0; t < w->n_threads && !status; t++) {
        tdm_machine_options m = {.threads = w->threads[t]};
        status = tdm_machine_open(&runs[t].machine, &m, err);
        for (int d = 0; d < w->n_dispatches && !status; d++)
            status = bench_session(b, &runs[t].session[d], runs[t].machine, TDM_PREFILL_UNIT, most + 2 * w->reply + 1,
                                   w->dispatches[d], err);
    }
    for (int t = 0; t < w->n_threads && !status; t++)
        status = bench_reader_open(&runs[t].reader, &b->host, k, w->threads[t], BENCH_READ_MIB, err);
    return status;
}

static void close_runs(const struct wanted *w, struct model_run *runs)
{
    for (int t = w->n_threads; t-- > 0;) bench_reader_close(&runs[t].reader);
    for (int t = 0; t < w->n_threads; t++) {
        for (int d = 0; d < w->n_dispatches; d++) tdm_sequence_close(runs[t].session[d]);
        tdm_machine_close(runs[t].machine);
    }
}

/* What the rows of both tables share. */
struct model_bench {
    struct wanted w;
    struct model_run run[BENCH_LIST];
    bench_table *prefills, *decodes;
    const struct kernels *kernels;
    enum panel_kind kind;
    tdm_ids ids;
    struct {
        double tps;
        int round; /* from 1 */
    } latest[BENCH_LIST][BENCH_LIST][BENCH_LIST]; /* prefill, by cores, prompts and dispatches */
};

static int prefill_row(struct model_bench *x, int t, int p, int d)
{
    return bench_table_row(x->prefills, "%d|%d|%d", x->w.threads[t], x->w.prompts[p], x->w.dispatches[d]);
}

enum { P_SPEED, P_OF_BEST, P_OVER_ONE, P_OF_PEAK, P_OF_MATRIX_PEAK };
#define PREFILL_MEASURES "prefill:tok/s|of_best:x|over_one_core:x|of_peak:x"
#define MATRIX_MEASURE "|of_matrix_peak:x"
/* For a part of a model, what the whole model would do is computed. The figure of prefill, which needs no head, stands
 * last. */
enum { D_SPEED, D_OF_LIMIT, D_LIMIT, D_WHOLE, D_WHOLE_OF_LIMIT };
#define DECODE_MEASURES "decode:tok/s|of_limit:x|limit:GB/s"
#define WHOLE_PREFILL "|whole_computed:tok/s"
#define WHOLE_DECODE "|whole_computed:tok/s|whole_of_limit_computed:x"

static bool is_part(const bench *b)
{
    return b->info.layers < b->info.whole_layers;
}

/* Compares a row with others of the same round: once all dispatches of its cores and prompt are measured, each with the
 * fastest; and with one core. */
static void compare(struct model_bench *x, int t, int p, int d, int round, double tps)
{
    const struct wanted *w = &x->w;
    x->latest[t][p][d].tps = tps;
    x->latest[t][p][d].round = round + 1;
    for (int one = 0; one < t; one++)
        if (w->threads[one] == 1 && x->latest[one][p][d].round == round + 1)
            bench_table_add(x->prefills, prefill_row(x, t, p, d), P_OVER_ONE, tps / x->latest[one][p][d].tps);
    double best = 0;
    for (int i = 0; i < w->n_dispatches && d + 1 == w->n_dispatches; i++)
        if (x->latest[t][p][i].round == round + 1 && x->latest[t][p][i].tps > best) best = x->latest[t][p][i].tps;
    for (int i = 0; i < w->n_dispatches && best > 0; i++)
        if (x->latest[t][p][i].round == round + 1)
            bench_table_add(x->prefills, prefill_row(x, t, p, i), P_OF_BEST, x->latest[t][p][i].tps / best);
}

/* Rows of prefill: cores, prompts, dispatches; the last vary fastest. */
static tdm_status measure_prefill(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    struct model_bench *x = ctx;
    const struct wanted *w = &x->w;
    int d = number % w->n_dispatches, p = number / w->n_dispatches % w->n_prompts;
    int t = number / w->n_dispatches / w->n_prompts, n = w->prompts[p];
    struct model_run *r = &x->run[t];
    double tps;
    tdm_status status = TDM_OK;
    bench_step(b, "%d cores, prefill of %d tokens by %d", w->threads[t], n, w->dispatches[d]);
    if (round == 0) status = prefill(r->session[d], x->ids.ids, w->prompts[0], false, &tps, err); /* pages, clocks */
    double peak = ceiling_peak(r->reader.team, x->kernels, x->kind);
    double unit = ceiling_matrix_peak(r->reader.team, x->kernels, x->kind);
    if (!status) status = prefill(r->session[d], x->ids.ids, n, false, &tps, err);
    if (status) return status;
    int row = prefill_row(x, t, p, d);
    bench_table_add(x->prefills, row, P_SPEED, tps);
    bench_table_add(x->prefills, row, P_OF_PEAK, tps * (double)b->info.flops_per_token / peak);
    if (unit > 0) bench_table_add(x->prefills, row, P_OF_MATRIX_PEAK, tps * (double)b->info.flops_per_token / unit);
    if (is_part(b))
        bench_table_add(x->prefills, row, P_OF_MATRIX_PEAK + (unit > 0), tps * b->info.layers / b->info.whole_layers);
    compare(x, t, p, d, round, tps);
    return TDM_OK;
}

/* The whole model's decoding, from the layers that there are, as many as it has, and the head. bytes_s: memory's
 * speed. */
static void add_whole(const bench *b, bench_table *table, int row, double tps, double layers_tps, double bytes_s)
{
    double head_s = 1 / tps - 1 / layers_tps, times = (double)b->info.whole_layers / b->info.layers;
    double head_bytes = (double)b->models.model->weights->lm_head->bytes;
    double whole = 1 / ((head_s > 0 ? head_s : 0) + times / layers_tps);
    double bytes = head_bytes + times * ((double)b->info.bytes_per_token - head_bytes);
    bench_table_add(table, row, D_WHOLE, whole);
    bench_table_add(table, row, D_WHOLE_OF_LIMIT, whole * bytes / bytes_s);
}

/* Rows of decode: cores, prompts. */
static tdm_status measure_decode(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    struct model_bench *x = ctx;
    const struct wanted *w = &x->w;
    int t = number / w->n_prompts, n = w->prompts[number % w->n_prompts];
    struct model_run *r = &x->run[t];
    double unused, tps, layers_tps = 0;
    (void)round;
    bench_step(b, "%d cores, decode after %d tokens", w->threads[t], n);
    tdm_status status = prefill(r->session[0], x->ids.ids, n, true, &unused, err);
    if (status) return status;
    double before = bench_reader_speed(&r->reader);
    status = decode(r->session[0], w->reply, &tps, err);
    if (!status && is_part(b))
        status = decode_layers(r->session[0], x->ids.ids, w->reply < n ? w->reply : n, &layers_tps, err);
    double after = bench_reader_speed(&r->reader);
    if (status) return status;
    int row = bench_table_row(x->decodes, "%d|%d|%d", w->threads[t], n, w->reply);
    bench_table_add(x->decodes, row, D_SPEED, tps);
    bench_table_add(x->decodes, row, D_OF_LIMIT, tps * (double)b->info.bytes_per_token / (0.5 * (before + after)));
    bench_table_add(x->decodes, row, D_LIMIT, 0.5e-9 * (before + after));
    if (is_part(b)) add_whole(b, x->decodes, row, tps, layers_tps, 0.5 * (before + after));
    return TDM_OK;
}

/* Prompts and dispatches as they stand in their lists. */
static void plan_model(bench *b, const struct model_bench *x, bench_plan *prefills, bench_plan *decodes)
{
    const struct wanted *w = &x->w;
    enum { LEAST = 5 };
    int most = b->runs < LEAST ? LEAST : b->runs;
    for (int t = 0; t < w->n_threads; t++)
        for (int p = 0; p < w->n_prompts; p++) {
            for (int d = 0; d < w->n_dispatches; d++) {
                bench_plan_add(b, prefills, "%d|%d|%d", w->threads[t], w->prompts[p], w->dispatches[d]);
                bench_plan_most(prefills, most);
            }
            bench_plan_add(b, decodes, "%d|%d|%d", w->threads[t], w->prompts[p], w->reply);
            bench_plan_most(decodes, most);
        }
}

static tdm_status new_tables(bench *b, struct model_bench *x, tdm_error *err)
{
    static const char *const kinds[PANEL_KINDS] = {[PANEL_F32] = "fp32", [PANEL_BF16] = "bf16", [PANEL_INT8] = "int8"};
    char title[200];
    snprintf(title, sizeof title,
             "prefill; best: the fastest dispatch of the round; peak: %s arithmetic on vector registers, measured just "
             "before "
             "on the same cores",
             kinds[x->kind]);
    char measures[200];
    snprintf(measures, sizeof measures, PREFILL_MEASURES "%s%s", x->kernels->matrix_peak ? MATRIX_MEASURE : "",
             is_part(b) ? WHOLE_PREFILL : "");
    x->prefills = bench_new_table(b, "prefill", title, "cores|prompt_tokens|dispatch", measures, err);
    if (!x->prefills) return err->code;
    x->decodes = bench_new_table(
        b, "decode",
        b->info.experts ? "decode; limit: the speed of reading just before and just after; bytes: "
                          "those of the experts that a token uses, and of what all share"
                        : "decode; limit: the speed of reading just before and just after",
        "cores|after_tokens|reply_tokens", is_part(b) ? DECODE_MEASURES WHOLE_DECODE : DECODE_MEASURES, err);
    if (!x->decodes) return err->code;
    bench_table *const both[] = {x->prefills, x->decodes};
    for (int i = 0; i < 2; i++) {
        if (is_part(b))
            bench_table_note(both[i], "%d of %d layers were measured; whole: computed from these%s", b->info.layers,
                             b->info.whole_layers,
                             i ? " and the head, whose time is that of a token with logits less one without" : "");
        if (b->info.experts && b->info.synthetic)
            bench_table_note(both[i], "made-up routers: which experts are used is the choice of random projections");
    }
    return TDM_OK;
}

/* Takes out the prompts that this model has no context for; returns the tokens of the longest other. */
static int possible(const bench *b, struct model_bench *x)
{
    struct wanted *w = &x->w;
    int most = 0, kept = 0;
    for (int p = 0; p < w->n_prompts; p++) {
        int n = w->prompts[p];
        if (!bench_fits(b, x->prefills, n, w->reply + 1)) continue;
        w->prompts[kept++] = n;
        most = n > most ? n : most;
    }
    w->n_prompts = kept;
    return most;
}

tdm_status bench_model_speed(bench *b, tdm_error *err)
{
    struct model_bench x = {0};
    tdm_status status = bench_kernel_set(b, &x.kernels, &x.kind, err);
    if (!status) status = read_wanted(b, &x.w, err);
    if (!status) status = new_tables(b, &x, err);
    if (status) return status;
    int most = possible(b, &x);
    if (most) status = bench_prompt_ids(&b->prompt, b->models.model, 0, (size_t)most, &x.ids, err);
    if (!status) status = open_runs(b, &x.w, x.kernels, x.run, err);
    bench_plan prefills, decodes;
    bench_plan_open(&prefills, x.prefills);
    bench_plan_open(&decodes, x.decodes);
    plan_model(b, &x, &prefills, &decodes);
    bench_part(b, !bench_plan_wanted(&decodes) ? 1 : bench_plan_wanted(&prefills) ? 0.7 : 0);
    if (!status) status = bench_plan_run(b, &prefills, measure_prefill, &x, err);
    bench_part(b, 1);
    if (!status) status = bench_plan_run(b, &decodes, measure_decode, &x, err);
    bench_plan_close(&prefills);
    bench_plan_close(&decodes);
    close_runs(&x.w, x.run);
    tdm_ids_free(&x.ids);
    return status;
}

/* ---- dispatch ---------------------------------------------------------------------------------------------------- */

static const int sizes[] = {1, 2, 4, 8, 16, 32, 64, 128};
enum { SIZES = sizeof sizes / sizeof *sizes, TOKENS = 128, QUICK_TOKENS = 32 };

struct dispatch {
    bench_table *t;
    tdm_sequence *session[SIZES];
    tdm_ids ids;
    int n;
    double one; /* tok/s of this round with dispatches of one token; 0: not measured */
};

static tdm_status measure_dispatch(bench *b, void *ctx, int i, int round, tdm_error *err)
{
    struct dispatch *x = ctx;
    double tps;
    tdm_status status = TDM_OK;
    bench_step(b, "%d tokens a dispatch", sizes[i]);
    if (round == 0) status = prefill(x->session[i], x->ids.ids, sizes[i], true, &tps, err);
    if (!status) status = prefill(x->session[i], x->ids.ids, x->n, true, &tps, err);
    if (status) return status;
    if (i == 0) x->one = tps;
    int row = bench_table_row(x->t, "%d", sizes[i]);
    bench_table_add(x->t, row, 0, tps);
    if (x->one > 0) bench_table_add(x->t, row, 1, tps / x->one);
    return TDM_OK;
}

tdm_status bench_dispatch(bench *b, tdm_error *err)
{
    tdm_machine *machine = NULL;
    struct dispatch x = {.n = b->quick ? QUICK_TOKENS : TOKENS};
    char title[120];
    snprintf(title, sizeof title, "prefill of %d tokens on the prefill unit, by tokens of a dispatch", x.n);
    x.t = bench_new_table(b, "", title, "dispatch", "prefill:tok/s|over_one:x", err);
    if (!x.t) return err->code;
    tdm_status status = bench_machine(b, &machine, !options_flag(b->o, OPTION_NO_LENDING), err);
    if (!status) status = bench_prompt_ids(&b->prompt, b->models.model, 0, (size_t)x.n, &x.ids, err);
    bench_plan plan;
    bench_plan_open(&plan, x.t);
    for (int i = 0; i < SIZES && !status; i++) {
        if (sizes[i] > x.n) continue; /* the largest come last */
        status = bench_session(b, &x.session[i], machine, TDM_PREFILL_UNIT, x.n, sizes[i], err);
        bench_plan_add(b, &plan, "%d", sizes[i]);
    }
    if (!status) status = bench_plan_run(b, &plan, measure_dispatch, &x, err);
    bench_plan_close(&plan);
    for (int i = 0; i < SIZES; i++) tdm_sequence_close(x.session[i]);
    tdm_machine_close(machine);
    tdm_ids_free(&x.ids);
    return status;
}
