#include "src/attach/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/os/start.h"
#include "engine/os/file.h"
#include "src/attach/kind.h"
#include "src/process/inherit.h"

enum { STEP_MS = 50, GRACE_MS = 500 };

/* ---- Cleaning -------------------------------------------------------------------------------------------------- */

/* The length of the escape sequence at text, which begins with ESC. */
static size_t sequence(const char *text, size_t n)
{
    if (n < 2) return n;
    size_t at = 2;
    if (text[1] == '[') { /* parameters, then a letter */
        while (at < n && (unsigned char)text[at] >= 0x20 && (unsigned char)text[at] < 0x40) at++;
        return at < n && (unsigned char)text[at] >= 0x40 && (unsigned char)text[at] < 0x7f ? at + 1 : at;
    }
    if (strchr("]P_^X", text[1]) && text[1]) { /* a string, up to BEL or ESC \ */
        for (; at < n; at++) {
            if (text[at] == 7) return at + 1;
            if (text[at] == '\033') return at + 1 < n && text[at + 1] == '\\' ? at + 2 : at;
        }
        return n;
    }
    while (at <= n && (unsigned char)text[at - 1] >= 0x20 && (unsigned char)text[at - 1] < 0x30) at++;
    return at < n ? at : n;
}

static size_t line_start(const char *text, size_t n)
{
    while (n && text[n - 1] != '\n') n--;
    return n;
}

tdm_status capture_clean(struct buffer *out, const char *bytes, size_t n, tdm_error *err)
{
    char *kept = malloc(n + 1);
    size_t at = 0;
    buffer_clear(out);
    if (!kept || buffer_reserve(out, 3 * n + 1, err)) {
        free(kept);
        return error_set(err, TDM_E_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '\033') {
            i += sequence(bytes + i, n - i);
            continue;
        }
        bool again = c == '\r' && i + 1 < n && bytes[i + 1] != '\n' && bytes[i + 1] != '\r';
        if (again) at = line_start(kept, at);
        if (c == '\b' && at && kept[at - 1] != '\n') at--;
        if (c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7f)) kept[at++] = (char)c;
        i++;
    }
    size_t valid = utf8_mend(kept, at, out->bytes);
    for (size_t i = 0; i < valid; i++) { /* C1 control characters, two bytes each */
        if (i + 1 < valid && (unsigned char)out->bytes[i] == 0xc2 && (unsigned char)out->bytes[i + 1] < 0xa0) i++;
        else out->bytes[out->n++] = out->bytes[i];
    }
    out->bytes[out->n] = 0;
    free(kept);
    return TDM_OK;
}

/* ---- The command ----------------------------------------------------------------------------------------------- */

static const char *shell(void)
{
    const char *own = getenv("SHELL");
    return own && *own == '/' && !access(own, X_OK) ? own : "/bin/sh";
}

/* Returns 0 or errno. */
static int start(pid_t *pid, const char *command, int to)
{
    const char *program = shell();
    char *argv[] = {(char *)program, "-c", (char *)command, NULL}, **environment = inherit_for_user();
    if (!environment) return ENOMEM;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    start_attributes(&attributes, POSIX_SPAWN_SETSID);
    int failed = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!failed) failed = posix_spawn_file_actions_adddup2(&files, to, STDOUT_FILENO);
    if (!failed) failed = posix_spawn_file_actions_adddup2(&files, to, STDERR_FILENO);
    if (!failed) failed = posix_spawn(pid, program, &files, &attributes, argv, environment);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    free(environment);
    return failed;
}

/* While a command runs. */
typedef struct {
    pid_t pid;  /* and its group's */
    int from;
    int status; /* of waitpid, at the very end */
    bool ended, stopped;
    struct buffer raw;
} running;

/* Takes what is there; false at the end, or with enough. */
static bool take(running *r, capture *out)
{
    char piece[16384];
    for (;;) {
        ssize_t n = read(r->from, piece, sizeof piece);
        if (n < 0) return file_again(n);
        if (n == 0) return false;
        size_t room = CAPTURE_BYTES - r->raw.n;
        out->cut = (size_t)n > room;
        if (buffer_append(&r->raw, piece, out->cut ? room : (size_t)n, NULL)) out->cut = true;
        if (out->cut) return false;
    }
}

/* The shell stays a zombie: its number is not given to another process until its group is dealt with. */
static bool has_ended(running *r)
{
    siginfo_t info = {0};
    if (!r->ended) r->ended = !waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
    return r->ended;
}

/* Until the shell has ended, even if another process still holds the pipe; or until there is a reason to end it. */
static void follow(running *r, capture *out, bool (*stop)(void *ctx), void *ctx)
{
    int64_t until = clock_ns() + CAPTURE_SECONDS * INT64_C(1000000000);
    bool open = true;
    while (!has_ended(r)) {
        struct pollfd fd = {.fd = open ? r->from : -1, .events = POLLIN};
        poll(&fd, 1, open ? STEP_MS : 5);
        if (open) open = take(r, out);
        r->stopped = stop && stop(ctx);
        out->late = clock_ns() > until;
        if (r->stopped || out->cut || out->late) return;
    }
    if (open) take(r, out);
}

/* Ends the whole process group, so that nothing that the command started keeps running unseen. */
static void end(running *r)
{
    if (!r->ended) kill(-r->pid, r->stopped ? SIGINT : SIGTERM);
    for (int ms = 0; !has_ended(r) && ms < GRACE_MS; ms += 10) poll(NULL, 0, 10);
    kill(-r->pid, SIGKILL);
    while (waitpid(r->pid, &r->status, 0) < 0 && errno == EINTR) {
    }
    close(r->from);
}

tdm_status capture_run(capture *out, const char *command, bool (*stop)(void *ctx), void *ctx, tdm_error *err)
{
    running r = {.from = -1};
    int ends[2];
    *out = (capture){0};
    if (pipe2(ends, O_CLOEXEC)) return error_errno(err, TDM_E_IO, "%s: no pipe", command);
    int failed = start(&r.pid, command, ends[1]);
    close(ends[1]);
    r.from = ends[0];
    if (failed) {
        close(r.from);
        errno = failed;
        return error_errno(err, TDM_E_IO, "%s: can't be run", shell());
    }
    fcntl(r.from, F_SETFL, O_NONBLOCK);
    follow(&r, out, stop, ctx);
    end(&r);
    out->exit = WIFEXITED(r.status) ? WEXITSTATUS(r.status) : 128 + (WIFSIGNALED(r.status) ? WTERMSIG(r.status) : 0);
    tdm_status status = TDM_OK;
    if (r.stopped) status = error_set(err, TDM_E_CANCELLED, "%s: stopped", command);
    else if (r.raw.n && (kind_of(r.raw.bytes, r.raw.n) || memchr(r.raw.bytes, 0, r.raw.n)))
        status = error_set(err, TDM_E_FORMAT, "%s: printed %s, expected a text", command,
                           kind_of(r.raw.bytes, r.raw.n) ? kind_of(r.raw.bytes, r.raw.n) : "zero bytes");
    else status = capture_clean(&out->text, r.raw.n ? r.raw.bytes : "", r.raw.n, err);
    buffer_free(&r.raw);
    return status;
}

void capture_free(capture *c)
{
    buffer_free(&c->text);
    *c = (capture){0};
}
