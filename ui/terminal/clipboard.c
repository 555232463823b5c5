#include "ui/terminal/clipboard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/base64.h"
#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/os/start.h"
#include "engine/os/file.h"

extern char **environ;

/* Waits until `until`; kills a child that still runs then. True for exit status 0. */
static bool reap(pid_t pid, int64_t until)
{
    int status;
    for (;;) {
        pid_t r = waitpid(pid, &status, WNOHANG);
        if (r == pid) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (r < 0 && errno != EINTR) return false;
        if (clock_ns() >= until) break;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    return false;
}

/* Starts argv with its standard input or output at one end of a socket (writes to a socket need not raise SIGPIPE) and
 * the other streams at /dev/null. The other end, or -1. */
static int start(char *const argv[], char *const *environment, int stream, pid_t *pid)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return -1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], stream);
    posix_spawn_file_actions_addopen(&actions, !stream, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_t attributes;
    start_attributes(&attributes, 0);
    bool started = posix_spawn(pid, argv[0], &actions, &attributes, argv, environment ? environment : environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    if (started) return ends[0];
    close(ends[0]);
    return -1;
}

static int64_t helper_deadline(void)
{
    return clock_ns() + (int64_t)CLIPBOARD_WAIT_MS * 1000000;
}

/* Waits until the socket is ready; false at the deadline. */
static bool wait_ready(int fd, short events, int64_t until)
{
    struct pollfd p = {.fd = fd, .events = events};
    int64_t left = (until - clock_ns()) / 1000000;
    return left > 0 && poll(&p, 1, (int)left) != 0;
}

/* Runs argv with data on its standard input. */
static bool run_with_input(char *const argv[], char *const *environment, const char *data, size_t n)
{
    pid_t pid;
    int end = start(argv, environment, STDIN_FILENO, &pid);
    if (end < 0) return false;
    int64_t until = helper_deadline();
    bool sent = true;
    while (sent && n) {
        ssize_t w = send(end, data, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (w > 0) {
            data += w;
            n -= (size_t)w;
        } else if (!file_again(w)) {
            sent = false;
        } else if (errno != EINTR) {
            sent = wait_ready(end, POLLOUT, until);
        }
    }
    close(end);
    return reap(pid, sent ? until : 0) && sent;
}

/* Runs argv and takes what it writes, up to most + 1 bytes. */
static bool run_with_output(char *const argv[], char *const *environment, size_t most, struct buffer *out)
{
    pid_t pid;
    int end = start(argv, environment, STDOUT_FILENO, &pid);
    if (end < 0) return false;
    int64_t until = helper_deadline();
    bool taking = true;
    while (taking && out->n <= most) {
        char piece[4096];
        size_t room = most + 1 - out->n;
        ssize_t got = recv(end, piece, room < sizeof piece ? room : sizeof piece, MSG_DONTWAIT);
        if (got == 0) break;
        if (got > 0)
            taking = !buffer_append(out, piece, (size_t)got, NULL);
        else if (!file_again(got))
            taking = false;
        else if (errno != EINTR)
            taking = wait_ready(end, POLLIN, until);
    }
    close(end);
    bool whole = taking && out->n <= most;
    /* Longer than wanted: the program is ended, and `out` is longer. */
    return reap(pid, whole ? until : 0) || (taking && !whole);
}

/* 1234567 as "1,234,567". */
static const char *grouped(size_t n, char out[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%zu", n), at = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0) out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = 0;
    return out;
}

/* screen passes a sequence on to its terminal only within a DCS string of less than 768 bytes, so it is cut into
 * pieces. */
static char *wrap_for_screen(const char *sequence)
{
    enum { PIECE = 250 };
    size_t n = strlen(sequence);
    char *out = malloc(n + (n / PIECE + 1) * 4 + 1), *p = out;
    if (!out) return NULL;
    for (size_t i = 0; i < n; i += PIECE) {
        size_t piece = n - i < PIECE ? n - i : PIECE;
        p = stpcpy(p, "\033P");
        memcpy(p, sequence + i, piece);
        p = stpcpy(p + piece, "\033\\");
    }
    *p = 0;
    return out;
}

static char *osc52(const struct clipboard_options *o, const char *data, size_t n)
{
    char *coded = base64_text(data, n);
    if (!coded) return NULL;
    size_t size = strlen(coded) + 16;
    char *sequence = malloc(size);
    if (sequence) snprintf(sequence, size, "\033]52;c;%s\007", coded);
    free(coded);
    if (!sequence || o->terminal != CLIPBOARD_SCREEN) return sequence;
    char *wrapped = wrap_for_screen(sequence);
    free(sequence);
    return wrapped;
}

tdm_status clipboard_copy(const struct clipboard_options *o, const char *data, size_t n,
                          struct clipboard_result *result, tdm_error *err)
{
    *result = (struct clipboard_result){.bytes = n};
    char figure[32], limit[32];
    const struct {
        const char *name, *way;
        bool wanted;
        const char *arguments[3];
    } helpers[] = {
        {"wl-copy", "copied with wl-copy", o->wayland_display && *o->wayland_display, {NULL}},
        {"xclip", "copied with xclip", o->display && *o->display, {"-selection", "clipboard", NULL}},
        {"pbcopy", "copied with pbcopy", true, {NULL}},
        {"tmux", "copied to tmux's buffer and sent to the terminal", o->tmux, {"load-buffer", "-w", "-"}},
        {"tmux", "copied to tmux's buffer", o->tmux, {"load-buffer", "-", NULL}}, /* older than 3.2 */
    };
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers && !result->confirmed; i++) {
        char file[PATH_MAX];
        if (!helpers[i].wanted || !file_find_program(o->path, helpers[i].name, file)) continue;
        char *argv[] = {file, (char *)helpers[i].arguments[0], (char *)helpers[i].arguments[1],
                        (char *)helpers[i].arguments[2], NULL};
        result->confirmed = run_with_input(argv, o->environment, data, n);
        result->way = helpers[i].way;
    }
    if (!result->confirmed) {
        result->way = o->terminal == CLIPBOARD_TMUX ? "sent to tmux (OSC 52), which takes them with set-clipboard on"
                                                    : "sent to the terminal (OSC 52)";
        if (o->no_terminal)
            return error_set(err, TDM_E_UNSUPPORTED, "nothing copied: no wl-copy, xclip or pbcopy, and no terminal");
        if (n > CLIPBOARD_OSC52_MAX)
            return error_set(err, TDM_E_UNSUPPORTED, "nothing copied: %s bytes, the terminal takes at most %s",
                             grouped(n, figure), grouped(CLIPBOARD_OSC52_MAX, limit));
        result->escape = osc52(o, data, n);
        if (!result->escape) return error_set(err, TDM_E_NOMEM, "no memory to copy %s bytes", grouped(n, figure));
    }
    snprintf(result->text, sizeof result->text, "%s byte%s %s", grouped(n, figure), n == 1 ? "" : "s", result->way);
    return TDM_OK;
}

/* A program that prints what the clipboard holds. */
struct teller {
    const char *name;
    bool wanted;
    const char *arguments[5];
};

/* Runs one after the other until one prints something. none: the line for the case that none does. */
static tdm_status ask(const struct teller *tellers, size_t n_tellers, const struct clipboard_options *o,
                      const char *none, size_t most, char **out, size_t *n, tdm_error *err)
{
    struct buffer text = {0};
    bool taken = false;
    for (size_t i = 0; i < n_tellers && !taken; i++) {
        char file[PATH_MAX], *argv[7] = {file};
        if (!tellers[i].wanted || !file_find_program(o->path, tellers[i].name, file)) continue;
        for (int k = 0; k < 5; k++) argv[k + 1] = (char *)tellers[i].arguments[k];
        buffer_clear(&text);
        taken = run_with_output(argv, o->environment, most, &text) && text.n;
    }
    tdm_status status = TDM_OK;
    if (!taken)
        status = error_set(err, TDM_E_NOT_FOUND, "%s", none);
    else if (text.n > most) status = error_set(err, TDM_E_FORMAT, "the clipboard holds more than %zu bytes", most);
    if (status) {
        buffer_free(&text);
        return status;
    }
    *out = text.bytes;
    *n = text.n;
    return TDM_OK;
}

tdm_status clipboard_paste(const struct clipboard_options *o, size_t most, char **out, size_t *n, tdm_error *err)
{
    const struct teller tellers[] = {
        {"wl-paste", o->wayland_display && *o->wayland_display, {"--no-newline"}},
        {"xclip", o->display && *o->display, {"-selection", "clipboard", "-o"}},
        {"pbpaste", true, {NULL}},
        {"tmux", o->tmux, {"save-buffer", "-"}},
    };
    return ask(tellers, sizeof tellers / sizeof *tellers, o,
               "nothing from the clipboard: it is empty, or none of wl-paste, xclip, pbpaste and tmux reaches it", most,
               out, n, err);
}

tdm_status clipboard_paste_picture(const struct clipboard_options *o, size_t most, char **out, size_t *n,
                                   tdm_error *err)
{
    enum { TYPES = 3 };
    static const char *const types[TYPES] = {"image/png", "image/jpeg", "image/webp"};
    bool wayland = o->wayland_display && *o->wayland_display, x = o->display && *o->display;
    struct teller tellers[2 * TYPES];
    char file[PATH_MAX];
    for (int i = 0; i < TYPES; i++) {
        tellers[i] = (struct teller){"wl-paste", wayland, {"--type", types[i]}};
        tellers[TYPES + i] = (struct teller){"xclip", x, {"-selection", "clipboard", "-t", types[i], "-o"}};
    }
    bool able =
        (wayland && file_find_program(o->path, "wl-paste", file)) || (x && file_find_program(o->path, "xclip", file));
    return ask(tellers, 2 * TYPES, o,
               able ? "the clipboard has no picture (PNG, JPEG or WebP)"
                    : "the clipboard's pictures come by wl-paste or xclip: neither is there, or there is no display",
               most, out, n, err);
}
