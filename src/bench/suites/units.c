/* `tandem bench interference` and `crossover`: how much two busy units slow each other, and which unit prefills a
 * prompt faster. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/tandem/measure.h"
#include "engine/unit/topology.h"
#include "src/bench/bench.h"
#include "src/bench/loop.h"
#include "src/bench/report/plan.h"
#include "src/bench/talk.h"

enum { REPLY = 128, QUICK_REPLY = 24 };

/* ---- Interference ---------------------------------------------------------------------------------------------- */

static int reply_tokens(const bench *b)
{
    return b->quick ? QUICK_REPLY : REPLY;
}

/* Decode speed of a chat whose follower works through the reply (level history) or rests (off). */
static tdm_status followed(bench *b, tdm_machine *machine, tdm_speculation level, int seed, tdm_turn_stats *stats,
                           tdm_error *err)
{
    tdm_chat_options o;
    bench_talk talk;
    char *text = NULL;
    bench_chat_options(b, &o);
    o.speculation = level;
    o.max_tokens = reply_tokens(b);
    tdm_status status = bench_talk_open(&talk, b->models.model, machine, &o, err);
    if (!status) status = bench_prompt_message(&b->prompt, b->models.model, 131 * seed, BENCH_LOOP_START, &text, err);
    if (!status) status = bench_talk_ask(&talk, text, err);
    *stats = talk.stats;
    free(text);
    bench_talk_close(&talk);
    return status;
}

/* The speed of one unit that has all cores for itself. */
static tdm_status whole_machine(bench *b, bench_loop *like, int unit, double *tps, tdm_error *err)
{
    char cores[200];
    tdm_machine *machine = NULL;
    tdm_sequence *session = NULL, *mine = like->session;
    cores_format(&b->host.cores, cores, sizeof cores);
    tdm_machine_options m = {.prefill_unit = cores, .decode_unit = cores, .no_lending = true};
    tdm_status status = tdm_machine_open(&machine, &m, err);
    if (!status)
        status =
            bench_session(b, &session, machine, unit, BENCH_LOOP_PROMPT + reply_tokens(b), BENCH_LOOP_DISPATCH, err);
    like->session = session;
    if (!status) status = bench_loop_run(like, NULL, tps, NULL, err);
    like->session = mine;
    tdm_sequence_close(session);
    tdm_machine_close(machine);
    return status;
}

enum { I_TPS, I_KEPT, I_LAG };

/* The rows that are measured together in a round, since they are compared with each other. */
static const struct interference_row {
    const char *name;
    enum { WHOLE, LOOPS, CHATS } kind;
    bool lending;
} interference_rows[] = {
    {"one unit of all cores", WHOLE, false},     {"alone and both|on", LOOPS, true},
    {"chat, followed or not|on", CHATS, true},   {"alone and both|off", LOOPS, false},
    {"chat, followed or not|off", CHATS, false},
};
enum { INTERFERENCE_ROWS = sizeof interference_rows / sizeof *interference_rows };

struct interference {
    bench_table *t;
    tdm_machine *machine;
    bench_loop decode, prefill;
    double decode_whole, prefill_whole, decode_alone, prefill_alone; /* tok/s of this round; 0: not measured */
};

/* One row's value, and its share of the same unit's speed alone in this round. */
static void add(bench_table *t, const char *what, const char *lending, double tps, double alone)
{
    int row = bench_table_row(t, "%s|%s", what, lending);
    bench_table_add(t, row, I_TPS, tps);
    if (alone > 0) bench_table_add(t, row, I_KEPT, tps / alone);
}

static tdm_status measure_whole(bench *b, struct interference *x, tdm_error *err)
{
    bench_step(b, "one unit of all cores");
    tdm_status status = whole_machine(b, &x->decode, TDM_DECODE_UNIT, &x->decode_whole, err);
    if (!status) status = whole_machine(b, &x->prefill, TDM_PREFILL_UNIT, &x->prefill_whole, err);
    if (status) return status;
    add(x->t, "decode, one unit of all cores", "-", x->decode_whole, 0);
    add(x->t, "prefill, one unit of all cores", "-", x->prefill_whole, 0);
    return TDM_OK;
}

static tdm_status measure_loops(bench *b, struct interference *x, bool lending, tdm_error *err)
{
    const char *name = lending ? "on" : "off";
    double decode, prefill, decoded, prefilled;
    bench_step(b, "alone, lending %s", name);
    tdm_status status = bench_loop_run(&x->decode, NULL, &decode, NULL, err);
    if (!status) status = bench_loop_run(&x->prefill, NULL, &prefill, NULL, err);
    if (status) return status;
    add(x->t, "decode alone", name, decode, x->decode_whole);
    add(x->t, "prefill alone", name, prefill, x->prefill_whole);
    if (lending) {
        x->decode_alone = decode;
        x->prefill_alone = prefill;
    }
    bench_step(b, "both, lending %s", name);
    status = bench_loop_run(&x->decode, &x->prefill, &decoded, &prefilled, err);
    if (status) return status;
    add(x->t, "decode while the other unit prefills", name, decoded, x->decode_alone);
    add(x->t, "prefill while the other unit decodes", name, prefilled, x->prefill_alone);
    return TDM_OK;
}

static tdm_status measure_chats(bench *b, struct interference *x, bool lending, int round, tdm_error *err)
{
    const char *name = lending ? "on" : "off";
    tdm_turn_stats alone, while_following;
    bench_step(b, "chats, lending %s", name);
    tdm_status status = followed(b, x->machine, TDM_SPEC_OFF, 2 * round, &alone, err);
    if (!status) status = followed(b, x->machine, TDM_SPEC_HISTORY, 2 * round, &while_following, err);
    if (status) return status;
    add(x->t, "decode of a chat, not followed", name, alone.decode_tps, 0);
    add(x->t, "decode of a chat, followed", name, while_following.decode_tps, alone.decode_tps);
    bench_table_add(x->t, bench_table_row(x->t, "decode of a chat, followed|%s", name), I_LAG, while_following.lag_max);
    return TDM_OK;
}

static tdm_status measure_interference(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    struct interference *x = ctx;
    const struct interference_row *row = &interference_rows[number];
    tdm_machine_set_lending(x->machine, row->lending);
    switch (row->kind) {
    case WHOLE:
        return measure_whole(b, x, err);
    case LOOPS:
        return measure_loops(b, x, row->lending, err);
    default:
        return measure_chats(b, x, row->lending, round, err);
    }
}

tdm_status bench_interference(bench *b, tdm_error *err)
{
    struct interference x = {0};
    tdm_ids ids = {0};
    x.t = bench_new_table(
        b, "",
        "speed of a unit while the other one is at work; kept: of the unit alone with lending in the same "
        "round (alone: of a unit that has all cores; followed: of not followed)",
        "work|lending", "speed:tok/s|kept:x|lag_max:tokens", err);
    tdm_status status =
        x.t ? bench_prompt_ids(&b->prompt, b->models.model, 0, BENCH_LOOP_PROMPT, &ids, err) : err->code;
    if (!status) status = bench_machine(b, &x.machine, true, err);
    int context = BENCH_LOOP_PROMPT + reply_tokens(b);
    x.decode = (bench_loop){.prompt = ids.ids, .decodes = true, .room = reply_tokens(b), .tokens = reply_tokens(b) / 2};
    x.prefill = (bench_loop){.prompt = ids.ids, .tokens = (b->quick ? 1 : 2) * BENCH_LOOP_PROMPT};
    if (!status)
        status = bench_session(b, &x.decode.session, x.machine, TDM_DECODE_UNIT, context, BENCH_LOOP_DISPATCH, err);
    if (!status)
        status = bench_session(b, &x.prefill.session, x.machine, TDM_PREFILL_UNIT, context, BENCH_LOOP_DISPATCH, err);
    if (!status) {
        bench_plan plan;
        bench_plan_open(&plan, x.t);
        for (int i = 0; i < INTERFERENCE_ROWS; i++) bench_plan_add(b, &plan, "%s", interference_rows[i].name);
        status = bench_plan_run(b, &plan, measure_interference, &x, err);
        bench_plan_close(&plan);
    }
    tdm_sequence_close(x.decode.session);
    tdm_sequence_close(x.prefill.session);
    tdm_machine_close(x.machine);
    tdm_ids_free(&ids);
    return status;
}

/* ---- Crossover ------------------------------------------------------------------------------------------------- */

/* Milliseconds that the unit needs for the prompt. */
static tdm_status prefill_ms(tdm_sequence *s, const tdm_id *ids, int n, double *out, tdm_error *err)
{
    tdm_sequence_clear(s);
    int64_t start = clock_ns();
    tdm_status status = tdm_sequence_eval(s, ids, (size_t)n, true, NULL, err);
    *out = 1e-6 * (double)(clock_ns() - start);
    return status;
}

static const int crossover_lengths[] = {13, 28, 74, 133, 256, 512};
enum { LENGTHS = sizeof crossover_lengths / sizeof *crossover_lengths };

/* The splits of the cores that are measured, and the one that is set up. */
struct crossover {
    bench_table *t;
    tdm_ids ids;
    int splits[32], n_splits; /* cores of the prefill unit */
    int cores;                /* of it now; 0: nothing is open */
    tdm_machine *machine;
    tdm_sequence *session[TDM_UNITS];
};

static void close_split(struct crossover *x)
{
    for (int u = 0; u < TDM_UNITS; u++) tdm_sequence_close(x->session[u]);
    tdm_machine_close(x->machine);
    x->session[0] = x->session[1] = NULL;
    x->machine = NULL;
    x->cores = 0;
}

/* The first `cores` cores prefill, the others decode. */
static tdm_status open_split(bench *b, struct crossover *x, int cores, tdm_error *err)
{
    struct cores sets[TDM_UNITS] = {{.count = cores}, {.count = b->host.cores.count - cores}};
    char names[TDM_UNITS][200];
    double took;
    close_split(x);
    memcpy(sets[0].cpu, b->host.cores.cpu, sizeof(int) * (size_t)cores);
    memcpy(sets[1].cpu, b->host.cores.cpu + cores, sizeof(int) * (size_t)sets[1].count);
    for (int u = 0; u < TDM_UNITS; u++) cores_format(&sets[u], names[u], sizeof names[u]);
    const options *o = b->o;
    tdm_machine_options m = {.prefill_unit = names[0],
                             .decode_unit = names[1],
                             .prefill_kind = options_text(o, OPTION_PREFILL_KIND),
                             .decode_kind = options_text(o, OPTION_DECODE_KIND),
                             .no_lending = true};
    tdm_status status = tdm_machine_open(&x->machine, &m, err);
    for (int u = 0; u < TDM_UNITS && !status; u++) {
        status =
            bench_session(b, &x->session[u], x->machine, u, crossover_lengths[LENGTHS - 1], BENCH_LOOP_DISPATCH, err);
        if (!status) status = prefill_ms(x->session[u], x->ids.ids, crossover_lengths[0], &took, err); /* warms up */
    }
    x->cores = cores;
    return status;
}

static tdm_status measure_crossover(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    struct crossover *x = ctx;
    int cores = x->splits[number / LENGTHS], tokens = crossover_lengths[number % LENGTHS];
    tdm_status status = x->cores == cores ? TDM_OK : open_split(b, x, cores, err);
    (void)round;
    for (int u = 0; u < TDM_UNITS && !status; u++) {
        double took;
        bench_step(b, "%d tokens, %s unit of %d cores", tokens, u ? "decode" : "prefill",
                   u ? b->host.cores.count - cores : cores);
        status = prefill_ms(x->session[u], x->ids.ids, tokens, &took, err);
        if (!status) bench_table_add(x->t, bench_table_row(x->t, "%d|%d", cores, tokens), u, took);
    }
    return status;
}

static void plan_crossover(bench *b, const struct crossover *x, bench_plan *plan)
{
    for (int s = 0; s < x->n_splits; s++)
        for (int i = 0; i < LENGTHS; i++) {
            if (!bench_fits(b, x->t, crossover_lengths[i], 0))
                bench_plan_skip(plan);
            else
                bench_plan_add(b, plan, "%d|%d", x->splits[s], crossover_lengths[i]);
        }
}

/* ---- Crossover between kinds ------------------------------------------------------------------------------------- */

struct kinds {
    bench_table *t;
    const bench_pairs *pairs;
    tdm_ids ids;
};

/* A prompt is of use only where its reply is decoded, so the time that brings its state there is included. */
static tdm_status measure_kinds(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    struct kinds *x = ctx;
    const bench_pair *pair = &x->pairs->pair[number / LENGTHS];
    int tokens = crossover_lengths[number % LENGTHS];
    tdm_sequence *from = pair->session[TDM_PREFILL_UNIT], *to = pair->session[TDM_DECODE_UNIT];
    tdm_status status = TDM_OK;
    bench_step(b, "%s, %d tokens", pair->name, tokens);
    for (int warm = round == 0; warm >= 0 && !status; warm--) {
        double took;
        size_t n;
        status = prefill_ms(from, x->ids.ids, tokens, &took, err);
        tdm_sequence_clear(to);
        int64_t start = clock_ns();
        if (!status && bench_pair_shares(pair))
            status = tdm_sequence_handover(to, from, err);
        else if (!status)
            status = tdm_sequence_cross(to, from, &n, err);
        double moved = 1e-6 * (double)(clock_ns() - start);
        if (status || warm) continue;
        int row = bench_table_row(x->t, "%s|%d", pair->name, tokens);
        bench_table_add(x->t, row, 0, took + moved);
        bench_table_add(x->t, row, 1, took);
        bench_table_add(x->t, row, 2, moved);
    }
    return status;
}

static tdm_status crossover_of_kinds(bench *b, tdm_error *err)
{
    struct kinds x = {0};
    static const char *const rows[] = {"13", "28", "74", "133", "256", "512", NULL}; /* the lengths */
    if (!bench_pairs_wanted(b, rows)) return TDM_OK;
    x.t = bench_new_table(b, "pairs", "a prompt read by PREFILL, and its state brought to DECODE",
                          "units|prompt_tokens", "ready:ms|prefill:ms|moved:ms", err);
    if (!x.t) return err->code;
    bench_plan plan;
    bench_plan_open(&plan, x.t);
    tdm_status status = bench_pairs_open(b, x.t, rows, &x.pairs, err);
    if (!status)
        status = bench_prompt_ids(&b->prompt, b->models.model, 0, (size_t)crossover_lengths[LENGTHS - 1], &x.ids, err);
    if (!status) bench_plan_add_pairs(b, &plan, rows, crossover_lengths);
    if (!status) status = bench_plan_run(b, &plan, measure_kinds, &x, err);
    bench_plan_close(&plan);
    tdm_ids_free(&x.ids);
    return status;
}

/* Of two pairs that decode on one kind, from which length on the GPU reads sooner than the cores. */
static void conclude_kinds(bench_table *t)
{
    static const char *const twins[2][2] = {{"GPU+GPU", "cores+GPU"}, {"GPU+cores", "cores+cores"}};
    for (int k = 0; k < 2; k++) {
        const char *from = NULL;
        int both = 0;
        for (int r = 0; r < t->n_rows; r++) {
            if (strcmp(t->rows[r].parameter[0], twins[k][0])) continue;
            for (int c = 0; c < t->n_rows; c++) {
                if (strcmp(t->rows[c].parameter[0], twins[k][1]) ||
                    strcmp(t->rows[c].parameter[1], t->rows[r].parameter[1]))
                    continue;
                both++;
                bool sooner = bench_table_cell(t, r, 0).p95 < bench_table_cell(t, c, 0).p5;
                from = !sooner ? NULL : from ? from : t->rows[r].parameter[1];
            }
        }
        if (!both) continue;
        if (from) bench_table_note(t, "%s is sooner than %s from %s tokens on", twins[k][0], twins[k][1], from);
        else bench_table_note(t, "%s is not sooner than %s at these lengths", twins[k][0], twins[k][1]);
    }
}

/* ---- All of crossover -------------------------------------------------------------------------------------------- */

static tdm_status crossover_of_cores(bench *b, tdm_error *err)
{
    struct crossover x = {0};
    int all = b->host.cores.count;
    x.t = bench_new_table(b, "", "prefill by each unit alone, without lending, by cores of the prefill unit",
                          "prefill_cores|prompt_tokens", "prefill_unit:ms|decode_unit:ms", err);
    if (!x.t) return err->code;
    if (all < 2) {
        bench_table_note(x.t, "one core: both units share it, nothing can cross");
        b->any_row_wanted = true;
        return TDM_OK;
    }
    for (int cores = 1; cores < all && x.n_splits < 32;
         cores = 2 * cores < all || cores == all - 1 ? 2 * cores : all - 1)
        x.splits[x.n_splits++] = cores;
    tdm_status status =
        bench_prompt_ids(&b->prompt, b->models.model, 0, (size_t)crossover_lengths[LENGTHS - 1], &x.ids, err);
    bench_plan plan;
    bench_plan_open(&plan, x.t);
    plan_crossover(b, &x, &plan);
    x.t->unwanted = !bench_plan_wanted(&plan);
    if (!status && !x.t->unwanted) status = bench_plan_run(b, &plan, measure_crossover, &x, err);
    bench_plan_close(&plan);
    close_split(&x);
    tdm_ids_free(&x.ids);
    return status;
}

tdm_status bench_crossover(bench *b, tdm_error *err)
{
    if (b->host.gpu[0]) bench_part(b, 0.5);
    tdm_status status = crossover_of_cores(b, err);
    if (b->host.gpu[0]) bench_part(b, 1);
    return status ? status : crossover_of_kinds(b, err);
}

/* Says from which length on the other unit is the faster one. */
void bench_crossover_conclude(bench_table *t)
{
    if (!strcmp(t->part, "pairs")) {
        conclude_kinds(t);
        return;
    }
    for (int r = 0; r < t->n_rows;) {
        const char *cores = t->rows[r].parameter[0];
        char found[80] = "";
        int faster_before = -1;
        for (; r < t->n_rows && !strcmp(t->rows[r].parameter[0], cores); r++) {
            bench_summary p = bench_table_cell(t, r, 0), d = bench_table_cell(t, r, 1);
            bool overlap = p.p5 <= d.p95 && d.p5 <= p.p95;
            int faster = overlap ? faster_before : p.median < d.median;
            if (faster_before >= 0 && faster != faster_before)
                snprintf(found, sizeof found, "at about %s tokens", t->rows[r].parameter[1]);
            faster_before = faster;
        }
        bench_table_note(t, "with %s core%s prefilling: crossover %s", cores, strcmp(cores, "1") ? "s" : "",
                         found[0]             ? found
                         : faster_before < 0  ? "none; the units are equally fast within the spread"
                         : faster_before == 1 ? "none; the prefill unit is faster at every length where they differ"
                                              : "none; the decode unit is faster at every length where they differ");
    }
}
