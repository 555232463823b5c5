#include "engine/os/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.h"

#define MARK "tandem-draft-"
enum { RANDOM = 6, TRIES = 100 };

/* The open folder, locked; -1: another program holds it, or it is none. A file system without locks goes without where
 * `made` says that the folder is ours. */
static int take(int folder, const char *name, bool made)
{
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || !flock(fd, LOCK_EX | LOCK_NB) || (made && errno != EWOULDBLOCK)) return fd;
    close(fd);
    return -1;
}

/* Everything in it but folders, which no editor makes. */
static void remove_files(int fd)
{
    int own = dup(fd);
    DIR *d = own >= 0 ? fdopendir(own) : NULL;
    if (!d && own >= 0) close(own);
    for (const struct dirent *entry; d && (entry = readdir(d));) unlinkat(fd, entry->d_name, 0);
    if (d) closedir(d);
}

tdm_status scratch_make(struct scratch *out, const char *folder, tdm_error *err)
{
    struct stat st;
    out->lock = -1;
    for (int i = 0; i < TRIES; i++) {
        int n = snprintf(out->path, sizeof out->path, "%s/" MARK "XXXXXX", folder);
        errno = ENAMETOOLONG;
        if (n < 0 || (size_t)n >= sizeof out->path || !mkdtemp(out->path)) break;
        out->lock = take(AT_FDCWD, out->path, true);
        /* A program that sweeps may have come between the two calls. */
        if (out->lock >= 0 && !fstat(out->lock, &st) && st.st_nlink) return TDM_OK;
        if (out->lock >= 0) close(out->lock);
        out->lock = -1;
        rmdir(out->path);
    }
    return error_errno(err, TDM_E_IO, "%s: no folder can be made there", folder);
}

void scratch_remove(struct scratch *s)
{
    if (s->lock < 0) return;
    remove_files(s->lock);
    rmdir(s->path);
    close(s->lock);
    s->lock = -1;
}

static bool is_scratch(const char *name)
{
    return !strncmp(name, MARK, sizeof MARK - 1) && strlen(name) == sizeof MARK - 1 + RANDOM;
}

void scratch_sweep(const char *folder)
{
    DIR *d = opendir(folder);
    for (const struct dirent *entry; d && (entry = readdir(d));) {
        struct stat st;
        int fd = is_scratch(entry->d_name) ? take(dirfd(d), entry->d_name, false) : -1;
        if (fd < 0) continue;
        if (!fstat(fd, &st) && st.st_uid == geteuid()) {
            remove_files(fd);
            unlinkat(dirfd(d), entry->d_name, AT_REMOVEDIR);
        }
        close(fd);
    }
    if (d) closedir(d);
}
