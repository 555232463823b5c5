#include "src/image/image.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/harmless.h"
#include "engine/json/json.h"
#include "engine/os/file.h"
#include "engine/os/start.h"
#include "src/cli/program.h"
#include "src/io/frames.h"
#include "src/process/inherit.h"

enum { STEP_MS = 100 };

/* A decoder at work. */
typedef struct {
    pid_t pid;
    int from; /* its standard output */
    int64_t until_ns;
    bool (*stop)(void *ctx);
    void *ctx;
    bool late, stopped;
} running;

/* ---- The program ------------------------------------------------------------------------------------------------- */

static tdm_status expect_file(int fd, const char *name, tdm_error *err)
{
    struct stat st;
    if (fstat(fd, &st)) return error_errno(err, TDM_E_IO, "%s", name);
    if (!S_ISREG(st.st_mode)) return file_refuse(name, st.st_mode, err);
    if (st.st_size > IMAGE_BYTES)
        return error_set(err, TDM_E_ARG, "%s: %.0f MB: pictures of at most %d MB are read", name,
                         1e-6 * (double)st.st_size, IMAGE_BYTES >> 20);
    if (lseek(fd, 0, SEEK_SET) < 0) return error_errno(err, TDM_E_IO, "%s", name);
    return TDM_OK;
}

/* With the file as standard input, the pipe as standard output, and no other descriptor of this program; returns 0 or
 * errno. */
static int start(pid_t *pid, int fd, int to)
{
    char path[PATH_MAX], *argv[] = {"tandem-image", NULL}, *environment[] = {NULL};
    if (!program_find("tandem-image", path)) return ENOENT;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    start_attributes(&attributes, 0);
    posix_spawn_file_actions_init(&actions);
    int failed = posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
    if (!failed) failed = posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
    if (!failed) failed = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!failed) failed = posix_spawn(pid, path, &actions, &attributes, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failed;
}

static tdm_status open_running(running *r, int fd, const char *name, double seconds, tdm_error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return error_errno(err, TDM_E_IO, "%s: no pipe", name);
    inherit_no_descriptors();
    int failed = start(&r->pid, fd, ends[1]);
    close(ends[1]);
    r->from = ends[0];
    r->until_ns = clock_ns() + (int64_t)(seconds * 1e9);
    if (!failed) return TDM_OK;
    close(r->from);
    errno = failed;
    return error_errno(err, TDM_E_NOT_FOUND, "%s: expected the program tandem-image beside tandem or on PATH", name);
}

/* n bytes, or fewer at the end; false: it is to end before. */
static bool take(running *r, void *to, size_t n, size_t *got)
{
    for (*got = 0; *got < n;) {
        struct pollfd p = {.fd = r->from, .events = POLLIN};
        int64_t left = (r->until_ns - clock_ns()) / 1000000;
        r->late = left <= 0;
        r->stopped = !r->late && r->stop && r->stop(r->ctx);
        if (r->late || r->stopped) return false;
        if (poll(&p, 1, left < STEP_MS ? (int)left : STEP_MS) <= 0) continue;
        ssize_t some = read(r->from, (char *)to + *got, n - *got);
        if (some < 0 && errno == EINTR) continue;
        if (some <= 0) break;
        *got += (size_t)some;
    }
    return true;
}

/* Ends it, if it hasn't, and tells how it ended. */
static int close_running(running *r, bool kill_it)
{
    int status = 0;
    close(r->from);
    if (kill_it) kill(r->pid, SIGKILL);
    while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR) continue;
    return status;
}

/* ---- What it says ------------------------------------------------------------------------------------------------ */

static tdm_status ended_early(const char *name, tdm_error *err)
{
    return error_set(err, TDM_E_FORMAT, "%s: its decoder ended early", name);
}

enum { LONGEST_HEAD = 200 }; /* bytes: three members and their numbers */

/* Byte by byte, since what follows is not for here. */
static tdm_status take_head(running *r, json_object **head, const char *name, tdm_error *err)
{
    frames f = {0};
    char c = 0;
    size_t n = 1;
    tdm_status status = TDM_OK;
    for (int left = LONGEST_HEAD; left && !status && n && c != '\n'; left--) {
        if (!take(r, &c, 1, &n))
            status = TDM_E_IO;
        else if (n)
            status = frames_feed(&f, &c, 1, err);
    }
    if (!status) status = frames_line(&f, name, head, err);
    if (status == TDM_E_FORMAT || (!status && !*head)) status = ended_early(name, err);
    frames_free(&f);
    return status;
}

/* A line of its own. */
static tdm_status take_line(running *r, int64_t length, const char *name, tdm_error *err)
{
    char line[IMAGE_TEXT + 1];
    size_t n;
    if (length < 0 || length > IMAGE_TEXT) length = IMAGE_TEXT;
    if (!take(r, line, (size_t)length, &n)) return TDM_E_IO;
    line[n] = 0;
    harmless_line(line);
    return error_set(err, TDM_E_FORMAT, "%s: %s", name, line);
}

static tdm_status take_pixels(running *r, json_object *head, image *out, const char *name, tdm_error *err)
{
    char more;
    int64_t width = json_int(head, "width", 0), height = json_int(head, "height", 0);
    if (width <= 0 || height <= 0 || width > IMAGE_SIDE || height > IMAGE_SIDE || width * height > IMAGE_PIXELS)
        return error_set(err, TDM_E_FORMAT, "%s: its decoder tells sides of %lld x %lld pixels", name, (long long)width,
                         (long long)height);
    size_t n, bytes = (size_t)(3 * width * height);
    if (json_int(head, "payload", 0) != 3 * width * height)
        return error_set(err, TDM_E_FORMAT, "%s: its decoder tells of %lld bytes, expected %zu", name,
                         (long long)json_int(head, "payload", 0), bytes);
    out->rgb = malloc(bytes);
    if (!out->rgb)
        return error_set(err, TDM_E_NOMEM, "%s: no memory for %lld x %lld pixels", name, (long long)width,
                         (long long)height);
    out->width = (uint32_t)width;
    out->height = (uint32_t)height;
    if (!take(r, out->rgb, bytes, &n)) return TDM_E_IO;
    if (n < bytes) return ended_early(name, err);
    if (!take(r, &more, 1, &n)) return TDM_E_IO;
    return n ? error_set(err, TDM_E_FORMAT, "%s: its decoder says more than it should", name) : TDM_OK;
}

static tdm_status take_all(running *r, image *out, const char *name, tdm_error *err)
{
    json_object *head = NULL;
    tdm_status status = take_head(r, &head, name, err);
    if (!status)
        status = json_member(head, "width", JSON_INT) ? take_pixels(r, head, out, name, err)
                                                      : take_line(r, json_int(head, "payload", 0), name, err);
    json_free(head);
    return status;
}

tdm_status image_read(image *out, int fd, const char *name, double seconds, bool (*stop)(void *ctx), void *ctx,
                      tdm_error *err)
{
    running r = {.stop = stop, .ctx = ctx};
    *out = (image){0};
    tdm_status status = expect_file(fd, name, err);
    if (!status) status = open_running(&r, fd, name, seconds, err);
    if (status) return status;
    status = take_all(&r, out, name, err);
    int ended = close_running(&r, status != TDM_OK && (r.late || r.stopped));
    if (r.stopped)
        status = error_set(err, TDM_E_CANCELLED, "%s: stopped", name);
    else if (r.late || (WIFSIGNALED(ended) && WTERMSIG(ended) == SIGXCPU))
        status = error_set(err, TDM_E_FORMAT, "%s: decoding it took more than %g s", name, seconds);
    else if (WIFSIGNALED(ended))
        status =
            error_set(err, TDM_E_FORMAT, "%s: its decoder crashed (signal %d): a damaged picture, or a hostile one",
                      name, WTERMSIG(ended));
    if (status) image_free(out);
    return status;
}

void image_free(image *i)
{
    free(i->rgb);
    *i = (image){0};
}
