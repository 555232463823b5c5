#include "engine/base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.h"

bool file_write_all(int fd, const void *data, size_t bytes)
{
    enum { PIECE = 1 << 30 }; /* one call writes no more than 2 GiB */
    const char *from = data;
    while (bytes) {
        ssize_t n = write(fd, from, bytes < PIECE ? bytes : PIECE);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = ENOSPC;
        if (n <= 0) return false;
        from += n;
        bytes -= (size_t)n;
    }
    return true;
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
