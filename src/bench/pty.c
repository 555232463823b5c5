#include "src/bench/pty.h"

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/os/start.h"
#include "engine/os/file.h"

enum { PATIENCE_MS = 60000, PIECE = 1024 };

/* ---- The emulation ----------------------------------------------------------------------------------------------- */

static int on_property(VTermProp prop, VTermValue *value, void *ctx)
{
    if (prop == VTERM_PROP_ALTSCREEN) ((pty *)ctx)->alternate = value->boolean;
    return 1;
}

static const VTermScreenCallbacks callbacks = {.settermprop = on_property};

/* Answers to the program's questions are kept until the emulation has taken all that was read: typing them takes what
 * the program writes meanwhile. */
static void on_answer(const char *bytes, size_t n, void *ctx)
{
    pty *p = ctx;
    if (n > sizeof p->answers - p->n_answers) n = sizeof p->answers - p->n_answers;
    memcpy(p->answers + p->n_answers, bytes, n);
    p->n_answers += n;
}

static tdm_status answer(pty *p, tdm_error *err)
{
    char bytes[sizeof p->answers];
    size_t n = p->n_answers;
    memcpy(bytes, p->answers, n);
    p->n_answers = 0;
    return n ? pty_keys(p, bytes, n, err) : TDM_OK;
}

static bool open_emulation(pty *p, bool utf8)
{
    p->vt = vterm_new(p->rows, p->cols);
    if (!p->vt) return false;
    vterm_set_utf8(p->vt, utf8);
    vterm_output_set_callback(p->vt, on_answer, p);
    p->screen = vterm_obtain_screen(p->vt);
    vterm_screen_set_callbacks(p->screen, &callbacks, p);
    vterm_screen_enable_altscreen(p->screen, 1);
    vterm_screen_reset(p->screen, 1);
    return true;
}

/* ---- The program ------------------------------------------------------------------------------------------------- */

static void set_environment(const pty_options *o)
{
    setenv("TERM", o->term, 1);
    for (const char *const *at = o->environment; at && *at; at++) {
        char name[256];
        const char *value = strchr(*at, '=');
        snprintf(name, sizeof name, "%.*s", (int)(value ? value - *at : (ptrdiff_t)strlen(*at)), *at);
        if (value) setenv(name, value + 1, 1);
        else unsetenv(name);
    }
}

tdm_status pty_open(pty *p, const char *program, const char *const *arguments, const pty_options *o, tdm_error *err)
{
    struct winsize size = {.ws_row = (unsigned short)o->rows, .ws_col = (unsigned short)o->cols};
    *p = (pty){.fd = -1, .rows = o->rows, .cols = o->cols};
    if (!open_emulation(p, !o->no_utf8)) return error_set(err, TDM_E_NOMEM, "out of memory");
    p->child = forkpty(&p->fd, NULL, NULL, &size);
    if (p->child == 0) {
        set_environment(o);
        start_signals();
        execv(program, (char *const *)arguments);
        _exit(127);
    }
    if (p->child > 0) return TDM_OK;
    p->child = 0;
    pty_close(p);
    return error_errno(err, TDM_E_IO, "no pseudo-terminal");
}

int pty_end(pty *p, int number)
{
    struct termios modes;
    int64_t until = clock_ns() + PATIENCE_MS * INT64_C(1000000);
    int status = 0;
    if (!p->child) return 0;
    if (number) kill(p->child, number);
    while (p->child && clock_ns() < until && !pty_take(p, 100, NULL))
        if (waitpid(p->child, &status, WNOHANG) == p->child) p->child = 0;
    for (int64_t before = -1; !p->hung_up && p->got_ns != before;) { /* all that it wrote */
        before = p->got_ns;
        pty_take(p, 0, NULL);
    }
    if (p->child) {
        if (!p->hung_up) kill(p->child, SIGKILL); /* the program hangs, which the status will show */
        waitpid(p->child, &status, 0);
        p->child = 0;
    }
    p->cooked = tcgetattr(p->fd, &modes) == 0 && (modes.c_lflag & ICANON) && (modes.c_lflag & ECHO);
    close(p->fd);
    p->fd = -1;
    return status;
}

void pty_close(pty *p)
{
    pty_end(p, SIGTERM);
    if (p->vt) vterm_free(p->vt);
    *p = (pty){.fd = -1};
}

/* ---- Bytes ------------------------------------------------------------------------------------------------------- */

tdm_status pty_keys(pty *p, const char *bytes, size_t n, tdm_error *err)
{
    while (n) {
        struct pollfd fd = {.fd = p->fd, .events = POLLIN | POLLOUT};
        if (poll(&fd, 1, PATIENCE_MS) == 0) return error_set(err, TDM_E_IO, "the program takes no keys");
        if ((fd.revents & POLLIN) && pty_take(p, 0, err)) return TDM_E_IO;
        if (!(fd.revents & POLLOUT)) {
            if (fd.revents & (POLLHUP | POLLERR)) return error_set(err, TDM_E_IO, "the program has ended");
            continue;
        }
        ssize_t done = write(p->fd, bytes, n < PIECE ? n : PIECE);
        if (done < 0 && !file_again(done))
            return error_errno(err, TDM_E_IO, "the program takes no keys");
        if (done <= 0) continue;
        bytes += done;
        n -= (size_t)done;
    }
    return TDM_OK;
}

tdm_status pty_take(pty *p, int wait_ms, tdm_error *err)
{
    char bytes[16384];
    struct pollfd fd = {.fd = p->fd, .events = POLLIN};
    if (p->hung_up) return error_set(err, TDM_E_IO, "the program has ended");
    if (poll(&fd, 1, wait_ms) <= 0) return TDM_OK;
    ssize_t n = read(p->fd, bytes, sizeof bytes);
    p->got_ns = clock_ns();
    if (file_again(n)) return TDM_OK;
    if (n <= 0) {
        p->hung_up = true;
        return error_set(err, TDM_E_IO, "the program has ended");
    }
    if (p->seen) p->seen(p->seen_ctx, bytes, (size_t)n);
    vterm_input_write(p->vt, bytes, (size_t)n);
    return answer(p, err);
}

/* ---- The screen -------------------------------------------------------------------------------------------------- */

void pty_row(const pty *p, int row, char out[PTY_ROW])
{
    size_t n = 0, end = 0;
    for (int col = 0; col < p->cols && col < PTY_WIDEST; col++) {
        VTermScreenCell cell = {0};
        vterm_screen_get_cell(p->screen, (VTermPos){row, col}, &cell);
        if (cell.chars[0] == UINT32_MAX) continue; /* the second half of a wide one */
        uint32_t c = cell.chars[0] ? cell.chars[0] : ' ';
        n += utf8_encode(c, out + n);
        if (c != ' ') end = n;
    }
    out[end] = 0;
}

int pty_find(const pty *p, int from, const char *text)
{
    char row[PTY_ROW];
    for (int r = from; r < p->rows; r++) {
        pty_row(p, r, row);
        if (strstr(row, text)) return r;
    }
    return -1;
}
