#include "src/hub/delete.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/hub/snapshots.h"
#include "src/hub/environment.h"

enum { DEEPEST = 8, MAX_FILES = 20000, FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* A file of a snapshot. */
typedef struct {
    char *name;                 /* below the snapshot */
    char blob[HUB_DIGEST_ROOM]; /* that its link leads to; "": none of this repository */
    bool goes;
    int lock; /* descriptor; -1: none */
} file;

typedef struct {
    struct hub_place place;     /* file: in the path that was given */
    int hub, folder, snapshots; /* descriptors: of the cache, of the repository's folder, of its snapshots */
    file *files;                /* of all revisions */
    size_t n;
} deletion;

/* ---- Where it is ----------------------------------------------------------------------------------------------- */

/* Finds out in which cache the path is, and opens the folders. */
static tdm_status open_all(deletion *d, const char *path, tdm_error *err)
{
    for (const char *const *cache = hub_caches(); *cache; cache++) {
        size_t n = strlen(*cache);
        if (strncmp(path, *cache, n) || path[n] != '/' || !hub_place_parse(&d->place, path + n + 1)) continue;
        d->hub = open(*cache, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (d->hub >= 0) d->folder = openat(d->hub, d->place.folder, FOLDER_FLAGS);
        if (d->folder >= 0) d->snapshots = openat(d->folder, HUB_SNAPSHOTS, FOLDER_FLAGS);
        if (d->snapshots < 0) return error_errno(err, TDM_E_IO, "%s: its folder can't be opened", path);
        return TDM_OK;
    }
    return error_set(err, TDM_E_ARG, "%s: expected a model of the hub's cache", path);
}

static void close_all(deletion *d)
{
    for (size_t i = 0; i < d->n; i++) {
        if (d->files[i].lock >= 0) close(d->files[i].lock);
        free(d->files[i].name);
    }
    free(d->files);
    const int fds[] = {d->snapshots, d->folder, d->hub};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0) close(fds[i]);
}

/* ---- The files of the repository ------------------------------------------------------------------------------- */

/* The blob that a link leads to; depth: of folders below the revision. */
static void read_blob(int folder, const char *name, int depth, char out[HUB_DIGEST_ROOM])
{
    char target[3 * (DEEPEST + 2) + HUB_DIGEST_ROOM + 8];
    ssize_t n = readlinkat(folder, name, target, sizeof target - 1);
    target[n > 0 ? n : 0] = 0;
    if (!hub_link_parse(out, target, depth)) out[0] = 0;
}

/* name: below snapshots/, with the revision. */
static tdm_status add_file(deletion *d, int folder, const char *base, const char *name, int depth, tdm_error *err)
{
    if (d->n == MAX_FILES) return error_set(err, TDM_E_FORMAT, "%s: more than %d files", d->place.folder, MAX_FILES);
    file *larger = realloc(d->files, (d->n + 1) * sizeof *larger);
    if (larger) d->files = larger;
    char *copy = larger ? strdup(name) : NULL;
    if (!copy) return error_set(err, TDM_E_NOMEM, "out of memory");
    d->files[d->n] = (file){.name = copy, .lock = -1};
    read_blob(folder, base, depth, d->files[d->n++].blob);
    return TDM_OK;
}

/* All files below a folder of snapshots/; depth: of folders below the revision, -1 for snapshots/ itself. Takes over
 * fd. */
static tdm_status walk(deletion *d, int fd, const char *below, int depth, tdm_error *err)
{
    DIR *dir = fdopendir(fd);
    tdm_status status = dir ? TDM_OK : error_errno(err, TDM_E_IO, "%s: can't be read", d->place.folder);
    if (!dir) close(fd);
    for (struct dirent *e; !status && (e = readdir(dir));) {
        char name[PATH_MAX];
        struct stat st;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        int n = snprintf(name, sizeof name, "%s%s%s", below, below[0] ? "/" : "", e->d_name);
        if (n < 0 || (size_t)n >= sizeof name || depth >= DEEPEST)
            status = error_set(err, TDM_E_FORMAT, "%s: folders deeper than %d", d->place.folder, DEEPEST);
        else if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
            status = error_errno(err, TDM_E_IO, "%s: can't be read", name);
        else if (S_ISDIR(st.st_mode)) {
            int deeper = openat(dirfd(dir), e->d_name, FOLDER_FLAGS);
            status = deeper < 0 ? error_errno(err, TDM_E_IO, "%s: can't be read", name)
                                : walk(d, deeper, name, depth + 1, err);
        } else if (depth >= 0) {
            status = add_file(d, dirfd(dir), e->d_name, name, depth, err);
        }
    }
    if (dir) closedir(dir);
    return status;
}

/* ---- The files to be deleted ----------------------------------------------------------------------------------- */

/* The name below the model's revision of a file whose name is below snapshots/; NULL: it is of another one. */
static const char *of_revision(const deletion *d, const char *name)
{
    size_t n = strlen(d->place.revision);
    return strncmp(name, d->place.revision, n) || name[n] != '/' ? NULL : name + n + 1;
}

/* Whether a file (its name below snapshots/) belongs to the model. */
static bool belongs(const deletion *d, const char *name)
{
    struct hub_gguf wanted, found;
    if (!(name = of_revision(d, name))) return false;
    if (!d->place.file[0]) return true;
    if (!hub_gguf_parse(&wanted, d->place.file)) return !strcmp(name, d->place.file);
    return hub_gguf_parse(&found, name) && found.stem == wanted.stem && found.parts == wanted.parts &&
           !memcmp(name, d->place.file, wanted.stem);
}

/* A projector of the model's revision goes with the last GGUF model there that could see with it. */
static void add_projectors(deletion *d)
{
    struct hub_gguf name;
    if (!hub_gguf_parse(&name, d->place.file)) return;
    for (size_t i = 0; i < d->n; i++) {
        const file *f = &d->files[i];
        if (of_revision(d, f->name) && !f->goes && hub_gguf_parse(&name, f->name)) return;
    }
    for (size_t i = 0; i < d->n; i++) {
        file *f = &d->files[i];
        f->goes |= of_revision(d, f->name) && hub_is_projector(f->name);
    }
}

/* Blobs that files which stay lead to stay, and so does a second link to a blob that goes with the first. */
static void keep_shared(deletion *d)
{
    for (size_t i = 0; i < d->n; i++) {
        file *f = &d->files[i];
        for (size_t k = 0; f->goes && f->blob[0] && k < d->n; k++)
            if (!strcmp(f->blob, d->files[k].blob) && k != i && (!d->files[k].goes || k < i)) f->blob[0] = 0;
    }
}

static tdm_status take_locks(deletion *d, tdm_error *err)
{
    char name[HUB_LOCK_ROOM];
    for (size_t i = 0; i < d->n; i++) {
        file *f = &d->files[i];
        if (!f->goes || !f->blob[0]) continue;
        hub_lock(name, d->place.folder, f->blob);
        f->lock = openat(d->hub, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (f->lock < 0) continue; /* it was never fetched with one */
        if (flock(f->lock, LOCK_EX | LOCK_NB))
            return error_set(err, TDM_E_BUSY, "%s: another program is fetching it", f->name);
    }
    return TDM_OK;
}

static tdm_status remove_files(deletion *d, uint64_t *freed, tdm_error *err)
{
    for (size_t i = 0; i < d->n; i++) {
        file *f = &d->files[i];
        char blob[HUB_BLOB_ROOM];
        struct stat st;
        if (!f->goes) continue;
        bool plain = !fstatat(d->snapshots, f->name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode);
        *freed += plain ? (uint64_t)st.st_size : 0; /* where links can't be made, the file itself lies there */
        if (unlinkat(d->snapshots, f->name, 0)) return error_errno(err, TDM_E_IO, "%s: can't be deleted", f->name);
        if (!f->blob[0]) continue;
        hub_blob(blob, f->blob, false);
        bool sized = !fstatat(d->folder, blob, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode);
        if (!unlinkat(d->folder, blob, 0))
            *freed += sized ? (uint64_t)st.st_size : 0;
        else if (errno != ENOENT)
            return error_errno(err, TDM_E_IO, "%s: can't be deleted", blob);
    }
    return TDM_OK;
}

/* ---- The folders that are empty then --------------------------------------------------------------------------- */

/* refs/main must not name a snapshot that isn't there. */
static void remove_ref(const deletion *d)
{
    char revision[HUB_REVISION_ROOM];
    if (snapshots_main(d->folder, revision) && !strcmp(revision, d->place.revision)) unlinkat(d->folder, HUB_MAIN, 0);
}

/* Folders that still hold something stay: removing them fails. */
static void remove_folders(const deletion *d)
{
    for (size_t i = 0; i < d->n; i++) {
        char name[PATH_MAX];
        if (!d->files[i].goes) continue;
        snprintf(name, sizeof name, "%s", d->files[i].name);
        for (char *slash; (slash = strrchr(name, '/'));) {
            *slash = 0;
            if (unlinkat(d->snapshots, name, AT_REMOVEDIR)) break;
            if (!strcmp(name, d->place.revision)) remove_ref(d);
        }
    }
    for (const char *const *part = hub_parts; *part; part++)
        if (unlinkat(d->folder, *part, AT_REMOVEDIR)) return;
    unlinkat(d->hub, d->place.folder, AT_REMOVEDIR);
}

tdm_status models_delete(const char *path, uint64_t *freed, tdm_error *err)
{
    deletion d = {.hub = -1, .folder = -1, .snapshots = -1};
    size_t going = 0;
    *freed = 0;
    tdm_status status = open_all(&d, path, err);
    int fd = status ? -1 : openat(d.snapshots, ".", FOLDER_FLAGS);
    if (!status && fd < 0) status = error_errno(err, TDM_E_IO, "%s: can't be read", path);
    if (!status) status = walk(&d, fd, "", -1, err);
    for (size_t i = 0; !status && i < d.n; i++) going += d.files[i].goes = belongs(&d, d.files[i].name);
    if (!status && !going) status = error_set(err, TDM_E_NOT_FOUND, "%s: not there", path);
    if (!status) {
        add_projectors(&d);
        keep_shared(&d);
        status = take_locks(&d, err);
    }
    if (!status) status = remove_files(&d, freed, err);
    if (!status) remove_folders(&d);
    close_all(&d);
    return status;
}
