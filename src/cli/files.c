#include "src/cli/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

char *files_expand(const char *path, size_t n)
{
    const char *home = getenv("HOME");
    bool below = n >= 2 && !memcmp(path, "~/", 2) && home;
    char *out;
    return asprintf(&out, "%s%.*s", below ? home : "", (int)n - below, path + below) < 0 ? NULL : out;
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
