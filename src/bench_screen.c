#include "src/bench_screen.h"

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
#include "src/interrupt.h"

enum { PATIENCE_S = 300 };

/* What the terminal answers when it is asked about itself. */
static void answer(const char *bytes, size_t n, void *ctx)
{
    bench_screen_keys(ctx, bytes, n, NULL);
}

tdm_status bench_screen_open(bench_screen *s, const char *const *arguments, tdm_error *err)
{
    struct winsize size = {.ws_row = BENCH_SCREEN_ROWS, .ws_col = BENCH_SCREEN_COLS};
    *s = (bench_screen){0};
    s->child = forkpty(&s->fd, NULL, NULL, &size);
    if (s->child < 0) return error_errno(err, TDM_E_IO, "bench: no pseudo-terminal");
    if (s->child == 0) {
        setenv("TERM", "xterm-256color", 1);
        setenv("LC_ALL", "C.UTF-8", 1);
        setenv("INPUTRC", "/dev/null", 1);
        setenv("XDG_CONFIG_HOME", "/dev/null", 1);
        execv("/proc/self/exe", (char *const *)arguments);
        _exit(127);
    }
    s->vt = vterm_new(BENCH_SCREEN_ROWS, BENCH_SCREEN_COLS);
    if (!s->vt) {
        bench_screen_close(s);
        return error_set(err, TDM_E_NOMEM, "out of memory");
    }
    vterm_set_utf8(s->vt, 1);
    vterm_output_set_callback(s->vt, answer, s);
    s->cells = vterm_obtain_screen(s->vt);
    vterm_screen_enable_altscreen(s->cells, 1);
    vterm_screen_reset(s->cells, 1);
    return TDM_OK;
}

void bench_screen_close(bench_screen *s)
{
    if (s->child <= 0) return;
    kill(s->child, SIGTERM);
    close(s->fd);
    waitpid(s->child, NULL, 0);
    if (s->vt) vterm_free(s->vt);
    *s = (bench_screen){0};
}

tdm_status bench_screen_keys(bench_screen *s, const char *bytes, size_t n, tdm_error *err)
{
    return write(s->fd, bytes, n) == (ssize_t)n ? TDM_OK
                                                : error_errno(err, TDM_E_IO, "bench: the terminal takes no keys");
}

tdm_status bench_screen_take(bench_screen *s, int wait_ms, tdm_error *err)
{
    char bytes[16384];
    struct pollfd fd = {.fd = s->fd, .events = POLLIN};
    int ready = poll(&fd, 1, wait_ms);
    if (interrupt_seen()) return error_set(err, TDM_E_CANCELLED, "interrupted");
    if (ready <= 0) return TDM_OK;
    ssize_t n = read(s->fd, bytes, sizeof bytes);
    s->got_ns = clock_ns();
    if (n < 0 && errno == EINTR) return TDM_OK;
    if (n <= 0) {
        char last[BENCH_SCREEN_COLS + 1];
        bench_screen_row(s, 0, last);
        return error_set(err, TDM_E_IO, "bench: the chat in the pseudo-terminal ended: %s", last);
    }
    vterm_input_write(s->vt, bytes, (size_t)n);
    return TDM_OK;
}

void bench_screen_row(const bench_screen *s, int row, char out[BENCH_SCREEN_COLS + 1])
{
    int end = 0;
    for (int col = 0; col < BENCH_SCREEN_COLS; col++) {
        VTermScreenCell cell = {0};
        vterm_screen_get_cell(s->cells, (VTermPos){row, col}, &cell);
        uint32_t c = cell.chars[0];
        out[col] = c == 0 || c == UINT32_MAX ? ' ' : c < 0x7f ? (char)c : '~';
        if (out[col] != ' ') end = col + 1;
    }
    out[end] = 0;
}

int bench_screen_find(const bench_screen *s, int from, const char *text)
{
    char row[BENCH_SCREEN_COLS + 1];
    for (int r = from; r < BENCH_SCREEN_ROWS; r++) {
        bench_screen_row(s, r, row);
        if (strstr(row, text)) return r;
    }
    return -1;
}

tdm_status bench_screen_wait(bench_screen *s, const char *text, tdm_error *err)
{
    int64_t until = clock_ns() + PATIENCE_S * INT64_C(1000000000);
    tdm_status status = TDM_OK;
    while (!status && bench_screen_find(s, 0, text) < 0) {
        if (clock_ns() > until) return error_set(err, TDM_E_IO, "bench: '%s' did not appear on the terminal", text);
        status = bench_screen_take(s, 200, err);
    }
    return status;
}
