#include "src/chat/models.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/memory.h"
#include "engine/model/hub.h"
#include "engine/model/locate.h"
#include "src/chat/load.h"
#include "src/cli/config_file.h"
#include "src/cli/files.h"
#include "src/cli/hub.h"
#include "src/cli/recent.h"

enum { CONTEXT = 8192, KV_BYTES = 2 };

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

/* By its own path: links and second ways to the same file are one model. False: out of memory. */
static bool add(models_list *l, const char *path, const char *name, bool in_hub)
{
    char whole[PATH_MAX];
    if (!realpath(path, whole)) return errno != ENOMEM; /* gone */
    for (size_t i = 0; i < l->n; i++)
        if (same_file(whole, l->rows[i].path)) return true;
    models_row *larger = realloc(l->rows, (l->n + 1) * sizeof *larger);
    if (!larger) return false;
    l->rows = larger;
    models_row *r = &l->rows[l->n++];
    *r = (models_row){.name = strdup(name), .path = strdup(path), .type = strdup(""), .in_hub = in_hub};
    return r->name && r->path && r->type;
}

static bool take_found(void *ctx, const char *path, const char *tag)
{
    search *s = ctx;
    char name[HUB_REPOSITORY_ROOM + HUB_TAG_ROOM];
    if (!s->repository) return add(s->list, path, path, false);
    snprintf(name, sizeof name, "%s%s%s", s->repository, tag[0] ? ":" : "", tag);
    return add(s->list, path, name, true);
}

/* Every repository of a cache: models--OWNER--NAME. */
static bool take_cache(models_list *l, const char *cache)
{
    static const char begin[] = "models--";
    DIR *d = opendir(cache);
    bool good = true;
    for (struct dirent *f; good && d && (f = readdir(d));) {
        struct hub_name name;
        char text[NAME_MAX + 1], *dashes;
        if (strncmp(f->d_name, begin, sizeof begin - 1)) continue;
        snprintf(text, sizeof text, "%s", f->d_name + sizeof begin - 1);
        if (!(dashes = strstr(text, "--"))) continue;
        *dashes = '/';
        memmove(dashes + 1, dashes + 2, strlen(dashes + 2) + 1);
        char *snapshot = hub_name_parse(&name, text) ? locate_snapshot(cache, name.repository) : NULL;
        if (snapshot) good = locate_each(snapshot, take_found, &(search){l, name.repository});
        free(snapshot);
    }
    if (d) closedir(d);
    return good;
}

static bool take_folders(models_list *l, const char *folders)
{
    char *copy = folders ? strdup(folders) : NULL, *rest;
    bool good = copy || !folders;
    for (char *f = copy ? strtok_r(copy, ":", &rest) : NULL; f && good; f = strtok_r(NULL, ":", &rest))
        good = locate_each(f, take_found, &(search){l, NULL});
    free(copy);
    return good;
}

/* What the configuration file says of models, whatever the command line says. */
static void read_configuration(options *out)
{
    char *path = files_path(FILES_CONFIG, "config");
    *out = (options){0};
    if (path) options_read_file(out, path, NULL); /* a damaged file has been told at the start */
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
    bool good = !builtin || add(out, builtin, LOAD_BUILTIN, false);
    if (good && out->n) out->rows[0].builtin = true;
    for (const char *const *cache = hub_caches(); good && *cache; cache++) good = take_cache(out, *cache);
    good = good && take_folders(out, folders);
    for (char **at = recent; good && at && *at; at++) good = add(out, *at, *at, false);
    if (good && out->n) qsort(out->rows, out->n, sizeof *out->rows, by_name);
    for (size_t i = 0; good && i < out->n; i++)
        out->rows[i].is_default = names(options_text(&file, OPTION_MODEL), &out->rows[i]);
    options_free(&file);
    recent_free(recent);
    return good ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
}

/* ---- What it is ------------------------------------------------------------------------------------------------ */

static int no_progress(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    (void)ctx, (void)step, (void)done, (void)total;
    return 0;
}

/* Weights, and keys and values of both units in F16. */
static uint64_t memory_of(const tdm_model_info *i)
{
    uint64_t token = (uint64_t)i->full_layers * (uint64_t)i->kv_heads * (uint64_t)i->head_dim * 2 * KV_BYTES;
    int context = i->trained_context < CONTEXT ? i->trained_context : CONTEXT;
    return i->file_bytes + 2 * (uint64_t)context * token;
}

/* The reason without the path that it begins with: the row has it. */
static const char *reason_of(const tdm_error *err, const char *path)
{
    size_t n = strlen(path);
    return !strncmp(err->text, path, n) && !strncmp(err->text + n, ": ", 2) ? err->text + n + 2 : err->text;
}

void models_describe(models_row *r, const options *o, tdm_progress progress, void *ctx)
{
    tdm_model *m;
    tdm_model_info i;
    tdm_error err = {0};
    const load_how how = {.text_only = true, .progress = progress ? progress : no_progress, .progress_ctx = ctx};
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
    r->expert_bytes = i.expert_bytes;
    r->token_bytes = i.bytes_per_token;
    r->token_flops = i.flops_per_token;
    tdm_model_close(m);
}

static models_fit fit_of(const models_row *r, uint64_t free_bytes)
{
    if (r->reason) return MODELS_REFUSED;
    if (r->host) return MODELS_ELSEWHERE;
    if (!free_bytes || r->needs_bytes <= free_bytes) return MODELS_FITS;
    bool others_fit = r->expert_bytes && r->expert_bytes <= r->needs_bytes &&
                      r->needs_bytes - r->expert_bytes + states_bytes <= free_bytes;
    return others_fit ? MODELS_FROM_DISK : MODELS_TOO_LARGE;
}

void models_judge(models_list *l, const ceilings *c, const models_current *current)
{
    l->memory_total = memory_total();
    l->memory_free = memory_available();
    l->bytes_per_s = c->known ? c->value.all.bytes : 0;
    l->measured_s = c->known ? c->when : 0;
    for (size_t i = 0; i < l->n; i++) {
        models_row *r = &l->rows[i];
        r->fit = fit_of(r, l->memory_free);
        if (r->host) continue;
        r->in_use = current && current->path && names(current->path, r);
        if (r->in_use && !r->reason) r->fit = current->from_disk_tps > 0 ? MODELS_FROM_DISK : MODELS_FITS;
        r->tps = l->bytes_per_s && r->token_bytes ? l->bytes_per_s / (double)r->token_bytes : 0;
        if (r->fit == MODELS_FROM_DISK) r->tps = r->in_use ? current->from_disk_tps : 0; /* told once it is loaded */
    }
}

tdm_status models_set_default(const char *name, tdm_error *err)
{
    char *path = files_path(FILES_CONFIG, "config");
    if (!path) return error_set(err, TDM_E_IO, "neither XDG_CONFIG_HOME nor HOME is set");
    tdm_status status = config_file_set(path, option_table[OPTION_MODEL].name, name, err);
    free(path);
    return status;
}
