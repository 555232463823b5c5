#include "src/files/unfinished.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "engine/os/atomic_file.h"
#include "engine/os/file.h"
#include "src/files/files.h"

enum { LONGEST_LIST = 16 * PATH_MAX }; /* a longer one is forgotten */

/* The list with this lock; -1: there is none, or another program has it. */
static int open_list(int way, int lock)
{
    char *path = files_path(FILES_STATE, "unfinished");
    int fd = -1, locked = 0;
    while (path && (fd = open(path, way | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)) >= 0) {
        while ((locked = flock(fd, lock)) && errno == EINTR) {
        }
        if (locked || file_is_at(fd, path)) break;
        close(fd);
    }
    free(path);
    if (fd >= 0 && locked) close(fd);
    return locked ? -1 : fd;
}

int unfinished_begin(const char *path)
{
    char folder[PATH_MAX];
    int list = file_folder_of(path, folder) ? open_list(O_WRONLY | O_CREAT | O_APPEND, LOCK_SH) : -1;
    if (list >= 0) file_write_all(list, folder, strlen(folder) + 1); /* else the file is written all the same */
    return list;
}

/* Sweeps the folders in the text and moves those that stay in the list to its beginning; their length. */
static size_t sweep_all(char *text, size_t n)
{
    size_t kept = 0;
    for (size_t at = 0, length; at < n; at += length) {
        length = strlen(text + at) + 1;
        bool gone = text[at] != '/' || (access(text + at, F_OK) && (errno == ENOENT || errno == ENOTDIR));
        if (gone || atomic_file_sweep(text + at)) continue;
        memmove(text + kept, text + at, length);
        kept += length;
    }
    return kept;
}

void unfinished_sweep(void)
{
    char *path = files_path(FILES_STATE, "unfinished"), *text = NULL;
    size_t n = 0, kept;
    int list = open_list(O_RDONLY, LOCK_EX | LOCK_NB);
    if (list >= 0 && path && !files_read(path, LONGEST_LIST, &text, &n, NULL)) {
        kept = sweep_all(text, n);
        if (!kept)
            unlink(path);
        else if (kept < n)
            atomic_file_put(path, text, kept, NULL);
    } else if (list >= 0 && path) {
        unlink(path);
    }
    if (list >= 0) close(list);
    free(text);
    free(path);
}

void unfinished_end(int list)
{
    if (list < 0) return;
    close(list);
    unfinished_sweep(); /* where another program writes, it does so once that is done */
}

tdm_status unfinished_replace(const char *path, const void *data, size_t bytes, tdm_error *err)
{
    int list = unfinished_begin(path);
    tdm_status status = atomic_file_replace(path, data, bytes, err);
    unfinished_end(list);
    return status;
}
