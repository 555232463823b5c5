/* `tandem bench throughput` and `ttft`: one cold turn by pipeline and length of the prompt, as in the published tables
 * of the systems that the pipelines stand for. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/chat/policy/pipeline.h"
#include "src/bench/bench.h"
#include "src/bench/report/plan.h"
#include "src/bench/talk.h"
#include "src/figures/figures.h"
#include "src/models/load.h"
#include "src/process/interrupt.h"

#define MIXED ", BF16 to Q8_0"

struct turn {
    tdm_turn_stats stats;
    double prefill_tps; /* of the prompt's dispatches alone, by the activity of the unit that did them */
};

/* Tokens and time that the unit has spent on prompts of any kind. */
static void prompt_work(const tdm_machine *machine, int unit, uint64_t *tokens, uint64_t *ns)
{
    tdm_unit_info info;
    tdm_unit_describe(machine, unit, &info);
    *tokens = *ns = 0;
    for (int k = TDM_SPAN_HISTORY; k <= TDM_SPAN_PROMPT; k++) {
        *tokens += info.total[k].tokens;
        *ns += info.total[k].ns;
    }
}

/* A fresh chat, one message that makes a prompt of `tokens` tokens, a reply of `reply`. */
static tdm_status cold_turn(bench *b, tdm_machine *machine, tdm_pipeline pipeline, const tdm_model *prefill_model,
                            int tokens, int reply, struct turn *out, tdm_error *err)
{
    tdm_chat_options o;
    bench_talk talk = {0};
    size_t frame;
    char *text = NULL;
    bench_chat_options(b, &o);
    o.pipeline = pipeline;
    o.speculation = TDM_SPEC_OFF;
    if (prefill_model) o.prefill_model = prefill_model;
    o.max_tokens = reply;
    tdm_status status = bench_prompt_frame(b->models.model, &frame, err);
    if (!status) status = bench_prompt_message(&b->prompt, b->models.model, tokens, (size_t)tokens - frame, &text, err);
    if (!status) status = bench_talk_open(&talk, b->models.model, machine, &o, err);
    int unit = pipeline_of(pipeline)->prompt_unit;
    uint64_t tokens_before, ns_before, tokens_after, ns_after;
    prompt_work(machine, unit, &tokens_before, &ns_before);
    if (!status) status = bench_talk_ask(&talk, text, err);
    prompt_work(machine, unit, &tokens_after, &ns_after);
    out->stats = talk.stats;
    /* The job of the last dispatch takes the state over the bridge, too, and its span has that time. */
    double bridge_ns = 1e6 * (talk.stats.copy_ms + talk.stats.save_ms + talk.stats.read_ms + talk.stats.restore_ms);
    double ns = (double)(ns_after - ns_before) - bridge_ns;
    out->prefill_tps = ns > 0 ? (double)(tokens_after - tokens_before) * 1e9 / ns : 0;
    if (!status && talk.stats.prompt_tokens != (uint32_t)tokens)
        status =
            error_set(err, TDM_E_IO, "bench: the prompt has %u tokens instead of %d", talk.stats.prompt_tokens, tokens);
    free(text);
    bench_talk_close(&talk);
    return status;
}

enum { LENGTHS = 3, SHORT_REPLY = 8 /* with --quick */ };

/* What both suites have. */
struct cold {
    bench_table *t;
    tdm_machine *machine;
    int lengths[LENGTHS]; /* 0: beyond the model's context */
    int reply;
};

/* The published lengths; those that are shorter than the template allows are replaced, and the table says so. */
static tdm_status open_cold(bench *b, struct cold *x, const int published[LENGTHS], int reply, const char *measures,
                            tdm_error *err)
{
    char title[120];
    size_t frame = 0;
    x->reply = b->quick ? SHORT_REPLY : reply;
    snprintf(title, sizeof title, "a cold prompt, %d tokens decoded greedily", x->reply);
    if (!(x->t = bench_new_table(b, "", title, "prompt_tokens|pipeline", measures, err))) return err->code;
    tdm_status status = bench_machine(b, &x->machine, !options_flag(b->o, OPTION_NO_LENDING), err);
    if (!status) status = bench_prompt_frame(b->models.model, &frame, err);
    for (int i = 0; i < LENGTHS && !status; i++) {
        int length = published[i] > (int)frame ? published[i] : (int)frame + 1;
        if (!bench_fits(b, x->t, length, x->reply)) continue;
        x->lengths[i] = length;
        if (length != published[i])
            bench_table_note(x->t,
                             "%d tokens stand where the published tables have %d: the template alone has %zu here",
                             length, published[i], frame);
    }
    return status;
}

/* ---- throughput -------------------------------------------------------------------------------------------------- */

/* The rows of one length. */
static const tdm_pipeline throughput_rows[] = {TDM_PIPE_BATCH_SOLO, TDM_PIPE_SINGLE, TDM_PIPE_BATCH};
enum { THROUGHPUT_ROWS = sizeof throughput_rows / sizeof *throughput_rows };

static tdm_status throughput_one(bench *b, void *ctx, int row, int round, tdm_error *err)
{
    struct cold *x = ctx;
    int tokens = x->lengths[row / THROUGHPUT_ROWS];
    tdm_pipeline p = throughput_rows[row % THROUGHPUT_ROWS];
    struct turn turn;
    tdm_status status = TDM_OK;
    bench_step(b, "%d tokens, %s", tokens, tdm_pipeline_name(p));
    if (round == 0) status = cold_turn(b, x->machine, p, NULL, tokens, 2, &turn, err);
    if (!status) status = cold_turn(b, x->machine, p, NULL, tokens, x->reply, &turn, err);
    if (status) return status;
    int at = bench_table_row(x->t, "%d|%s", tokens, tdm_pipeline_name(p));
    bench_table_add(x->t, at, 0, turn.prefill_tps);
    bench_table_add(x->t, at, 1, turn.stats.decode_tps);
    bench_table_add(x->t, at, 2, 1e-6 * (double)(turn.stats.end_ns - turn.stats.enter_ns));
    return TDM_OK;
}

tdm_status bench_throughput(bench *b, tdm_error *err)
{
    static const int published[LENGTHS] = {13, 28, 74};
    struct cold x = {0};
    tdm_status status = open_cold(b, &x, published, 20, "prefill:tok/s|decode:tok/s|total:ms", err);
    if (x.t) bench_table_note(x.t, "prefill: the dispatches alone; the total of batch has the bridge as well");
    bench_plan plan;
    bench_plan_open(&plan, x.t);
    for (int row = 0; row < LENGTHS * THROUGHPUT_ROWS && !status; row++) {
        int l = row / THROUGHPUT_ROWS;
        tdm_pipeline p = throughput_rows[row % THROUGHPUT_ROWS];
        if (!x.lengths[l]) {
            bench_plan_skip(&plan);
            continue;
        }
        bench_plan_add(b, &plan, "%d|%s", x.lengths[l], tdm_pipeline_name(p));
    }
    if (!status) status = bench_plan_run(b, &plan, throughput_one, &x, err);
    bench_plan_close(&plan);
    tdm_machine_close(x.machine);
    return status;
}

/* ---- ttft -------------------------------------------------------------------------------------------------------- */

/* Peak resident memory since the last call, in bytes; 0: the kernel does not tell. */
static double peak_memory(void)
{
    char line[128];
    double kib = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lf", &kib) == 1) break;
    if (f) fclose(f);
    if ((f = fopen("/proc/self/clear_refs", "we"))) { /* 5: begins the peak anew */
        fputs("5", f);
        fclose(f);
    }
    return 1024 * kib;
}

/* "synthetic:0.8b:q8_0" has a sibling "synthetic:0.8b:bf16" with the same weights in another precision. */
static const char narrow[] = ":q8_0", wide[] = ":bf16";

static bool has_wider(const bench *b)
{
    size_t n = strlen(b->model_option);
    return !strncmp(b->model_option, "synthetic:", 10) && n >= sizeof narrow &&
           !strcmp(b->model_option + n - 5, narrow);
}

static tdm_status open_wider(bench *b, tdm_model **out, double *packed_bytes, tdm_error *err)
{
    char name[96];
    tdm_model_info info;
    snprintf(name, sizeof name, "%.*s%s", (int)strlen(b->model_option) - 5, b->model_option, wide);
    bench_step(b, "opening %s", name);
    tdm_status status = load_model(out, b->o, name, &(load_how){0}, err);
    interrupt_catch(); /* loading has its own way with Ctrl-C */
    if (status) return status;
    tdm_model_describe(*out, &info);
    *packed_bytes = (double)info.packed_bytes;
    return TDM_OK;
}

/* The rows of one length, the most telling first. */
static const struct ttft_row {
    tdm_pipeline pipeline;
    bool mixed; /* the prefill unit has the wider sibling */
} ttft_rows[] = {{TDM_PIPE_SINGLE, false},         {TDM_PIPE_BATCH, false}, {TDM_PIPE_TANDEM, false},
                 {TDM_PIPE_BATCH, true},           {TDM_PIPE_SLOTS, false}, {TDM_PIPE_SEQUENTIAL, false},
                 {TDM_PIPE_SEQUENTIAL_SOLO, false}};
enum { TTFT_ROWS = sizeof ttft_rows / sizeof *ttft_rows, LONG = 3 };

struct ttft {
    struct cold cold;
    tdm_model *wider;
    double wider_bytes;
};

static void ttft_name(const struct ttft_row *row, char out[48])
{
    snprintf(out, 48, "%s%s", tdm_pipeline_name(row->pipeline), row->mixed ? MIXED : "");
}

static tdm_status ttft_one(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    struct ttft *x = ctx;
    const struct ttft_row *row = &ttft_rows[number % TTFT_ROWS];
    int tokens = x->cold.lengths[number / TTFT_ROWS];
    tdm_machine *machine = x->cold.machine;
    bench_table *t = x->cold.t;
    struct turn turn;
    char name[48];
    tdm_status status = TDM_OK;
    ttft_name(row, name);
    if (row->mixed && !x->wider && (status = open_wider(b, &x->wider, &x->wider_bytes, err))) return status;
    const tdm_model *prefill = row->mixed ? x->wider : NULL;
    bench_step(b, "%d tokens, %s", tokens, name);
    if (round == 0) /* warms up */
        status = cold_turn(b, machine, row->pipeline, prefill, x->cold.lengths[0], 1, &turn, err);
    peak_memory();
    int reply = round < LONG ? x->cold.reply : 1;
    if (!status) status = cold_turn(b, machine, row->pipeline, prefill, tokens, reply, &turn, err);
    if (status) return status;
    int at = bench_table_row(t, "%d|%s", tokens, name);
    bench_table_add(t, at, 0, figures_ttft_ms(&turn.stats, 0));
    if (round < LONG) bench_table_add(t, at, 1, turn.stats.decode_tps);
    bench_table_add(t, at, 2, 1e-9 * (peak_memory() - (row->mixed ? 0 : x->wider_bytes)));
    return TDM_OK;
}

static void ttft_plan(bench *b, const struct cold *x, bench_plan *plan)
{
    bool mixes = has_wider(b) && !b->quick;
    for (int l = 0; l < LENGTHS; l++)
        for (int r = 0; r < TTFT_ROWS; r++) {
            const struct ttft_row *row = &ttft_rows[r];
            char name[48];
            ttft_name(row, name);
            if (!x->lengths[l] || (row->mixed && !mixes)) {
                bench_plan_skip(plan);
                continue;
            }
            bench_plan_add(b, plan, "%d|%s", x->lengths[l], name);
        }
}

tdm_status bench_ttft(bench *b, tdm_error *err)
{
    static const int published[LENGTHS] = {6, 133, 410};
    struct ttft x = {0};
    tdm_status status = open_cold(b, &x.cold, published, 200, "TTFT:ms|decode:tok/s|peak_memory:GB", err);
    bench_plan plan;
    bench_plan_open(&plan, x.cold.t);
    if (!status) ttft_plan(b, &x.cold, &plan);
    if (!status) status = bench_plan_run(b, &plan, ttft_one, &x, err);
    bench_plan_close(&plan);
    if (x.wider)
        bench_table_note(
            x.cold.t,
            "the BF16 weights, which are there once a mixed row has begun, are counted in the mixed rows alone");
    tdm_machine_close(x.cold.machine);
    tdm_model_close(x.wider);
    return status;
}

void bench_ttft_conclude(bench_table *t)
{
    for (int first = 0, end; first < t->n_rows; first = end) {
        const char *tokens = t->rows[first].parameter[0];
        int best = first;
        for (end = first; end < t->n_rows && !strcmp(t->rows[end].parameter[0], tokens); end++)
            if (bench_table_cell(t, end, 0).median < bench_table_cell(t, best, 0).median) best = end;
        char ms[32], near[200] = "";
        bench_summary s = bench_table_cell(t, best, 0);
        for (int r = first; r < end; r++) {
            if (r == best || bench_table_cell(t, r, 0).p5 > s.p95) continue;
            snprintf(near + strlen(near), sizeof near - strlen(near), "%s%s", near[0] ? ", " : "; within its spread: ",
                     t->rows[r].parameter[1]);
        }
        bench_table_note(t, "%s tokens: first token soonest with %s, %s ms%s", tokens, t->rows[best].parameter[1],
                         bench_number(s.median, ms), near);
    }
}
