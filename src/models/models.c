#include "src/models/models.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/error.h"
#include "engine/base/memory.h"
#include "engine/hub/hub.h"
#include "engine/model/locate.h"
#include "engine/os/path.h"
#include "engine/vision/tower.h"
#include "src/cli/words.h"
#include "src/files/config_file.h"
#include "src/files/files.h"
#include "src/files/recent.h"
#include "src/hub/environment.h"
#include "src/models/load.h"

enum { CONTEXT = 8192 };

/* What the engine leaves free beside weights (engine/api/model.c). */
static const uint64_t states_bytes = (uint64_t)1 << 30;

/* ---- What is there --------------------------------------------------------------------------------------------- */

/* A search under way. */
typedef struct {
    models_list *list;
    const char *repository; /* whose files are being found; NULL: they are named by their path */
} search;

static void row_free(models_row *r)
{
    free(r->name);
    free(r->path);
    free(r->type);
    free(r->reason);
    free(r->host);
}

void models_free(models_list *l)
{
    for (size_t i = 0; i < l->n; i++) row_free(&l->rows[i]);
    free(l->rows);
    *l = (models_list){0};
}

static bool same_file(const char *whole, const char *path)
{
    char other[PATH_MAX];
    return realpath(path, other) && !strcmp(whole, other);
}

models_row *models_add_row(models_list *l)
{
    models_row *larger = realloc(l->rows, (l->n + 1) * sizeof *larger);
    if (!larger) return NULL;
    l->rows = larger;
    l->rows[l->n] = (models_row){.type = strdup("")};
    return l->rows[l->n].type ? &l->rows[l->n++] : NULL;
}

/* By its own path: links and second ways to the same file are one model. missing: a file without which it is
 * incomplete, or NULL. False: out of memory. */
static bool add(models_list *l, const char *path, const char *name, bool in_hub, const char *missing)
{
    char whole[PATH_MAX];
    bool there = realpath(path, whole);
    if (!there && !missing) return errno != ENOMEM; /* gone */
    for (size_t i = 0; there && i < l->n; i++)
        if (same_file(whole, l->rows[i].path)) return true;
    models_row *r = models_add_row(l);
    if (!r) return false;
    r->name = strdup(name);
    r->path = strdup(path);
    r->in_hub = in_hub;
    r->incomplete = missing;
    if (missing && asprintf(&r->reason, "incomplete: %s isn't there", missing) < 0) r->reason = NULL;
    return r->name && r->path && (!missing || r->reason);
}

static bool take_found(void *ctx, const char *path, const char *tag, const char *missing)
{
    search *s = ctx;
    char name[HUB_REPOSITORY_ROOM + HUB_TAG_ROOM];
    struct hub_gguf file;
    if (!s->repository) return add(s->list, path, path, false, missing);
    if (!tag[0] && hub_gguf_parse(&file, path)) return add(s->list, path, path, true, missing);
    snprintf(name, sizeof name, "%s%s%s", s->repository, tag[0] ? ":" : "", tag);
    return add(s->list, path, name, true, missing);
}

/* Every repository of a cache. */
static bool take_cache(models_list *l, const char *cache)
{
    DIR *d = opendir(cache);
    bool good = d || errno != ENOMEM;
    for (struct dirent *f; good && d && (f = readdir(d));) {
        struct hub_name name;
        char text[HUB_REPOSITORY_ROOM];
        if (hub_repository(text, f->d_name) && hub_name_parse(&name, text))
            good = locate_each_cached(cache, name.repository, take_found, &(search){l, name.repository});
    }
    if (d) closedir(d);
    return good;
}

/* A row that says why there is none of a folder's models. */
static bool add_folder(models_list *l, const char *as_written, const char *folder, const char *why)
{
    models_row *r = models_add_row(l);
    if (!r) return false;
    r->name = strdup(as_written);
    r->path = strdup(folder);
    r->incomplete = true;
    if (asprintf(&r->reason, "model-folders: %s", why) < 0) r->reason = NULL;
    return r->name && r->path && r->reason;
}

static bool take_folder(models_list *l, const char *as_written)
{
    struct stat st;
    char *folder = path_read(as_written, strlen(as_written), getenv("HOME"));
    bool good = folder;
    if (folder && stat(folder, &st))
        good = add_folder(l, as_written, folder, errno == ENOENT ? "no such folder" : "it can't be looked into");
    else if (folder && !S_ISDIR(st.st_mode))
        good = add_folder(l, as_written, folder, "no folder");
    else if (folder)
        good = locate_each(folder, take_found, &(search){l, NULL});
    free(folder);
    return good;
}

/* The length of the first of several folders: a colon within quotes or behind a backslash is part of its name. */
static size_t folder_length(const char *text)
{
    char quote = *text == '"' || *text == '\'' ? *text : 0;
    size_t n = quote != 0;
    while (text[n] && (quote ? text[n] != quote : text[n] != ':')) n += text[n] == '\\' && text[n + 1] ? 2 : 1;
    return n + strcspn(text + n, ":");
}

static bool take_folders(models_list *l, const char *folders)
{
    bool good = true;
    for (const char *at = folders; good && at && *at;) {
        size_t n = folder_length(at);
        char *one = strndup(at, n);
        good = one && (!n || take_folder(l, one));
        free(one);
        at += n + (at[n] == ':');
    }
    return good;
}

/* A model that was used by that name, which may be a folder's with one file in it. */
static bool take_recent(models_list *l, const char *name)
{
    char *path;
    tdm_error err;
    tdm_status status = locate_model(&path, name, NULL, &err);
    if (status) return status != TDM_E_NOMEM && add(l, name, name, false, NULL);
    bool good = add(l, path, name, false, NULL);
    free(path);
    return good;
}

/* What the configuration file says of models, whatever the command line says. */
static void read_configuration(options *out)
{
    char *path = files_path(FILES_CONFIG, "config");
    *out = (options){0};
    if (path) options_read_file(out, path, NULL); /* a damaged file was reported at the start */
    free(path);
}

static bool names(const char *text, const models_row *r)
{
    char whole[PATH_MAX];
    if (!text) return false;
    if (!strcmp(text, r->name)) return true;
    return realpath(text, whole) && same_file(whole, r->path);
}

static int by_name(const void *a, const void *b)
{
    const models_row *x = a, *y = b;
    if (x->builtin != y->builtin) return x->builtin ? 1 : -1;
    return strcmp(x->name, y->name);
}

tdm_status models_find(models_list *out, const options *o, tdm_error *err)
{
    options file;
    const char *builtin = load_builtin(), *folders = options_text(o, OPTION_MODEL_FOLDERS);
    char **recent = recent_list();
    *out = (models_list){0};
    read_configuration(&file);
    if (!folders) folders = options_text(&file, OPTION_MODEL_FOLDERS);
    bool good = recent && (!builtin || add(out, builtin, LOAD_BUILTIN, false, NULL));
    if (good && out->n) out->rows[0].builtin = true;
    for (const char *const *cache = hub_caches(); good && *cache; cache++) good = take_cache(out, *cache);
    good = good && take_folders(out, folders);
    for (char **at = recent; good && *at; at++) good = take_recent(out, *at);
    if (good && out->n) qsort(out->rows, out->n, sizeof *out->rows, by_name);
    for (size_t i = 0; good && i < out->n; i++)
        out->rows[i].is_default = names(options_text(&file, OPTION_MODEL), &out->rows[i]);
    options_free(&file);
    recent_free(recent);
    return good ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
}

void models_meant(const options *o, const char *wanted, char *out, size_t room)
{
    models_list l = {0};
    tdm_error err = {0};
    nearest best = {0};
    out[0] = 0;
    bool found = !models_find(&l, o, &err), tagged = strchr(wanted, ':');
    for (size_t i = 0; found && i < l.n; i++) {
        char *name = l.rows[i].name;
        if (l.rows[i].in_hub && !tagged) name[strcspn(name, ":")] = 0;
        if (!l.rows[i].reason) nearest_offer(&best, wanted, name);
    }
    for (int i = 0; i < o->n_servers; i++) nearest_offer(&best, wanted, o->servers[i].name);
    if (best.name) snprintf(out, room, "%s", best.name);
    models_free(&l);
}

/* ---- What it is ------------------------------------------------------------------------------------------------ */

static int no_progress(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    (void)ctx, (void)step, (void)done, (void)total;
    return 0;
}

/* Of made-up weights, which have no file, nothing stays there. */
static uint64_t table_of(const tdm_model_info *i)
{
    return i->table_bytes < i->file_bytes ? i->table_bytes : 0;
}

/* Weights but for a table that stays in the file, and keys and values of both units in F16, which windows bound. */
static uint64_t memory_of(const tdm_model_info *i)
{
    int context = i->trained_context < CONTEXT ? i->trained_context : CONTEXT;
    uint64_t kv = (uint64_t)context * i->kv_bytes_per_token;
    if (kv > i->kv_bytes_at_context) kv = i->kv_bytes_at_context;
    return i->file_bytes - table_of(i) + 2 * kv;
}

/* The reason without the path that it begins with: the row has it. */
static const char *reason_of(const tdm_error *err, const char *path)
{
    size_t n = strlen(path);
    return !strncmp(err->text, path, n) && !strncmp(err->text + n, ": ", 2) ? err->text + n + 2 : err->text;
}

/* A tower that can't be used is none: `tandem info` says what is wrong with it. */
static bool has_tower(const char *model)
{
    struct tower *t = NULL;
    char *path = tower_beside(model);
    bool has = path && !tower_open(&t, path, NULL);
    tower_close(t);
    free(path);
    return has;
}

void models_describe(models_row *r, const options *o, tdm_progress progress, void *ctx)
{
    tdm_model *m;
    tdm_model_info i;
    tdm_error err = {0};
    if (r->reason) { /* it is incomplete */
        r->fit = MODELS_REFUSED;
        return;
    }
    const load_how how = {
        .text_only = true, .own_template = true, .progress = progress ? progress : no_progress, .progress_ctx = ctx};
    if (load_model(&m, o, r->path, &how, &err)) {
        r->reason = strdup(reason_of(&err, r->path));
        r->fit = MODELS_REFUSED;
        return;
    }
    tdm_model_describe(m, &i);
    char *type = strndup(i.weight_types, strcspn(i.weight_types, " ,")); /* "q4_k" of "q4_k 84%, f32 16%" */
    if (type) {
        free(r->type);
        r->type = type;
    }
    r->disk_bytes = i.file_bytes;
    r->needs_bytes = memory_of(&i);
    r->table_bytes = table_of(&i);
    r->expert_bytes = i.expert_bytes;
    r->token_bytes = i.bytes_per_token;
    r->token_flops = i.flops_per_token;
    r->sees = has_tower(r->path);
    tdm_model_close(m);
}

void models_seeing(const options *o, char *out, size_t room)
{
    models_list l = {0};
    out[0] = 0;
    bool found = !models_find(&l, o, NULL);
    for (size_t i = 0; found && i < l.n && !out[0]; i++)
        if (!l.rows[i].reason && has_tower(l.rows[i].path)) snprintf(out, room, "%s", l.rows[i].name);
    models_free(&l);
}

static models_fit fit_of(const models_row *r, uint64_t free_bytes)
{
    if (r->reason) return MODELS_REFUSED;
    if (r->host) return MODELS_REMOTE;
    if (!free_bytes || r->needs_bytes <= free_bytes) return MODELS_FITS;
    bool others_fit = r->expert_bytes && r->expert_bytes <= r->needs_bytes &&
                      r->needs_bytes - r->expert_bytes + states_bytes <= free_bytes;
    return others_fit ? MODELS_FROM_DISK : MODELS_TOO_LARGE;
}

void models_judge(models_list *l, ceilings_memory speed, const models_current *current)
{
    l->memory_total = memory_total();
    l->memory_free = memory_available();
    l->speed = speed;
    for (size_t i = 0; i < l->n; i++) {
        models_row *r = &l->rows[i];
        r->fit = fit_of(r, l->memory_free);
        if (r->host) continue;
        r->in_use = current && current->path && names(current->path, r);
        if (r->in_use && !r->reason) r->fit = current->from_disk_tps > 0 ? MODELS_FROM_DISK : MODELS_FITS;
        r->tps = speed.bytes_per_s && r->token_bytes ? speed.bytes_per_s / (double)r->token_bytes : 0;
        if (r->fit == MODELS_FROM_DISK) r->tps = r->in_use ? current->from_disk_tps : 0; /* told once it is loaded */
    }
}

tdm_status models_set_default(const char *name, tdm_error *err)
{
    char *path = files_path(FILES_CONFIG, "config");
    if (!path) return error_set(err, TDM_E_IO, "neither XDG_CONFIG_HOME nor HOME is set");
    char *value = path_write(name);
    tdm_status status = value ? config_file_set(path, option_table[OPTION_MODEL].name, value, err)
                              : error_set(err, TDM_E_NOMEM, "out of memory");
    free(value);
    free(path);
    return status;
}
