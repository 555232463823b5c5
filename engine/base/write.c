#include "engine/base/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.h"

enum { BUFFER = 1 << 20 };

struct file_writer {
    int fd;
    uint64_t written; /* buffered bytes included */
    size_t used;
    char *path, *temporary;
    uint8_t buffer[BUFFER];
};

tdm_status file_writer_new(struct file_writer **out, const char *path, tdm_error *err)
{
    *out = NULL;
    struct file_writer *w = malloc(sizeof *w);
    size_t length = strlen(path);
    char *copy = strdup(path), *temporary = malloc(length + 8);
    if (!w || !copy || !temporary) {
        free(w), free(copy), free(temporary);
        return error_set(err, TDM_E_NOMEM, "%s: out of memory", path);
    }
    memcpy(temporary, path, length);
    memcpy(temporary + length, ".XXXXXX", 8);
    w->written = w->used = 0;
    w->path = copy;
    w->temporary = temporary;
    w->fd = mkstemp(temporary);
    if (w->fd < 0) {
        tdm_status status = error_errno(err, TDM_E_IO, "%s: cannot create", path);
        free(w), free(copy), free(temporary);
        return status;
    }
    /* mkstemp makes it private; a file the user asked for gets the usual permissions. */
    mode_t mask = umask(0);
    umask(mask);
    fchmod(w->fd, 0666 & ~mask);
    *out = w;
    return TDM_OK;
}

void file_writer_private(struct file_writer *w)
{
    fchmod(w->fd, 0600);
}

static tdm_status put(struct file_writer *w, const uint8_t *data, uint64_t bytes, tdm_error *err)
{
    while (bytes) {
        ssize_t n = write(w->fd, data, bytes < (1u << 30) ? (size_t)bytes : (1u << 30));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            if (n == 0) errno = ENOSPC;
            return error_errno(err, TDM_E_IO, "%s: cannot write beyond %llu bytes", w->path,
                               (unsigned long long)(w->written - w->used));
        }
        data += n;
        bytes -= (uint64_t)n;
    }
    return TDM_OK;
}

static tdm_status flush(struct file_writer *w, tdm_error *err)
{
    tdm_status status = put(w, w->buffer, w->used, err);
    w->used = 0;
    return status;
}

tdm_status file_write(struct file_writer *w, const void *data, uint64_t bytes, tdm_error *err)
{
    const uint8_t *p = data;
    while (bytes) {
        if (w->used == BUFFER) {
            tdm_status status = flush(w, err);
            if (status) return status;
        }
        size_t n = BUFFER - w->used;
        if (bytes < n) n = (size_t)bytes;
        memcpy(w->buffer + w->used, p, n);
        w->used += n;
        w->written += n;
        p += n;
        bytes -= n;
    }
    return TDM_OK;
}

uint64_t file_written(const struct file_writer *w)
{
    return w->written;
}

static void discard(struct file_writer *w)
{
    free(w->path);
    free(w->temporary);
    free(w);
}

tdm_status file_writer_commit(struct file_writer *w, tdm_error *err)
{
    tdm_status status = flush(w, err);
    if (!status && fsync(w->fd) && errno != EINVAL) status = error_errno(err, TDM_E_IO, "%s: cannot write", w->path);
    if (close(w->fd) && !status) status = error_errno(err, TDM_E_IO, "%s: cannot write", w->path);
    if (!status && rename(w->temporary, w->path)) status = error_errno(err, TDM_E_IO, "%s: cannot rename to", w->path);
    if (status) unlink(w->temporary);
    discard(w);
    return status;
}

void file_writer_abort(struct file_writer *w)
{
    if (!w) return;
    close(w->fd);
    unlink(w->temporary);
    discard(w);
}
