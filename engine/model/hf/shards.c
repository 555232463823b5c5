#include "engine/model/hf/shards.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/base/signature.h"
#include "engine/hub/hub.h"
#include "engine/json/json.h"
#include "engine/model/map.h"
#include "engine/os/file.h"

enum { MAX_SHARDS = 1000 };

static const char whole[] = "model.safetensors", suffix[] = ".safetensors";

static bool is_there(const char *directory, const char *file)
{
    char *path = file_join(directory, file);
    bool there = path && !access(path, F_OK);
    free(path);
    return there;
}

static tdm_status no_memory(const char *directory, tdm_error *err)
{
    return error_set(err, TDM_E_NOMEM, "%s: out of memory", directory);
}

static const char *file_name(const struct safetensors *file)
{
    return strrchr(safetensors_path(file), '/') + 1;
}

static tdm_status open_file(struct shards *s, const char *directory, const char *file, tdm_error *err)
{
    if (s->n_files == MAX_SHARDS)
        return error_set(err, TDM_E_FORMAT, "%s: more than %d files of weights", directory, MAX_SHARDS);
    struct safetensors **files = realloc(s->files, (s->n_files + 1) * sizeof *files);
    if (files) s->files = files;
    char *path = file_join(directory, file);
    tdm_status status = files && path ? safetensors_open(&s->files[s->n_files], path, err) : no_memory(directory, err);
    if (!status) s->n_files++;
    free(path);
    return status;
}

static bool is_open(const struct shards *s, const char *file)
{
    for (size_t i = 0; i < s->n_files; i++)
        if (!strcmp(file_name(s->files[i]), file)) return true;
    return false;
}

/* A tensor of a file. */
struct entry {
    const char *name;
    size_t file, at;
    bool taken;
};

/* ---- With an index ----------------------------------------------------------------------------------------------- */

/* A walk through the index. */
struct walk {
    struct shards *s;
    const char *directory;
    const char *last;      /* file: its tensors come in runs */
    char *absent;          /* a file that isn't there, malloc'ed */
    struct entry **sorted; /* all tensors of all files */
    size_t n;
};

typedef tdm_status each_name(struct walk *w, const char *tensor, const char *file, tdm_error *err);

/* Calls `each` for the entries of weight_map. */
static tdm_status walk(struct walk *w, each_name *each, tdm_error *err)
{
    const struct shards *s = w->s;
    struct json_object *map = NULL;
    bool found;
    tdm_status status = json_get_object(s->index, "weight_map", &map, &found, s->index_path, err);
    if (!status && !found) return error_set(err, TDM_E_FORMAT, "%s: field weight_map is missing", s->index_path);
    if (status) return status;
    for (struct json_walk m = json_walk(map); !status && json_next(&m);) {
        const char *file = json_is(m.value, JSON_STRING) ? json_text_of(m.value) : "";
        /* A plain file name: nothing outside the directory. */
        if (!*file || strchr(file, '/') || file[0] == '.')
            return error_set(err, TDM_E_FORMAT,
                             "%s: field weight_map: expected the name of a file in the directory, found \"%.60s\"",
                             s->index_path, file);
        status = each(w, m.key, file, err);
    }
    return status;
}

static bool comes_again(struct walk *w, const char *file)
{
    bool again = w->last && !strcmp(w->last, file);
    w->last = file;
    return again;
}

static tdm_status expect_file(struct walk *w, const char *tensor, const char *file, tdm_error *err)
{
    (void)tensor;
    if (comes_again(w, file) || is_there(w->directory, file)) return TDM_OK;
    return error_set(err, TDM_E_NOT_FOUND, "%s: %.100s, which it names, isn't there: an incomplete download?",
                     w->s->index_path, file);
}

static tdm_status open_named(struct walk *w, const char *tensor, const char *file, tdm_error *err)
{
    (void)tensor;
    return comes_again(w, file) || is_open(w->s, file) ? TDM_OK : open_file(w->s, w->directory, file, err);
}

static void forget_index(struct shards *s)
{
    json_free(s->index);
    s->index = NULL;
}

/* The index, where it is of use: one that is damaged, or names files that aren't there, doesn't keep a whole file
 * beside it from being used. */
static tdm_status read_index(struct shards *s, const char *directory, struct notes *notes, tdm_error *err)
{
    s->index_path = file_join(directory, "model.safetensors.index.json");
    if (!s->index_path) return no_memory(directory, err);
    if (!file_is_there(s->index_path)) return TDM_OK;
    tdm_error why = {0};
    tdm_status status = map_json(&s->index, s->index_path, &why);
    if (!status) status = walk(&(struct walk){.s = s, .directory = directory}, expect_file, &why);
    if (status == TDM_E_NOMEM || (status && !is_there(directory, whole))) return error_set(err, status, "%s", why.text);
    if (!status) return TDM_OK;
    notes_add(notes, "left out, since there is a %s: %s", whole, why.text);
    forget_index(s);
    return TDM_OK;
}

/* ---- Without an index -------------------------------------------------------------------------------------------- */

static int is_weights(const struct dirent *e)
{
    size_t n = strlen(e->d_name), end = sizeof suffix - 1;
    return e->d_name[0] != '.' && n > end && !strcmp(e->d_name + n - end, suffix) && !signature_of_name(e->d_name);
}

/* NAME-00001-of-00003.safetensors: the length of NAME, which part, and of how many; false: it is no part. */
static bool parse_part(const char *file, size_t *name, unsigned *part, unsigned *parts)
{
    *name = hub_part_parse(file, strlen(file) - (sizeof suffix - 1), part, parts);
    return *name;
}

/* Whether the n files are all the parts of one model; if not, the line says which parts were found. */
static tdm_status check_parts(struct dirent **list, int n, const char *directory, tdm_error *err)
{
    size_t name = 0, other, used = 0;
    unsigned parts = 0, part, of;
    char names[200] = "";
    bool good = parse_part(list[0]->d_name, &name, &part, &parts) && parts <= MAX_SHARDS;
    for (int i = 0; i < n; i++) {
        good = good && parse_part(list[i]->d_name, &other, &part, &of) && of == parts && other == name &&
               !memcmp(list[i]->d_name, list[0]->d_name, name);
        if (good && part != (unsigned)i + 1) break; /* sorted, so this one is missing */
        int added = snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", list[i]->d_name);
        if (added > 0 && used < sizeof names) used += (size_t)added < sizeof names - used ? (size_t)added : 0;
    }
    unsigned have = 0;
    while (good && have < (unsigned)n && parse_part(list[have]->d_name, &other, &part, &of) && part == have + 1) have++;
    if (good && have == parts) return TDM_OK;
    if (good)
        return error_set(err, TDM_E_NOT_FOUND, "%s: %.*s-%05u-of-%05u.safetensors isn't there: an incomplete download?",
                         directory, (int)(name < 100 ? name : 100), list[0]->d_name, have + 1, parts);
    return error_set(err, TDM_E_NOT_FOUND, "%s: several files of weights and no model.safetensors.index.json: %s",
                     directory, names);
}

static tdm_status open_found(struct shards *s, const char *directory, tdm_error *err)
{
    if (is_there(directory, whole)) return open_file(s, directory, whole, err);
    struct dirent **list;
    int n = scandir(directory, &list, is_weights, alphasort);
    char found[SIGNATURE_ROOM];
    if (n <= 0)
        return error_set(err, TDM_E_NOT_FOUND,
                         "%s: no weights: expected model.safetensors, or its parts and "
                         "model.safetensors.index.json%s%s",
                         directory, signature_of_folder(found, directory) ? ", found " : "", found);
    tdm_status status = TDM_OK;
    size_t name;
    unsigned part, parts;
    if (n > 1 || (parse_part(list[0]->d_name, &name, &part, &parts) && parts != 1))
        status = check_parts(list, n, directory, err);
    for (int i = 0; !status && i < n; i++) status = open_file(s, directory, list[i]->d_name, err);
    for (int i = 0; i < n; i++) free(list[i]);
    free(list);
    return status;
}

/* ---- What is missing --------------------------------------------------------------------------------------------- */

static tdm_status find_absent(struct walk *w, const char *tensor, const char *file, tdm_error *err)
{
    (void)tensor;
    if (comes_again(w, file) || is_there(w->directory, file)) return TDM_OK;
    w->absent = strdup(file);
    return error_set(err, w->absent ? TDM_E_NOT_FOUND : TDM_E_NOMEM, "%s", file);
}

/* Finds a missing part among the files of the directory, or links in their place. */
static bool find_absent_part(const char *directory, char **missing, bool *any)
{
    struct dirent **list;
    int n = scandir(directory, &list, is_weights, alphasort);
    bool good = true;
    size_t name;
    unsigned part, parts;
    *any = n > 0;
    for (int i = 0; i < n && good && !*missing; i++)
        if (!is_there(directory, list[i]->d_name)) good = (*missing = strdup(list[i]->d_name));
    bool split = n > 0 && parse_part(list[0]->d_name, &name, &part, &parts);
    for (unsigned k = 1; split && good && !*missing && k <= parts && parts <= MAX_SHARDS; k++) {
        char *file = NULL;
        good = asprintf(&file, "%.*s-%05u-of-%05u%s", (int)name, list[0]->d_name, k, parts, suffix) >= 0;
        if (good && !is_there(directory, file)) *missing = file;
        else if (good) free(file);
    }
    for (int i = 0; i < n; i++) free(list[i]);
    if (n >= 0) free(list);
    return good;
}

bool shards_missing(const char *directory, char **missing, bool *any)
{
    struct shards s = {0};
    struct walk w = {.s = &s, .directory = directory};
    tdm_status status = TDM_E_NOT_FOUND;
    *missing = NULL;
    *any = true;
    if (is_there(directory, whole)) return true; /* it counts where the index is of no use */
    s.index_path = file_join(directory, "model.safetensors.index.json");
    bool good = s.index_path;
    if (good && !access(s.index_path, F_OK) && map_json(&s.index, s.index_path, NULL) == TDM_OK)
        status = walk(&w, find_absent, NULL);
    else if (good)
        good = find_absent_part(directory, missing, any);
    *missing = w.absent ? w.absent : *missing;
    shards_close(&s);
    return good && status != TDM_E_NOMEM;
}

/* ---- Which tensors ----------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->file > y->file) - (x->file < y->file);
}

/* The file that the index names for a tensor; NULL: it names none. */
static const char *named_file(const struct shards *s, const char *tensor)
{
    return json_text_of(json_get(json_get(s->index, "weight_map"), tensor));
}

/* n entries of one name: the one that counts is marked. */
static tdm_status decide(const struct shards *s, struct entry *const *list, size_t n, const char *directory,
                         tdm_error *err)
{
    const char *wanted = named_file(s, list[0]->name);
    for (size_t i = 0; i < n; i++)
        list[i]->taken = wanted ? !strcmp(wanted, file_name(s->files[list[i]->file])) : n == 1;
    if (wanted || n == 1) return TDM_OK;
    return error_set(err, TDM_E_FORMAT, "%s: tensor %.80s is in %.60s and in %.60s, and no index says which counts",
                     directory, list[0]->name, file_name(s->files[list[0]->file]), file_name(s->files[list[1]->file]));
}

static tdm_status check_named(struct walk *w, const char *tensor, const char *file, tdm_error *err)
{
    struct shards *s = w->s;
    const struct entry wanted = {.name = tensor}, *key = &wanted; /* of the first file, so before its like */
    size_t low = 0, high = w->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_name(&w->sorted[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < w->n && !strcmp(w->sorted[low]->name, tensor); low++)
        if (w->sorted[low]->taken) return TDM_OK;
    struct shard_missed *missed = realloc(s->missed, (s->n_missed + 1) * sizeof *missed);
    if (!missed) return no_memory(w->directory, err);
    s->missed = missed;
    s->missed[s->n_missed++] = (struct shard_missed){tensor, file};
    return TDM_OK;
}

static tdm_status choose_tensors(struct shards *s, const char *directory, tdm_error *err)
{
    const struct safetensors_tensor *tensors;
    size_t n = 0, count = 0;
    for (size_t i = 0; i < s->n_files; i++) n += safetensors_tensors(s->files[i], &tensors);
    struct entry *entries = calloc(n + 1, sizeof *entries), **sorted = calloc(n + 1, sizeof(struct entry *));
    s->tensors = calloc(n + 1, sizeof *s->tensors);
    tdm_status status = entries && sorted && s->tensors ? TDM_OK : no_memory(directory, err);
    for (size_t i = 0; !status && i < s->n_files; i++) {
        size_t of_file = safetensors_tensors(s->files[i], &tensors);
        for (size_t k = 0; k < of_file; k++, count++) {
            entries[count] = (struct entry){tensors[k].name, i, k, false};
            sorted[count] = &entries[count];
        }
    }
    if (!status) qsort(sorted, n, sizeof *sorted, by_name);
    for (size_t i = 0, same; !status && i < n; i += same) {
        for (same = 1; i + same < n && !strcmp(sorted[i]->name, sorted[i + same]->name);) same++;
        status = decide(s, sorted + i, same, directory, err);
    }
    for (size_t i = 0; !status && i < n; i++) {
        if (!entries[i].taken) continue;
        safetensors_tensors(s->files[entries[i].file], &tensors);
        s->tensors[s->n_tensors++] = (struct shard_tensor){&tensors[entries[i].at], s->files[entries[i].file]};
    }
    if (!status && s->index)
        status = walk(&(struct walk){.s = s, .directory = directory, .sorted = sorted, .n = n}, check_named, err);
    free(entries);
    free(sorted);
    return status;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

tdm_status shards_open(struct shards *out, const char *directory, struct notes *notes, tdm_error *err)
{
    *out = (struct shards){0};
    tdm_status status = read_index(out, directory, notes, err);
    if (!status)
        status = out->index ? walk(&(struct walk){.s = out, .directory = directory}, open_named, err)
                            : open_found(out, directory, err);
    if (!status && out->index && is_there(directory, whole) && !is_open(out, whole))
        notes_add(notes, "left out: %s/%s: the index beside it names other files", directory, whole);
    return status ? status : choose_tensors(out, directory, err);
}

void shards_close(struct shards *s)
{
    for (size_t i = 0; i < s->n_files; i++) safetensors_close(s->files[i]);
    free(s->files);
    free(s->tensors);
    free(s->missed);
    json_free(s->index);
    free(s->index_path);
    *s = (struct shards){0};
}

uint64_t shards_bytes(const struct shards *s)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < s->n_files; i++) bytes += safetensors_file_bytes(s->files[i]);
    return bytes;
}

uint64_t shards_stamp(const struct shards *s)
{
    uint64_t stamp = 0;
    for (size_t i = 0; i < s->n_files; i++) stamp = fnv_step(stamp, safetensors_stamp(s->files[i]));
    return stamp;
}

tdm_status shards_check(const struct shards *s, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (size_t i = 0; i < s->n_files && !status; i++) status = safetensors_check(s->files[i], err);
    return status;
}

void shards_release(const struct shards *s, const void *data, uint64_t bytes)
{
    for (size_t i = 0; i < s->n_files; i++) safetensors_release(s->files[i], data, bytes);
}

void shards_forget(const struct shards *s)
{
    for (size_t i = 0; i < s->n_files; i++) safetensors_forget(s->files[i]);
}
