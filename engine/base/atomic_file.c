#include "engine/base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/file.h"

enum { BUFFER = 1 << 20 };

struct atomic_file {
    int fd;
    bool relaxed;
    uint64_t written; /* buffered bytes included */
    size_t used;
    char *path, *temporary;
    uint8_t buffer[BUFFER];
};

tdm_status atomic_file_new(struct atomic_file **out, const char *path, tdm_error *err)
{
    *out = NULL;
    struct atomic_file *f = malloc(sizeof *f);
    size_t length = strlen(path);
    char *copy = strdup(path), *temporary = malloc(length + 8);
    if (!f || !copy || !temporary) {
        free(f), free(copy), free(temporary);
        return error_set(err, TDM_E_NOMEM, "%s: out of memory", path);
    }
    memcpy(temporary, path, length);
    memcpy(temporary + length, ".XXXXXX", 8);
    f->written = f->used = 0;
    f->relaxed = false;
    f->path = copy;
    f->temporary = temporary;
    f->fd = mkostemp(temporary, O_CLOEXEC); /* 0600 */
    if (f->fd < 0) {
        tdm_status status = error_errno(err, TDM_E_IO, "%s: can't be written", path);
        free(f), free(copy), free(temporary);
        return status;
    }
    *out = f;
    return TDM_OK;
}

void atomic_file_share(struct atomic_file *f)
{
    mode_t mask = umask(0);
    umask(mask);
    fchmod(f->fd, 0666 & ~mask);
}

void atomic_file_relax(struct atomic_file *f)
{
    f->relaxed = true;
}

static tdm_status flush(struct atomic_file *f, tdm_error *err)
{
    uint64_t before = f->written - f->used;
    size_t n = f->used;
    f->used = 0;
    if (file_write_all(f->fd, f->buffer, n)) return TDM_OK;
    if (!before) return error_errno(err, TDM_E_IO, "%s: can't be written", f->path);
    return error_errno(err, TDM_E_IO, "%s: can't be written beyond %llu bytes", f->path, (unsigned long long)before);
}

tdm_status atomic_file_write(struct atomic_file *f, const void *data, uint64_t bytes, tdm_error *err)
{
    const uint8_t *p = data;
    while (bytes) {
        if (f->used == BUFFER) {
            tdm_status status = flush(f, err);
            if (status) return status;
        }
        size_t n = BUFFER - f->used;
        if (bytes < n) n = (size_t)bytes;
        memcpy(f->buffer + f->used, p, n);
        f->used += n;
        f->written += n;
        p += n;
        bytes -= n;
    }
    return TDM_OK;
}

uint64_t atomic_file_written(const struct atomic_file *f)
{
    return f->written;
}

int atomic_file_descriptor(const struct atomic_file *f)
{
    return f->fd;
}

static void discard(struct atomic_file *f)
{
    free(f->path);
    free(f->temporary);
    free(f);
}

tdm_status atomic_file_commit(struct atomic_file *f, tdm_error *err)
{
    tdm_status status = flush(f, err);
    if (!status && !f->relaxed && fsync(f->fd) && errno != EINVAL)
        status = error_errno(err, TDM_E_IO, "%s: can't be written", f->path);
    if (close(f->fd) && !status) status = error_errno(err, TDM_E_IO, "%s: can't be written", f->path);
    if (!status && rename(f->temporary, f->path)) status = error_errno(err, TDM_E_IO, "%s: can't be written", f->path);
    if (status) unlink(f->temporary);
    discard(f);
    return status;
}

void atomic_file_abort(struct atomic_file *f)
{
    if (!f) return;
    close(f->fd);
    unlink(f->temporary);
    discard(f);
}

tdm_status atomic_file_put(const char *path, const void *data, size_t bytes, tdm_error *err)
{
    struct atomic_file *f;
    tdm_status status = atomic_file_new(&f, path, err);
    if (status) return status;
    status = atomic_file_write(f, data, bytes, err);
    if (status == TDM_OK) return atomic_file_commit(f, err);
    atomic_file_abort(f);
    return status;
}
