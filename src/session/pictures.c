#include "src/session/pictures.h"

#include <dirent.h>
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
#include "src/files/files.h"
#include "src/image/image.h"

static char *path_of(const char *folder, const char *key, const char *type)
{
    char *path;
    return asprintf(&path, "%s/%s.%s", folder, key, type) < 0 ? NULL : path;
}

/* One whose bytes the program doesn't have is there: it was read from there, or its session only gets another name. */
static tdm_status save_one(const char *folder, const session_picture *p, tdm_error *err)
{
    const picture *its = picture_find_key(p->key);
    char *path = its ? path_of(folder, p->key, its->suffix) : NULL;
    tdm_status status = TDM_OK;
    if (!its) return TDM_OK;
    if (!path) return error_set(err, TDM_E_NOMEM, "out of memory");
    if (access(path, F_OK)) {
        status = file_make_folders(folder, 0700, err);
        if (!status) status = atomic_file_put(path, its->bytes, its->n, err);
    }
    free(path);
    return status;
}

tdm_status pictures_save(const char *folder, const session *s, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (int i = 0; i < s->n_pictures && !status; i++) status = save_one(folder, &s->pictures[i], err);
    for (int i = 0; i < s->n_pending; i++)
        for (int k = 0; k < s->pending[i].n_pictures && !status; k++)
            status = save_one(folder, &s->pending[i].pictures[k], err);
    return status;
}

tdm_status pictures_read(const char *folder, const session_picture *p, const picture **out, tdm_picture **seen,
                         tdm_error *err)
{
    char *path = path_of(folder, p->key, p->type), *bytes;
    size_t n;
    *seen = NULL;
    tdm_status status =
        path ? files_read(path, IMAGE_BYTES, &bytes, &n, err) : error_set(err, TDM_E_NOMEM, "out of memory");
    free(path);
    if (!status) status = picture_take(out, seen, bytes, n, p->name, NULL, NULL, err);
    if (status || !strcmp((*out)->key, p->key)) return status;
    tdm_picture_drop(*seen);
    *seen = NULL;
    return error_set(err, TDM_E_FORMAT, "%s: another picture is in its place", p->name);
}

/* The names of an open folder, but for itself and the one above; NULL: there is no more. */
static const char *next_name(DIR *d)
{
    struct dirent *e;
    while ((e = readdir(d)))
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) return e->d_name;
    return NULL;
}

void pictures_copy(const char *from, const char *to)
{
    DIR *d = opendir(from);
    if (!d) return;
    bool made = !mkdir(to, 0700) || errno == EEXIST;
    for (const char *name; made && (name = next_name(d));) {
        char *path = file_join(to, name);
        if (!path) break;
        if (linkat(dirfd(d), name, AT_FDCWD, path, 0) && errno != EEXIST) made = false;
        free(path);
    }
    closedir(d);
}

void pictures_remove(const char *folder)
{
    DIR *d = opendir(folder);
    for (const char *name; d && (name = next_name(d));) unlinkat(dirfd(d), name, 0);
    if (d) closedir(d);
    rmdir(folder);
}
