/* `tandem bench turns`: conversations of three turns, typed in real time. Three tables: every pipeline and level of
 * speculation; the time between last key and Enter; and slow typists, after the reply and into it. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/bench.h"
#include "src/bench_svg.h"
#include "src/bench_talk.h"
#include "src/load.h"

enum {
    TURNS = 3,
    MOST_TURNS = 5,
    MESSAGE_TOKENS = 74,
    REPLY_TOKENS = 100,
    QUICK_REPLY_TOKENS = 24,
    WARM_TURNS = 30,
    OTHER_TURNS = 6
};
#define CPS 30.0

struct variant {
    tdm_pipeline pipeline;
    tdm_speculation level;
};

/* The most telling first: a budget cuts from the end. */
static const struct variant variants[] = {
    {TDM_PIPE_TANDEM, TDM_SPEC_FULL},         {TDM_PIPE_SINGLE, TDM_SPEC_OFF},     {TDM_PIPE_TANDEM, TDM_SPEC_HISTORY},
    {TDM_PIPE_TANDEM, TDM_SPEC_DRAFT},        {TDM_PIPE_TANDEM, TDM_SPEC_OFF},     {TDM_PIPE_BATCH, TDM_SPEC_OFF},
    {TDM_PIPE_SLOTS, TDM_SPEC_OFF},           {TDM_PIPE_BATCH_SOLO, TDM_SPEC_OFF}, {TDM_PIPE_SEQUENTIAL, TDM_SPEC_OFF},
    {TDM_PIPE_SEQUENTIAL_SOLO, TDM_SPEC_OFF},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* How a conversation is typed. */
struct typing {
    int turns;
    double cps, gap_s[MOST_TURNS];
    int last_words; /* typed live; the rest stands there before. 0: all */
    bool while_it_streams;
};

struct played {
    tdm_turn_stats stats[MOST_TURNS];
    size_t typed[MOST_TURNS]; /* characters */
};

static const char *level_name(const struct variant *v)
{
    return v->pipeline == TDM_PIPE_TANDEM ? tdm_speculation_name(v->level) : "-";
}

static int reply_tokens(const bench *b)
{
    return b->quick ? QUICK_REPLY_TOKENS : REPLY_TOKENS;
}

static double ms(int64_t ns)
{
    return 1e-6 * (double)ns;
}

/* The byte where the last n words begin. */
static size_t last_words(const char *text, int n)
{
    size_t at = strlen(text);
    while (n-- && at) {
        at--;
        while (at && text[at - 1] != ' ') at--;
    }
    return at;
}

static tdm_status play_turn(bench *b, bench_talk *talk, int turn, const char *text, const struct variant *v,
                            const struct typing *typing, struct played *out, tdm_error *err)
{
    tdm_status status = TDM_OK;
    size_t there = typing->last_words ? last_words(text, typing->last_words) : 0;
    /* Nobody looks at the draft below level draft: its typing would be mere waiting. A second lets a follower that is
     * behind catch up. */
    bool looked_at = v->pipeline == TDM_PIPE_TANDEM && v->level >= TDM_SPEC_DRAFT;
    if (turn && typing->while_it_streams && talk->ended < turn)
        status = bench_talk_wait_tokens(talk, reply_tokens(b) / 5, err);
    else if (turn)
        status = bench_talk_wait_ended(talk, turn, err);
    if (!status && turn && (looked_at || typing->last_words)) {
        status = bench_talk_type(talk, text, there, typing->cps, typing->gap_s[turn], err);
        out->typed[turn] = strlen(text) - there;
    } else if (!status && turn && v->level == TDM_SPEC_HISTORY) {
        status = bench_talk_type(talk, text, strlen(text), 0, 1, err);
    }
    if (!status) status = bench_talk_send(talk, text, err);
    /* The reply before may only have ended now: its figures are taken when the wait sees it. */
    if (!status && !(turn + 1 < typing->turns && typing->while_it_streams))
        status = bench_talk_wait_ended(talk, turn + 1, err);
    return status;
}

static tdm_status play(bench *b, tdm_machine *machine, const struct variant *v, const struct typing *typing, int seed,
                       struct played *out, tdm_error *err)
{
    *out = (struct played){0};
    tdm_chat_options o;
    bench_talk_defaults(&o, b->model);
    o.pipeline = v->pipeline;
    o.speculation = v->level;
    o.max_tokens = reply_tokens(b);
    o.kv = o.prefill_kv = load_kv(b->o);
    bench_talk talk;
    tdm_status status = bench_talk_open(&talk, b->model, machine, &o, (uint64_t)seed, err);
    for (int turn = 0; turn < typing->turns && !status; turn++) {
        char *text = NULL;
        status =
            bench_prompt_message(&b->prompt, b->model, 97 * (MOST_TURNS * seed + turn), MESSAGE_TOKENS, &text, err);
        if (!status) status = play_turn(b, &talk, turn, text, v, typing, out, err);
        free(text);
    }
    if (!status) status = bench_talk_wait_ended(&talk, typing->turns, err);
    int path[2 * MOST_TURNS], n = status ? 0 : tdm_chat_path(talk.chat, path, 2 * MOST_TURNS);
    for (int i = 1; i < n && !status; i += 2) {
        tdm_node node;
        status = tdm_chat_node(talk.chat, path[i], &node, err);
        if (status) break;
        out->stats[i / 2] = node.stats;
        tdm_node_free(&node);
    }
    if (!status && n != 2 * typing->turns)
        status = error_set(err, TDM_E_IO, "bench: the conversation has %d messages", n);
    bench_talk_close(&talk);
    return status;
}

static double ttft(const tdm_turn_stats *s)
{
    return ms(s->first_id_ns - s->enter_ns);
}

/* ---- Pipelines and levels -------------------------------------------------------------------------------------- */

enum { P_WARM, P_COLD, P_AFTER, P_TRANSFER, P_DECODE, P_TURN, P_TOTAL, P_LAG };

static void add_played(bench_table *t, int row, const struct played *p)
{
    double total = 0;
    for (int i = 0; i < TURNS; i++) {
        const tdm_turn_stats *s = &p->stats[i];
        total += ms(s->end_ns - s->enter_ns);
        bench_table_add(t, row, i ? P_WARM : P_COLD, ttft(s));
        bench_table_add(t, row, P_DECODE, s->decode_tps);
        if (!i) continue;
        bench_table_add(t, row, P_AFTER, s->after_enter);
        bench_table_add(t, row, P_TRANSFER, s->handover_ms);
        bench_table_add(t, row, P_TURN, ms(s->end_ns - s->enter_ns));
        bench_table_add(t, row, P_LAG, s->lag_max);
    }
    bench_table_add(t, row, P_TOTAL, total);
}

static void say_it(bench_table *t, int tandem, int single, int differing)
{
    bench_summary warm = bench_table_cell(t, tandem, P_WARM), cold = bench_table_cell(t, single, P_WARM);
    bench_ratio ratio = bench_ratio_of(&cold, &warm);
    char w[32], c[32], p95[32], times[80];
    if (!warm.n || !cold.n) return;
    bench_table_note(t, "warm %s ms (95th percentile %s) against %s ms cold, %s, %d turns; %s",
                     bench_number(warm.median, w), bench_number(warm.p95, p95), bench_number(cold.median, c),
                     differing ? "NOT the same tokens" : "same tokens", warm.n,
                     bench_ratio_text(&ratio, times, sizeof times));
    if (differing) bench_table_note(t, "turns whose tokens differ from those of the first row: %d", differing);
}

static void keep_timeline(bench *b, tdm_machine *machine, const struct played *p)
{
    int64_t from = p->stats[0].enter_ns - 200000000;
    if (b->n_timelines == (int)(sizeof b->timelines / sizeof *b->timelines)) return;
    char *text = bench_svg_timeline(machine, from, p->stats, TURNS, b->model_name);
    if (!text) return;
    snprintf(b->timeline_names[b->n_timelines], sizeof b->timeline_names[0], "%s", b->model_name);
    b->timelines[b->n_timelines++] = text;
}

static tdm_status pipelines(bench *b, tdm_machine *machine, tdm_error *err)
{
    char title[200];
    snprintf(
        title, sizeof title,
        "3 turns, %d-token messages, %d-token replies, typed at 30 characters a second, Enter 300 ms after the last "
        "key; TTFT: Enter to first token id",
        MESSAGE_TOKENS, reply_tokens(b));
    bench_table *t = bench_new_table(b, "", title, "pipeline|speculation",
                                     "warm_TTFT:ms|cold_TTFT:ms|evaluated_after_Enter:tokens|transfer:ms|decode:tok/s|"
                                     "warm_turn:ms|three_turns:ms|lag_max:tokens",
                                     err);
    if (!t) return err->code;
    const struct typing typing = {
        .turns = TURNS, .cps = CPS, .gap_s = {0.3, 0.3, 0.3}, .last_words = b->in_full ? 0 : 12};
    if (typing.last_words)
        bench_table_note(t, "within a budget only the last %d words are typed live; the others stand there before",
                         typing.last_words);
    bool dropped[VARIANTS] = {false};
    int row[VARIANTS], differing = 0, rounds = b->in_full ? WARM_TURNS / 2 : b->runs;
    struct played first, played;
    tdm_status status = TDM_OK;
    for (int round = 0; !status && bench_again_of(b, round, rounds); round++)
        for (int v = 0; v < VARIANTS && !status; v++) {
            const struct variant *variant = &variants[v];
            if (b->in_full && v && round >= OTHER_TURNS / 2) continue;
            if (round == 0 && !bench_fits(b) && v > 1) dropped[v] = true;
            if (round == 0 && dropped[v])
                bench_left_out(t, "%s %s", tdm_pipeline_name(variant->pipeline), level_name(variant));
            if (dropped[v]) continue;
            bench_step(b, "%s %s", tdm_pipeline_name(variant->pipeline), level_name(variant));
            status = play(b, machine, variant, &typing, round, &played, err);
            if (status) break;
            row[v] = bench_table_row(t, "%s|%s", tdm_pipeline_name(variant->pipeline), level_name(variant));
            add_played(t, row[v], &played);
            if (v == 0) first = played;
            for (int i = 0; i < TURNS; i++) differing += played.stats[i].ids_hash != first.stats[i].ids_hash;
            if (v == 0 && round == 0) keep_timeline(b, machine, &played);
        }
    if (!status && t->n_rows > 1) say_it(t, row[0], row[1], differing);
    return status;
}

/* ---- Gaps ------------------------------------------------------------------------------------------------------ */

static tdm_status gaps(bench *b, tdm_machine *machine, tdm_error *err)
{
    static const int gap_ms[] = {0, 100, 300, 1000};
    enum { GAPS = MOST_TURNS - 1 };
    char title[200];
    snprintf(
        title, sizeof title,
        "warm turns of tandem, full speculation, by the time between last key and Enter; %d-token messages typed at "
        "30 characters a second after the reply of %d tokens",
        MESSAGE_TOKENS, reply_tokens(b));
    bench_table *t = bench_new_table(b, "gaps", title, "ms_gap",
                                     "TTFT:ms|evaluated_after_Enter:tokens|hand-over:ms|wasted:tokens|lag_max:tokens|"
                                     "decode:tok/s",
                                     err);
    if (!t) return err->code;
    for (int i = 0; i < GAPS; i++) bench_table_row(t, "%d", gap_ms[i]);
    tdm_status status = TDM_OK;
    struct played played;
    for (int round = 0; !status && bench_again_of(b, round, b->in_full ? WARM_TURNS : b->runs); round++) {
        /* A conversation with every gap once, in another order each time: later turns have longer histories. */
        struct typing typing = {.turns = 1 + GAPS, .cps = CPS, .last_words = b->in_full ? 0 : 12};
        for (int i = 0; i < GAPS; i++) typing.gap_s[1 + i] = 1e-3 * gap_ms[(i + round) % GAPS];
        bench_step(b, "a conversation with gaps of 0 to 1000 ms");
        status = play(b, machine, &variants[0], &typing, 100 + round, &played, err);
        for (int i = 0; i < GAPS && !status; i++) {
            const tdm_turn_stats *s = &played.stats[1 + i];
            int row = bench_table_row(t, "%d", gap_ms[(i + round) % GAPS]);
            bench_table_add(t, row, 0, ttft(s));
            bench_table_add(t, row, 1, s->after_enter);
            bench_table_add(t, row, 2, s->handover_ms);
            bench_table_add(t, row, 3, s->wasted);
            bench_table_add(t, row, 4, s->lag_max);
            bench_table_add(t, row, 5, s->decode_tps);
        }
    }
    if (!b->in_full)
        bench_table_note(t, "within a budget only the last 12 words are typed live; the others stand there before");
    return status;
}

/* ---- Slow typists ---------------------------------------------------------------------------------------------- */

static tdm_status typists(bench *b, tdm_machine *machine, tdm_error *err)
{
    enum { WORDS = 6, SPEEDS = 2, TYPIST_VARIANTS = 5 };
    static const int words_a_minute[SPEEDS] = {100, 40};
    bench_table *t =
        bench_new_table(b, "typed",
                        "the last 6 words of each message typed live, a word being 5 characters; the others "
                        "stand there before the clock starts",
                        "words_a_minute|typed|pipeline|speculation",
                        "TTFT:ms|evaluated_after_Enter:tokens|transfer:ms|decode:tok/s|turn:ms|three_turns:ms|"
                        "suffix_evaluations:count|ahead:tokens/key|wasted:tokens/key",
                        err);
    if (!t) return err->code;
    tdm_status status = TDM_OK;
    bool dropped[SPEEDS][2][TYPIST_VARIANTS] = {0};
    struct played played;
    for (int round = 0; !status && bench_again(b, round); round++)
        for (int kind = 0; kind < SPEEDS * 2 * TYPIST_VARIANTS && !status; kind++) {
            int v = kind % TYPIST_VARIANTS, streams = kind / TYPIST_VARIANTS % 2, speed = kind / TYPIST_VARIANTS / 2;
            bool *drop = &dropped[speed][streams][v];
            const struct variant *variant = &variants[v];
            struct typing typing = {
                .cps = words_a_minute[speed] * 5 / 60.0, .last_words = WORDS, .while_it_streams = streams};
            const char *when = streams ? "while it streams" : "after the reply";
            if (round == 0 && !bench_fits(b)) *drop = true;
            if (round == 0 && *drop)
                bench_left_out(t, "%d words a minute, %s, %s %s", words_a_minute[speed], when,
                               tdm_pipeline_name(variant->pipeline), level_name(variant));
            if (*drop) continue;
            bench_step(b, "%d words a minute, %s, %s %s", words_a_minute[speed], when,
                       tdm_pipeline_name(variant->pipeline), level_name(variant));
            status = play(b, machine, variant, &typing, 500 + round, &played, err);
            if (status) break;
            int row = bench_table_row(t, "%d|%s|%s|%s", words_a_minute[speed], when,
                                      tdm_pipeline_name(variant->pipeline), level_name(variant));
            double total = 0;
            for (int i = 0; i < TURNS; i++) {
                const tdm_turn_stats *s = &played.stats[i];
                total += ms(s->end_ns - s->enter_ns);
                if (!i) continue;
                bench_table_add(t, row, 0, ttft(s));
                bench_table_add(t, row, 1, s->after_enter);
                bench_table_add(t, row, 2, s->handover_ms);
                bench_table_add(t, row, 3, s->decode_tps);
                bench_table_add(t, row, 4, ms(s->end_ns - s->enter_ns));
                bench_table_add(t, row, 6, s->suffix_evaluations);
                if (!played.typed[i]) continue;
                bench_table_add(t, row, 7, (double)s->turn_before_enter / (double)played.typed[i]);
                bench_table_add(t, row, 8, (double)s->wasted / (double)played.typed[i]);
            }
            bench_table_add(t, row, 5, total);
        }
    bench_table_note(t, "pause before the suffix is evaluated: auto (twice what it takes, at most 150 ms)");
    return status;
}

/* ---- All three ------------------------------------------------------------------------------------------------- */

tdm_status bench_turns(bench *b, tdm_error *err)
{
    tdm_machine *machine;
    if (b->in_full) fprintf(stderr, "turns in full takes some %d minutes a model; --budget shortens it\n", 70);
    tdm_status status = bench_machine(b, &machine, !options_flag(b->o, OPTION_NO_LENDING), err);
    if (status) return status;
    bench_part(b, 0.5);
    status = pipelines(b, machine, err);
    bench_tables_done(b);
    bench_part(b, 0.5);
    if (!status) status = gaps(b, machine, err);
    bench_tables_done(b);
    bench_part(b, 1);
    if (!status) status = typists(b, machine, err);
    tdm_machine_close(machine);
    return status;
}
