#include "src/watch/recording.h"

#include <errno.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/json/write.h"
#include "engine/os/file.h"
#include "src/files/files.h"
#include "src/watch/difference.h"
#include "src/watch/monitor_json.h"

/* ---- Playing ----------------------------------------------------------------------------------------------------- */

/* The object that the line stands for, in place of it. */
static tdm_status make_whole(replay *r, tdm_error *err)
{
    json_object *changes = json_member(r->next, "changes", JSON_OBJECT), *now;
    if (changes) {
        if (!r->whole) return error_set(err, TDM_E_FORMAT, "changes, and nothing before them");
        tdm_status status = difference_apply(r->whole, changes, &now, err);
        if (status) return status;
        json_free(r->next);
        r->next = now;
    }
    json_free(r->whole);
    r->whole = json_share(r->next);
    return TDM_OK;
}

static tdm_status read_line(replay *r, tdm_error *err)
{
    char bytes[16384];
    tdm_error why = {0};
    tdm_status status;
    r->next = NULL;
    while (!(status = frames_line(&r->lines, "the monitor's line", &r->next, &why)) && !r->next) {
        ssize_t n = file_read(r->fd, bytes, sizeof bytes);
        if (n < 0) return error_errno(err, TDM_E_IO, "%s", r->path);
        if (n == 0) return TDM_OK; /* a line that was cut off while it was written is left out */
        if ((status = frames_feed(&r->lines, bytes, (size_t)n, &why))) break;
    }
    r->line++;
    if (!status) status = make_whole(r, &why);
    if (!status) status = monitor_json_check(r->next, &why);
    if (!status && monitor_json_time(r->next) < 0)
        status = error_set(&why, TDM_E_FORMAT, "no time in \"now_ns\": written without --record?");
    if (!status) return TDM_OK;
    json_free(r->next);
    r->next = NULL;
    return error_set(err, status, "%s: line %d: %s", r->path, r->line, why.text);
}

tdm_status replay_open(replay *r, const char *path, tdm_error *err)
{
    *r = (replay){.fd = -1, .path = path};
    tdm_status status = file_open_needed(path, &r->fd, err);
    if (!status) status = read_line(r, err);
    if (!status && !r->next) status = error_set(err, TDM_E_FORMAT, "%s: empty: expected lines of --record", path);
    if (status) replay_close(r);
    return status;
}

void replay_close(replay *r)
{
    if (r->fd >= 0) close(r->fd);
    json_free(r->next);
    json_free(r->whole);
    frames_free(&r->lines);
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

tdm_status recording_open(recording *r, const char *path, tdm_error *err)
{
    *r = (recording){.path = path};
    return files_create(path, 0600, &r->out, err);
}

tdm_status recording_add(recording *r, json_object *o, tdm_error *err)
{
    if (monitor_json_time(o) < 0) return TDM_OK;
    json_object *line = r->last ? json_new_object() : json_share(o);
    if (r->last) json_add(line, "changes", difference_between(r->last, o));
    json_free(r->last);
    r->last = json_share(o);
    bool good = json_write(line, r->out) && fflush(r->out) == 0;
    json_free(line);
    return good ? TDM_OK : error_errno(err, TDM_E_IO, "%s", r->path);
}

bool recording_close(recording *r)
{
    bool good = !r->out || fclose(r->out) == 0;
    json_free(r->last);
    *r = (recording){0};
    return good;
}
