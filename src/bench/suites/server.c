/* `tandem bench server`: warm turns on a server (-m http://HOST:PORT), beside the same with reading ahead off. What is
 * left after Enter is a round trip and what the server still has to evaluate, by its own clock. */
#include "engine/base/error.h"
#include "src/bench/report/plan.h"
#include "src/bench/suites/played.h"
#include "src/figures/figures.h"

enum { TURNS = 3, CPS = 30 };

static const char columns[] = "warm_TTFT:ms|less_a_round_trip:ms|server:ms|first_TTFT:ms|after_Enter:tokens|"
                              "kept:tokens|reply:tok/s";
enum { WARM, LESS, SERVER, FIRST, AFTER, KEPT, REPLY };

static const tdm_speculation levels[] = {TDM_SPEC_OFF, TDM_SPEC_HISTORY, TDM_SPEC_FULL};
enum { LEVELS = sizeof levels / sizeof *levels };

struct served {
    tdm_machine *machine;
    bench_table *t;
};

static void add_turn(struct served *x, int row, int turn, const tdm_turn_stats *s, double round_trip_ms)
{
    if (!s->first_id_ns) return; /* a reply without a character, as made-up weights may give */
    double ttft = figures_ttft_ms(s, 0);
    if (!turn) {
        bench_table_add(x->t, row, FIRST, ttft);
        return;
    }
    bench_table_add(x->t, row, WARM, ttft);
    bench_table_add(x->t, row, LESS, ttft > round_trip_ms ? ttft - round_trip_ms : 0);
    if (s->server_prompt_ms > 0) bench_table_add(x->t, row, SERVER, s->server_prompt_ms);
    if (s->counted) bench_table_add(x->t, row, AFTER, s->after_enter);
    if (s->counted) bench_table_add(x->t, row, KEPT, s->prompt_tokens - s->after_enter);
    if (s->decode_tps > 0) bench_table_add(x->t, row, REPLY, s->decode_tps); /* not of a reply that came at once */
}

static tdm_status measure(bench *b, void *ctx, int level, int round, tdm_error *err)
{
    struct served *x = ctx;
    const bench_variant v = {.pipeline = TDM_PIPE_TANDEM, .level = levels[level]};
    const bench_keying typing = {.turns = TURNS, .cps = CPS, .gap_s = {1, 1, 1}, .unread = true,
                                 .last_words = bench_live_words(b)};
    bench_played played;
    bench_step(b, "speculation %s", tdm_speculation_name(levels[level]));
    /* Other words for each level and round: or the server would still have them. */
    tdm_status status = bench_play(b, x->machine, &v, &typing, round * LEVELS + level, &played, err);
    if (status) return status;
    int row = bench_table_row(x->t, "%s", tdm_speculation_name(levels[level]));
    for (int i = 0; i < TURNS; i++) add_turn(x, row, i, &played.stats[i], bench_round_trip_ms(b));
    return TDM_OK;
}

tdm_status bench_server(bench *b, tdm_error *err)
{
    struct served x = {0};
    char title[200];
    snprintf(title, sizeof title, "%d turns on a server, %d-token messages, %d-token replies, Enter a second after the "
             "last key; a round trip takes %.0f ms", TURNS, BENCH_MESSAGE_TOKENS, bench_reply_tokens(b),
             bench_round_trip_ms(b));
    x.t = bench_new_table(b, "", title, "speculation", columns, err);
    if (!x.t) return err->code;
    bench_table_note(x.t, "server: what it took to evaluate what it had not kept, by its own clock");
    bench_note_live_words(b, x.t);
    tdm_status status = bench_machine(b, &x.machine, true, err);
    bench_plan plan;
    bench_plan_open(&plan, x.t);
    for (int i = 0; i < LEVELS; i++) bench_plan_add(b, &plan, "%s", tdm_speculation_name(levels[i]));
    if (!status) status = bench_plan_run(b, &plan, measure, &x, err);
    bench_plan_close(&plan);
    tdm_machine_close(x.machine);
    return status;
}
