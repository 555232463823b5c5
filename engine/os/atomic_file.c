#include "engine/os/atomic_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/os/file.h"

/* What is being written is called NAME.tandem-new-XXXXXXXX and holds a lock (flock) until it is in place or gone: a
 * file of such a name without one is what a killed program left. Folders of the user's are swept too: no name that a
 * user chooses looks like that. */
#define MARK ".tandem-new-"
enum { BUFFER = 1 << 20, RANDOM = 8, ENDING = sizeof MARK - 1 + RANDOM, REMOTE_AGE_S = 24 * 60 * 60 };

struct atomic_file {
    int fd;
    bool relaxed;
    uint64_t written; /* buffered bytes included */
    size_t used;
    char *path, *temporary; /* path: what is replaced, behind the links; temporary NULL: it is written into */
    uint8_t buffer[BUFFER];
};

/* ---- The file that is written ---------------------------------------------------------------------------------- */

/* The path itself, or what it leads to where it is a link; a link that leads nowhere is made to lead to an empty
 * file. */
static char *target_of(const char *path)
{
    struct stat st;
    if (lstat(path, &st) || !S_ISLNK(st.st_mode)) return strdup(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd >= 0) close(fd);
    return realpath(path, NULL);
}

static char *temporary_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash + 1 - path) : 0, name = strlen(path) - folder;
    if (name + ENDING > NAME_MAX) { /* the beginning of the name is enough, cut at a character */
        name = NAME_MAX - ENDING;
        while (name && utf8_continues(path[folder + name])) name--;
    }
    char *out = malloc(folder + name + ENDING + 1);
    if (!out) return NULL;
    memcpy(out, path, folder + name);
    memcpy(out + folder + name, MARK, sizeof MARK);
    return out;
}

/* -1 with errno. */
static int open_temporary(char *name, mode_t mode)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuv";
    char *end = name + strlen(name);
    for (int tries = 0; tries < 100; tries++) {
        uint8_t random[RANDOM];
        if (getrandom(random, sizeof random, 0) != sizeof random) return -1;
        for (int i = 0; i < RANDOM; i++) end[i] = letters[random[i] % 32];
        end[RANDOM] = 0;
        int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
        if (fd < 0 && errno != EEXIST) return -1;
        if (fd < 0) continue;
        struct stat st;
        /* A program that sweeps may have come between the two calls. A file system without locks goes without. */
        bool taken = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
        if (!taken && !fstat(fd, &st) && st.st_nlink) return fd;
        close(fd);
    }
    errno = EEXIST;
    return -1;
}

/* Files that a killed program left beside this one are removed when the next file is written there. */
static void sweep_beside(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
    if (folder) atomic_file_sweep(folder);
    free(folder);
}

static tdm_status new_with(struct atomic_file **out, const char *path, mode_t mode, tdm_error *err)
{
    *out = NULL;
    struct stat st;
    errno = 0;
    char *target = target_of(path);
    if (!target && errno && errno != ENOMEM) return error_errno(err, TDM_E_IO, "%s: can't be written", path);
    if (target && !stat(target, &st) && !S_ISREG(st.st_mode)) {
        free(target);
        return file_refuse(path, st.st_mode, err);
    }
    struct atomic_file *f = malloc(sizeof *f);
    char *temporary = target ? temporary_of(target) : NULL;
    if (!f || !temporary) {
        free(f), free(target), free(temporary);
        return error_set(err, TDM_E_NOMEM, "%s: out of memory", path);
    }
    f->written = f->used = 0;
    f->relaxed = false;
    f->path = target;
    f->temporary = temporary;
    sweep_beside(target);
    f->fd = open_temporary(temporary, mode);
    if (f->fd < 0) {
        tdm_status status = error_errno(err, TDM_E_IO, "%s: can't be written", path);
        free(f), free(target), free(temporary);
        return status;
    }
    *out = f;
    return TDM_OK;
}

tdm_status atomic_file_new(struct atomic_file **out, const char *path, tdm_error *err)
{
    return new_with(out, path, 0600, err);
}

tdm_status atomic_file_new_shared(struct atomic_file **out, const char *path, tdm_error *err)
{
    return new_with(out, path, 0666, err);
}

/* Gives the new file the owner, the group and the mode of the old one. */
static void keep_rights(struct atomic_file *f, const struct stat *old)
{
    /* Where the group can't be kept, another one gets no rights by its mode. */
    bool given = !fchown(f->fd, old->st_uid, old->st_gid) || !fchown(f->fd, (uid_t)-1, old->st_gid);
    if (fchmod(f->fd, old->st_mode & (given ? 0777 : 0707))) given = false;
}

tdm_status atomic_file_new_named(struct atomic_file **out, const char *path, tdm_error *err)
{
    struct stat st;
    bool there = !stat(path, &st);
    if (!there || !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))) {
        tdm_status status = atomic_file_new_shared(out, path, err);
        if (!status && there) keep_rights(*out, &st);
        return status;
    }
    struct atomic_file *f = malloc(sizeof *f);
    char *copy = strdup(path);
    *out = NULL;
    tdm_status status = f && copy ? TDM_OK : error_set(err, TDM_E_NOMEM, "%s: out of memory", path);
    if (!status) status = file_create(path, 0, &f->fd, err);
    if (status) {
        free(f), free(copy);
        return status;
    }
    f->written = f->used = 0;
    f->relaxed = true;
    f->path = copy;
    f->temporary = NULL;
    *out = f;
    return TDM_OK;
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
    int lock = fcntl(f->fd, F_DUPFD_CLOEXEC, 0); /* which ends with the last descriptor: after the renaming */
    if (close(f->fd) && !status) status = error_errno(err, TDM_E_IO, "%s: can't be written", f->path);
    if (!status && f->temporary && rename(f->temporary, f->path))
        status = error_errno(err, TDM_E_IO, "%s: can't be written", f->path);
    if (status && f->temporary) unlink(f->temporary);
    else if (!f->relaxed) status = file_sync_folder(f->path, err);
    if (lock >= 0) close(lock);
    discard(f);
    return status;
}

void atomic_file_abort(struct atomic_file *f)
{
    if (!f) return;
    if (f->temporary) unlink(f->temporary);
    close(f->fd);
    discard(f);
}

static tdm_status put(struct atomic_file *f, const void *data, size_t bytes, tdm_error *err)
{
    tdm_status status = atomic_file_write(f, data, bytes, err);
    if (status == TDM_OK) return atomic_file_commit(f, err);
    atomic_file_abort(f);
    return status;
}

tdm_status atomic_file_put(const char *path, const void *data, size_t bytes, tdm_error *err)
{
    struct atomic_file *f;
    tdm_status status = atomic_file_new(&f, path, err);
    return status ? status : put(f, data, bytes, err);
}

/* ---- Files of the user's --------------------------------------------------------------------------------------- */

tdm_status atomic_file_replace(const char *path, const void *data, size_t bytes, tdm_error *err)
{
    struct atomic_file *f;
    struct stat st;
    bool there = !stat(path, &st);
    if (there && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) return file_write_into(path, data, bytes, err);
    tdm_status status = atomic_file_new(&f, path, err);
    if (status) return status;
    if (there) keep_rights(f, &st);
    return put(f, data, bytes, err);
}

/* ---- What was left --------------------------------------------------------------------------------------------- */

/* Locks of another machine may not be seen here: there only what is old counts as left. */
static bool is_remote(int fd)
{
    static const unsigned kinds[] = {0x6969 /* NFS */, 0x517b /* SMB */, 0xff534d42 /* CIFS */, 0xfe534d42 /* SMB2 */,
                                     0x65735546 /* FUSE */, 0x01021997 /* 9P */, 0x00c36400 /* Ceph */,
                                     0x5346414f /* AFS */};
    struct statfs fs;
    if (fstatfs(fd, &fs)) return true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((unsigned)fs.f_type == kinds[i]) return true;
    return false;
}

bool atomic_file_remove_left(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    bool left = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
                !flock(fd, LOCK_EX | LOCK_NB) && (!is_remote(fd) || time(NULL) - st.st_mtime > REMOTE_AGE_S);
    if (left) unlinkat(folder, name, 0); /* with the lock: a writer that comes now sees that its file is gone */
    if (fd >= 0) close(fd);
    return left;
}

static bool is_temporary(const char *name)
{
    size_t n = strlen(name);
    const char *end = n > ENDING ? name + n - ENDING : NULL;
    return end && !strncmp(end, MARK, sizeof MARK - 1) &&
           strspn(end + sizeof MARK - 1, "0123456789abcdefghijklmnopqrstuv") == RANDOM;
}

bool atomic_file_sweep(const char *folder)
{
    DIR *dir = opendir(folder);
    bool clean = dir;
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        if (is_temporary(entry->d_name)) clean &= atomic_file_remove_left(dirfd(dir), entry->d_name);
    if (dir) closedir(dir);
    return clean;
}
