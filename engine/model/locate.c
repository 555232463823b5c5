#include "engine/model/locate.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.h"

enum { MAX_PART = 96, MAX_REVISION = 64 };

/* ORG/NAME, of the characters that the hub allows: so nothing that leads out of the cache. */
static bool is_hub_name(const char *name)
{
    const char *slash = strchr(name, '/');
    if (!slash || slash == name || !slash[1] || slash - name > MAX_PART || strlen(slash + 1) > MAX_PART) return false;
    for (const char *p = name; *p; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || *p == '_';
        bool inside = *p == '-' || *p == '.';
        if (p == slash) continue;
        if (!plain && !(inside && p != name && p != slash + 1)) return false;
    }
    return true;
}

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
    FILE *f = fopen(path, "re");
    free(path);
    if (!f) return false;
    size_t n = fread(revision, 1, MAX_REVISION, f);
    fclose(f);
    while (n && (revision[n - 1] == '\n' || revision[n - 1] == '\r' || revision[n - 1] == ' ')) n--;
    revision[n] = 0;
    for (size_t i = 0; i < n; i++) {
        char c = revision[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
    }
    return n > 0;
}

/* The one GGUF model of a directory, or NULL: vision parts don't count, and of a split file the first part does. */
static char *only_gguf(const char *directory)
{
    DIR *d = opendir(directory);
    char *found = NULL;
    int count = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n < 6 || strcmp(e->d_name + n - 5, ".gguf") || strstr(e->d_name, "mmproj")) continue;
        if (strstr(e->d_name, "-of-") && !strstr(e->d_name, "-00001-of-")) continue;
        if (count++ == 0 && asprintf(&found, "%s/%s", directory, e->d_name) < 0) found = NULL;
    }
    if (d) closedir(d);
    if (count == 1) return found;
    free(found);
    return NULL;
}

/* A model directory as it is; a directory of GGUF files that has just one model becomes that. */
static tdm_status look_in_directory(char **out, const char *directory, tdm_error *err)
{
    char *config = NULL;
    if (asprintf(&config, "%s/config.json", directory) < 0) return error_set(err, TDM_E_NOMEM, "out of memory");
    *out = access(config, F_OK) ? only_gguf(directory) : strdup(directory);
    free(config);
    return *out ? TDM_OK
                : error_set(err, TDM_E_NOT_FOUND, "%s: neither a config.json nor a single GGUF file: name the file",
                            directory);
}

/* The model in one cache; *out stays NULL where this cache does not have it. */
static tdm_status look_in_cache(char **out, const char *cache, const char *name, tdm_error *err)
{
    const char *slash = strchr(name, '/');
    char *model = NULL, *snapshot = NULL, revision[MAX_REVISION + 1];
    tdm_status status = TDM_OK;
    if (asprintf(&model, "%s/models--%.*s--%s", cache, (int)(slash - name), name, slash + 1) < 0) model = NULL;
    if (model && is_directory(model)) {
        if (read_revision(model, revision) && asprintf(&snapshot, "%s/snapshots/%s", model, revision) < 0)
            snapshot = NULL;
        if (snapshot && is_directory(snapshot))
            status = look_in_directory(out, snapshot, err);
        else
            status = error_set(err, TDM_E_NOT_FOUND, "%s: expected refs/main to name a snapshot: download %s again",
                               model, name);
        free(snapshot);
    }
    free(model);
    return status;
}

tdm_status locate_model(char **out, const char *name, const char *const *caches, tdm_error *err)
{
    *out = NULL;
    if (is_directory(name)) return look_in_directory(out, name, err);
    if (!strncmp(name, "synthetic:", 10) || !access(name, F_OK)) {
        *out = strdup(name);
        return *out ? TDM_OK : error_set(err, TDM_E_NOMEM, "%s: out of memory", name);
    }
    if (!is_hub_name(name))
        return error_set(err, TDM_E_NOT_FOUND,
                         "%.120s: no such file or directory; a model is a .gguf file, a Hugging Face "
                         "model directory, or a name such as Qwen/Qwen3.5-0.8B once it is in the hub cache",
                         name);
    tdm_status status = TDM_OK;
    for (; !status && !*out && caches && *caches; caches++) status = look_in_cache(out, *caches, name, err);
    if (status || *out) return status;
    return error_set(err, TDM_E_NOT_FOUND,
                     "%.120s: not in the Hugging Face cache; get it with `hf download %.120s`, or give "
                     "the path of a .gguf file",
                     name, name);
}
