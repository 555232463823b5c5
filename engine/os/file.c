#include "engine/os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "engine/base/error.h"

bool file_again(ssize_t n)
{
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

/* Opening the other end of a pseudo-terminal would make a new one. */
int file_open_terminal(int fd, int way)
{
    char path[40];
    unsigned number;
    if (!isatty(fd) || !ioctl(fd, TIOCGPTN, &number)) return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, way | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void file_wait(int fd, short events)
{
    poll(&(struct pollfd){.fd = fd, .events = events}, 1, -1);
}

ssize_t file_read(int fd, void *to, size_t bytes)
{
    for (;;) {
        ssize_t n = read(fd, to, bytes);
        if (!file_again(n)) return n;
        if (errno != EINTR) file_wait(fd, POLLIN);
    }
}

bool file_write_all(int fd, const void *data, size_t bytes)
{
    enum { PIECE = 1 << 30 }; /* one call writes no more than 2 GiB */
    const char *from = data;
    while (bytes) {
        ssize_t n = write(fd, from, bytes < PIECE ? bytes : PIECE);
        if (file_again(n)) {
            if (errno != EINTR) file_wait(fd, POLLOUT);
            continue;
        }
        if (n == 0) errno = ENOSPC;
        if (n <= 0) return false;
        from += n;
        bytes -= (size_t)n;
    }
    return true;
}

const char *file_kind(unsigned mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG: return "a regular file";
    case S_IFDIR: return "a folder";
    case S_IFIFO: return "a FIFO";
    case S_IFSOCK: return "a socket";
    default: return "a device";
    }
}

bool file_is_null(const struct stat *st)
{
    struct stat null;
    return S_ISCHR(st->st_mode) && !stat("/dev/null", &null) && S_ISCHR(null.st_mode) && st->st_rdev == null.st_rdev;
}

bool file_is_at(int fd, const char *path)
{
    struct stat ours, named;
    return !fstat(fd, &ours) && !stat(path, &named) && ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

bool file_is_same(const char *a, const char *b)
{
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool file_is_there(const char *path)
{
    return !faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW);
}

tdm_status file_refuse(const char *path, unsigned mode, tdm_error *err)
{
    return error_set(err, TDM_E_IO, "%s: expected a regular file, found %s", path, file_kind(mode));
}

tdm_status file_open(const char *path, int *fd, tdm_error *err)
{
    struct stat st;
    *fd = -1;
    /* Without O_NONBLOCK, opening a FIFO would wait for a writer. */
    int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (opened < 0 && errno == ENXIO && !stat(path, &st)) return file_refuse(path, st.st_mode, err); /* a socket, say */
    if (opened < 0 || fstat(opened, &st)) {
        tdm_status code = errno == ENOENT || errno == ENOTDIR ? TDM_E_NOT_FOUND : TDM_E_IO;
        code = error_errno(err, code, "%s: can't be opened", path);
        if (opened >= 0) close(opened);
        return code;
    }
    if (!S_ISREG(st.st_mode) && !file_is_null(&st)) {
        close(opened);
        return file_refuse(path, st.st_mode, err);
    }
    *fd = opened;
    return TDM_OK;
}

tdm_status file_open_needed(const char *path, int *fd, tdm_error *err)
{
    tdm_status status = file_open(path, fd, err);
    if (status && err) err->code = TDM_E_IO;
    return status ? TDM_E_IO : TDM_OK;
}

static tdm_status not_opened(const char *path, tdm_error *err)
{
    struct stat st;
    int why = errno;
    bool odd = why == ENXIO && !stat(path, &st);
    if (odd && S_ISFIFO(st.st_mode)) return error_set(err, TDM_E_IO, "%s: nobody reads it", path);
    if (odd) return file_refuse(path, st.st_mode, err);
    errno = why;
    return error_errno(err, TDM_E_IO, "%s: can't be written", path);
}

tdm_status file_create(const char *path, unsigned mode, int *fd, tdm_error *err)
{
    *fd = -1;
    /* Without O_NONBLOCK, opening a FIFO would wait for a reader. */
    int opened = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, (mode_t)mode), flags;
    if (opened < 0) return not_opened(path, err);
    if ((flags = fcntl(opened, F_GETFL)) < 0 || fcntl(opened, F_SETFL, flags & ~O_NONBLOCK)) {
        tdm_status status = error_errno(err, TDM_E_IO, "%s: can't be written", path);
        close(opened);
        return status;
    }
    *fd = opened;
    return TDM_OK;
}

tdm_status file_write_into(const char *path, const void *data, size_t bytes, tdm_error *err)
{
    enum { PATIENCE_MS = 2000 };
    const char *from = data;
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return not_opened(path, err);
    tdm_status status = TDM_OK;
    while (bytes && !status) {
        ssize_t n = write(fd, from, bytes);
        if (n > 0) {
            from += n;
            bytes -= (size_t)n;
        } else if (file_again(n)) {
            if (errno != EINTR && poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, PATIENCE_MS) == 0)
                status = error_set(err, TDM_E_IO, "%s: its reader doesn't read", path);
        } else {
            status = error_errno(err, TDM_E_IO, "%s: can't be written", path);
        }
    }
    close(fd);
    return status;
}

void file_forget(int fd, uint64_t bytes)
{
#ifdef POSIX_FADV_DONTNEED
    posix_fadvise(fd, 0, (off_t)bytes, POSIX_FADV_DONTNEED);
#else
    (void)fd, (void)bytes;
#endif
}

bool file_folder_of(const char *path, char out[PATH_MAX])
{
    char *slash;
    if (realpath(path, out)) {
        slash = strrchr(out, '/');
        slash[slash == out] = 0;
        return true;
    }
    const char *name = strrchr(path, '/');
    char *folder = name ? strndup(path, (size_t)(name + 1 - path)) : strdup(".");
    bool there = folder && realpath(folder, out);
    free(folder); /* which leaves errno */
    return there;
}

char *file_join(const char *folder, const char *name)
{
    char *path;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

const char *file_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

tdm_status file_sync_folder(const char *path, tdm_error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
    if (!folder) return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_status status = TDM_OK;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* one may write into a folder and not read it */
    if (fd >= 0 && fsync(fd) && errno != EINVAL && errno != ENOTSUP && errno != EROFS)
        status = error_errno(err, TDM_E_IO, "%s: the folder can't be written", folder);
    if (fd >= 0) close(fd);
    free(folder);
    return status;
}

tdm_status file_make_folders(const char *path, unsigned mode, tdm_error *err)
{
    char *copy = strdup(path);
    if (!copy) return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_status status = TDM_OK;
    for (char *c = copy; *c && !status;) {
        c += strspn(c, "/");
        c += strcspn(c, "/");
        char kept = *c;
        *c = 0;
        if (mkdir(copy, (mode_t)mode) && errno != EEXIST)
            status = error_errno(err, TDM_E_IO, "%s: the folder can't be made", copy);
        *c = kept;
    }
    free(copy);
    return status;
}

bool file_is_program(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

bool file_find_program(const char *folders, const char *name, char out[PATH_MAX])
{
    const char *at = folders;
    for (size_t n; at; at = at[n] ? at + n + 1 : NULL) {
        n = strcspn(at, ":");
        int length = at[0] == '/' && n < PATH_MAX ? snprintf(out, PATH_MAX, "%.*s/%s", (int)n, at, name) : PATH_MAX;
        if (length < PATH_MAX && file_is_program(out)) return true;
    }
    return false;
}
