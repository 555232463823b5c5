/* `tandem bench glyph`: from the Enter key to the first character of the reply on a terminal. Another Tandem, with the
 * full screen that users have, runs in a pseudo-terminal; keys are written into it and the screen is read, so that
 * everything between key and character counts. Beside it stand the program's own figure and the engine's share. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/bench/bench.h"
#include "src/bench/bench_loop.h"
#include "src/bench/bench_plan.h"
#include "src/bench/bench_screen.h"
#include "src/chat/script.h"

enum { TURNS = 30, MESSAGE_TOKENS = 74, QUICK_MESSAGE_TOKENS = 24, LIVE_CHARACTERS = 60, QUICK_LIVE_CHARACTERS = 20,
       PATIENCE_S = 120 };
#define CPS 30.0
/* A reply is long enough to meet it: half a second at the speed at which the memory could be read, within reason. */
#define REPLY_S 0.5
enum { SHORTEST_REPLY = 20, LONGEST_REPLY = 100, QUICK_REPLY = 60 };
#define BEGIN_PASTE "\033[200~"
#define END_PASTE "\033[201~"
#define RULE "\342\224\200\342\224\200" /* a rule begins with two line characters */

/* How a message comes to be sent. */
enum how { FIRST, WARM, AT_ONCE, QUEUED, CUT, HOWS };

static const char *const names[HOWS] = {
    "first, pasted", "warm, Enter after 300 ms", "warm, Enter at once", "queued, with the wait for its turn", "cut"};

struct figures_seen {
    double glyph_ms;           /* by the terminal: from the key to the first character */
    double own_ms, engine_ms;  /* as the program says */
};

/* ---- Reading the screen ------------------------------------------------------------------------------------------ */

/* Rows of the conversation: those above the first rule. */
static int transcript_rows(const pty *s)
{
    char row[PTY_ROW];
    for (int r = 0; r < BENCH_SCREEN_ROWS; r++) {
        pty_row(s, r, row);
        if (!strncmp(row, RULE, strlen(RULE))) return r;
    }
    return 0;
}

/* The row below the message that begins with `text` and ends at the first empty row; -1: it is not shown (yet). */
static int below_message(const pty *s, const char *text, int rows)
{
    char row[PTY_ROW], begin[24];
    snprintf(begin, sizeof begin, "> %.20s", text);
    for (int r = rows; r-- > 0;) {
        pty_row(s, r, row);
        if (strncmp(row, begin, strlen(begin))) continue;
        while (r < rows && row[0]) pty_row(s, ++r, row);
        return r < rows ? r + 1 : -1;
    }
    return -1;
}

/* The first row of the reply; empty while there is none. */
static void reply_row(const pty *s, const char *text, char row[PTY_ROW])
{
    int rows = transcript_rows(s), r = below_message(s, text, rows);
    row[0] = 0;
    if (r >= 0 && r < rows) pty_row(s, r, row);
}

static bool reply_shown(const pty *s, const char *text)
{
    char row[PTY_ROW];
    reply_row(s, text, row);
    return row[0];
}

/* What stood in the reply's first row, and when. A frame may come in pieces, of which the first show the message above
 * rows of the frame before, so only the end tells what was the reply's. */
struct sightings {
    int n;
    struct {
        int64_t at;
        char row[PTY_ROW];
    } seen[48];
};

static void look(const pty *s, const char *text, struct sightings *all)
{
    char row[PTY_ROW];
    reply_row(s, text, row);
    if (!row[0] || all->n == sizeof all->seen / sizeof *all->seen) return;
    if (all->n && !strcmp(all->seen[all->n - 1].row, row)) return;
    all->seen[all->n].at = s->got_ns;
    memcpy(all->seen[all->n++].row, row, sizeof row);
}

/* When the row began that the last one goes on, or is what wrapping left of it. */
static int64_t first_sight(const struct sightings *all)
{
    for (int i = 0; i < all->n; i++) {
        const char *row = all->seen[i].row, *last = all->seen[all->n - 1].row;
        size_t n = strlen(row) < strlen(last) ? strlen(row) : strlen(last);
        if (!memcmp(row, last, n)) return all->seen[i].at;
    }
    return 0;
}

/* "9 ms", "1,870 ms", "12.3 s" at the start of text, in milliseconds. */
static double milliseconds(const char *text)
{
    double value = 0, place = 0;
    for (; (*text >= '0' && *text <= '9') || *text == ',' || *text == '.'; text++) {
        if (*text == '.') place = 1;
        if (*text < '0' || *text > '9') continue;
        value = place > 0 ? value + (*text - '0') * (place /= 10) : 10 * value + (*text - '0');
    }
    return strncmp(text, " s", 2) ? value : 1000 * value;
}

/* "  first glyph  warm 9 ms (engine 7 ms)" below the message; false while it isn't there. */
static bool own_figures(const pty *s, const char *text, struct figures_seen *out)
{
    char row[PTY_ROW];
    int rows = transcript_rows(s), below = below_message(s, text, rows);
    int found = below < 0 ? -1 : pty_find(s, below, "first glyph  ");
    if (found < 0 || found >= rows) return false;
    pty_row(s, found, row);
    const char *figure = strpbrk(row, "0123456789"), *engine = strstr(row, "(engine ");
    if (!figure || !engine) return false;
    out->own_ms = milliseconds(figure);
    out->engine_ms = milliseconds(engine + 8);
    return true;
}

/* ---- A turn ------------------------------------------------------------------------------------------------------ */

static tdm_status paste(pty *s, const char *text, size_t n, tdm_error *err)
{
    tdm_status status = bench_screen_keys(s, BEGIN_PASTE, err);
    if (!status) status = pty_keys(s, text, n, err);
    if (!status) status = bench_screen_keys(s, END_PASTE, err);
    return status;
}

/* Pastes all but the last `live` characters, waits until they are read, and types the rest. */
static tdm_status type(pty *s, const char *text, size_t live, int number, tdm_error *err)
{
    script typing = {.seed = 1, .typing_cps = CPS};
    size_t n = strlen(text), there = n > live ? n - live : 0;
    tdm_status status = there ? paste(s, text, there, err) : TDM_OK;
    if (!status && there) status = bench_screen_wait(s, "[ready]", err);
    for (size_t i = there; i < n && !status; i++) {
        status = bench_screen_rest(s, script_interval(&typing, number, (int)(i - there)), err);
        if (!status) status = pty_keys(s, text + i, 1, err);
    }
    return status;
}

/* Presses the key that sends and waits for the first character and the end of the reply. */
static tdm_status send(pty *s, const char *text, const char *key, bool to_the_end, struct figures_seen *out,
                       tdm_error *err)
{
    int64_t enter = clock_ns(), until = enter + PATIENCE_S * INT64_C(1000000000);
    struct sightings all = {0};
    tdm_status status = bench_screen_keys(s, key, err);
    *out = (struct figures_seen){0};
    while (!status && !(all.n && (!to_the_end || own_figures(s, text, out)))) {
        if (clock_ns() > until) return error_set(err, TDM_E_IO, "bench: no reply appeared on the terminal");
        status = bench_screen_take(s, 200, err);
        if (!status) look(s, text, &all);
    }
    out->glyph_ms = 1e-6 * (double)(first_sight(&all) - enter);
    return status;
}

/* Sends the message into a running reply; *met: it was still running, so that the message is queued. */
static tdm_status queue(pty *s, const char *text, bool *met, tdm_error *err)
{
    tdm_status status = bench_screen_keys(s, "\r", err);
    *met = false;
    while (!status && !*met && !reply_shown(s, text)) {
        status = bench_screen_take(s, 200, err);
        *met = pty_find(s, 0, "queued: ") >= 0;
    }
    return status;
}

/* Two texts: the second is the message that is measured, the first the one whose reply it meets (queued, cut). *met:
 * what is to be measured was there. */
static tdm_status turn(pty *s, enum how how, char *const text[2], size_t live, struct figures_seen *out,
                       bool *met, tdm_error *err)
{
    tdm_status status = TDM_OK;
    *met = true;
    if (how == QUEUED || how == CUT) {
        status = paste(s, text[0], strlen(text[0]), err);
        if (!status) status = bench_screen_wait(s, "[ready]", err);
        if (!status) status = send(s, text[0], "\r", false, out, err);
        *met = !status && !own_figures(s, text[0], out);
    }
    if (!status && (how == WARM || how == AT_ONCE))
        status = type(s, text[1], live, how, err);
    else if (!status)
        status = paste(s, text[1], strlen(text[1]), err);
    if (!status && how == WARM) status = bench_screen_rest(s, 0.3, err);
    if (!status && how == CUT) status = queue(s, text[1], met, err);
    if (status || (how == CUT && !*met)) return status;
    return send(s, text[1], how == CUT ? "\x18\r" : "\r", true, out, err);
}

static tdm_status new_session(pty *s, tdm_error *err)
{
    tdm_status status = bench_screen_keys(s, "/new\r", err);
    if (!status) status = bench_screen_wait_gone(s, "first glyph", err);
    return status ? status : bench_screen_rest(s, 0.5, err); /* the opening of the prompt is read */
}

/* ---- The suite --------------------------------------------------------------------------------------------------- */

/* What all turns share. */
struct glyph {
    bench_table *t;
    pty screen;
    int reply; /* tokens of each */
    int round; /* whose conversation is open; -1: the chat was not started */
};

static tdm_status start(bench *b, struct glyph *x, tdm_error *err)
{
    char reply[16];
    const char *const arguments[] = {"--private", "-n", reply, NULL};
    snprintf(reply, sizeof reply, "%d", x->reply);
    bench_step(b, "the chat loads its model");
    tdm_status status = bench_screen_open(b, &x->screen, BENCH_SCREEN_STRIP_COLS, "chat", arguments, err);
    if (!status) status = bench_screen_wait(&x->screen, "IDLE", err);
    if (!status) status = bench_screen_keys(&x->screen, "/stats turn card\r", err);
    return status ? status : bench_screen_rest(&x->screen, 0.5, err);
}

static size_t message_tokens(const bench *b)
{
    return b->quick ? QUICK_MESSAGE_TOKENS : MESSAGE_TOKENS;
}

static size_t live_characters(const bench *b)
{
    return b->in_full ? SIZE_MAX : b->quick ? QUICK_LIVE_CHARACTERS : LIVE_CHARACTERS;
}

static tdm_status one(bench *b, struct glyph *x, enum how how, int round, tdm_error *err)
{
    char *text[2] = {NULL};
    struct figures_seen f = {0};
    tdm_status status = TDM_OK;
    bench_step(b, "%s", names[how]);
    for (int i = 0; i < 2 && !status; i++)
        status = bench_prompt_message(&b->prompt, b->models.model, 83 * (2 * (HOWS * round + (int)how) + i),
                                      message_tokens(b), &text[i], err);
    bool met = false;
    if (!status) status = turn(&x->screen, how, text, live_characters(b), &f, &met, err);
    if (!status && met) {
        int row = bench_table_row(x->t, "%s", names[how]);
        bench_table_add(x->t, row, 0, f.glyph_ms);
        bench_table_add(x->t, row, 1, f.own_ms);
        bench_table_add(x->t, row, 2, f.engine_ms);
    }
    free(text[0]);
    free(text[1]);
    return status;
}

/* Each round is a conversation; a cold turn opens it whether its row is asked for or not. */
static tdm_status measure(bench *b, void *ctx, int how, int round, tdm_error *err)
{
    struct glyph *x = ctx;
    tdm_status status = x->round < 0 ? start(b, x, err) : TDM_OK;
    if (!status && x->round != round) {
        x->round = round;
        status = new_session(&x->screen, err);
        if (!status) status = one(b, x, FIRST, round, err);
        if (how == FIRST) return status;
    }
    return status ? status : one(b, x, (enum how)how, round, err);
}

static void plan_turns(bench *b, const struct glyph *x, bench_plan *plan)
{
    static const int rank[HOWS] = {[WARM] = 0, [FIRST] = 0, [AT_ONCE] = 2, [QUEUED] = 3, [CUT] = 4};
    enum { CHARACTERS_A_TOKEN = 5 };
    const double pauses_s = 1, start_s = 1;
    int tokens = (int)message_tokens(b), characters = CHARACTERS_A_TOKEN * tokens;
    double live = live_characters(b) < (size_t)characters ? (double)live_characters(b) : characters;
    double paste_s = 0.3 + bench_cost_prefill(b, tokens, BENCH_LOOP_DISPATCH);
    double reply_s = bench_cost_decode(b, x->reply), cold_s = pauses_s + paste_s + reply_s;
    const double run_s[HOWS] = {[FIRST] = cold_s,
                                [WARM] = pauses_s + paste_s + live / CPS + reply_s,
                                [AT_ONCE] = pauses_s + paste_s + live / CPS + reply_s,
                                [QUEUED] = pauses_s + 2 * (paste_s + reply_s),
                                [CUT] = pauses_s + 2 * (paste_s + reply_s)};
    bool first = true; /* of those asked for: the program starts with it, and each round's cold turn */
    for (int how = 0; how < HOWS; how++) {
        bool opens = first && bench_wanted(b, "%s %s", x->t->part, names[how]);
        bench_plan_add(b, plan, rank[how], opens ? b->cost.load_s + start_s : 0,
                       run_s[how] + (opens && how != FIRST ? cold_s : 0), "%s", names[how]);
        first &= !opens;
        if (b->in_full) bench_plan_most(plan, bench_full_count(b, TURNS));
    }
}

tdm_status bench_glyph(bench *b, tdm_error *err)
{
    double fits = REPLY_S * b->host.read / (double)b->info.bytes_per_token;
    int most = b->quick ? QUICK_REPLY : LONGEST_REPLY;
    struct glyph x = {.screen.fd = -1, .round = -1};
    x.reply = fits < SHORTEST_REPLY ? SHORTEST_REPLY : fits > most ? most : (int)fits;
    x.t = bench_new_table(b, "",
                          "Enter to the first character of the reply, as a terminal gets it from the full "
                          "screen; beside it the program's own figure and the engine's share",
                          "turn", "glyph:ms|program:ms|engine:ms", err);
    if (!x.t) return err->code;
    bench_table_note(
        x.t, "the program counts queued turns from the end of the reply before, and shows tenths of a millisecond");
    bench_plan plan;
    bench_plan_open(&plan, x.t);
    plan_turns(b, &x, &plan);
    if (b->in_full)
        fprintf(stderr, "glyph in full, %s: some %.0f minutes; --budget shortens it\n", b->model_name,
                ceil(bench_plan_seconds(&plan, true) / 60));
    tdm_status status = bench_plan_run(b, &plan, measure, &x, err);
    bench_plan_close(&plan);
    pty_close(&x.screen);
    return status;
}
