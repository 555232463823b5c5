#include "src/watch/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "src/cli/jsonio.h"
#include "src/watch/monitor_json.h"

/* ---- Playing ----------------------------------------------------------------------------------------------------- */

static tdm_status read_line(replay *r, tdm_error *err)
{
    char bytes[16384];
    tdm_error why = {0};
    tdm_status status;
    r->next = NULL;
    while (!(status = monitor_stream_next(&r->lines, &r->next, &why)) && !r->next) {
        ssize_t n = read(r->fd, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return error_errno(err, TDM_E_IO, "%s", r->path);
        if (n == 0) return TDM_OK; /* a line that was cut off while it was written is left out */
        if ((status = monitor_stream_feed(&r->lines, bytes, (size_t)n, &why))) break;
    }
    r->line++;
    if (!status) status = monitor_json_check(r->next, &why);
    if (!status && monitor_json_time(r->next) < 0)
        status = error_set(&why, TDM_E_FORMAT, "no time in \"now_ns\": written without --record?");
    if (!status) return TDM_OK;
    json_object_put(r->next);
    r->next = NULL;
    return error_set(err, status, "%s: line %d: %s", r->path, r->line, why.text);
}

tdm_status replay_open(replay *r, const char *path, tdm_error *err)
{
    struct stat st;
    *r = (replay){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), .path = path};
    if (r->fd < 0) return error_errno(err, TDM_E_IO, "%s", path);
    tdm_status status = TDM_OK;
    if (fstat(r->fd, &st) || !S_ISREG(st.st_mode)) status = error_set(err, TDM_E_ARG, "%s: not a regular file", path);
    if (!status) status = read_line(r, err);
    if (!status && !r->next) status = error_set(err, TDM_E_FORMAT, "%s: empty: expected lines of --record", path);
    if (status) replay_close(r);
    return status;
}

void replay_close(replay *r)
{
    if (r->fd >= 0) close(r->fd);
    json_object_put(r->next);
    monitor_stream_free(&r->lines);
    *r = (replay){.fd = -1};
}

/* Lines whose clock runs back come at once. */
static int64_t due(const replay *r)
{
    int64_t at = monitor_json_time(r->next);
    return (at > r->last_ns ? at : r->last_ns) + r->ahead_ns;
}

tdm_status replay_take(replay *r, int64_t now_ns, json_object **out, tdm_error *err)
{
    *out = NULL;
    if (!r->next) return TDM_OK;
    if (!r->begun) {
        r->begun = true;
        r->last_ns = monitor_json_time(r->next);
        r->ahead_ns = now_ns - r->last_ns;
    }
    if (due(r) > now_ns) return TDM_OK;
    *out = r->next;
    r->last_ns = due(r) - r->ahead_ns;
    return read_line(r, err);
}

int64_t replay_deadline(const replay *r)
{
    return !r->next ? INT64_MAX : r->begun ? due(r) : 0;
}

int64_t replay_clock(const replay *r, int64_t now_ns)
{
    int64_t at = now_ns - r->ahead_ns;
    return r->next && at > r->last_ns ? at : r->last_ns;
}

/* ---- Recording --------------------------------------------------------------------------------------------------- */

tdm_status recording_open(FILE **out, const char *path, tdm_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (*out) return TDM_OK;
    tdm_status status = error_errno(err, TDM_E_IO, "%s", path);
    if (fd >= 0) close(fd);
    return status;
}

tdm_status recording_add(FILE *out, const char *path, json_object *o, tdm_error *err)
{
    if (monitor_json_time(o) < 0) return TDM_OK;
    if (jsonio_write(o, out) && fflush(out) == 0) return TDM_OK;
    return error_errno(err, TDM_E_IO, "%s", path);
}
