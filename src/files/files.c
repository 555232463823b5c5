#include "src/files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/os/atomic_file.h"
#include "engine/os/file.h"
#include "engine/os/path.h"
#include "engine/os/scratch.h"
#include "src/files/unfinished.h"

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

const char *files_runtime(void)
{
    const char *folder = getenv("XDG_RUNTIME_DIR");
    struct stat st;
    bool ours = folder && folder[0] == '/' && !stat(folder, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
    return ours && (st.st_mode & 0777) == 0700 ? folder : NULL;
}

/* The name in the argument, by its length, 0 where there is none; *force: it is to be overwritten. */
static const char *name_in(const char *argument, int *n, bool *force)
{
    static const char word[] = "--force";
    const size_t length = sizeof word - 1;
    size_t all = strlen(argument);
    *force = true;
    if (!strncmp(argument, word, length) && (argument[length] == ' ' || all == length)) {
        argument += length + strspn(argument + length, " ");
        all = strlen(argument);
    } else if (all > length && argument[all - length - 1] == ' ' && !strcmp(argument + all - length, word)) {
        for (all -= length; all && argument[all - 1] == ' ';) all--;
    } else {
        *force = false;
    }
    *n = (int)all;
    return argument;
}

char *files_to_write(const char *argument, tdm_error *err)
{
    int n;
    bool force;
    const char *name = name_in(argument, &n, &force);
    if (!n) {
        error_set(err, TDM_E_NOT_FOUND, "expected the name of a file behind --force");
        return NULL;
    }
    char *path = path_read(name, (size_t)n, getenv("HOME"));
    struct stat st;
    if (!path) error_set(err, TDM_E_NOMEM, "out of memory");
    if (!path || force || stat(path, &st) || !S_ISREG(st.st_mode)) return path;
    error_set(err, TDM_E_ARG, "%s: is there already; --force before the name overwrites it", path);
    free(path);
    return NULL;
}

bool files_forces(const char *argument)
{
    int n;
    bool force;
    name_in(argument, &n, &force);
    return force;
}

bool files_would_overwrite(const char *argument)
{
    tdm_error err = {0};
    char *path = files_to_write(argument, &err);
    free(path);
    return err.code == TDM_E_ARG;
}

tdm_status files_may_write(const char *path, bool overwrite, tdm_error *err)
{
    struct stat st, link;
    char folder[PATH_MAX];
    if (!path) return TDM_OK;
    bool there = !stat(path, &st);
    if (there && S_ISDIR(st.st_mode)) return file_refuse(path, st.st_mode, err);
    if (there && !S_ISREG(st.st_mode)) return TDM_OK;
    if (there && !overwrite) return error_set(err, TDM_E_IO, "%s: is there already; --overwrite replaces it", path);
    if (!there && !*path) return error_set(err, TDM_E_IO, "the file to write: expected a name, found an empty one");
    if (there || errno == ENOENT) {
        if (!there && !lstat(path, &link)) return TDM_OK; /* a link to nothing: its file is made then */
        /* The file is written beside its place and then put there. */
        if (file_folder_of(path, folder) && !access(folder, W_OK | X_OK)) return TDM_OK;
    }
    return error_errno(err, TDM_E_IO, "%s: can't be written", path);
}

void files_sweep(void)
{
    static const struct {
        files_kind kind;
        const char *name;
    } folders[] = {
        {FILES_STATE, ""},         {FILES_STATE, "sessions"},       {FILES_STATE, "trash"}, {FILES_CONFIG, ""},
        {FILES_CONFIG, "prompts"}, {FILES_CONFIG, "prompts/trash"}, {FILES_CACHE, ""},      {FILES_CACHE, "packed"},
        {FILES_CACHE, "gpu"},
    };
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char *folder = files_path(folders[i].kind, folders[i].name);
        if (folder) atomic_file_sweep(folder);
        free(folder);
    }
    unfinished_sweep();
    const char *drafts[] = {files_runtime(), getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < sizeof drafts / sizeof *drafts; i++)
        if (drafts[i] && drafts[i][0]) scratch_sweep(drafts[i]);
}

/* /dev/fd/63 and the like, which a shell gives for <(command), is meant to be a pipe with a writer. */
static tdm_status open_named(const char *path, int *fd, tdm_error *err)
{
    static const char *const meant[] = {"/dev/fd/", "/proc/self/fd/", "/dev/stdin"};
    for (size_t i = 0; i < sizeof meant / sizeof *meant; i++) {
        if (strncmp(path, meant[i], strlen(meant[i]))) continue;
        *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        return *fd < 0 ? error_errno(err, TDM_E_IO, "%s: can't be opened", path) : TDM_OK;
    }
    return file_open_needed(path, fd, err);
}

tdm_status files_read(const char *path, size_t most, char **out, size_t *n, tdm_error *err)
{
    bool standard = !strcmp(path, "-");
    const char *name = standard ? "standard input" : path;
    int fd = STDIN_FILENO;
    tdm_status status = standard ? TDM_OK : open_named(path, &fd, err);
    if (status) return status;
    char *bytes = NULL;
    size_t length = 0, room = 0;
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
        ssize_t got = file_read(fd, bytes + length, room - length - 1);
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

tdm_status files_read_text(const char *path, size_t most, char **out, size_t *n, tdm_error *err)
{
    static const char mark[] = "\357\273\277";
    const size_t length = sizeof mark - 1;
    tdm_status status = files_read(path, most, out, n, err);
    if (!status && *n >= length && !memcmp(*out, mark, length)) memmove(*out, *out + length, (*n -= length) + 1);
    return status;
}

tdm_status files_create(const char *path, unsigned mode, FILE **out, tdm_error *err)
{
    int fd;
    *out = NULL;
    tdm_status status = file_create(path, mode, &fd, err);
    if (status || (*out = fdopen(fd, "w"))) return status;
    status = error_errno(err, TDM_E_IO, "%s: can't be written", path);
    close(fd);
    return status;
}

void files_remember(const char *name, const char *text, size_t n)
{
    char *folder = files_path(FILES_STATE, ""), *path = files_path(FILES_STATE, name), *old = NULL;
    size_t length = 0;
    bool same = path && !access(path, F_OK) && !files_read(path, n, &old, &length, NULL) && length == n &&
                !memcmp(old, text, n);
    if (folder && path && !same && !file_make_folders(folder, 0700, NULL)) atomic_file_put(path, text, n, NULL);
    free(old);
    free(path);
    free(folder);
}
