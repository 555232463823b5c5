#include "src/bench/suites/turns_pairs.h"

#include <stdio.h>
#include <string.h>

#include "engine/chat/policy/pipeline.h"
#include "src/figures/figures.h"

enum { TURNS = 3, LEVELS = 4 };
enum { V_WARM, V_FIRST, V_AFTER, V_PREFILL, V_TRANSFER, V_DECODE, V_KEPT, V_TOTAL, V_LAG, V_OTHER };

/* In the order in which a round plays them. */
static const bench_variant levels[LEVELS] = {{.pipeline = TDM_PIPE_TANDEM, .level = TDM_SPEC_OFF},
                                             {.pipeline = TDM_PIPE_TANDEM, .level = TDM_SPEC_FULL},
                                             {.pipeline = TDM_PIPE_TANDEM, .level = TDM_SPEC_HISTORY},
                                             {.pipeline = TDM_PIPE_TANDEM, .level = TDM_SPEC_DRAFT}};

static bench_keying typing(const bench *b)
{
    return (bench_keying){.turns = TURNS, .cps = 30, .gap_s = {0.3, 0.3, 0.3}, .last_words = bench_live_words(b)};
}

tdm_status bench_turns_plan_pairs(bench *b, bench_plan *plan, bench_turns_pairs *x, tdm_error *err)
{
    char title[200];
    snprintf(title, sizeof title,
             "PREFILL+DECODE on each kind of unit: 3 turns, %d-token messages, %d-token replies, Enter 300 ms after "
             "the last key; kept: of the decode speed without speculation",
             BENCH_MESSAGE_TOKENS, bench_reply_tokens(b));
    x->table = bench_new_table(b, "pairs", title, "units|speculation",
                               "warm_TTFT:ms|first_TTFT:ms|after_Enter:tokens|prefill:ms|transfer:ms|decode:tok/s|"
                               "kept:x|three_turns:ms|lag_max:tokens|other_tokens:turns",
                               err);
    bench_plan_open(plan, x->table);
    if (!x->table) return err->code;
    const char *rows[LEVELS + 1] = {NULL};
    for (int l = 0; l < LEVELS; l++) rows[l] = bench_variant_level(&levels[l]);
    if (!bench_pairs_wanted(b, rows)) return TDM_OK;
    bench_note_live_words(b, x->table);
    tdm_status status = bench_pairs_open(b, x->table, rows, &x->pairs, err);
    if (!status) bench_plan_add_pairs(b, plan, rows, NULL);
    return status;
}

static void add(bench_table *t, int row, const bench_played *p, const bench_played *first, const bench_played *alone)
{
    double total = 0;
    for (int i = 0; i < TURNS; i++) {
        const tdm_turn_stats *s = &p->stats[i];
        total += 1e-6 * (double)(s->end_ns - s->enter_ns);
        bench_table_add(t, row, i ? V_WARM : V_FIRST, figures_ttft_ms(s, 0));
        bench_table_add(t, row, V_DECODE, s->decode_tps);
        if (alone && alone->stats[i].decode_tps > 0)
            bench_table_add(t, row, V_KEPT, s->decode_tps / alone->stats[i].decode_tps);
        bench_table_add(t, row, V_OTHER, s->ids_hash != first->stats[i].ids_hash);
        if (!i) continue;
        bench_table_add(t, row, V_AFTER, s->after_enter);
        bench_table_add(t, row, V_PREFILL, p->prefill_ms[i]);
        bench_table_add(t, row, V_TRANSFER, s->handover_ms);
        bench_table_add(t, row, V_LAG, s->lag_max);
    }
    bench_table_add(t, row, V_TOTAL, total);
}

tdm_status bench_turns_measure_pair(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    bench_turns_pairs *x = ctx;
    int p = number / LEVELS;
    const bench_pair *pair = &x->pairs->pair[p];
    const bench_variant *v = &levels[number % LEVELS];
    const bench_keying keying = typing(b), one_turn = {.turns = 1};
    bench_played played;
    bench_step(b, "%s, speculation %s", pair->name, bench_variant_level(v));
    tdm_status status = TDM_OK;
    if (!x->of[p].first_round) status = bench_play(b, pair->machine, v, &one_turn, 0, &played, err); /* warms up */
    if (!status) status = bench_play(b, pair->machine, v, &keying, round, &played, err);
    if (status) return status;
    if (x->of[p].first_round != round + 1) {
        x->of[p].first = played;
        x->of[p].first_round = round + 1;
    }
    if (v->level == TDM_SPEC_OFF) {
        x->of[p].alone = played;
        x->of[p].alone_round = round + 1;
    }
    bool has_alone = v->level != TDM_SPEC_OFF && x->of[p].alone_round == round + 1;
    add(x->table, bench_table_row(x->table, "%s|%s", pair->name, bench_variant_level(v)), &played, &x->of[p].first,
        has_alone ? &x->of[p].alone : NULL);
    return TDM_OK;
}

/* The sentence on what following a reply costs it. */
static void conclude_kept(bench_table *t)
{
    char line[200] = "", number[32];
    for (int r = 0; r < t->n_rows; r++) {
        bench_summary kept = bench_table_cell(t, r, V_KEPT);
        size_t n = strlen(line);
        if (strcmp(t->rows[r].parameter[1], tdm_speculation_name(TDM_SPEC_FULL)) || !kept.n) continue;
        snprintf(line + n, sizeof line - n, "%s %s %s", n ? "," : "", t->rows[r].parameter[0],
                 bench_number(kept.median, number));
    }
    if (line[0]) bench_table_note(t, "followed decode keeps, medians:%s", line);
}

void bench_turns_pairs_conclude(bench_table *t)
{
    int differing = 0, turns = 0;
    conclude_kept(t);
    for (int r = 0; r < t->n_rows; r++) {
        const figures_row *other = &t->rows[r].value[V_OTHER];
        turns += other->n;
        for (int i = 0; i < other->n; i++) differing += other->values[i] > 0;
    }
    if (!turns) return;
    if (differing) bench_table_note(t, "NOT the same tokens within a pair: %d of %d turns", differing, turns);
    else bench_table_note(t, "same tokens within each pair, %d turns", turns);
}
