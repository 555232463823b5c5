/* `tandem bench screen`: what a user of the full screen waits for besides the model: the first frame, a key until it is
 * on the terminal while both units work, the time that drawing takes; and what the screen and each form of the monitor
 * leave of the speed that `tandem run` decodes with. Another Tandem runs in a pseudo-terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/bench/bench.h"
#include "src/bench/bench_plan.h"
#include "src/bench/bench_screen.h"
#include "src/bench/bench_talk.h"

enum { KEYS = 40, QUICK_KEYS = 16, KEY_GAP_MS = 60, PATIENCE_S = 60 };
#define STREAM_S 2.5
#define QUICK_STREAM_S 1.0

static const char message[] = "Tell me a long story.";

/* ---- First frame, echo, drawing ---------------------------------------------------------------------------------- */

/* Processor time of the program's first thread, which reads keys, takes what the units tell, and draws. Negative:
 * unknown. */
static double front_end_seconds(pid_t pid)
{
    char path[64], line[1024];
    unsigned long long user, kernel;
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)pid);
    FILE *in = fopen(path, "r");
    if (!in) return -1;
    char *at = fgets(line, sizeof line, in) ? strrchr(line, ')') : NULL;
    fclose(in);
    if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &kernel) != 2) return -1;
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

static const char *const private[] = {"--private", NULL};

static tdm_status first_frame(bench *b, bench_table *t, tdm_error *err)
{
    pty s = {.fd = -1};
    bench_step(b, "first frame");
    int64_t start = clock_ns();
    tdm_status status = bench_screen_open(b, &s, BENCH_SCREEN_PANEL_COLS, "chat", private, err);
    if (!status) status = bench_screen_wait(&s, "Enter sends", err);
    if (!status) bench_table_add(t, bench_table_row(t, "first frame"), 0, 1e-6 * (double)(s.got_ns - start));
    pty_close(&s);
    return status;
}

/* Types one letter after the other into the draft while the reply is written. */
static tdm_status type(pty *s, bench_table *t, int keys, tdm_error *err)
{
    char draft[KEYS + 3] = "> ";
    tdm_status status = TDM_OK;
    for (int i = 0; i < keys && !status; i++) {
        const char letter = i % 6 == 5 ? ' ' : (char)('a' + i % 26);
        draft[2 + i] = letter;
        draft[3 + i] = 0;
        int64_t pressed = clock_ns(), until = pressed + PATIENCE_S * INT64_C(1000000000);
        status = pty_keys(s, &letter, 1, err);
        bool seen = letter != ' '; /* a blank at the end can't be told from none */
        while (!status && seen && pty_find(s, 0, draft) < 0) {
            if (clock_ns() > until) return error_set(err, TDM_E_IO, "bench: a key did not appear on the terminal");
            status = bench_screen_take(s, 200, err);
        }
        if (!status && seen)
            bench_table_add(t, bench_table_row(t, "key while a reply streams"), 0,
                            1e-6 * (double)(s->got_ns - pressed));
        if (!status) status = bench_screen_rest(s, KEY_GAP_MS / 1e3 - 1e-9 * (double)(clock_ns() - pressed), err);
    }
    return status;
}

static tdm_status keys_and_drawing(bench *b, bench_table *t, tdm_error *err)
{
    pty s = {.fd = -1};
    bench_step(b, "keys and drawing");
    tdm_status status = bench_screen_open(b, &s, BENCH_SCREEN_PANEL_COLS, "chat", private, err);
    if (!status) status = bench_screen_wait(&s, "IDLE", err);
    if (!status) status = bench_screen_keys(&s, message, err);
    if (!status) status = bench_screen_keys(&s, "\r", err);
    if (!status) status = bench_screen_wait(&s, "ANSWERING", err);
    double before = front_end_seconds(s.child);
    int64_t from = clock_ns();
    if (!status) status = bench_screen_rest(&s, b->quick ? QUICK_STREAM_S : STREAM_S, err);
    double seconds = 1e-9 * (double)(clock_ns() - from), after = front_end_seconds(s.child);
    bool writes = !status && pty_find(&s, 0, "ANSWERING") >= 0; /* else the context was full before */
    if (writes && before >= 0 && after >= before)
        bench_table_add(t, bench_table_row(t, "front end while a reply streams"), 1, 100 * (after - before) / seconds);
    if (writes) status = type(&s, t, b->quick ? QUICK_KEYS : KEYS, err);
    pty_close(&s);
    return status;
}

static tdm_status measure_display(bench *b, void *ctx, int row, int round, tdm_error *err)
{
    (void)round;
    return row ? keys_and_drawing(b, ctx, err) : first_frame(b, ctx, err);
}

static bench_table *plan_display(bench *b, bench_plan *plan, tdm_error *err)
{
    const double start_s = 0.3;
    bench_table *t = bench_new_table(b, "", "the full screen: first frame, a key until the terminal has it, and the "
                                            "processor time of the thread that draws, in percent of one core",
                                     "what", "time:ms|core:%", err);
    bench_plan_open(plan, t);
    if (!t) return NULL;
    bench_table_note(t, "processor time is counted in steps of %ld ms", 1000 / sysconf(_SC_CLK_TCK));
    bench_plan_add(b, plan, 0, 0, start_s, "first frame");
    bench_plan_add(b, plan, 1, 0, b->cost.load_s + start_s + (b->quick ? QUICK_STREAM_S : STREAM_S) +
                       1e-3 * (b->quick ? QUICK_KEYS : KEYS) * KEY_GAP_MS,
                   "front end and key while a reply streams");
    return t;
}

/* ---- Decoding, watched and not ----------------------------------------------------------------------------------- */

/* Who decodes the same reply to the same message, in a conversation that it opens. */
static const struct watched {
    const char *name;
    const char *keys; /* into the full screen, before the message; NULL: there is none */
    bool run;         /* `tandem run`, which reads nothing ahead */
} watched[] = {
    {"tandem run", NULL, true},
    {"the same units and follower, no screen", NULL, false},
    {"full screen, monitor off", "/speculation full\r/monitor off\r", false},
    {"full screen, strip", "/speculation full\r/monitor strip\r", false},
    {"full screen, panel", "/speculation full\r/monitor panel\r", false},
    {"full screen, panel, nothing read ahead", "/speculation off\r/monitor panel\r", false},
};
enum { WATCHED = sizeof watched / sizeof *watched, SHORTEST_REPLY = 32, LONGEST_REPLY = 600 };
#define REPLY_S 3.0
#define CARD "  speed  " /* a line of it */
#define QUICK_REPLY_S 0.5

typedef struct {
    bench *b;
    bench_table *t;
    pty screen; /* opened when it is first needed; serves all rounds */
    tdm_machine *machine;
    char tokens[16]; /* of the reply */
    double run_tps;  /* of `tandem run` in this round; 0: not measured */
} watching;

/* The end of what a program writes. */
typedef struct {
    char text[8192];
    size_t n;
} tail;

static void keep(void *ctx, const char *bytes, size_t n)
{
    tail *t = ctx;
    size_t most = sizeof t->text - 1;
    if (n > most) {
        bytes += n - most;
        n = most;
    }
    if (t->n + n > most) {
        size_t gone = t->n + n - most;
        memmove(t->text, t->text + gone, t->n -= gone);
    }
    memcpy(t->text + t->n, bytes, n);
    t->text[t->n += n] = 0;
}

static tdm_status by_run(watching *w, double *tps, tdm_error *err)
{
    const char *const arguments[] = {"--json", "-n", w->tokens, message, NULL};
    const char *key = "\"decode_tps\":";
    tail last = {.n = 0};
    pty s = {.fd = -1};
    tdm_status status = bench_screen_open(w->b, &s, BENCH_SCREEN_PANEL_COLS, "run", arguments, err);
    s.seen = keep;
    s.seen_ctx = &last;
    while (!status && !s.hung_up) status = bench_screen_take(&s, 200, err);
    pty_close(&s);
    char *figure = strstr(last.text, key);
    if (status == TDM_E_CANCELLED) return status;
    if (!figure) return error_set(err, TDM_E_IO, "bench: tandem run did not end with its figures");
    *tps = strtod(figure + strlen(key), NULL);
    return TDM_OK;
}

static tdm_status by_chat(watching *w, double *tps, tdm_error *err)
{
    tdm_chat_options o;
    bench_talk talk = {0};
    bench_chat_options(w->b, &o);
    o.max_tokens = atoi(w->tokens);
    tdm_status status = w->machine ? TDM_OK
                                   : bench_machine(w->b, &w->machine, !options_flag(w->b->o, OPTION_NO_LENDING), err);
    if (!status) status = bench_talk_open(&talk, w->b->models.model, w->machine, &o, err);
    if (!status) status = bench_talk_ask(&talk, message, err);
    *tps = talk.stats.decode_tps;
    bench_talk_close(&talk);
    return status;
}

/* Until the turn's card is there. The terminal runs on the cores that are measured: it takes what came ten times a
 * second and looks for the card twice. */
static tdm_status wait_for_card(pty *s, tdm_error *err)
{
    int64_t until = clock_ns() + PATIENCE_S * INT64_C(1000000000);
    tdm_status status = TDM_OK;
    for (int i = 0; !status && (i % 5 || pty_find(s, 0, CARD) < 0); i++) {
        if (clock_ns() > until) return error_set(err, TDM_E_IO, "bench: a reply did not end in %d s", PATIENCE_S);
        usleep(100000);
        for (int64_t before = 0; !status && before != s->got_ns;) {
            before = s->got_ns;
            status = bench_screen_take(s, 0, err);
        }
    }
    return status;
}

static tdm_status by_screen(watching *w, const char *keys, double *tps, tdm_error *err)
{
    const char *const arguments[] = {"--private", "-n", w->tokens, NULL};
    char row[PTY_ROW];
    pty *s = &w->screen;
    tdm_status status = TDM_OK;
    if (!s->child) {
        status = bench_screen_open(w->b, s, BENCH_SCREEN_PANEL_COLS, "chat", arguments, err);
        if (!status) status = bench_screen_wait(s, "IDLE", err);
        if (!status)
            status = bench_screen_keys(s, "/stats turn card\r/set follow stream\r", err); /* the card is in sight */
    }
    if (!status) status = bench_screen_keys(s, keys, err);
    if (!status) status = bench_screen_keys(s, "/new\r", err);
    if (!status) status = bench_screen_wait_gone(s, CARD, err);
    if (!status) status = bench_screen_rest(s, 0.5, err); /* the opening of the prompt is read */
    if (!status) status = bench_screen_keys(s, message, err);
    if (!status) status = bench_screen_rest(s, 0.3, err);
    if (!status) status = bench_screen_keys(s, "\r", err);
    if (!status) status = wait_for_card(s, err);
    if (status) return status;
    pty_row(s, pty_find(s, 0, CARD), row);
    char *figure = strpbrk(row, "0123456789");
    *tps = figure ? strtod(figure, NULL) : 0;
    return TDM_OK;
}

static tdm_status measure_decode(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    watching *w = ctx;
    const struct watched *who = &watched[number];
    double tps = 0;
    (void)round;
    bench_step(b, "%s", who->name);
    tdm_status status = who->run    ? by_run(w, &tps, err)
                        : who->keys ? by_screen(w, who->keys, &tps, err)
                                    : by_chat(w, &tps, err);
    if (status) return status;
    if (who->run) w->run_tps = tps;
    int row = bench_table_row(w->t, "%s", who->name);
    bench_table_add(w->t, row, 0, tps);
    if (w->run_tps > 0) bench_table_add(w->t, row, 1, tps / w->run_tps);
    return TDM_OK;
}

static bench_table *plan_decode(bench *b, watching *w, bench_plan *plan, tdm_error *err)
{
    static const int rank[WATCHED] = {0, 2, 4, 3, 1, 5};
    const double screen_s = 2, start_s = 1;
    w->t = bench_new_table(b, "decode", "decode of one reply, by what shows it; kept: of tandem run in the same round",
                           "shown_by", "decode:tok/s|kept:x", err);
    bench_plan_open(plan, w->t);
    if (!w->t) return NULL;
    double fits = (b->quick ? QUICK_REPLY_S : REPLY_S) * b->host.read / (double)b->info.bytes_per_token;
    int tokens = fits < SHORTEST_REPLY ? SHORTEST_REPLY : fits > LONGEST_REPLY ? LONGEST_REPLY : (int)fits;
    snprintf(w->tokens, sizeof w->tokens, "%d", tokens);
    bench_table_note(w->t,
                     "replies of %d tokens; tandem run has the cores of both units for itself; the terminal that is "
                     "drawn on runs on them, too",
                     tokens);
    bool started = false;
    for (int i = 0; i < WATCHED; i++) {
        bool first = watched[i].keys && !started;
        started |= first;
        bench_plan_add(b, plan, rank[i], first ? b->cost.load_s + start_s : 0,
                       bench_cost_decode(b, tokens) + (watched[i].run ? b->cost.load_s + start_s : screen_s), "%s",
                       watched[i].name);
    }
    bench_plan_base(plan);
    return w->t;
}

/* ---- The suite --------------------------------------------------------------------------------------------------- */

tdm_status bench_screen_suite(bench *b, tdm_error *err)
{
    watching w = {.b = b, .screen.fd = -1};
    bench_plan display, decode = {0};
    tdm_status status = TDM_OK;
    bench_table *t = plan_display(b, &display, err);
    if (!t || !plan_decode(b, &w, &decode, err)) status = err->code;
    if (!status) {
        t->unwanted = bench_plan_seconds(&display, false) <= 0;
        w.t->unwanted = bench_plan_seconds(&decode, false) <= 0;
        bench_part(b, w.t->unwanted ? 1 : 0.3);
        if (!t->unwanted) status = bench_plan_run(b, &display, measure_display, t, err);
    }
    bench_part(b, 1);
    if (!status && !w.t->unwanted) status = bench_plan_run(b, &decode, measure_decode, &w, err);
    bench_plan_close(&display);
    bench_plan_close(&decode);
    pty_close(&w.screen);
    tdm_machine_close(w.machine);
    return status;
}
