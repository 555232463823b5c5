/* `tandem models`: what is on this computer, and what of it fits. */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/error.h"
#include "engine/base/memory.h"
#include "engine/model/hub.h"
#include "engine/model/locate.h"
#include "src/chat/ceilings.h"
#include "src/chat/load.h"
#include "src/cli/bytes.h"
#include "src/cli/hub.h"
#include "src/cli/subcommands.h"
#include "src/cli/output.h"
#include "src/cli/recent.h"

enum { CONTEXT = 8192, NAME_COLUMNS = 44, KV_BYTES = 2 };

typedef struct {
    char *path, *name; /* as -m takes it */
} entry;

typedef struct {
    entry *list;
    size_t n;
    const char *repository; /* whose files are being found; NULL: they are named by their path */
} entries;

/* ---- What is there --------------------------------------------------------------------------------------------- */

/* By its own path: links and second ways to the same file are one model. */
static bool entries_add(entries *e, const char *path, const char *name)
{
    char *whole = realpath(path, NULL);
    for (size_t i = 0; whole && i < e->n; i++) {
        char *other = realpath(e->list[i].path, NULL);
        bool same = other && !strcmp(whole, other);
        free(other);
        if (same) {
            free(whole);
            return true;
        }
    }
    if (!whole) return true; /* gone */
    free(whole);
    entry *larger = realloc(e->list, (e->n + 1) * sizeof *larger);
    if (!larger) return false;
    e->list = larger;
    e->list[e->n] = (entry){strdup(path), strdup(name)};
    e->n++;
    return larger[e->n - 1].path && larger[e->n - 1].name;
}

static bool take_found(void *ctx, const char *path, const char *tag)
{
    entries *e = ctx;
    char name[HUB_REPOSITORY_ROOM + HUB_TAG_ROOM];
    if (!e->repository) return entries_add(e, path, path);
    snprintf(name, sizeof name, "%s%s%s", e->repository, tag[0] ? ":" : "", tag);
    return entries_add(e, path, name);
}

/* Every repository of a cache: models--OWNER--NAME. */
static bool take_cache(entries *e, const char *cache)
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
        e->repository = name.repository;
        if (snapshot) good = locate_each(snapshot, take_found, e);
        e->repository = NULL;
        free(snapshot);
    }
    if (d) closedir(d);
    return good;
}

static bool take_folders(entries *e, const char *folders)
{
    char *copy = folders ? strdup(folders) : NULL, *rest;
    bool good = copy || !folders;
    for (char *f = copy ? strtok_r(copy, ":", &rest) : NULL; f && good; f = strtok_r(NULL, ":", &rest))
        good = locate_each(f, take_found, e);
    free(copy);
    return good;
}

static bool take_all(entries *e, const options *o)
{
    const char *builtin = load_builtin();
    char **recent = recent_list();
    bool good = !builtin || entries_add(e, builtin, "built-in");
    for (const char *const *cache = hub_caches(); good && *cache; cache++) good = take_cache(e, *cache);
    good = good && take_folders(e, options_text(o, OPTION_MODEL_FOLDERS));
    for (char **at = recent; good && at && *at; at++) good = entries_add(e, *at, *at);
    recent_free(recent);
    return good;
}

/* ---- What it says ---------------------------------------------------------------------------------------------- */

/* How fast memory is read: kept, or measured now. */
static tdm_status find_speed(ceilings *c, const options *o, tdm_error *err)
{
    tdm_machine *m;
    tdm_error unkept;
    tdm_status status = load_machine(&m, o, err);
    if (status) return status;
    ceilings_recall(c, m, NULL);
    if (!c->known) {
        fputs("tandem: measuring how fast memory is read\n", stderr);
        status = ceilings_measure(c, m, NULL, &unkept, err);
    }
    tdm_machine_close(m);
    return status;
}

/* Weights, and keys and values of both units in F16. */
static uint64_t memory_of(const tdm_model_info *i)
{
    uint64_t token = (uint64_t)i->full_layers * (uint64_t)i->kv_heads * (uint64_t)i->head_dim * 2 * KV_BYTES;
    int context = i->trained_context < CONTEXT ? i->trained_context : CONTEXT;
    return i->file_bytes + 2 * (uint64_t)context * token;
}

static void print_name(const char *name)
{
    size_t n = strlen(name);
    output_text(name, n);
    output_print("%*s", n < NAME_COLUMNS ? (int)(NAME_COLUMNS - n) : 1, "");
}

/* "Q4_K" of "Q4_K 84%, F32 16%" */
static int first_word(const char *text)
{
    return (int)strcspn(text, " ,");
}

static void print_model(const entry *e, const options *o, const ceilings *c, uint64_t memory_free)
{
    tdm_model *m;
    tdm_model_info i;
    tdm_error err = {0};
    char disk[BYTES_ROOM], needs[BYTES_ROOM], left[BYTES_ROOM], speed[32] = "-";
    print_name(e->name);
    if (load_model(&m, o, e->path, &(load_how){.text_only = true}, &err)) {
        const char *reason = strstr(err.text, ": ");
        output_print("not for Tandem: %s\n",
                     reason && !strncmp(err.text, e->path, (size_t)(reason - err.text)) ? reason + 2 : err.text);
        return;
    }
    tdm_model_describe(m, &i);
    uint64_t bytes = memory_of(&i);
    double rate = c->known && i.bytes_per_token ? c->value.all.bytes / (double)i.bytes_per_token : 0;
    if (rate > 0) snprintf(speed, sizeof speed, "%.*f tok/s", rate < 9.95 ? 1 : 0, rate);
    output_print("%-8.*s %8s %8s %10s  ", first_word(i.weight_types), i.weight_types, bytes_words(disk, i.file_bytes),
                 bytes_words(needs, bytes), speed);
    if (!memory_free || bytes <= memory_free)
        output_print("fits\n");
    else
        output_print("too large: %s free\n", bytes_words(left, memory_free));
    tdm_model_close(m);
}

static void print_head(const ceilings *c, uint64_t memory_free)
{
    char total[BYTES_ROOM], left[BYTES_ROOM], speed[BYTES_ROOM], date[40];
    time_t when = (time_t)c->when;
    struct tm at;
    strftime(date, sizeof date, "%d %b %H:%M", localtime_r(&when, &at));
    output_print("%s of memory, %s free; it is read at %s/s (measured %s)\n\n", bytes_words(total, memory_total()),
                 bytes_words(left, memory_free), bytes_words(speed, (uint64_t)c->value.all.bytes), date);
    output_print("%-*s%-8s %8s %8s %10s\n", NAME_COLUMNS, "name", "type", "disk", "needs", "expected");
}

int models_main(options *o)
{
    entries all = {0};
    ceilings speed = {0};
    tdm_error err = {0};
    if (o->n_arguments) return subcommands_usage(o, "expected no argument; 'tandem info MODEL' tells of one");
    tdm_status status = take_all(&all, o) ? TDM_OK : error_set(&err, TDM_E_NOMEM, "out of memory");
    if (!status) status = find_speed(&speed, o, &err);
    if (!status) {
        uint64_t memory_free = memory_available();
        print_head(&speed, memory_free);
        for (size_t i = 0; i < all.n; i++) print_model(&all.list[i], o, &speed, memory_free);
    }
    for (size_t i = 0; i < all.n; i++) {
        free(all.list[i].path);
        free(all.list[i].name);
    }
    free(all.list);
    return status ? load_failed(&err) : 0;
}
