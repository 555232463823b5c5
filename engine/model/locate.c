#include "engine/model/locate.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/signature.h"
#include "engine/hub/snapshots.h"
#include "engine/model/hf/shards.h"
#include "engine/os/file.h"

enum { MAX_FOLDERS = 2 };

static bool is_directory(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* ---- Models of a folder ------------------------------------------------------------------------------------------ */

/* How much of a model is there. Of several copies the one with the least of these is taken. */
enum presence {
    WHOLE,
    BARE,      /* a configuration without weights, which loading reports */
    INCOMPLETE /* a file that belongs to it is missing, or a link to it leads nowhere */
};

struct model {
    char *path;           /* of the folder, or of the GGUF file's first part, whether that is there or not */
    size_t folder;        /* bytes of the path before what names it in its snapshot */
    struct hub_gguf name; /* tag "" for a folder */
    enum presence presence;
    bool ambiguous; /* another one has the same tag */
    char *missing;  /* the name of a file that isn't there; NULL: none is missing */
};

/* Of a folder and those in it, or of all snapshots of a repository. */
struct models {
    struct model *list;
    size_t n;
};

static void model_free(struct model *m)
{
    free(m->path);
    free(m->missing);
}

static void models_free(struct models *m)
{
    for (size_t i = 0; i < m->n; i++) model_free(&m->list[i]);
    free(m->list);
    *m = (struct models){0};
}

/* Takes over the model's strings. */
static bool models_add(struct models *m, struct model model)
{
    struct model *list = model.path ? realloc(m->list, (m->n + 1) * sizeof *list) : NULL;
    if (!list) {
        model_free(&model);
        return false;
    }
    m->list = list;
    m->list[m->n++] = model;
    return true;
}

static bool is_folder(const struct model *m)
{
    return !m->name.parts;
}

static bool is_file(const char *path)
{
    struct stat st;
    return !stat(path, &st) && !S_ISDIR(st.st_mode);
}

/* A link that leads nowhere is there, too. */
static bool has_entry(const char *folder, const char *name, bool *leads)
{
    struct stat st;
    char *path = file_join(folder, name);
    if (!path) return *leads = false;
    bool there = !lstat(path, &st);
    *leads = there && is_file(path);
    free(path);
    return there;
}

/* The path of a part of a GGUF model, malloc'ed; found: of any of its parts. */
static char *part_path(const char *found, const struct hub_gguf *name, uint32_t part)
{
    char *path = NULL;
    int n = name->parts == 1 ? asprintf(&path, "%s", found)
                             : asprintf(&path, "%.*s-%05u-of-%05u%s", (int)name->stem, found, part, name->parts,
                                        found + strlen(found) - strlen(".gguf"));
    return n < 0 ? NULL : path;
}

/* The first part that isn't there. False: out of memory. */
static bool look_for_parts(struct model *m)
{
    for (uint32_t part = 1; part <= m->name.parts && m->presence == WHOLE; part++) {
        char *path = part_path(m->path, &m->name, part);
        if (!path) return false;
        if (!is_file(path)) {
            m->presence = INCOMPLETE;
            m->missing = strdup(file_base(path));
        }
        free(path);
    }
    return m->presence == WHOLE || m->missing;
}

static bool has_model(const struct models *m, const char *path, const struct hub_gguf *name)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct hub_gguf *other = &m->list[i].name;
        if (other->parts == name->parts && other->stem == name->stem && !memcmp(m->list[i].path, path, name->stem))
            return true;
    }
    return false;
}

/* A GGUF file as the model that it is, or is a part of, if that is new. Takes over path. */
static bool add_file(struct models *m, char *path, const struct hub_gguf *name, size_t snapshot)
{
    if (name->parts > 1 && has_model(m, path, name)) {
        free(path);
        return true;
    }
    struct model model = {.path = part_path(path, name, 1), .folder = snapshot, .name = *name};
    free(path);
    model.name.part = 1;
    if (model.path && !look_for_parts(&model)) {
        model_free(&model);
        return false;
    }
    return models_add(m, model);
}

/* Vision parts and the like don't count. snapshot: bytes of the path of the folder in which the search began. False:
 * out of memory. */
static bool models_find(struct models *m, const char *folder, size_t snapshot, int folders_below)
{
    DIR *d = opendir(folder);
    bool good = true;
    for (struct dirent *e; good && d && (e = readdir(d));) {
        struct hub_gguf name;
        bool gguf = hub_gguf_parse(&name, e->d_name);
        if (e->d_name[0] == '.' || (!gguf && !folders_below)) continue;
        char *path = file_join(folder, e->d_name);
        if (!path) {
            good = false;
        } else if (gguf) {
            name.stem += strlen(folder) + 1; /* of the path that is kept */
            good = add_file(m, path, &name, snapshot);
        } else {
            if (is_directory(path)) good = models_find(m, path, snapshot, folders_below - 1);
            free(path);
        }
    }
    if (d) closedir(d);
    return good;
}

/* The folder itself, if it is a Hugging Face model; its configuration may be a link that leads nowhere. False: out of
 * memory. */
static bool add_folder(struct models *m, const char *folder)
{
    static const char *const needed[] = {"config.json", "tokenizer.json", NULL};
    struct model model = {.path = strdup(folder), .folder = strlen(folder)};
    bool leads = true, there = false, good = model.path;
    for (int i = 0; good && needed[i] && !model.missing; i++) {
        bool has = has_entry(folder, needed[i], &leads);
        if (i == 0 && !(there = has)) break;
        if (has && !leads) good = (model.missing = strdup(needed[i]));
    }
    if (good && there && !model.missing) good = shards_missing(folder, &model.missing, &leads);
    model.presence = model.missing ? INCOMPLETE : leads ? WHOLE : BARE;
    if (good && there) return models_add(m, model);
    model_free(&model);
    return good;
}

/* A second way to a file, through a folder that is a link, is no second model: the longer one is left out. */
static void leave_out_second_ways(struct models *m)
{
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = i + 1; k < m->n; k++) {
            struct model *a = &m->list[i], *b = &m->list[k];
            if (strcmp(file_base(a->path), file_base(b->path)) != 0 || !file_is_same(a->path, b->path)) continue;
            struct model longer = strlen(a->path) > strlen(b->path) ? *a : *b;
            if (longer.path == a->path) *a = *b;
            model_free(&longer);
            memmove(b, b + 1, (--m->n - k) * sizeof *b);
            k--;
        }
}

static void find_ambiguous(struct models *m)
{
    for (size_t i = 0; i < m->n; i++) m->list[i].ambiguous = false;
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < m->n; k++)
            if (k != i && m->list[i].name.tag[0] && !strcasecmp(m->list[i].name.tag, m->list[k].name.tag))
                m->list[i].ambiguous = true;
}

/* Replaces ambiguous tags by the name of the file, which is a tag as well. Files of several folders may have the same
 * name: they have no tag, and their paths name them. */
static void tell_apart(struct models *m)
{
    leave_out_second_ways(m);
    find_ambiguous(m);
    for (size_t i = 0; i < m->n; i++) {
        struct model *at = &m->list[i];
        const char *base = file_base(at->path);
        size_t n = at->name.stem - (size_t)(base - at->path);
        if (at->ambiguous && n < sizeof at->name.tag) snprintf(at->name.tag, sizeof at->name.tag, "%.*s", (int)n, base);
    }
    find_ambiguous(m);
    for (size_t i = 0; i < m->n; i++)
        if (m->list[i].ambiguous) m->list[i].name.tag[0] = 0;
}

/* The one model with this tag; m->n when there is none, or several. */
static size_t models_tagged(const struct models *m, const char *tag, enum presence most)
{
    size_t found = m->n;
    for (size_t i = 0; i < m->n; i++) {
        const struct model *at = &m->list[i];
        if (at->presence > most || !at->name.tag[0] || !hub_tag_is(&at->name, at->path, tag)) continue;
        if (found < m->n) return m->n;
        found = i;
    }
    return found;
}

/* The model that a tag means, or none, among the models that are there to this extent. */
static size_t models_pick(const struct models *m, const char *tag, enum presence most)
{
    if (tag[0]) return models_tagged(m, tag, most);
    size_t only = m->n, n = 0;
    for (size_t i = 0; i < m->n; i++)
        if (m->list[i].presence <= most) only = i, n++;
    if (n <= 1) return only;
    for (const char *const *usual = hub_usual_tags; *usual; usual++) {
        size_t i = models_tagged(m, *usual, most);
        if (i < m->n) return i;
    }
    return m->n;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* ":BF16, :Q8_0": what could have been named; then a file without a tag, by its path, *path. */
static void models_list(struct models *m, char *out, size_t room, const char **path)
{
    const char *tags[32];
    size_t n = 0, used = 0;
    *path = NULL;
    for (size_t i = 0; i < m->n && n < 32; i++) {
        if (m->list[i].presence != WHOLE) continue;
        if (m->list[i].name.tag[0])
            tags[n++] = m->list[i].name.tag;
        else if (!is_folder(&m->list[i]) && (!*path || strcmp(m->list[i].path, *path) < 0))
            *path = m->list[i].path;
    }
    qsort(tags, n, sizeof *tags, by_text);
    out[0] = 0;
    for (size_t i = 0; i < n && used < room; i++) {
        int added = snprintf(out + used, room - used, "%s:%s", i ? ", " : "", tags[i]);
        if (added > 0) used += (size_t)added;
    }
    if (*path && used < room) snprintf(out + used, room - used, "%s%s", n ? ", " : "", *path);
}

/* ---- Where a model is -------------------------------------------------------------------------------------------- */

/* What a folder of the user's has: GGUF files, and the folder itself where it has other weights, or has nothing else.
 * False: out of memory. */
static bool find_in_folder(struct models *m, const char *folder, int folders_below)
{
    struct models own = {0};
    bool good = models_find(m, folder, strlen(folder), folders_below) && add_folder(&own, folder);
    if (good && own.n && (own.list[0].presence != BARE || !m->n)) {
        own.n = 0;
        good = models_add(m, own.list[0]);
    }
    models_free(&own);
    return good;
}

/* The model that a folder means: its safetensors, else its only GGUF model, else whatever there is; m->n: none of
 * several. */
static size_t pick_in_folder(const struct models *m)
{
    size_t files = 0, file = m->n, folder = m->n;
    for (size_t i = 0; i < m->n; i++) {
        if (is_folder(&m->list[i]))
            folder = i;
        else if (m->list[i].presence == WHOLE)
            file = i, files++;
    }
    if (folder < m->n && m->list[folder].presence == WHOLE) return folder;
    if (files == 1) return file;
    return !files && folder < m->n ? folder : m->n == 1 ? 0 : m->n;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct model *)a)->path, ((const struct model *)b)->path);
}

/* "a.gguf, b.gguf": the files in a folder that could have been named; sorts them. */
static void list_files(struct models *m, size_t folder, char *out, size_t room)
{
    size_t used = 0;
    qsort(m->list, m->n, sizeof *m->list, by_path);
    out[0] = 0;
    for (size_t i = 0; i < m->n; i++) {
        const char *name = m->list[i].path + folder + 1;
        if (is_folder(&m->list[i])) continue;
        bool fits = used + strlen(name) + sizeof ", ..." < room;
        used += (size_t)snprintf(out + used, room - used, "%s%s", used ? ", " : "", fits ? name : "...");
        if (!fits) break;
    }
}

/* A folder as it is, or the GGUF model in it, or in the folders below where there is none. */
static tdm_status look_in_directory(char **out, const char *directory, tdm_error *err)
{
    struct models m = {0};
    bool good = find_in_folder(&m, directory, 0) && (m.n || find_in_folder(&m, directory, MAX_FOLDERS));
    size_t i = pick_in_folder(&m);
    char found[SIGNATURE_ROOM];
    tdm_status status = TDM_OK;
    if (good && i < m.n) good = (*out = strdup(m.list[i].path));
    if (!good) {
        status = error_set(err, TDM_E_NOMEM, "out of memory");
    } else if (m.n > 1 && i == m.n) {
        list_files(&m, strlen(directory), found, sizeof found);
        status = error_set(err, TDM_E_NOT_FOUND, "%s: several models, name one of them: %s", directory, found);
    } else if (i == m.n) {
        bool known = signature_of_folder(found, directory);
        status = error_set(err, TDM_E_NOT_FOUND, "%s: neither a config.json nor a GGUF file%s%s", directory,
                           known ? ", but " : "", found);
    }
    models_free(&m);
    return status;
}

/* ---- Snapshots --------------------------------------------------------------------------------------------------- */

static char *folder_in_cache(const char *cache, const char *repository)
{
    char folder[HUB_FOLDER_ROOM];
    hub_folder(folder, repository);
    return file_join(cache, folder);
}

/* Whether two snapshots have the model under the same name. */
static bool same_model(const struct model *a, const struct model *b)
{
    if (!a->name.tag[0] || !b->name.tag[0]) return !a->name.tag[0] && !b->name.tag[0];
    size_t n = a->name.stem - a->folder;
    return a->name.parts == b->name.parts && n == b->name.stem - b->folder &&
           !memcmp(a->path + a->folder, b->path + b->folder, n);
}

/* Adds the models of another snapshot of which no snapshot before it has as much. False: out of memory; `from` is empty
 * then too. */
static bool join(struct models *all, struct models *from)
{
    bool good = true;
    for (size_t i = 0; i < from->n; i++) {
        struct model *had = NULL, one = from->list[i];
        for (size_t k = 0; k < all->n && !had; k++)
            if (same_model(&all->list[k], &one)) had = &all->list[k];
        if (!had) {
            good = models_add(all, one) && good;
        } else if (one.presence < had->presence) {
            model_free(had);
            *had = one;
        } else {
            model_free(&one);
        }
    }
    free(from->list);
    *from = (struct models){0};
    return good;
}

/* A snapshot that has GGUF models is no model itself. */
static bool find_in_snapshot(struct models *m, const char *snapshot)
{
    return models_find(m, snapshot, strlen(snapshot), MAX_FOLDERS) && (m->n || add_folder(m, snapshot));
}

/* All models that the snapshots of a repository have; of each the most complete copy. False: out of memory. */
static bool find_in_repository(struct models *out, const char *model, size_t *snapshots)
{
    struct snapshot *list = snapshots_list(model, snapshots);
    bool good = list;
    for (size_t i = 0; i < *snapshots; i++) {
        struct models m = {0};
        good = good && find_in_snapshot(&m, list[i].path) && join(out, &m);
        models_free(&m);
    }
    snapshots_free(list, *snapshots);
    tell_apart(out);
    return good;
}

static tdm_status is_incomplete(const struct model *m, const struct hub_name *name, tdm_error *err)
{
    const char *colon = name->tag[0] ? ":" : "";
    return error_set(err, TDM_E_NOT_FOUND, "%s%s%s: incomplete: %.100s isn't there: `tandem pull %s%s%s` fetches it",
                     name->repository, colon, name->tag, m->missing, name->repository, colon, name->tag);
}

/* The model of a repository that the tag names; without a tag its only one, or the usual one. */
static tdm_status pick_from(char **out, struct models *m, const struct hub_name *name, tdm_error *err)
{
    char tags[300];
    const char *path;
    size_t i = models_pick(m, name->tag, BARE), half = models_pick(m, name->tag, INCOMPLETE);
    models_list(m, tags, sizeof tags, &path);
    if (i < m->n) {
        *out = strdup(m->list[i].path);
        return *out ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
    }
    if (half < m->n && (name->tag[0] || !tags[0])) return is_incomplete(&m->list[half], name, err);
    if (name->tag[0])
        return error_set(err, TDM_E_NOT_FOUND, "%s: no model %s on this machine%s%s: `tandem pull %s:%s` fetches it",
                         name->repository, name->tag, tags[0] ? ", but " : "", tags, name->repository, name->tag);
    if (tags[0])
        return error_set(err, TDM_E_NOT_FOUND, "%s: several models: name one by its %s, %s", name->repository,
                         path ? "tag or path" : "tag", tags);
    if (m->n) return is_incomplete(&m->list[0], name, err);
    return error_set(err, TDM_E_NOT_FOUND, "%s: neither a config.json nor a GGUF model: `tandem pull %s` fetches it",
                     name->repository, name->repository);
}

/* ---- Searches ---------------------------------------------------------------------------------------------------- */

static bool tell_each(struct models *m, locate_found *each, void *ctx)
{
    bool good = true;
    for (size_t i = 0; good && i < m->n; i++)
        good = each(ctx, m->list[i].path, m->list[i].name.tag, m->list[i].missing);
    models_free(m);
    return good;
}

bool locate_each(const char *folder, locate_found *each, void *ctx)
{
    struct models m = {0};
    bool good = find_in_folder(&m, folder, MAX_FOLDERS);
    return tell_each(&m, each, ctx) && good;
}

bool locate_each_cached(const char *cache, const char *repository, locate_found *each, void *ctx)
{
    struct models m = {0};
    size_t snapshots;
    char *model = folder_in_cache(cache, repository);
    bool good = model && find_in_repository(&m, model, &snapshots);
    free(model);
    return tell_each(&m, each, ctx) && good;
}

/* The model in one cache; *out stays NULL where this cache does not have it. */
static tdm_status look_in_cache(char **out, const char *cache, const struct hub_name *name, tdm_error *err)
{
    struct models m = {0};
    char *model = folder_in_cache(cache, name->repository);
    tdm_status status = model ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
    size_t snapshots = 0;
    bool there = !status && is_directory(model);
    if (there && !find_in_repository(&m, model, &snapshots))
        status = error_set(err, TDM_E_NOMEM, "out of memory");
    else if (there && !snapshots)
        status = error_set(err, TDM_E_NOT_FOUND, "%s: expected " HUB_MAIN " to name a snapshot: `tandem pull %s`",
                           model, name->repository);
    else if (there)
        status = pick_from(out, &m, name, err);
    models_free(&m);
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
    struct stat st;
    int cause = errno;
    if (!lstat(text, &st))
        return error_set(err, TDM_E_NOT_FOUND, "%.200s: %s", text,
                         S_ISLNK(st.st_mode) ? "a link that leads nowhere" : strerror(cause));
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
