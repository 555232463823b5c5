#include "src/hub/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/os/atomic_file.h"
#include "engine/os/file.h"
#include "src/files/files.h"

tdm_status cache_open(cache *c, const char *hub, const char *name, tdm_error *err)
{
    *c = (cache){.hub = strdup(hub)};
    hub_folder(c->name, name);
    c->folder = file_join(hub, c->name);
    if (c->folder && c->hub) return TDM_OK;
    cache_close(c);
    return error_set(err, TDM_E_NOMEM, "out of memory");
}

void cache_close(cache *c)
{
    free(c->folder);
    free(c->hub);
    *c = (cache){0};
}

bool cache_folders(const cache *c, char *out[CACHE_FOLDERS + 1])
{
    char locks[HUB_LOCK_ROOM];
    int n = 0;
    hub_lock(locks, c->name, NULL);
    out[n++] = file_join(c->hub, locks);
    out[n++] = strdup(c->folder);
    for (const char *const *part = hub_parts; *part; part++) out[n++] = file_join(c->folder, *part);
    out[n] = NULL;
    for (int i = 0; i < n; i++)
        if (!out[i]) {
            while (n) free(out[--n]);
            out[0] = NULL;
            return false;
        }
    return true;
}

/* With the folders above them. Others may share the cache: the umask decides who may read it. */
tdm_status cache_make(const cache *c, tdm_error *err)
{
    char *folders[CACHE_FOLDERS + 1];
    tdm_status status = cache_folders(c, folders) ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
    for (char **at = folders; *at; at++) {
        if (!status) status = file_make_folders(*at, 0777, err);
        free(*at);
    }
    return status;
}

/* ---- What is there --------------------------------------------------------------------------------------------- */

char *cache_blob(const cache *c, const char *digest, bool incomplete)
{
    char blob[HUB_BLOB_ROOM];
    hub_blob(blob, digest, incomplete);
    return file_join(c->folder, blob);
}

uint64_t cache_present(const cache *c, const char *digest, uint64_t size)
{
    uint64_t present = 0;
    for (int incomplete = 0; incomplete < 2 && !present; incomplete++) {
        char *path = cache_blob(c, digest, incomplete);
        struct stat st;
        if (path && !stat(path, &st) && S_ISREG(st.st_mode)) {
            uint64_t found = (uint64_t)st.st_size;
            if (incomplete ? found <= size : found == size) present = found;
        }
        free(path);
    }
    return present;
}

uint64_t cache_free_space(const cache *c)
{
    struct statvfs fs;
    char *path = strdup(c->folder);
    uint64_t bytes = UINT64_MAX;
    while (path && path[0]) {
        if (!statvfs(path, &fs)) {
            bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
            break;
        }
        char *slash = strrchr(path, '/');
        if (!slash || errno != ENOENT) break;
        slash[slash == path && path[1]] = 0; /* "/" stays */
    }
    free(path);
    return bytes;
}

/* ---- Locks ----------------------------------------------------------------------------------------------------- */

tdm_status cache_lock(int *out, const cache *c, const char *digest, bool (*wait)(void *ctx), void *ctx, tdm_error *err)
{
    char lock[HUB_LOCK_ROOM];
    hub_lock(lock, c->name, digest);
    char *path = file_join(c->hub, lock);
    if (!path) return error_set(err, TDM_E_NOMEM, "out of memory");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    tdm_status status = fd < 0 ? error_errno(err, TDM_E_IO, "%s: can't be opened", path) : TDM_OK;
    while (!status && flock(fd, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            status = error_errno(err, TDM_E_IO, "%s: can't be locked", path);
        else if (!wait(ctx))
            status = error_set(err, TDM_E_CANCELLED, "interrupted");
    }
    if (status && fd >= 0) close(fd);
    *out = status ? -1 : fd;
    free(path);
    return status;
}

/* ---- Links and refs -------------------------------------------------------------------------------------------- */

static bool is_link_to(const char *path, const char *target)
{
    size_t n = strlen(target);
    char *found = malloc(n + 1);
    ssize_t length = found ? readlink(path, found, n + 1) : -1;
    bool same = length == (ssize_t)n && !memcmp(found, target, n);
    free(found);
    return same;
}

/* A link that takes the place of whatever has its name, in one step. */
static tdm_status put_link(const char *path, const char *target, tdm_error *err)
{
    char *fresh;
    tdm_status status = TDM_OK;
    if (asprintf(&fresh, "%s.new-%ld", path, (long)getpid()) < 0) return error_set(err, TDM_E_NOMEM, "out of memory");
    unlink(fresh);
    if (symlink(target, fresh) || rename(fresh, path)) {
        status = error_errno(err, TDM_E_IO, "%s: the link can't be made", path);
        unlink(fresh);
    }
    if (!status) status = file_sync_folder(path, err);
    free(fresh);
    return status;
}

tdm_status cache_link(const cache *c, const char *commit, const char *file, const char *digest, tdm_error *err)
{
    char *path = NULL, *target;
    int depth = 0;
    for (const char *at = file; *at; at++) depth += *at == '/';
    target = hub_link(digest, depth);
    tdm_status status = TDM_OK;
    if (asprintf(&path, "%s/" HUB_SNAPSHOTS "/%s/%s", c->folder, commit, file) < 0) path = NULL;
    if (!path || !target) {
        status = error_set(err, TDM_E_NOMEM, "out of memory");
    } else if (!is_link_to(path, target)) {
        char *slash = strrchr(path, '/');
        *slash = 0;
        status = file_make_folders(path, 0777, err);
        *slash = '/';
        if (!status) status = put_link(path, target, err);
    }
    free(path);
    free(target);
    return status;
}

tdm_status cache_set_main(const cache *c, const char *commit, tdm_error *err)
{
    char *path = file_join(c->folder, HUB_MAIN);
    tdm_status status =
        path ? atomic_file_put(path, commit, strlen(commit), err) : error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status) chmod(path, 0644); /* no secret: others who share the cache read it */
    free(path);
    return status;
}
