/* `tandem bench turns`: conversations of three turns, typed in real time. Tables: every pipeline and level of
 * speculation; the pairs of units where there is a GPU (turns_pairs.c); the time between last key and Enter; slow
 * typists, after the reply and into it; replies whose state is adopted, against the same ones read again; and the ways
 * of thinking that the model's chat template has. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/chat/policy/pipeline.h"
#include "src/bench/bench.h"
#include "src/bench/report/plan.h"
#include "src/bench/suites/played.h"
#include "src/bench/suites/turns_pairs.h"
#include "src/figures/figures.h"

enum { TURNS = 3, WARM_TURNS = 30 /* of a row in full */ };
#define CPS 30.0

/* The most telling first: a budget cuts from the end. */
static const bench_variant variants[] = {
    {.pipeline = TDM_PIPE_TANDEM, .level = TDM_SPEC_FULL},     {.pipeline = TDM_PIPE_SINGLE},
    {.pipeline = TDM_PIPE_TANDEM, .level = TDM_SPEC_HISTORY},  {.pipeline = TDM_PIPE_TANDEM, .level = TDM_SPEC_DRAFT},
    {.pipeline = TDM_PIPE_TANDEM, .level = TDM_SPEC_OFF},      {.pipeline = TDM_PIPE_BATCH},
    {.pipeline = TDM_PIPE_SLOTS}, {.pipeline = TDM_PIPE_BATCH_SOLO}, {.pipeline = TDM_PIPE_SEQUENTIAL},
    {.pipeline = TDM_PIPE_SEQUENTIAL_SOLO},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static double ms(int64_t ns)
{
    return 1e-6 * (double)ns;
}

/* ---- Pipelines and levels -------------------------------------------------------------------------------------- */

enum { P_WARM, P_COLD, P_AFTER, P_PREFILL, P_TRANSFER, P_DECODE, P_TURN, P_TOTAL, P_LAG, P_OTHER };

static void add_played(bench_table *t, int row, const bench_played *p, const bench_played *first)
{
    double total = 0;
    for (int i = 0; i < TURNS; i++) {
        const tdm_turn_stats *s = &p->stats[i];
        total += ms(s->end_ns - s->enter_ns);
        bench_table_add(t, row, i ? P_WARM : P_COLD, figures_ttft_ms(s, 0));
        bench_table_add(t, row, P_DECODE, s->decode_tps);
        bench_table_add(t, row, P_OTHER, s->ids_hash != first->stats[i].ids_hash);
        if (!i) continue;
        bench_table_add(t, row, P_AFTER, s->after_enter);
        bench_table_add(t, row, P_PREFILL, p->prefill_ms[i]);
        bench_table_add(t, row, P_TRANSFER, s->handover_ms);
        bench_table_add(t, row, P_TURN, ms(s->end_ns - s->enter_ns));
        bench_table_add(t, row, P_LAG, s->lag_max);
    }
    bench_table_add(t, row, P_TOTAL, total);
}

/* The sentence that the table is made for. */
void bench_turns_conclude(bench_table *t)
{
    int tandem = -1, single = -1, differing = 0;
    if (!strcmp(t->part, "pairs")) bench_turns_pairs_conclude(t);
    if (strcmp(t->part, "pipelines")) return;
    for (int r = 0; r < t->n_rows; r++) {
        const figures_row *other = &t->rows[r].value[P_OTHER];
        if (!strcmp(t->rows[r].parameter[0], "single")) single = r;
        if (!strcmp(t->rows[r].parameter[0], "tandem") && !strcmp(t->rows[r].parameter[1], "full")) tandem = r;
        for (int i = 0; i < other->n; i++) differing += other->values[i] > 0;
    }
    bench_summary warm = bench_table_cell(t, tandem, P_WARM), cold = bench_table_cell(t, single, P_WARM);
    bench_ratio ratio = bench_ratio_of(&cold, &warm);
    char w[32], c[32], p95[32], times[120];
    if (!warm.n || !cold.n) return;
    bench_table_note(t, "warm %s ms (95th percentile %s) against %s ms cold, %s, %d turns; %s",
                     bench_number(warm.median, w), bench_number(warm.p95, p95), bench_number(cold.median, c),
                     differing ? "NOT the same tokens" : "same tokens", warm.n,
                     bench_ratio_text(&ratio, times, sizeof times));
    if (differing) bench_table_note(t, "turns whose tokens differ from those of the first row: %d", differing);
}

/* One turn whose figures are not kept: memory is touched, clocks rise. */
static tdm_status warm_up(bench *b, tdm_machine *machine, tdm_error *err)
{
    bench_played played;
    const bench_keying typing = {.turns = 1};
    bench_step(b, "warming up");
    return bench_play(b, machine, &variants[0], &typing, 0, &played, err);
}

struct turns {
    tdm_machine *machine;
    bench_table *pipelines, *gaps, *typed, *adopted, *thinking;
    tdm_thinking ways[TDM_THINKINGS]; /* of thinking */
    bench_played first; /* of the round that runs */
    int first_round;     /* whose round that is; -1: none yet */
};

static bench_keying pipelines_typing(const bench *b)
{
    return (bench_keying){.turns = TURNS, .cps = CPS, .gap_s = {0.3, 0.3, 0.3}, .last_words = bench_live_words(b)};
}

/* The first row of a round is what the others' tokens are held against. */
static void compare_with_first(struct turns *x, int round, const bench_played *played)
{
    if (x->first_round == round) return;
    x->first = *played;
    x->first_round = round;
}

static tdm_status measure_pipeline(bench *b, void *ctx, int v, int round, tdm_error *err)
{
    struct turns *x = ctx;
    const char *pipeline = tdm_pipeline_name(variants[v].pipeline), *level = bench_variant_level(&variants[v]);
    const bench_keying typing = pipelines_typing(b);
    bench_played played;
    bench_step(b, "%s %s", pipeline, level);
    tdm_status status = bench_play(b, x->machine, &variants[v], &typing, round, &played, err);
    if (status) return status;
    compare_with_first(x, round, &played);
    add_played(x->pipelines, bench_table_row(x->pipelines, "%s|%s", pipeline, level), &played, &x->first);
    return TDM_OK;
}

/* Opens a table whose title names the tokens of a message and of a reply, and its plan; NULL without memory. */
static bench_table *open_part(bench *b, bench_plan *plan, const char *part, const char *title, const char *parameters,
                              const char *measures, tdm_error *err)
{
    char text[200];
    snprintf(text, sizeof text, title, BENCH_MESSAGE_TOKENS, bench_reply_tokens(b));
    bench_table *t = bench_new_table(b, part, text, parameters, measures, err);
    bench_plan_open(plan, t);
    if (t) bench_note_live_words(b, t);
    return t;
}

static bench_table *plan_pipelines(bench *b, bench_plan *plan, tdm_error *err)
{
    bench_table *t =
        open_part(b, plan, "pipelines",
                  "3 turns, %d-token messages, %d-token replies, typed at 30 characters a second, Enter 300 ms "
                  "after the last key; TTFT: Enter to first token id",
                  "pipeline|speculation",
                  "warm_TTFT:ms|first_TTFT:ms|after_Enter:tokens|prefill:ms|transfer:ms|decode:tok/s|"
                  "warm_turn:ms|three_turns:ms|lag_max:tokens|other_tokens:turns",
                  err);
    for (int v = 0; t && v < VARIANTS; v++) {
        bench_plan_add(b, plan, "%s|%s", tdm_pipeline_name(variants[v].pipeline), bench_variant_level(&variants[v]));
        if (b->full_counts) bench_plan_most(plan, bench_full_count(b, WARM_TURNS / (TURNS - 1)));
    }
    return t;
}

/* ---- Gaps ------------------------------------------------------------------------------------------------------ */

static const int gap_ms[] = {0, 100, 300, 1000};
enum { GAPS = BENCH_TALK_TURNS - 1 };

/* A conversation with every gap once, in another order each time: later turns have longer histories. */
static bench_keying gaps_typing(const bench *b, int round)
{
    bench_keying typing = {.turns = 1 + GAPS, .cps = CPS, .last_words = bench_live_words(b)};
    for (int i = 0; i < GAPS; i++) typing.gap_s[1 + i] = 1e-3 * gap_ms[(i + round) % GAPS];
    return typing;
}

static tdm_status measure_gaps(bench *b, void *ctx, int unused, int round, tdm_error *err)
{
    struct turns *x = ctx;
    bench_played played;
    const bench_keying typing = gaps_typing(b, round);
    (void)unused;
    bench_step(b, "a conversation with gaps of 0 to 1000 ms");
    tdm_status status = bench_play(b, x->machine, &variants[0], &typing, 100 + round, &played, err);
    if (status) return status;
    for (int i = 0; i < GAPS; i++) bench_table_row(x->gaps, "%d", gap_ms[i]); /* in their order */
    for (int i = 0; i < GAPS; i++) {
        const tdm_turn_stats *s = &played.stats[1 + i];
        int row = bench_table_row(x->gaps, "%d", gap_ms[(i + round) % GAPS]);
        bench_table_add(x->gaps, row, 0, figures_ttft_ms(s, 0));
        bench_table_add(x->gaps, row, 1, s->after_enter);
        bench_table_add(x->gaps, row, 2, s->handover_ms);
        bench_table_add(x->gaps, row, 3, s->wasted);
        bench_table_add(x->gaps, row, 4, s->lag_max);
        bench_table_add(x->gaps, row, 5, s->decode_tps);
        if (played.pause_ms[1 + i] > 0) bench_table_add(x->gaps, row, 6, played.pause_ms[1 + i]);
    }
    return TDM_OK;
}

static bench_table *plan_gaps(bench *b, bench_plan *plan, tdm_error *err)
{
    bench_table *t = open_part(
        b, plan, "gaps",
        "warm turns of tandem, full speculation, by the time between last key and Enter; %d-token "
        "messages typed at 30 characters a second after the reply of %d tokens",
        "ms_gap", "TTFT:ms|after_Enter:tokens|hand-over:ms|wasted:tokens|lag_max:tokens|decode:tok/s|pause:ms", err);
    if (!t) return NULL;
    bench_plan_add(b, plan, "a conversation with all gaps");
    if (b->full_counts) bench_plan_most(plan, bench_full_count(b, WARM_TURNS));
    return t;
}

/* ---- Slow typists ---------------------------------------------------------------------------------------------- */

enum { TYPIST_WORDS = 6, SPEEDS = 2, TYPIST_VARIANTS = 5, TYPISTS = SPEEDS * 2 * TYPIST_VARIANTS };
static const int words_a_minute[SPEEDS] = {100, 40};

enum { T_TTFT, T_PREFILL, T_TRANSFER, T_DECODE, T_TURN, T_TOTAL, T_AFTER, T_SUFFIX, T_AHEAD, T_WASTED, T_PAUSE };

/* "100|after the reply|tandem|full". Returns out. */
static char *typist(int kind, char *out, size_t room)
{
    const bench_variant *v = &variants[kind % TYPIST_VARIANTS];
    bool streams = kind / TYPIST_VARIANTS % 2;
    snprintf(out, room, "%d|%s|%s|%s", words_a_minute[kind / TYPIST_VARIANTS / 2],
             streams ? "while it streams" : "after the reply", tdm_pipeline_name(v->pipeline), bench_variant_level(v));
    return out;
}

/* The first turn, which nothing can be read ahead of, has a row of its own. */
static void add_typed(bench_table *t, const char *who, const bench_played *p)
{
    double total = 0;
    int later = bench_table_row(t, "%s|2 and 3", who);
    for (int i = 0; i < TURNS; i++) {
        const tdm_turn_stats *s = &p->stats[i];
        int row = i ? later : bench_table_row(t, "%s|1", who);
        total += ms(s->end_ns - s->enter_ns);
        bench_table_add(t, row, T_TTFT, figures_ttft_ms(s, 0));
        bench_table_add(t, row, T_PREFILL, p->prefill_ms[i]);
        bench_table_add(t, row, T_TRANSFER, s->handover_ms);
        bench_table_add(t, row, T_DECODE, s->decode_tps);
        bench_table_add(t, row, T_TURN, ms(s->end_ns - s->enter_ns));
        bench_table_add(t, row, T_AFTER, s->after_enter);
        if (!p->typed[i]) continue;
        bench_table_add(t, row, T_SUFFIX, s->suffix_evaluations);
        bench_table_add(t, row, T_AHEAD, (double)s->turn_before_enter / (double)p->typed[i]);
        bench_table_add(t, row, T_WASTED, (double)s->wasted / (double)p->typed[i]);
        if (p->pause_ms[i] > 0) bench_table_add(t, row, T_PAUSE, p->pause_ms[i]);
    }
    bench_table_add(t, later, T_TOTAL, total);
}

static bench_keying typist_typing(int kind)
{
    return (bench_keying){.turns = TURNS,
                           .cps = words_a_minute[kind / TYPIST_VARIANTS / 2] * 5 / 60.0,
                           .last_words = TYPIST_WORDS,
                           .unread = true,
                           .while_it_streams = kind / TYPIST_VARIANTS % 2};
}

static tdm_status measure_typist(bench *b, void *ctx, int kind, int round, tdm_error *err)
{
    struct turns *x = ctx;
    const bench_keying typing = typist_typing(kind);
    bench_played played;
    char who[100];
    typist(kind, who, sizeof who);
    bench_step(b, "typed, %s", who);
    const bench_variant *v = &variants[kind % TYPIST_VARIANTS];
    tdm_status status = bench_play(b, x->machine, v, &typing, 500 + round, &played, err);
    if (!status) add_typed(x->typed, who, &played);
    return status;
}

static bench_table *plan_typists(bench *b, bench_plan *plan, tdm_error *err)
{
    bench_table *t =
        bench_new_table(b, "typed",
                        "the last 6 words of messages 2 and 3 typed live, a word being 5 characters; all else stands "
                        "there before the clock starts",
                        "words_a_minute|typed|pipeline|speculation|turn",
                        "TTFT:ms|prefill:ms|transfer:ms|decode:tok/s|turn:ms|three_turns:ms|after_Enter:tokens|"
                        "suffix_evaluations:count|ahead:tokens/key|wasted:tokens/key|pause:ms",
                        err);
    bench_plan_open(plan, t);
    if (!t) return NULL;
    bench_table_note(
        t, "pause: from the last key to the evaluation of the suffix, where it came before Enter; it is set to "
           "auto (none after a sentence, else twice what the suffix or a key takes, at most 150 ms). A "
           "pause between two words can be one too: suffix evaluations counts them all");
    for (int kind = 0; kind < TYPISTS; kind++) {
        char who[100];
        bench_plan_add(b, plan, "%s", typist(kind, who, sizeof who));
        if (b->full_counts) bench_plan_most(plan, bench_full_count(b, WARM_TURNS / (TURNS - 1)));
    }
    return t;
}

/* ---- Adoption -------------------------------------------------------------------------------------------------- */

enum { A_TTFT, A_AFTER, A_READ, A_READ_MS, A_ADOPTED, A_REPLY, A_DECODE, A_OTHER };
static const bench_variant adoption[] = {{TDM_PIPE_TANDEM, TDM_SPEC_FULL, .keeps = true, .adopts = true},
                                          {TDM_PIPE_TANDEM, TDM_SPEC_FULL, .keeps = true}};
enum { ADOPTION = sizeof adoption / sizeof *adoption };

static const char *adoption_name(int v)
{
    return adoption[v].adopts ? "adopted" : "read again";
}

static tdm_status measure_adoption(bench *b, void *ctx, int v, int round, tdm_error *err)
{
    struct turns *x = ctx;
    const bench_keying typing = pipelines_typing(b);
    bench_played played;
    bench_step(b, "replies %s", adoption_name(v));
    tdm_status status = bench_play(b, x->machine, &adoption[v], &typing, 900 + round, &played, err);
    if (status) return status;
    compare_with_first(x, round, &played);
    int row = bench_table_row(x->adopted, "%s", adoption_name(v));
    for (int i = 1; i < TURNS; i++) {
        const tdm_turn_stats *s = &played.stats[i];
        bench_table_add(x->adopted, row, A_TTFT, figures_ttft_ms(s, 0));
        bench_table_add(x->adopted, row, A_AFTER, s->after_enter);
        bench_table_add(x->adopted, row, A_READ, played.history_tokens[i]);
        bench_table_add(x->adopted, row, A_READ_MS, played.history_ms[i]);
        bench_table_add(x->adopted, row, A_ADOPTED, s->adopted);
        bench_table_add(x->adopted, row, A_REPLY, played.stats[i - 1].reply_tokens);
        bench_table_add(x->adopted, row, A_DECODE, s->decode_tps);
        bench_table_add(x->adopted, row, A_OTHER, s->ids_hash != x->first.stats[i].ids_hash);
    }
    return TDM_OK;
}

static bench_table *plan_adoption(bench *b, bench_plan *plan, tdm_error *err)
{
    bench_table *t =
        open_part(b, plan, "adoption",
                  "warm turns of tandem, full speculation, under the template of Qwen3.8, thinking off; %d-token "
                  "messages, replies of at most %d tokens, Enter 300 ms after the last key",
                  "last_reply",
                  "TTFT:ms|after_Enter:tokens|history_read:tokens|history:ms|adopted:tokens|reply:tokens|decode:tok/s|"
                  "other_tokens:turns",
                  err);
    if (!t) return NULL;
    bench_table_note(t, "history read: tokens before the message that prefill evaluated since the last turn's first "
                        "token; reply: of that turn");
    bench_table_note(t, "a reply is adopted where its text has the ids that were decoded, which a model with made-up "
                        "weights seldom gives");
    for (int v = 0; v < ADOPTION; v++) {
        bench_plan_add(b, plan, "%s", adoption_name(v));
        if (b->full_counts) bench_plan_most(plan, bench_full_count(b, WARM_TURNS / (TURNS - 1)));
    }
    return t;
}

/* ---- Thinking -------------------------------------------------------------------------------------------------- */

enum { W_TTFT, W_AFTER, W_SUFFIX, W_READ, W_READ_MS, W_REPLY, W_THOUGHT, W_DECODE };

static tdm_status measure_thinking(bench *b, void *ctx, int row, int round, tdm_error *err)
{
    struct turns *x = ctx;
    const bench_keying typing = pipelines_typing(b);
    /* Made-up weights mostly repeat the last token, which may be a blank, and a reply of blanks counts as none. */
    const bench_variant v = {TDM_PIPE_TANDEM, TDM_SPEC_FULL, .think = x->ways[row], .varied = true};
    const char *name = tdm_thinking_name(v.think);
    bench_played played;
    bench_step(b, "thinking %s", name);
    tdm_status status = bench_play(b, x->machine, &v, &typing, 1300 + round, &played, err);
    if (status) return status;
    int at = bench_table_row(x->thinking, "%s", name);
    for (int i = 1; i < TURNS; i++) {
        const tdm_turn_stats *s = &played.stats[i], *last = &played.stats[i - 1];
        bench_table_add(x->thinking, at, W_TTFT, figures_ttft_ms(s, 0));
        bench_table_add(x->thinking, at, W_AFTER, s->after_enter);
        bench_table_add(x->thinking, at, W_SUFFIX, s->suffix_evaluations);
        bench_table_add(x->thinking, at, W_READ, played.history_tokens[i]);
        bench_table_add(x->thinking, at, W_READ_MS, played.history_ms[i]);
        bench_table_add(x->thinking, at, W_REPLY, last->reply_tokens);
        bench_table_add(x->thinking, at, W_THOUGHT, last->thinking_tokens);
        bench_table_add(x->thinking, at, W_DECODE, s->decode_tps);
    }
    return TDM_OK;
}

/* No rows where the template knows no thinking. */
static bench_table *plan_thinking(bench *b, bench_plan *plan, struct turns *x, tdm_error *err)
{
    bench_table *t = open_part(b, plan, "thinking",
                               "warm turns of tandem, full speculation, by the ways of thinking that the model's chat "
                               "template has; %d-token messages, %d-token replies, Enter 300 ms after the last key",
                               "thinking",
                               "TTFT:ms|after_Enter:tokens|suffix_evaluations:count|history_read:tokens|history:ms|"
                               "reply:tokens|thought:tokens|decode:tok/s",
                               err);
    if (!t || b->info.thinkings == 1u << TDM_THINK_OFF) return t;
    bench_table_note(t, "history read: tokens before the message that prefill evaluated since the last turn's first "
                        "token; reply, thought: of that turn");
    bench_table_note(t, "made-up weights end no thinking that a prompt has opened: such a turn has no text later");
    bench_table_note(t, "no token is repeated soon (penalty 100): replies of blanks alone would count as none");
    for (int way = 0, n = 0; way < TDM_THINKINGS; way++) {
        if (!(b->info.thinkings >> way & 1)) continue;
        x->ways[n++] = (tdm_thinking)way;
        bench_plan_add(b, plan, "%s", tdm_thinking_name((tdm_thinking)way));
        if (b->full_counts) bench_plan_most(plan, bench_full_count(b, WARM_TURNS / (TURNS - 1)));
    }
    return t;
}

/* ---- All ------------------------------------------------------------------------------------------------------- */

enum { PIPELINES, PAIRS, GAPS_PART, TYPISTS_PART, ADOPTION_PART, THINKING_PART, PARTS };

tdm_status bench_turns(bench *b, tdm_error *err)
{
    static bench_measure *const measure[PARTS] = {measure_pipeline, bench_turns_measure_pair, measure_gaps,
                                                  measure_typist,   measure_adoption,         measure_thinking};
    static const double weights[2][PARTS] = {{0.55, 0.5, 0.2, 0.15, 0.1, 0.1},
                                             {0.85, 0.8, 0.05, 0.05, 0.05, 0.05}}; /* the latter with --quick */
    const double *weight = weights[b->quick];
    struct turns x = {.first_round = -1};
    bench_turns_pairs pairs = {0};
    void *const ctx[PARTS] = {&x, &pairs, &x, &x, &x, &x};
    bench_plan plan[PARTS] = {0};
    double left = 0;
    bool on_cores = false; /* pairs have machines of their own */
    tdm_status status = TDM_OK;
    if (!(x.pipelines = plan_pipelines(b, &plan[PIPELINES], err)) ||
        bench_turns_plan_pairs(b, &plan[PAIRS], &pairs, err) || !(x.gaps = plan_gaps(b, &plan[GAPS_PART], err)) ||
        !(x.typed = plan_typists(b, &plan[TYPISTS_PART], err)) ||
        !(x.adopted = plan_adoption(b, &plan[ADOPTION_PART], err)) ||
        !(x.thinking = plan_thinking(b, &plan[THINKING_PART], &x, err)))
        status = err->code;
    for (int p = 0; p < PARTS; p++) {
        bool wanted = bench_plan_wanted(&plan[p]);
        left += wanted ? weight[p] : 0;
        on_cores |= wanted && p != PAIRS;
    }
    if (!status) status = bench_machine(b, &x.machine, !options_flag(b->o, OPTION_NO_LENDING), err);
    if (!status && on_cores) status = warm_up(b, x.machine, err);
    for (int p = 0; p < PARTS && !status; p++) {
        plan[p].table->unwanted = !bench_plan_wanted(&plan[p]);
        if (plan[p].table->unwanted) continue;
        bench_part(b, weight[p] / left);
        left -= weight[p];
        x.first_round = -1;
        status = bench_plan_run(b, &plan[p], measure[p], ctx[p], err);
    }
    for (int p = 0; p < PARTS; p++) bench_plan_close(&plan[p]);
    tdm_machine_close(x.machine);
    return status;
}
