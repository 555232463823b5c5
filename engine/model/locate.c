#include "engine/model/locate.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/model/hub.h"

enum { MAX_REVISION = 64, MAX_FOLDERS = 2 };

static bool is_directory(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* The revision that refs/main names, if it is a plain word. */
static bool read_revision(const char *model, char revision[MAX_REVISION + 1])
{
    char *path = NULL;
    if (asprintf(&path, "%s/refs/main", model) < 0) return false;
    int fd;
    tdm_status status = file_open(path, &fd, NULL);
    free(path);
    if (status) return false;
    ssize_t got = read(fd, revision, MAX_REVISION);
    close(fd);
    size_t n = got > 0 ? (size_t)got : 0;
    while (n && (revision[n - 1] == '\n' || revision[n - 1] == '\r' || revision[n - 1] == ' ')) n--;
    revision[n] = 0;
    for (size_t i = 0; i < n; i++) {
        char c = revision[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
    }
    return n > 0;
}

/* ---- GGUF files of a folder ------------------------------------------------------------------------------------ */

/* The first files of the GGUF models in a folder, and in the folders of a snapshot. */
struct models {
    char **paths;
    struct hub_gguf *names;
    size_t n;
};

static void models_free(struct models *m)
{
    for (size_t i = 0; i < m->n; i++) free(m->paths[i]);
    free(m->paths);
    free(m->names);
    *m = (struct models){0};
}

/* Takes over path. */
static bool models_add(struct models *m, char *path, const struct hub_gguf *name)
{
    char **paths = realloc(m->paths, (m->n + 1) * sizeof *paths);
    if (paths) m->paths = paths;
    struct hub_gguf *names = paths ? realloc(m->names, (m->n + 1) * sizeof *names) : NULL;
    if (names) m->names = names;
    if (!names) {
        free(path);
        return false;
    }
    m->paths[m->n] = path;
    m->names[m->n++] = *name;
    return true;
}

/* Vision parts and the like don't count, and of a split file the first part does. False: out of memory. */
static bool models_find(struct models *m, const char *folder, int folders_below)
{
    DIR *d = opendir(folder);
    bool good = true;
    for (struct dirent *e; good && d && (e = readdir(d));) {
        struct hub_gguf name;
        char *path = NULL;
        bool gguf = hub_gguf_parse(&name, e->d_name);
        if (e->d_name[0] == '.' || (gguf && name.part > 1) || (!gguf && !folders_below)) continue;
        if (asprintf(&path, "%s/%s", folder, e->d_name) < 0) {
            good = false;
        } else if (gguf) {
            name.stem += strlen(folder) + 1; /* of the path that is kept */
            good = models_add(m, path, &name);
        } else {
            if (is_directory(path)) good = models_find(m, path, folders_below - 1);
            free(path);
        }
    }
    if (d) closedir(d);
    return good;
}

/* The one model with this tag; m->n when there is none, or several. */
static size_t models_tagged(const struct models *m, const char *tag)
{
    size_t found = m->n;
    for (size_t i = 0; i < m->n; i++) {
        if (!hub_tag_is(&m->names[i], m->paths[i], tag)) continue;
        if (found < m->n) return m->n;
        found = i;
    }
    return found;
}

static size_t models_pick(const struct models *m, const char *tag)
{
    if (tag[0]) return models_tagged(m, tag);
    if (m->n == 1) return 0;
    for (const char *const *usual = hub_usual_tags; *usual; usual++) {
        size_t i = models_tagged(m, *usual);
        if (i < m->n) return i;
    }
    return m->n;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* ":BF16, :Q8_0": what could have been named. */
static void models_list(struct models *m, char *out, size_t room)
{
    const char *tags[32];
    size_t n = m->n < 32 ? m->n : 32, used = 0;
    for (size_t i = 0; i < n; i++) tags[i] = m->names[i].tag;
    qsort(tags, n, sizeof *tags, by_text);
    out[0] = 0;
    for (size_t i = 0; i < n && used < room; i++) {
        int added = snprintf(out + used, room - used, "%s:%s", i ? ", " : "", tags[i]);
        if (added > 0) used += (size_t)added;
    }
}

/* ---- Where a model is ------------------------------------------------------------------------------------------ */

static tdm_status has_config(bool *out, const char *directory, tdm_error *err)
{
    char *config = NULL;
    if (asprintf(&config, "%s/config.json", directory) < 0) return error_set(err, TDM_E_NOMEM, "out of memory");
    *out = !access(config, F_OK);
    free(config);
    return TDM_OK;
}

/* A model directory as it is; a directory of GGUF files that has just one model becomes that. */
static tdm_status look_in_directory(char **out, const char *directory, tdm_error *err)
{
    struct models m = {0};
    bool config;
    tdm_status status = has_config(&config, directory, err);
    if (status) return status;
    if (!config && !models_find(&m, directory, 0)) status = error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status && (config || m.n == 1)) {
        *out = strdup(config ? directory : m.paths[0]);
        if (!*out) status = error_set(err, TDM_E_NOMEM, "out of memory");
    } else if (!status) {
        status = error_set(err, TDM_E_NOT_FOUND, "%s: neither a config.json nor a single GGUF file: name the file",
                           directory);
    }
    models_free(&m);
    return status;
}

/* A snapshot of a repository: the GGUF model that the tag names; without a tag its only one, the usual one, or the
 * directory when that is a model. */
static tdm_status look_in_snapshot(char **out, const char *snapshot, const struct hub_name *name, tdm_error *err)
{
    struct models m = {0};
    bool config;
    char tags[160];
    tdm_status status = has_config(&config, snapshot, err);
    if (status) return status;
    if (!models_find(&m, snapshot, MAX_FOLDERS)) status = error_set(err, TDM_E_NOMEM, "out of memory");
    size_t i = models_pick(&m, name->tag);
    bool whole = config && !m.n && !name->tag[0];
    if (!status && (whole || i < m.n)) {
        *out = strdup(whole ? snapshot : m.paths[i]);
        if (!*out) status = error_set(err, TDM_E_NOMEM, "out of memory");
    } else if (!status && name->tag[0]) {
        models_list(&m, tags, sizeof tags);
        status = error_set(err, TDM_E_NOT_FOUND, "%s: no model %s on this machine%s%s: `tandem pull %s:%s` fetches it",
                           name->repository, name->tag, tags[0] ? ", but " : "", tags, name->repository, name->tag);
    } else if (!status && m.n) {
        models_list(&m, tags, sizeof tags);
        status = error_set(err, TDM_E_NOT_FOUND, "%s: several models: name one by its tag, %s", name->repository, tags);
    } else if (!status) {
        status =
            error_set(err, TDM_E_NOT_FOUND, "%s: neither a config.json nor a GGUF model: `tandem pull %s` fetches it",
                      snapshot, name->repository);
    }
    models_free(&m);
    return status;
}

static char *folder_in_cache(const char *cache, const char *repository)
{
    char *model, folder[HUB_REPOSITORY_ROOM + 16];
    hub_folder(folder, repository);
    return asprintf(&model, "%s/%s", cache, folder) < 0 ? NULL : model;
}

char *locate_snapshot(const char *cache, const char *repository)
{
    char *model = folder_in_cache(cache, repository), *snapshot = NULL, revision[MAX_REVISION + 1];
    if (model && read_revision(model, revision) && asprintf(&snapshot, "%s/snapshots/%s", model, revision) < 0)
        snapshot = NULL;
    if (snapshot && !is_directory(snapshot)) {
        free(snapshot);
        snapshot = NULL;
    }
    free(model);
    return snapshot;
}

bool locate_each(const char *folder, bool (*each)(void *ctx, const char *path, const char *tag), void *ctx)
{
    struct models m = {0};
    bool config;
    bool good = !has_config(&config, folder, NULL) && models_find(&m, folder, MAX_FOLDERS);
    if (good && config && !m.n) good = each(ctx, folder, "");
    for (size_t i = 0; good && i < m.n; i++) good = each(ctx, m.paths[i], m.names[i].tag);
    models_free(&m);
    return good;
}

/* The model in one cache; *out stays NULL where this cache does not have it. */
static tdm_status look_in_cache(char **out, const char *cache, const struct hub_name *name, tdm_error *err)
{
    char *model = folder_in_cache(cache, name->repository), *snapshot = NULL;
    tdm_status status = TDM_OK;
    if (model && is_directory(model)) {
        snapshot = locate_snapshot(cache, name->repository);
        if (snapshot)
            status = look_in_snapshot(out, snapshot, name, err);
        else
            status = error_set(err, TDM_E_NOT_FOUND, "%s: expected refs/main to name a snapshot: `tandem pull %s`",
                               model, name->repository);
    }
    free(snapshot);
    free(model);
    return status;
}

tdm_status locate_model(char **out, const char *text, const char *const *caches, tdm_error *err)
{
    struct hub_name name;
    *out = NULL;
    if (!*text)
        return error_set(err, TDM_E_NOT_FOUND, "the model's name is empty: expected a file, a folder or a name");
    if (is_directory(text)) return look_in_directory(out, text, err);
    if (!strncmp(text, "synthetic:", 10) || !access(text, F_OK)) {
        *out = strdup(text);
        return *out ? TDM_OK : error_set(err, TDM_E_NOMEM, "%s: out of memory", text);
    }
    if (!hub_name_parse(&name, text))
        return error_set(err, TDM_E_NOT_FOUND,
                         "%.120s: no such file or directory; a model is a .gguf file, a Hugging Face "
                         "model directory, or a name such as unsloth/Qwen3.5-4B-GGUF:Q4_K_M that `tandem pull` fetched",
                         text);
    tdm_status status = TDM_OK;
    for (; !status && !*out && caches && *caches; caches++) status = look_in_cache(out, *caches, &name, err);
    if (status || *out) return status;
    return error_set(err, TDM_E_NOT_FOUND, "%.120s: not on this machine: `tandem pull %.120s` fetches it", text, text);
}
