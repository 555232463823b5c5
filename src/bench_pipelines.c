/* `tandem bench throughput` and `ttft`: one cold turn by pipeline and length of the prompt, as in the published tables
 * of the systems that the pipelines stand for. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/turn/pipeline.h"
#include "src/bench.h"
#include "src/bench_talk.h"
#include "src/interrupt.h"
#include "src/load.h"

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
    if (!status) status = bench_talk_open(&talk, b->models.model, machine, &o, 1, err);
    int unit = pipeline_of(pipeline)->prompt_unit;
    uint64_t tokens_before, ns_before, tokens_after, ns_after;
    prompt_work(machine, unit, &tokens_before, &ns_before);
    if (!status) status = bench_talk_send(&talk, text, err);
    if (!status) status = bench_talk_wait_ended(&talk, 1, err);
    prompt_work(machine, unit, &tokens_after, &ns_after);
    out->stats = talk.stats;
    uint64_t ns = ns_after - ns_before;
    out->prefill_tps = ns ? (double)(tokens_after - tokens_before) * 1e9 / (double)ns : 0;
    if (!status && talk.stats.prompt_tokens != (uint32_t)tokens)
        status =
            error_set(err, TDM_E_IO, "bench: the prompt has %u tokens instead of %d", talk.stats.prompt_tokens, tokens);
    free(text);
    bench_talk_close(&talk);
    return status;
}

static double ttft_ms(const tdm_turn_stats *s)
{
    return 1e-6 * (double)(s->first_id_ns - s->enter_ns);
}

/* Replaces lengths that are shorter than the template allows, and says so. */
static tdm_status feasible(bench *b, bench_table *t, const int *published, int n, int *lengths, tdm_error *err)
{
    size_t frame = 0;
    tdm_status status = bench_prompt_frame(b->models.model, &frame, err);
    for (int i = 0; i < n; i++) {
        lengths[i] = published[i] > (int)frame ? published[i] : (int)frame + 1;
        if (lengths[i] != published[i])
            bench_table_note(t, "%d tokens stand where the published tables have %d: the template alone has %zu here",
                             lengths[i], published[i], frame);
    }
    return status;
}

/* ---- throughput -------------------------------------------------------------------------------------------------- */

tdm_status bench_throughput(bench *b, tdm_error *err)
{
    static const tdm_pipeline pipelines[] = {TDM_PIPE_BATCH_SOLO, TDM_PIPE_SINGLE, TDM_PIPE_BATCH};
    static const int published[] = {13, 28, 74};
    enum { REPLY = 20, LENGTHS = 3 };
    int lengths[LENGTHS];
    tdm_machine *machine;
    bench_table *t = bench_new_table(b, "", "a cold prompt and 20 decoded tokens, temperature 0",
                                     "prompt_tokens|pipeline", "prefill:tok/s|decode:tok/s|total:ms", err);
    if (!t) return err->code;
    tdm_status status = bench_machine(b, &machine, !options_flag(b->o, OPTION_NO_LENDING), err);
    if (status) return status;
    status = feasible(b, t, published, LENGTHS, lengths, err);
    struct turn turn;
    for (int round = 0; !status && bench_again(b, round); round++)
        for (int i = 0; i < 9 && !status; i++) {
            int tokens = lengths[i / 3];
            tdm_pipeline p = pipelines[i % 3];
            if (!bench_wanted(b, "%d|%s", tokens, tdm_pipeline_name(p))) continue;
            bench_step(b, "%d tokens, %s", tokens, tdm_pipeline_name(p));
            if (round == 0) status = cold_turn(b, machine, p, NULL, tokens, 2, &turn, err);
            if (!status) status = cold_turn(b, machine, p, NULL, tokens, REPLY, &turn, err);
            if (status) break;
            int row = bench_table_row(t, "%d|%s", tokens, tdm_pipeline_name(p));
            bench_table_add(t, row, 0, turn.prefill_tps);
            bench_table_add(t, row, 1, turn.stats.decode_tps);
            bench_table_add(t, row, 2, 1e-6 * (double)(turn.stats.end_ns - turn.stats.enter_ns));
        }
    tdm_machine_close(machine);
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
static tdm_status open_wider(bench *b, tdm_model **out, tdm_error *err)
{
    char name[96];
    size_t n = strlen(b->model_name);
    static const char narrow[] = ":q8_0", wide[] = ":bf16";
    *out = NULL;
    if (strncmp(b->model_name, "synthetic:", 10) || n < sizeof narrow || strcmp(b->model_name + n - 5, narrow))
        return TDM_OK;
    snprintf(name, sizeof name, "%.*s%s", (int)n - 5, b->model_name, wide);
    bench_step(b, "opening %s", name);
    tdm_status status = load_model(out, b->o, name, &(load_how){0}, err);
    interrupt_catch(); /* loading has its own way with Ctrl-C */
    return status;
}

/* The rows of one length, the most telling first: a budget cuts from the end. */
static const struct ttft_row {
    tdm_pipeline pipeline;
    bool mixed; /* the prefill unit has the wider sibling */
} ttft_rows[] = {{TDM_PIPE_SINGLE, false}, {TDM_PIPE_BATCH, false}, {TDM_PIPE_BATCH, true},      {TDM_PIPE_TANDEM, false},
                 {TDM_PIPE_SLOTS, false},  {TDM_PIPE_SEQUENTIAL, false}, {TDM_PIPE_SEQUENTIAL_SOLO, false}};
enum { LENGTHS = 3, TTFT_ROWS = sizeof ttft_rows / sizeof *ttft_rows, LONG = 3 };

struct ttft {
    bench_table *t;
    tdm_machine *machine;
    tdm_model *wider;
    double wider_bytes;
    int lengths[LENGTHS], reply;
    bool dropped[LENGTHS][TTFT_ROWS];
};

static tdm_status ttft_one(bench *b, struct ttft *x, int round, int l, int r, tdm_error *err)
{
    const struct ttft_row *row = &ttft_rows[r];
    const tdm_model *prefill = row->mixed ? x->wider : NULL;
    struct turn turn;
    char name[48];
    tdm_status status = TDM_OK;
    snprintf(name, sizeof name, "%s%s", tdm_pipeline_name(row->pipeline), row->mixed ? MIXED : "");
    if ((row->mixed && !x->wider) || !bench_wanted(b, "%d|%s", x->lengths[l], name)) return TDM_OK;
    if (round == 0 && l > 0 && !bench_fits(b)) {
        x->dropped[l][r] = true;
        bench_left_out(x->t, "%d tokens, %s", x->lengths[l], name);
    }
    if (x->dropped[l][r]) return TDM_OK;
    bench_step(b, "%d tokens, %s", x->lengths[l], name);
    if (round == 0 && l == 0) /* warms up */
        status = cold_turn(b, x->machine, row->pipeline, prefill, x->lengths[l], 1, &turn, err);
    peak_memory();
    if (!status)
        status = cold_turn(b, x->machine, row->pipeline, prefill, x->lengths[l], round < LONG ? x->reply : 1, &turn, err);
    if (status) return status;
    int at = bench_table_row(x->t, "%d|%s", x->lengths[l], name);
    bench_table_add(x->t, at, 0, ttft_ms(&turn.stats));
    if (round < LONG) bench_table_add(x->t, at, 1, turn.stats.decode_tps);
    bench_table_add(x->t, at, 2, 1e-9 * (peak_memory() - (row->mixed ? 0 : x->wider_bytes)));
    return TDM_OK;
}

tdm_status bench_ttft(bench *b, tdm_error *err)
{
    static const int published[] = {6, 133, 410};
    enum { REPLY = 200, QUICK_REPLY = 20 };
    struct ttft x = {.reply = b->quick ? QUICK_REPLY : REPLY};
    char title[120];
    snprintf(title, sizeof title, "a cold prompt, %d tokens decoded greedily", x.reply);
    x.t = bench_new_table(b, "", title, "prompt_tokens|pipeline", "TTFT:ms|decode:tok/s|peak_memory:GB", err);
    if (!x.t) return err->code;
    tdm_status status = bench_machine(b, &x.machine, !options_flag(b->o, OPTION_NO_LENDING), err);
    if (!status) status = feasible(b, x.t, published, LENGTHS, x.lengths, err);
    bool mixed = false;
    for (int l = 0; l < LENGTHS && !status && !b->quick; l++) mixed |= bench_wanted(b, "%d|batch" MIXED, x.lengths[l]);
    if (!status && mixed) status = open_wider(b, &x.wider, err);
    if (x.wider) {
        tdm_model_info info;
        tdm_model_describe(x.wider, &info);
        x.wider_bytes = (double)info.packed_bytes;
        bench_table_note(x.t, "the BF16 weights, which are there all the time, are counted in the mixed rows alone");
    }
    bench_part(b, 1);
    for (int round = 0; !status && bench_again(b, round); round++)
        for (int l = 0; l < LENGTHS && !status; l++)
            for (int r = 0; r < TTFT_ROWS && !status; r++) status = ttft_one(b, &x, round, l, r, err);
    tdm_machine_close(x.machine);
    tdm_model_close(x.wider);
    return status;
}

/* Rows of one length need not stand together: files of several runs are joined. */
void bench_ttft_conclude(bench_table *t)
{
    for (int first = 0; first < t->n_rows; first++) {
        const char *tokens = t->rows[first].parameter[0];
        int best = first;
        bool again = false;
        for (int r = 0; r < t->n_rows; r++) {
            if (strcmp(t->rows[r].parameter[0], tokens)) continue;
            again |= r < first;
            if (bench_table_cell(t, r, 0).median < bench_table_cell(t, best, 0).median) best = r;
        }
        char ms[32];
        if (again) continue;
        bench_table_note(t, "%s tokens: first token soonest with %s, %s ms", tokens, t->rows[best].parameter[1],
                         bench_number(bench_table_cell(t, best, 0).median, ms));
    }
}
