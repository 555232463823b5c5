#include "src/cli/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.h"

char *files_path(files_kind kind, const char *name)
{
    static const struct {
        const char *variable, *below_home;
    } kinds[] = {
        [FILES_CONFIG] = {"XDG_CONFIG_HOME", ".config"},
        [FILES_STATE] = {"XDG_STATE_HOME", ".local/state"},
        [FILES_CACHE] = {"XDG_CACHE_HOME", ".cache"},
    };
    const char *root = getenv(kinds[kind].variable), *home = getenv("HOME");
    char *path = NULL;
    int n = -1;
    if (root && root[0] == '/') /* the standard has relative paths ignored */
        n = asprintf(&path, "%s/tandem/%s", root, name);
    else if (home && home[0])
        n = asprintf(&path, "%s/%s/tandem/%s", home, kinds[kind].below_home, name);
    return n < 0 ? NULL : path;
}

char *files_join(const char *folder, const char *name)
{
    char *path;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

tdm_status files_make_folder(const char *path, tdm_error *err)
{
    return files_make_folders(path, 0700, err);
}

tdm_status files_make_folders(const char *path, unsigned mode, tdm_error *err)
{
    char *copy = strdup(path);
    if (!copy) return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_status status = TDM_OK;
    for (char *c = copy + 1;; c++) {
        if (*c && *c != '/') continue;
        char kept = *c;
        *c = 0;
        if (mkdir(copy, (mode_t)mode) && errno != EEXIST) {
            status = error_errno(err, TDM_E_IO, "%s: the folder can't be made", copy);
            break;
        }
        *c = kept;
        if (!kept) break;
    }
    free(copy);
    return status;
}

static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t done = write(fd, bytes, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        bytes += done;
        n -= (size_t)done;
    }
    return true;
}

tdm_status files_write(const char *path, const void *bytes, size_t n, tdm_error *err)
{
    char *fresh;
    if (asprintf(&fresh, "%s.new-XXXXXX", path) < 0) return error_set(err, TDM_E_NOMEM, "out of memory");
    int fd = mkostemp(fresh, O_CLOEXEC); /* 0600 */
    if (fd < 0) {
        tdm_status status = error_errno(err, TDM_E_IO, "%s: can't be written", path);
        free(fresh);
        return status;
    }
    bool good = write_all(fd, bytes, n) && fsync(fd) == 0;
    int reason = errno;
    if (close(fd) && good) {
        good = false;
        reason = errno;
    }
    if (good && rename(fresh, path)) {
        good = false;
        reason = errno;
    }
    if (!good) unlink(fresh);
    free(fresh);
    errno = reason;
    return good ? TDM_OK : error_errno(err, TDM_E_IO, "%s: can't be written", path);
}

tdm_status files_read(const char *path, size_t most, char **out, size_t *n, tdm_error *err)
{
    bool standard = !strcmp(path, "-");
    const char *name = standard ? "standard input" : path;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return error_errno(err, TDM_E_IO, "%s: can't be opened", name);
    char *bytes = NULL;
    size_t length = 0, room = 0;
    tdm_status status = TDM_OK;
    for (;;) {
        if (length + 1 >= room) {
            room = room ? room * 2 : 65536;
            char *larger = realloc(bytes, room);
            if (!larger) {
                status = error_set(err, TDM_E_NOMEM, "%s: no memory for %zu bytes", name, room);
                break;
            }
            bytes = larger;
        }
        ssize_t got = read(fd, bytes + length, room - length - 1);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) status = error_errno(err, TDM_E_IO, "%s: can't be read", name);
        if (got <= 0) break;
        length += (size_t)got;
        if (length > most) {
            status = error_set(err, TDM_E_FORMAT, "%s: longer than %zu bytes", name, most);
            break;
        }
    }
    if (!standard) close(fd);
    if (status) {
        free(bytes);
        return status;
    }
    bytes[length] = 0;
    *out = bytes;
    *n = length;
    return TDM_OK;
}
