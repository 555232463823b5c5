/* `tandem bench turns`: conversations of three turns, typed in real time. Three tables: every pipeline and level of
 * speculation; the time between last key and Enter; and slow typists, after the reply and into it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/bench.h"
#include "src/bench_svg.h"
#include "src/bench_talk.h"

enum {
    TURNS = 3,
    MOST_TURNS = 5,
    MESSAGE_TOKENS = 74,
    MESSAGE_CHARACTERS = 370, /* about so many, for the expected time */
    REPLY_TOKENS = 100,
    QUICK_REPLY_TOKENS = 24,
    WARM_TURNS = 30,
    OTHER_TURNS = 6,
    BUDGET_WORDS = 12, /* typed live within a budget */
    QUICK_WORDS = 2,
    MOST_SPANS = 8192,
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
    int64_t began_ns; /* the chat was opened */
    tdm_turn_stats stats[MOST_TURNS];
    size_t typed[MOST_TURNS];       /* characters */
    int64_t last_key_ns[MOST_TURNS]; /* 0: nothing was typed live */
    double prefill_ms[MOST_TURNS];  /* spent on the turn's prompt by both units, before and after Enter */
    double pause_ms[MOST_TURNS];    /* from the last key to the evaluation of the suffix before Enter; 0: there was none */
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

/* Words of a message that are typed live; 0: all. */
static int live_words(const bench *b)
{
    return b->in_full ? 0 : b->quick ? QUICK_WORDS : BUDGET_WORDS;
}

static void note_live_words(const bench *b, bench_table *t)
{
    if (live_words(b))
        bench_table_note(t, "within a budget only the last %d words are typed live; the others stand there before",
                         live_words(b));
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
        out->last_key_ns[turn] = talk->last_key_ns;
    } else if (!status && turn && v->level == TDM_SPEC_HISTORY) {
        status = bench_talk_type(talk, text, strlen(text), 0, 1, err);
    }
    if (!status) status = bench_talk_send(talk, text, err);
    /* The reply before may only have ended now: its figures are taken when the wait sees it. */
    if (!status && !(turn + 1 < typing->turns && typing->while_it_streams))
        status = bench_talk_wait_ended(talk, turn + 1, err);
    return status;
}

/* Fills in prefill_ms and pause_ms from the spans of both units since the conversation began. */
static tdm_status add_spans(tdm_machine *machine, int64_t since_ns, int turns, struct played *p, tdm_error *err)
{
    tdm_span *spans = malloc(sizeof *spans * MOST_SPANS);
    if (!spans) return error_set(err, TDM_E_NOMEM, "out of memory");
    for (int u = 0; u < TDM_UNITS; u++) {
        size_t n = tdm_unit_spans(machine, u, since_ns, spans, MOST_SPANS);
        for (size_t i = 0; i < n; i++) {
            const tdm_span *s = &spans[i];
            int turn = 0;
            if (s->kind > TDM_SPAN_PROMPT || !s->end_ns) continue;
            while (turn < turns && p->stats[turn].first_id_ns <= s->start_ns) turn++;
            if (turn == turns) continue; /* the follower after the last turn */
            p->prefill_ms[turn] += ms(s->end_ns - s->start_ns);
            int64_t key = p->last_key_ns[turn];
            if (s->kind == TDM_SPAN_SUFFIX && key && s->start_ns > key && s->start_ns < p->stats[turn].enter_ns &&
                (p->pause_ms[turn] <= 0 || ms(s->start_ns - key) < p->pause_ms[turn]))
                p->pause_ms[turn] = ms(s->start_ns - key);
        }
    }
    free(spans);
    return TDM_OK;
}

static tdm_status play(bench *b, tdm_machine *machine, const struct variant *v, const struct typing *typing, int seed,
                       struct played *out, tdm_error *err)
{
    *out = (struct played){0};
    tdm_chat_options o;
    bench_chat_options(b, &o);
    o.pipeline = v->pipeline;
    o.speculation = v->level;
    o.max_tokens = reply_tokens(b);
    bench_talk talk;
    out->began_ns = clock_ns();
    tdm_status status = bench_talk_open(&talk, b->models.model, machine, &o, (uint64_t)seed, err);
    for (int turn = 0; turn < typing->turns && !status; turn++) {
        char *text = NULL;
        status =
            bench_prompt_message(&b->prompt, b->models.model, 97 * (MOST_TURNS * seed + turn), MESSAGE_TOKENS, &text, err);
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
    if (!status) status = add_spans(machine, out->began_ns, typing->turns, out, err);
    bench_talk_close(&talk);
    return status;
}

static double ttft(const tdm_turn_stats *s)
{
    return ms(s->first_id_ns - s->enter_ns);
}

/* ---- Pipelines and levels -------------------------------------------------------------------------------------- */

enum { P_WARM, P_COLD, P_AFTER, P_PREFILL, P_TRANSFER, P_DECODE, P_TURN, P_TOTAL, P_LAG, P_OTHER };

static void add_played(bench_table *t, int row, const struct played *p, const struct played *first)
{
    double total = 0;
    for (int i = 0; i < TURNS; i++) {
        const tdm_turn_stats *s = &p->stats[i];
        total += ms(s->end_ns - s->enter_ns);
        bench_table_add(t, row, i ? P_WARM : P_COLD, ttft(s));
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

static void keep_timeline(bench *b, tdm_machine *machine, const struct played *p)
{
    if (b->n_timelines == (int)(sizeof b->timelines / sizeof *b->timelines)) return;
    char *text = bench_svg_timeline(machine, p->began_ns, p->stats, TURNS, b->model_name);
    if (!text) return;
    snprintf(b->timeline_names[b->n_timelines], sizeof b->timeline_names[0], "%s", b->model_name);
    b->timelines[b->n_timelines++] = text;
}

/* One turn whose figures nobody keeps: memory is touched, clocks rise. */
static tdm_status warm_up(bench *b, tdm_machine *machine, tdm_error *err)
{
    struct played played;
    const struct typing typing = {.turns = 1};
    bench_step(b, "warming up");
    return play(b, machine, &variants[0], &typing, 0, &played, err);
}

static tdm_status pipelines(bench *b, tdm_machine *machine, tdm_error *err)
{
    char title[200];
    snprintf(
        title, sizeof title,
        "3 turns, %d-token messages, %d-token replies, typed at 30 characters a second, Enter 300 ms after the last "
        "key; TTFT: Enter to first token id",
        MESSAGE_TOKENS, reply_tokens(b));
    bench_table *t = bench_new_table(b, "pipelines", title, "pipeline|speculation",
                                     "warm_TTFT:ms|cold_TTFT:ms|after_Enter:tokens|prefill:ms|transfer:ms|decode:tok/s|"
                                     "warm_turn:ms|three_turns:ms|lag_max:tokens|other_tokens:turns",
                                     err);
    if (!t) return err->code;
    const struct typing typing = {.turns = TURNS, .cps = CPS, .gap_s = {0.3, 0.3, 0.3}, .last_words = live_words(b)};
    note_live_words(b, t);
    bool dropped[VARIANTS] = {false}, have_first = false;
    int rounds = b->in_full ? WARM_TURNS / 2 : b->runs;
    struct played first, played;
    tdm_status status = TDM_OK;
    for (int round = 0; !status && bench_again_of(b, round, rounds); round++, have_first = false)
        for (int v = 0; v < VARIANTS && !status; v++) {
            const char *pipeline = tdm_pipeline_name(variants[v].pipeline), *level = level_name(&variants[v]);
            if (!bench_wanted(b, "pipelines|%s|%s", pipeline, level)) continue;
            if (b->in_full && v && round >= OTHER_TURNS / 2) continue;
            if (round == 0 && !bench_fits(b) && v > 1) dropped[v] = true;
            if (round == 0 && dropped[v]) bench_left_out(t, "%s %s", pipeline, level);
            if (dropped[v]) continue;
            bench_step(b, "%s %s", pipeline, level);
            status = play(b, machine, &variants[v], &typing, round, &played, err);
            if (status) break;
            if (!have_first) first = played;
            have_first = true;
            add_played(t, bench_table_row(t, "%s|%s", pipeline, level), &played, &first);
            if (v == 0 && round == 0) keep_timeline(b, machine, &played);
        }
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
                                     "TTFT:ms|after_Enter:tokens|hand-over:ms|wasted:tokens|lag_max:tokens|"
                                     "decode:tok/s|pause:ms",
                                     err);
    if (!t) return err->code;
    for (int i = 0; i < GAPS; i++) bench_table_row(t, "%d", gap_ms[i]);
    note_live_words(b, t);
    tdm_status status = TDM_OK;
    struct played played;
    for (int round = 0; !status && bench_again_of(b, round, b->in_full ? WARM_TURNS : b->runs); round++) {
        /* A conversation with every gap once, in another order each time: later turns have longer histories. */
        struct typing typing = {.turns = 1 + GAPS, .cps = CPS, .last_words = live_words(b)};
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
            if (played.pause_ms[1 + i] > 0) bench_table_add(t, row, 6, played.pause_ms[1 + i]);
        }
    }
    return status;
}

/* ---- Slow typists ---------------------------------------------------------------------------------------------- */

enum { TYPIST_WORDS = 6, SPEEDS = 2, TYPIST_VARIANTS = 5, TYPISTS = SPEEDS * 2 * TYPIST_VARIANTS };
static const int words_a_minute[SPEEDS] = {100, 40};

enum { T_TTFT, T_PREFILL, T_TRANSFER, T_DECODE, T_TURN, T_TOTAL, T_AFTER, T_SUFFIX, T_AHEAD, T_WASTED, T_PAUSE };

/* "100|after the reply|tandem|full". Returns out. */
static char *typist(int kind, char *out, size_t room)
{
    const struct variant *v = &variants[kind % TYPIST_VARIANTS];
    bool streams = kind / TYPIST_VARIANTS % 2;
    snprintf(out, room, "%d|%s|%s|%s", words_a_minute[kind / TYPIST_VARIANTS / 2],
             streams ? "while it streams" : "after the reply", tdm_pipeline_name(v->pipeline), level_name(v));
    return out;
}

/* The first turn, which nothing can be read ahead of, has a row of its own. */
static void add_typed(bench_table *t, const char *who, const struct played *p)
{
    double total = 0;
    int later = bench_table_row(t, "%s|2 and 3", who);
    for (int i = 0; i < TURNS; i++) {
        const tdm_turn_stats *s = &p->stats[i];
        int row = i ? later : bench_table_row(t, "%s|1", who);
        total += ms(s->end_ns - s->enter_ns);
        bench_table_add(t, row, T_TTFT, ttft(s));
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

static tdm_status typists(bench *b, tdm_machine *machine, tdm_error *err)
{
    bench_table *t =
        bench_new_table(b, "typed",
                        "the last 6 words of messages 2 and 3 typed live, a word being 5 characters; all else stands "
                        "there before the clock starts",
                        "words_a_minute|typed|pipeline|speculation|turn",
                        "TTFT:ms|prefill:ms|transfer:ms|decode:tok/s|turn:ms|three_turns:ms|after_Enter:tokens|"
                        "suffix_evaluations:count|ahead:tokens/key|wasted:tokens/key|pause:ms",
                        err);
    if (!t) return err->code;
    tdm_status status = TDM_OK;
    bool dropped[TYPISTS] = {0};
    struct played played;
    for (int round = 0; !status && bench_again_of(b, round, b->in_full ? OTHER_TURNS / 2 : b->runs); round++)
        for (int kind = 0; kind < TYPISTS && !status; kind++) {
            struct typing typing = {.turns = TURNS,
                                    .cps = words_a_minute[kind / TYPIST_VARIANTS / 2] * 5 / 60.0,
                                    .last_words = TYPIST_WORDS,
                                    .while_it_streams = kind / TYPIST_VARIANTS % 2};
            char who[100];
            typist(kind, who, sizeof who);
            if (!bench_wanted(b, "typed|%s", who)) continue;
            if (round == 0 && !bench_fits(b)) dropped[kind] = true;
            if (round == 0 && dropped[kind]) bench_left_out(t, "%s", who);
            if (dropped[kind]) continue;
            bench_step(b, "typed, %s", who);
            status = play(b, machine, &variants[kind % TYPIST_VARIANTS], &typing, 500 + round, &played, err);
            if (!status) add_typed(t, who, &played);
        }
    bench_table_note(t, "pause: from the last key to the evaluation of the suffix, where it came before Enter; it is set to "
                        "auto (twice what the suffix takes, at most 150 ms). A pause between two words can be one too: "
                        "suffix evaluations counts them all");
    return status;
}

/* ---- All three ------------------------------------------------------------------------------------------------- */

/* Seconds that n conversations like this one take, at the decode speed that the memory allows. */
static double expected(const bench *b, int n, int turns, double typing_s)
{
    double tps = b->host.read / (double)b->info.bytes_per_token;
    return n * (turns * (reply_tokens(b) / tps + 0.3) + (turns - 1) * typing_s);
}

enum { PARTS = 3 };

static double expected_in_full(const bench *b, const bool parts[PARTS])
{
    double seconds = 0;
    for (int v = 0; v < VARIANTS && parts[0]; v++)
        if (bench_wanted(b, "pipelines|%s|%s", tdm_pipeline_name(variants[v].pipeline), level_name(&variants[v])))
            seconds += expected(b, v ? OTHER_TURNS / 2 : WARM_TURNS / 2, TURNS, v ? 1 : MESSAGE_CHARACTERS / CPS);
    if (parts[1]) seconds += expected(b, WARM_TURNS, MOST_TURNS, MESSAGE_CHARACTERS / CPS + 0.5);
    for (int speed = 0; speed < SPEEDS && parts[2]; speed++)
        seconds += expected(b, 2 * TYPIST_VARIANTS * OTHER_TURNS / 2, TURNS, 60.0 * TYPIST_WORDS / words_a_minute[speed]);
    return seconds;
}

static void wanted_parts(const bench *b, bool parts[PARTS])
{
    for (int v = 0; v < VARIANTS; v++)
        parts[0] |= bench_wanted(b, "pipelines|%s|%s", tdm_pipeline_name(variants[v].pipeline), level_name(&variants[v]));
    parts[1] = bench_wanted(b, "gaps");
    for (int kind = 0; kind < TYPISTS && !b->quick; kind++) {
        char who[100];
        parts[2] |= bench_wanted(b, "typed|%s", typist(kind, who, sizeof who));
    }
}

tdm_status bench_turns(bench *b, tdm_error *err)
{
    static tdm_status (*const part[PARTS])(bench *, tdm_machine *, tdm_error *) = {pipelines, gaps, typists};
    static const double weight[PARTS] = {0.5, 0.25, 0.25};
    bool wanted[PARTS] = {false};
    double left = 0;
    tdm_machine *machine = NULL;
    wanted_parts(b, wanted);
    for (int p = 0; p < PARTS; p++) left += wanted[p] ? weight[p] : 0;
    if (b->in_full)
        fprintf(stderr, "turns in full, %s: some %.0f minutes; --budget or --rows shorten it\n", b->model_name,
                ceil(expected_in_full(b, wanted) / 60));
    tdm_status status = bench_machine(b, &machine, !options_flag(b->o, OPTION_NO_LENDING), err);
    if (!status) status = warm_up(b, machine, err);
    for (int p = 0; p < PARTS && !status; p++) {
        if (!wanted[p]) continue;
        bench_part(b, weight[p] / left);
        left -= weight[p];
        status = part[p](b, machine, err);
        bench_tables_done(b);
    }
    tdm_machine_close(machine);
    return status;
}
