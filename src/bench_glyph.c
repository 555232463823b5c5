/* `tandem bench glyph`: from the Enter key to the first character of the reply in a pseudo-terminal. Another Tandem,
 * the line-mode chat, runs behind the terminal; keys are written into it and what it shows is read, as a terminal
 * would, so that everything between key and character counts. Beside it stands the figure that the program itself
 * shows. */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/bench.h"
#include "src/interrupt.h"
#include "src/script.h"

enum { PATIENCE_MS = 120000, MESSAGE_TOKENS = 74, TURNS = 30, QUICK_MESSAGE_TOKENS = 24 };

struct screen {
    pid_t child;
    int fd;
    char *seen; /* what was shown since the last Enter */
    size_t length, room;
    int64_t glyph_ns; /* when the first character of the reply came; 0: not yet */
};

/* ---- The child --------------------------------------------------------------------------------------------------- */

static tdm_status start(bench *b, struct screen *s, tdm_error *err)
{
    const char *given = b->model_name, *reply = b->quick ? "8" : "20";
    bool builtin = !strcmp(given, "built-in");
    struct winsize size = {.ws_row = 40, .ws_col = 4000}; /* lines don't wrap: readline would draw them again */
    *s = (struct screen){0};
    s->child = forkpty(&s->fd, NULL, NULL, &size);
    if (s->child < 0) return error_errno(err, TDM_E_IO, "bench: no pseudo-terminal");
    if (s->child) return TDM_OK;
    setenv("TERM", "dumb", 1);
    setenv("INPUTRC", "/dev/null", 1);
    execl("/proc/self/exe", "tandem", "chat", "--plain", "--private", "--temp", "0", "--seed", "1", "--ignore-eos",
          "-n", reply, builtin ? (char *)NULL : "-m", given, (char *)NULL);
    _exit(127);
}

static void stop(struct screen *s)
{
    if (s->child <= 0) return;
    kill(s->child, SIGTERM);
    close(s->fd);
    waitpid(s->child, NULL, 0);
    free(s->seen);
    *s = (struct screen){0};
}

/* The first visible character of the reply in what was shown since Enter: not of the notes in brackets. */
static bool reply_shown(const struct screen *s)
{
    for (size_t i = 0; i < s->length;) {
        size_t end = i;
        while (end < s->length && s->seen[end] != '\n') end++;
        size_t at = i;
        while (at < end && (unsigned char)s->seen[at] <= ' ') at++;
        if (at < end && strncmp(s->seen + at, "(reading", end - at < 8 ? end - at : 8)) return true;
        i = end + 1;
    }
    return false;
}

/* Reads what is there, waiting at most wait_ms for it. */
static tdm_status take(struct screen *s, int wait_ms, tdm_error *err)
{
    struct pollfd fd = {.fd = s->fd, .events = POLLIN};
    int ready = poll(&fd, 1, wait_ms);
    if (interrupt_seen()) return error_set(err, TDM_E_CANCELLED, "interrupted");
    if (ready <= 0) return TDM_OK;
    if (s->room - s->length < 4097) {
        char *larger = realloc(s->seen, 2 * s->room + 8192);
        if (!larger) return error_set(err, TDM_E_NOMEM, "out of memory");
        s->seen = larger;
        s->room = 2 * s->room + 8192;
    }
    ssize_t n = read(s->fd, s->seen + s->length, 4096);
    int64_t now = clock_ns();
    if (n < 0 && errno == EINTR) return TDM_OK;
    if (n <= 0)
        return error_set(err, TDM_E_IO, "bench: the chat in the pseudo-terminal ended: %.200s", s->length ? s->seen : "");
    for (ssize_t i = 0; i < n; i++)
        if (!s->seen[s->length + (size_t)i]) s->seen[s->length + (size_t)i] = ' ';
    s->length += (size_t)n;
    s->seen[s->length] = 0;
    if (!s->glyph_ns && reply_shown(s)) s->glyph_ns = now;
    return TDM_OK;
}

static tdm_status wait_for_text(struct screen *s, const char *text, tdm_error *err)
{
    int64_t until = clock_ns() + PATIENCE_MS * INT64_C(1000000);
    tdm_status status = TDM_OK;
    while (!status && !(s->length && strstr(s->seen, text))) {
        if (clock_ns() > until) return error_set(err, TDM_E_IO, "bench: '%s' did not appear on the terminal", text);
        status = take(s, 200, err);
    }
    return status;
}

static tdm_status keys(struct screen *s, const char *text, size_t n, tdm_error *err)
{
    return write(s->fd, text, n) == (ssize_t)n ? TDM_OK
                                               : error_errno(err, TDM_E_IO, "bench: the terminal takes no keys");
}

/* ---- A turn ------------------------------------------------------------------------------------------------------ */

/* "warm 9 ms | 18 in": the number, 0 when it isn't there. */
static double own_figure(const char *shown)
{
    double ms = 0;
    const char *mark = strstr(shown, " ms | ");
    while (mark && mark > shown && (mark[-1] == ',' || mark[-1] == '.' || (mark[-1] >= '0' && mark[-1] <= '9'))) mark--;
    for (double place = 0; mark && *mark != ' '; mark++) {
        if (*mark == '.') place = 1;
        if (*mark < '0' || *mark > '9') continue;
        ms = place > 0 ? ms + (*mark - '0') * (place /= 10) : 10 * ms + (*mark - '0');
    }
    return ms;
}

/* Types text at cps characters a second (0: all at once), rests, presses Enter, waits for the end of the reply. */
static tdm_status turn(struct screen *s, const char *text, double cps, double gap_s, int number, double *glyph_ms,
                       double *own_ms, tdm_error *err)
{
    script typing = {.seed = 1, .typing_cps = cps};
    tdm_status status = TDM_OK;
    size_t n = strlen(text);
    for (size_t i = 0; i < n && !status;) {
        size_t piece = cps > 0 ? 1 : n;
        status = keys(s, text + i, piece, err);
        i += piece;
        int64_t until = clock_ns() + (int64_t)(1e9 * script_interval(&typing, number, (int)i));
        while (!status && clock_ns() < until) status = take(s, 1 + (int)((until - clock_ns()) / 1000000), err);
    }
    int64_t until = clock_ns() + (int64_t)(1e9 * gap_s);
    while (!status && clock_ns() < until) status = take(s, 1 + (int)((until - clock_ns()) / 1000000), err);
    /* The echo is out of the way before the clock starts. */
    while (!status && !(s->length && strstr(s->seen, text + (n > 8 ? n - 8 : 0)))) status = take(s, 200, err);
    s->length = 0;
    s->glyph_ns = 0;
    int64_t enter = clock_ns();
    if (!status) status = keys(s, "\r", 1, err);
    if (!status) status = wait_for_text(s, " tok/s", err);
    if (!status) status = wait_for_text(s, "\n> ", err);
    if (status) return status;
    *glyph_ms = 1e-6 * (double)(s->glyph_ns - enter);
    *own_ms = own_figure(s->seen);
    s->length = 0;
    return TDM_OK;
}

static tdm_status new_session(struct screen *s, tdm_error *err)
{
    s->length = 0;
    tdm_status status = keys(s, "/new\r", 5, err);
    if (!status) status = wait_for_text(s, "a new session", err);
    if (!status) status = wait_for_text(s, "\n> ", err);
    s->length = 0;
    return status;
}

/* ---- The suite --------------------------------------------------------------------------------------------------- */

tdm_status bench_glyph(bench *b, tdm_error *err)
{
    bench_table *t = bench_new_table(b, "",
                                     "Enter to the first character of the reply, written to and read from a "
                                     "pseudo-terminal with the line-mode chat behind it",
                                     "turn", "glyph:ms|as_the_program_says:ms", err);
    if (!t) return err->code;
    struct screen s;
    tdm_status status = start(b, &s, err);
    if (status) return status;
    bench_step(b, "the chat loads its model");
    status = wait_for_text(&s, "\n> ", err);
    static const struct {
        const char *name;
        double cps, gap_s;
    } kinds[] = {
        {"cold, pasted and sent", 0, 0}, {"warm, Enter after 300 ms", 30, 0.3}, {"warm, Enter at once", 30, 0}};
    enum { KINDS = 3 };
    for (int round = 0; !status && bench_again_of(b, round, b->in_full ? TURNS : b->runs); round++) {
        status = new_session(&s, err);
        for (int k = 0; k < KINDS && !status; k++) {
            char *text = NULL;
            double glyph, own;
            bench_step(b, "%s", kinds[k].name);
            status = bench_prompt_message(&b->prompt, b->model, 83 * (KINDS * round + k),
                                          b->quick ? QUICK_MESSAGE_TOKENS : MESSAGE_TOKENS, &text, err);
            if (!status) status = turn(&s, text, kinds[k].cps, kinds[k].gap_s, k, &glyph, &own, err);
            free(text);
            int row = bench_table_row(t, "%s", kinds[k].name);
            if (status) break;
            bench_table_add(t, row, 0, glyph);
            bench_table_add(t, row, 1, own);
        }
    }
    stop(&s);
    return status;
}
