/* `tandem bench model` and `dispatch`: one session's prefill and decode, beside what the machine can do. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/kernel/ceiling.h"
#include "src/bench.h"

static const tdm_sampling greedy = {.top_p = 1, .repeat_penalty = 1};

/* Tokens a second of ids evaluated in one go. last: the logits of the last one too, as a prompt needs them. */
static tdm_status prefill(tdm_session *s, const tdm_id *ids, int n, bool last, double *tps, tdm_error *err)
{
    tdm_session_clear(s);
    int64_t start = clock_ns();
    tdm_status status = tdm_session_eval(s, ids, (size_t)n, last, NULL, err);
    *tps = n * 1e9 / (double)(clock_ns() - start);
    return status;
}

/* Tokens a second of n tokens decoded after what is there. */
static tdm_status decode(tdm_session *s, int n, double *tps, tdm_error *err)
{
    tdm_status status = TDM_OK;
    int64_t start = clock_ns();
    for (int i = 0; i < n && !status; i++) {
        tdm_id next = tdm_session_sample(s, &greedy, 0, 0, (uint32_t)i);
        status = tdm_session_eval(s, &next, 1, true, NULL, err);
    }
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
    w->n_dispatches = bench_list(d ? d : "32,8,128", 1, 512, w->dispatches, "dispatch", err);
    return w->n_prompts < 0 || w->n_threads < 0 || w->n_dispatches < 0 ? TDM_E_ARG : TDM_OK;
}

struct model_run {
    tdm_machine *machine;
    tdm_session *session[BENCH_LIST]; /* by dispatch */
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
            status = bench_session(b, &runs[t].session[d], runs[t].machine, TDM_PREFILL_UNIT, most + w->reply + 1,
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
        for (int d = 0; d < w->n_dispatches; d++) tdm_session_close(runs[t].session[d]);
        tdm_machine_close(runs[t].machine);
    }
}

static tdm_status measure(bench *b, bench_table *prefills, bench_table *decodes, const struct wanted *w, int threads,
                          struct model_run *r, const tdm_id *ids, const struct kernels *k, enum panel_kind kind,
                          tdm_error *err)
{
    tdm_status status = TDM_OK;
    double tps;
    for (int p = 0; p < w->n_prompts && !status; p++)
        for (int d = 0; d < w->n_dispatches && !status; d++) {
            int n = w->prompts[p], row = bench_table_row(prefills, "%d|%d|%d", threads, n, w->dispatches[d]);
            bench_step(b, "%d cores, prefill of %d tokens by %d", threads, n, w->dispatches[d]);
            double peak = ceiling_peak(r->reader.team, k, kind), unit = ceiling_matrix_peak(r->reader.team, k, kind);
            status = prefill(r->session[d], ids, n, false, &tps, err);
            if (status) break;
            bench_table_add(prefills, row, 0, tps);
            bench_table_add(prefills, row, 1, tps * (double)b->info.flops_per_token / peak);
            if (unit > 0) bench_table_add(prefills, row, 2, tps * (double)b->info.flops_per_token / unit);
        }
    for (int p = 0; p < w->n_prompts && !status; p++) {
        int row = bench_table_row(decodes, "%d|%d|%d", threads, w->prompts[p], w->reply);
        double unused;
        bench_step(b, "%d cores, decode after %d tokens", threads, w->prompts[p]);
        status = prefill(r->session[0], ids, w->prompts[p], true, &unused, err);
        if (status) break;
        double before = bench_reader_speed(&r->reader);
        status = decode(r->session[0], w->reply, &tps, err);
        double after = bench_reader_speed(&r->reader);
        if (status) break;
        bench_table_add(decodes, row, 0, tps);
        bench_table_add(decodes, row, 1, tps * (double)b->info.bytes_per_token / (0.5 * (before + after)));
        bench_table_add(decodes, row, 2, 0.5e-9 * (before + after));
    }
    return status;
}

tdm_status bench_model_speed(bench *b, tdm_error *err)
{
    static const char *const kinds[PANEL_KINDS] = {[PANEL_F32] = "fp32", [PANEL_BF16] = "bf16", [PANEL_INT8] = "int8"};
    const struct kernels *k;
    enum panel_kind kind;
    struct wanted w;
    struct model_run run[BENCH_LIST] = {0};
    tdm_ids ids = {0};
    char title[160];
    tdm_status status = bench_kernel_set(b, &k, &kind, err);
    if (!status) status = read_wanted(b, &w, err);
    if (status) return status;
    snprintf(title, sizeof title, "prefill; peak: %s arithmetic on vector registers, measured just before on the same cores",
             kinds[kind]);
    bench_table *prefills =
        bench_new_table(b, "prefill", title, "cores|prompt_tokens|dispatch",
                        k->matrix_peak ? "prefill:tok/s|of_peak:x|of_matrix_peak:x" : "prefill:tok/s|of_peak:x", err);
    bench_table *decodes =
        bench_new_table(b, "decode", "decode; limit: the speed of reading just before and just after",
                        "cores|after_tokens|reply_tokens", "decode:tok/s|of_limit:x|limit:GB/s", err);
    if (!prefills || !decodes) return err->code;
    int most = 0;
    for (int p = 0; p < w.n_prompts; p++) {
        if (w.prompts[p] + w.reply < bench_context(b)) {
            most = w.prompts[p] > most ? w.prompts[p] : most;
            continue;
        }
        bench_table_note(prefills, "left out: %d tokens, beyond the model's context", w.prompts[p]);
        w.prompts[p--] = w.prompts[--w.n_prompts];
    }
    if (w.n_prompts) status = bench_prompt_ids(&b->prompt, b->models.model, 0, (size_t)most, &ids, err);
    if (!status) status = open_runs(b, &w, k, run, err);
    for (int t = 0; t < w.n_threads && !status; t++) { /* warm up: pages, clocks */
        double unused;
        for (int d = 0; d < w.n_dispatches && !status; d++)
            status = prefill(run[t].session[d], ids.ids, w.prompts[0], false, &unused, err);
    }
    for (int round = 0; !status && bench_again_of(b, round, b->runs < 5 ? 5 : b->runs); round++)
        for (int t = 0; t < w.n_threads && !status; t++)
            status = measure(b, prefills, decodes, &w, w.threads[t], &run[t], ids.ids, k, kind, err);
    close_runs(&w, run);
    tdm_ids_free(&ids);
    return status;
}

/* ---- dispatch ---------------------------------------------------------------------------------------------------- */

tdm_status bench_dispatch(bench *b, tdm_error *err)
{
    static const int sizes[] = {1, 2, 4, 8, 16, 32, 64, 128};
    enum { SIZES = sizeof sizes / sizeof *sizes, TOKENS = 128, QUICK_TOKENS = 32 };
    tdm_machine *machine = NULL;
    tdm_session *session[SIZES] = {NULL};
    tdm_ids ids = {0};
    int n = b->quick ? QUICK_TOKENS : TOKENS;
    char title[120];
    snprintf(title, sizeof title, "prefill of %d tokens on the prefill unit, by tokens of a dispatch", n);
    bench_table *t = bench_new_table(b, "", title, "dispatch", "prefill:tok/s|over_one:x", err);
    if (!t) return err->code;
    tdm_status status = bench_machine(b, &machine, !options_flag(b->o, OPTION_NO_LENDING), err);
    if (!status) status = bench_prompt_ids(&b->prompt, b->models.model, 0, (size_t)n, &ids, err);
    for (int i = 0; i < SIZES && !status; i++)
        status = bench_session(b, &session[i], machine, TDM_PREFILL_UNIT, n, sizes[i], err);
    for (int round = 0; !status && bench_again(b, round); round++) {
        double one = 0, tps;
        for (int i = 0; i < SIZES && !status; i++) {
            if (sizes[i] > n) continue;
            bench_step(b, "%d tokens a dispatch", sizes[i]);
            if (round == 0) status = prefill(session[i], ids.ids, sizes[i], true, &tps, err);
            if (!status) status = prefill(session[i], ids.ids, n, true, &tps, err);
            if (status) break;
            if (i == 0) one = tps;
            int row = bench_table_row(t, "%d", sizes[i]);
            bench_table_add(t, row, 0, tps);
            bench_table_add(t, row, 1, tps / one);
        }
    }
    for (int i = 0; i < SIZES; i++) tdm_session_close(session[i]);
    tdm_machine_close(machine);
    tdm_ids_free(&ids);
    return status;
}
