/* `tandem bench glyph` and `tandem bench screen`: what a user of the full screen waits for. Another Tandem, with the
 * screen that users have, runs in a pseudo-terminal; keys are written into it and the screen is read.
 *
 * glyph: from the Enter key to the first character of the reply, so that everything between key and character counts;
 * beside it stand the program's own figure and the engine's share. screen: the first frame, a key until it is on the
 * terminal while both units work, the time that drawing takes; and what the screen and each form of the monitor leave
 * of the speed that `tandem run` decodes with. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/bench/bench.h"
#include "src/bench/pty.h"
#include "src/bench/report/plan.h"
#include "src/bench/talk.h"
#include "src/cli/program.h"
#include "src/io/output.h"
#include "src/play/script.h"
#include "src/process/interrupt.h"

/* ---- The program in its terminal --------------------------------------------------------------------------------- */

/* Rows and columns have room for the forms of the monitor. */
enum { ROWS = 40, STRIP_COLS = 100, PANEL_COLS = 120, ARGUMENTS = 48, PATIENCE_S = 300 };

/* The program tandem, the one beside this program, without the user's configuration. Once something has failed (or
 * Ctrl-C came: TDM_E_CANCELLED), nothing more is done. The caller asks for the status at the end. */
typedef struct {
    pty pty;
    bench *b;
    tdm_error *err;
    tdm_status status;
} terminal;

static terminal terminal_of(bench *b, tdm_error *err)
{
    return (terminal){.pty.fd = -1, .b = b, .err = err};
}

/* Starts `tandem COMMAND --temp 0 --seed 1 --ignore-eos` with the model and the units of the bench, and these arguments
 * (NULL-terminated). */
static void open_program(terminal *t, int cols, const char *command, const char *const *arguments)
{
    static const option_id passed[] = {OPTION_KV,           OPTION_KERNELS,     OPTION_QUANT,        OPTION_LM_HEAD,
                                       OPTION_PREFILL_UNIT, OPTION_DECODE_UNIT, OPTION_PREFILL_KIND, OPTION_DECODE_KIND,
                                       OPTION_EXPERT_MEMORY};
    static const char *const environment[] = {"LC_ALL=C.UTF-8", "INPUTRC=/dev/null", "XDG_CONFIG_HOME=/dev/null",
                                              "NO_COLOR", NULL};
    enum { PASSED = sizeof passed / sizeof *passed };
    const pty_options terminals = {.rows = ROWS, .cols = cols, .term = "xterm-256color", .environment = environment};
    const options *o = t->b->o;
    char program[PATH_MAX];
    if (t->status) return;
    if (!program_beside("tandem", program) || access(program, X_OK)) {
        t->status =
            error_set(t->err, TDM_E_NOT_FOUND, "bench: the program tandem, which is measured, is not beside this one");
        return;
    }
    const char *all[ARGUMENTS] = {"tandem", command, "--temp", "0", "--seed", "1", "--ignore-eos"};
    char given[PASSED][64];
    int n = 7;
    if (strcmp(t->b->model_option, "built-in")) {
        all[n++] = "-m";
        all[n++] = t->b->model_option;
    }
    if (options_flag(o, OPTION_NO_LENDING)) all[n++] = "--no-lending";
    for (int i = 0; i < PASSED; i++) {
        if (!options_given(o, passed[i])) continue;
        snprintf(given[i], sizeof given[i], "--%s", option_table[passed[i]].name);
        all[n++] = given[i];
        all[n++] = options_text(o, passed[i]);
    }
    const option_value *accepted = &o->values[OPTION_ACCEPT_UNKNOWN];
    if (n + 2 * accepted->n > ARGUMENTS / 2) {
        t->status = error_set(t->err, TDM_E_ARG, "bench: --accept-unknown: too many; a * stands for any characters");
        return;
    }
    for (int i = 0; i < accepted->n; i++) {
        all[n++] = "--accept-unknown";
        all[n++] = accepted->list[i];
    }
    while (*arguments && n < ARGUMENTS - 1) all[n++] = *arguments++;
    t->status = pty_open(&t->pty, program, all, &terminals, t->err);
}

/* Takes what comes within wait_ms; returns at the first bytes. */
static void take(terminal *t, int wait_ms)
{
    char last[PTY_ROW];
    if (t->status) return;
    t->status = pty_take(&t->pty, wait_ms, t->err);
    if (interrupt_seen() || !output_read()) {
        t->status = error_set(t->err, TDM_E_CANCELLED, "interrupted");
    } else if (t->status) {
        pty_row(&t->pty, 0, last);
        t->status = error_set(t->err, TDM_E_IO, "bench: the program in the pseudo-terminal ended: %s", last);
    }
}

static void keys(terminal *t, const char *text, size_t n)
{
    if (!t->status) t->status = pty_keys(&t->pty, text, n, t->err);
}

/* Types, as a user would. */
static void press(terminal *t, const char *text)
{
    keys(t, text, strlen(text));
}

/* Takes what comes, or fails after so long: what did not happen? */
static void take_patiently(terminal *t, int64_t since_ns, const char *what)
{
    if (clock_ns() - since_ns < PATIENCE_S * INT64_C(1000000000))
        take(t, 200);
    else
        t->status = error_set(t->err, TDM_E_IO, "bench: %s in %d s", what, PATIENCE_S);
}

static bool shows(const terminal *t, const char *text)
{
    return pty_find(&t->pty, 0, text) >= 0;
}

/* Until a row holds the text, or none does. */
static void await(terminal *t, const char *text, bool there)
{
    char what[120];
    int64_t since = clock_ns();
    snprintf(what, sizeof what, "'%s' did not %s the terminal", text, there ? "appear on" : "leave");
    while (!t->status && shows(t, text) != there) take_patiently(t, since, what);
}

/* Lets the program go on for so long. */
static void rest(terminal *t, double seconds)
{
    int64_t until = clock_ns() + (int64_t)(1e9 * seconds), left;
    while (!t->status && (left = until - clock_ns()) > 0) take(t, left < 1000000 ? 1 : (int)(left / 1000000));
}

/* The chat with its units at rest, replies of this many tokens (0: as long as they get). */
static void open_chat(terminal *t, int cols, int reply)
{
    char n[16];
    const char *const arguments[] = {"--private", reply ? "-n" : NULL, n, NULL};
    snprintf(n, sizeof n, "%d", reply);
    open_program(t, cols, "chat", arguments);
    await(t, "IDLE", true);
}

/* shown: a text of the last session, which disappears with it. */
static void new_session(terminal *t, const char *shown)
{
    press(t, "/new\r");
    await(t, shown, false);
    rest(t, 0.5); /* the opening of the prompt is read */
}

/* The tokens of a reply of this many seconds at the speed at which the memory could be read, within reason. */
static int reply_tokens(const bench *b, double seconds, int least, int most)
{
    double fits = seconds * b->host.read / (double)b->info.bytes_per_token;
    return fits < least ? least : fits > most ? most : (int)fits;
}

/* ---- glyph: reading the screen ----------------------------------------------------------------------------------- */

#define FIGURES "first glyph  "            /* of the program's own, below the message */
#define RULE    "\342\224\200\342\224\200" /* a rule begins with two line characters */

struct figures_seen {
    double glyph_ms;          /* by the terminal: from the key to the first character */
    double own_ms, engine_ms; /* as the program says */
};

/* Rows of the conversation: those above the first rule. */
static int transcript_rows(const pty *s)
{
    char row[PTY_ROW];
    for (int r = 0; r < ROWS; r++) {
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

/* When the reply began: the first sighting of a row that the last one continues, or that wrapping shortened to the last
 * one. */
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

/* "  first glyph  warm 9 ms (engine 7 ms)" below the message, whose reply was sighted; false while it isn't there. Once
 * many short lines have moved the message off the screen, the figures of earlier turns are gone as well. */
static bool own_figures(const pty *s, const char *text, struct figures_seen *out)
{
    char row[PTY_ROW];
    int rows = transcript_rows(s), below = below_message(s, text, rows);
    int found = pty_find(s, below < 0 ? 0 : below, FIGURES);
    if (found < 0 || found >= rows) return false;
    pty_row(s, found, row);
    const char *figure = strpbrk(row, "0123456789"), *engine = strstr(row, "(engine ");
    if (!figure || !engine) return false;
    out->own_ms = milliseconds(figure);
    out->engine_ms = milliseconds(engine + 8);
    return true;
}

/* ---- glyph: a turn ----------------------------------------------------------------------------------------------- */

enum { TURNS = 30, MESSAGE_TOKENS = 74, QUICK_MESSAGE_TOKENS = 24, LIVE_CHARACTERS = 60, QUICK_LIVE_CHARACTERS = 20 };
#define CPS 30.0

/* How a message is sent. */
enum how { FIRST, WARM, AT_ONCE, QUEUED, CUT, HOWS };

static const char *const names[HOWS] = {"first, pasted", "warm, Enter after 300 ms", "warm, Enter at once",
                                        "queued, with the wait for its turn", "cut"};

static void paste(terminal *t, const char *text, size_t n)
{
    press(t, "\033[200~");
    keys(t, text, n);
    press(t, "\033[201~");
}

/* Pastes all but the last `live` characters, waits until they are read, and types the rest. */
static void type(terminal *t, const char *text, size_t live, int number)
{
    script typing = {.seed = 1, .typing_cps = CPS};
    size_t n = strlen(text), there = n > live ? n - live : 0;
    if (there) paste(t, text, there);
    if (there) await(t, "[ready]", true);
    for (size_t i = there; i < n; i++) {
        rest(t, script_interval(&typing, number, (int)(i - there)));
        keys(t, text + i, 1);
    }
}

/* Presses the key that sends and waits for the first character and the end of the reply. */
static void send(terminal *t, const char *text, const char *key, bool to_the_end, struct figures_seen *out)
{
    int64_t enter = clock_ns();
    struct sightings all = {0};
    press(t, key);
    *out = (struct figures_seen){0};
    while (!t->status && !(all.n && (!to_the_end || own_figures(&t->pty, text, out)))) {
        take_patiently(t, enter, "no reply appeared on the terminal");
        if (!t->status) look(&t->pty, text, &all);
    }
    out->glyph_ms = 1e-6 * (double)(first_sight(&all) - enter);
}

/* Sends the message into a running reply. False: it had ended, so that the message is not queued. */
static bool queue(terminal *t, const char *text)
{
    bool met = false;
    int64_t enter = clock_ns();
    press(t, "\r");
    while (!t->status && !met && !reply_shown(&t->pty, text)) {
        take_patiently(t, enter, "a message was neither queued nor answered");
        met = shows(t, "queued: ");
    }
    return met;
}

/* Two texts: the second is the message that is measured, the first the one whose reply it meets (queued, cut). False:
 * what is to be measured was not there. */
static bool turn(terminal *t, enum how how, char *const text[2], size_t live, struct figures_seen *out)
{
    bool met = true;
    if (how == QUEUED || how == CUT) {
        paste(t, text[0], strlen(text[0]));
        await(t, "[ready]", true);
        send(t, text[0], "\r", false, out);
        met = !t->status && !own_figures(&t->pty, text[0], out);
    }
    if (how == WARM || how == AT_ONCE)
        type(t, text[1], live, how);
    else
        paste(t, text[1], strlen(text[1]));
    if (how == WARM) rest(t, 0.3);
    if (how == CUT && !(met = queue(t, text[1]))) return false;
    send(t, text[1], how == CUT ? "\x18\r" : "\r", true, out);
    return met && !t->status;
}

/* ---- glyph ------------------------------------------------------------------------------------------------------- */

/* What all turns share. */
struct glyph {
    bench_table *t;
    terminal terminal;
    int reply; /* tokens of each */
    int round; /* whose conversation is open; -1: the chat was not started */
};

enum { LONGEST_REPLY = 1000 };

static void start(struct glyph *x)
{
    bench_step(x->terminal.b, "the chat loads its model");
    open_chat(&x->terminal, STRIP_COLS, x->reply);
    press(&x->terminal, "/stats turn card\r");
    rest(&x->terminal, 0.5);
}

/* A reply had ended before the message came that was to meet it: the next ones are longer. */
static void lengthen_replies(struct glyph *x)
{
    char line[40];
    if (2 * x->reply > LONGEST_REPLY) return;
    x->reply *= 2;
    snprintf(line, sizeof line, "/set max-tokens %d\r", x->reply);
    press(&x->terminal, line);
    rest(&x->terminal, 0.5);
}

static tdm_status one(bench *b, struct glyph *x, enum how how, int round, tdm_error *err)
{
    size_t tokens = b->quick ? QUICK_MESSAGE_TOKENS : MESSAGE_TOKENS;
    size_t live = b->full_counts ? SIZE_MAX : b->quick ? QUICK_LIVE_CHARACTERS : LIVE_CHARACTERS;
    char *text[2] = {NULL};
    struct figures_seen f = {0};
    tdm_status status = x->terminal.status;
    bench_step(b, "%s", names[how]);
    for (int i = 0; i < 2 && !status; i++)
        status = bench_prompt_message(&b->prompt, b->models.model, 83 * (2 * (HOWS * round + (int)how) + i), tokens,
                                      &text[i], err);
    if (!status && turn(&x->terminal, how, text, live, &f)) {
        int row = bench_table_row(x->t, "%s", names[how]);
        bench_table_add(x->t, row, 0, f.glyph_ms);
        bench_table_add(x->t, row, 1, f.own_ms);
        bench_table_add(x->t, row, 2, f.engine_ms);
    } else if (!status && !x->terminal.status) {
        lengthen_replies(x);
    }
    free(text[0]);
    free(text[1]);
    return status ? status : x->terminal.status;
}

/* Each round is a conversation; a cold turn opens it whether its row is asked for or not. */
static tdm_status measure_glyph(bench *b, void *ctx, int how, int round, tdm_error *err)
{
    struct glyph *x = ctx;
    tdm_status status = TDM_OK;
    if (x->round < 0) start(x);
    if (x->round != round) {
        x->round = round;
        new_session(&x->terminal, FIGURES);
        status = one(b, x, FIRST, round, err);
        if (how == FIRST) return status;
    }
    return status ? status : one(b, x, (enum how)how, round, err);
}

tdm_status bench_glyph(bench *b, tdm_error *err)
{
    struct glyph x = {
        .terminal = terminal_of(b, err), .round = -1, .reply = reply_tokens(b, 0.5, 20, b->quick ? 60 : 100)};
    x.t = bench_new_table(b, "",
                          "Enter to the first character of the reply, as a terminal gets it from the full "
                          "screen; beside it the program's own figure and the engine's share",
                          "turn", "glyph:ms|program:ms|engine:ms", err);
    if (!x.t) return err->code;
    bench_table_note(
        x.t, "the program counts queued turns from the end of the reply before, and shows tenths of a millisecond");
    bench_plan plan;
    bench_plan_open(&plan, x.t);
    for (int how = 0; how < HOWS; how++) {
        bench_plan_add(b, &plan, "%s", names[how]);
        if (b->full_counts) bench_plan_most(&plan, bench_full_count(b, TURNS));
    }
    tdm_status status = bench_plan_run(b, &plan, measure_glyph, &x, err);
    bench_plan_close(&plan);
    pty_close(&x.terminal.pty);
    return status;
}

/* ---- screen: first frame, echo, drawing -------------------------------------------------------------------------- */

enum { KEYS = 40, QUICK_KEYS = 16, KEY_GAP_MS = 60 };
#define STREAM_S       2.5
#define QUICK_STREAM_S 1.0

static const char message[] = "Tell me a long story.";

/* Processor time of the program's first thread, which reads keys, takes the units' events, and draws. Negative:
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

static void first_frame(terminal *s, bench_table *t)
{
    static const char *const arguments[] = {"--private", NULL};
    int64_t start = clock_ns();
    open_program(s, PANEL_COLS, "chat", arguments);
    await(s, "Enter sends", true);
    if (!s->status) bench_table_add(t, bench_table_row(t, "first frame"), 0, 1e-6 * (double)(s->pty.got_ns - start));
}

/* Types one letter after the other into the draft while the reply is written. */
static void type_letters(terminal *s, bench_table *t, int n)
{
    char draft[KEYS + 3] = "> ";
    for (int i = 0; i < n && !s->status; i++) {
        const char letter = i % 6 == 5 ? ' ' : (char)('a' + i % 26);
        draft[2 + i] = letter;
        draft[3 + i] = 0;
        int64_t pressed = clock_ns();
        keys(s, &letter, 1);
        bool seen = letter != ' '; /* a blank at the end can't be told from none */
        while (!s->status && seen && !shows(s, draft))
            take_patiently(s, pressed, "a key did not appear on the terminal");
        if (!s->status && seen)
            bench_table_add(t, bench_table_row(t, "key while a reply streams"), 0,
                            1e-6 * (double)(s->pty.got_ns - pressed));
        rest(s, KEY_GAP_MS / 1e3 - 1e-9 * (double)(clock_ns() - pressed));
    }
}

static void keys_and_drawing(terminal *s, bench_table *t)
{
    open_chat(s, PANEL_COLS, 0);
    press(s, message);
    press(s, "\r");
    await(s, "ANSWERING", true);
    double before = front_end_seconds(s->pty.child);
    int64_t from = clock_ns();
    rest(s, s->b->quick ? QUICK_STREAM_S : STREAM_S);
    double seconds = 1e-9 * (double)(clock_ns() - from), after = front_end_seconds(s->pty.child);
    if (s->status || !shows(s, "ANSWERING")) return; /* the context was full before */
    if (before >= 0 && after >= before)
        bench_table_add(t, bench_table_row(t, "front end while a reply streams"), 1, 100 * (after - before) / seconds);
    type_letters(s, t, s->b->quick ? QUICK_KEYS : KEYS);
}

static tdm_status measure_display(bench *b, void *ctx, int row, int round, tdm_error *err)
{
    terminal s = terminal_of(b, err);
    (void)round;
    bench_step(b, row ? "keys and drawing" : "first frame");
    (row ? keys_and_drawing : first_frame)(&s, ctx);
    pty_close(&s.pty);
    return s.status;
}

static bench_table *plan_display(bench *b, bench_plan *plan, tdm_error *err)
{
    bench_table *t = bench_new_table(b, "",
                                     "the full screen: first frame, a key until the terminal has it, and the "
                                     "processor time of the thread that draws, in percent of one core",
                                     "what", "time:ms|core:%", err);
    bench_plan_open(plan, t);
    if (!t) return NULL;
    bench_table_note(t, "processor time is counted in steps of %ld ms", 1000 / sysconf(_SC_CLK_TCK));
    bench_plan_add(b, plan, "first frame");
    bench_plan_add(b, plan, "front end and key while a reply streams");
    return t;
}

/* ---- screen: decoding, watched and not --------------------------------------------------------------------------- */

/* The ways in which the same reply to the same message is decoded, each in a conversation of its own. */
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
enum { WATCHED = sizeof watched / sizeof *watched };
#define CARD "  speed  " /* a line of it */

typedef struct {
    bench_table *t;
    terminal screen; /* opened when it is first needed; serves all rounds */
    tdm_machine *machine;
    int tokens;     /* of the reply */
    double run_tps; /* of `tandem run` in this round; 0: not measured */
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

static tdm_status by_run(watching *w, double *tps)
{
    char tokens[16];
    const char *const arguments[] = {"--json", "-n", tokens, message, NULL};
    const char *key = "\"decode_tps\":";
    tail last = {.n = 0};
    terminal s = terminal_of(w->screen.b, w->screen.err);
    snprintf(tokens, sizeof tokens, "%d", w->tokens);
    open_program(&s, PANEL_COLS, "run", arguments);
    if (s.status) return s.status;
    s.pty.seen = keep;
    s.pty.seen_ctx = &last;
    while (!s.status) take(&s, 200);
    pty_close(&s.pty);
    char *figure = strstr(last.text, key);
    if (s.status == TDM_E_CANCELLED) return s.status;
    if (!figure) return error_set(s.err, TDM_E_IO, "bench: tandem run did not end with its figures");
    *tps = strtod(figure + strlen(key), NULL);
    return TDM_OK;
}

static tdm_status by_chat(watching *w, double *tps)
{
    bench *b = w->screen.b;
    tdm_error *err = w->screen.err;
    tdm_chat_options o;
    bench_talk talk = {0};
    bench_chat_options(b, &o);
    o.max_tokens = w->tokens;
    tdm_status status =
        w->machine ? TDM_OK : bench_machine(b, &w->machine, !options_flag(b->o, OPTION_NO_LENDING), err);
    if (!status) status = bench_talk_open(&talk, b->models.model, w->machine, &o, err);
    if (!status) status = bench_talk_ask(&talk, message, err);
    *tps = talk.stats.decode_tps;
    bench_talk_close(&talk);
    return status;
}

/* Until the turn's card is there. The terminal runs on the cores that are measured: it takes what came ten times a
 * second and looks for the card twice. */
static void wait_for_card(terminal *s)
{
    int64_t since = clock_ns();
    for (int i = 0; !s->status && (i % 5 || !shows(s, CARD)); i++) {
        usleep(100000);
        for (int64_t before = 0; !s->status && before != s->pty.got_ns;) {
            before = s->pty.got_ns;
            take(s, 0);
        }
        if (!s->status && clock_ns() - since > PATIENCE_S * INT64_C(1000000000))
            s->status = error_set(s->err, TDM_E_IO, "bench: a reply did not end in %d s", PATIENCE_S);
    }
}

static tdm_status by_screen(watching *w, const char *settings, double *tps)
{
    char row[PTY_ROW];
    terminal *s = &w->screen;
    if (!s->pty.child) {
        open_chat(s, PANEL_COLS, w->tokens);
        press(s, "/stats turn card\r/set follow stream\r"); /* the card is in sight */
    }
    press(s, settings);
    new_session(s, CARD);
    press(s, message);
    rest(s, 0.3);
    press(s, "\r");
    wait_for_card(s);
    if (s->status) return s->status;
    pty_row(&s->pty, pty_find(&s->pty, 0, CARD), row);
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
    (void)err; /* the terminal has it */
    bench_step(b, "%s", who->name);
    tdm_status status = who->run ? by_run(w, &tps) : who->keys ? by_screen(w, who->keys, &tps) : by_chat(w, &tps);
    if (status) return status;
    if (who->run) w->run_tps = tps;
    int row = bench_table_row(w->t, "%s", who->name);
    bench_table_add(w->t, row, 0, tps);
    if (w->run_tps > 0) bench_table_add(w->t, row, 1, tps / w->run_tps);
    return TDM_OK;
}

static bench_table *plan_decode(bench *b, watching *w, bench_plan *plan, tdm_error *err)
{
    w->t = bench_new_table(b, "decode", "decode of one reply, by what shows it; kept: of tandem run in the same round",
                           "shown_by", "decode:tok/s|kept:x", err);
    bench_plan_open(plan, w->t);
    if (!w->t) return NULL;
    w->tokens = reply_tokens(b, b->quick ? 0.5 : 3.0, 32, 600);
    bench_table_note(w->t,
                     "replies of %d tokens; tandem run has the cores of both units for itself; the terminal that is "
                     "drawn on runs on them, too",
                     w->tokens);
    for (int i = 0; i < WATCHED; i++) bench_plan_add(b, plan, "%s", watched[i].name);
    bench_plan_base(plan);
    return w->t;
}

/* ---- screen ------------------------------------------------------------------------------------------------------ */

tdm_status bench_screen(bench *b, tdm_error *err)
{
    watching w = {.screen = terminal_of(b, err)};
    bench_plan display, decode = {0};
    tdm_status status = TDM_OK;
    bench_table *t = plan_display(b, &display, err);
    if (!t || !plan_decode(b, &w, &decode, err)) status = err->code;
    if (!status) {
        t->unwanted = !bench_plan_wanted(&display);
        w.t->unwanted = !bench_plan_wanted(&decode);
        bench_part(b, w.t->unwanted ? 1 : 0.3);
        if (!t->unwanted) status = bench_plan_run(b, &display, measure_display, t, err);
    }
    bench_part(b, 1);
    if (!status && !w.t->unwanted) status = bench_plan_run(b, &decode, measure_decode, &w, err);
    bench_plan_close(&display);
    bench_plan_close(&decode);
    pty_close(&w.screen.pty);
    tdm_machine_close(w.machine);
    return status;
}
