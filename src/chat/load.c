#include "src/chat/load.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "src/chat/settings.h"
#include "src/chat/units.h"
#include "src/cli/files.h"
#include "src/cli/hub.h"
#include "src/cli/interrupt.h"
#include "src/server/hosted.h"
#include "src/server/named.h"

#define BUILTIN_NAME "tandem-demo-51m-q6_k.gguf"

/* ---- Where things are ------------------------------------------------------------------------------------------ */

/* out: PATH_MAX bytes; the path without dots and links. */
static bool try_folder(char *out, const char *folder, const char *name)
{
    char path[PATH_MAX + 64];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof path && realpath(path, out) && access(out, R_OK) == 0;
}

bool load_data(const char *name, char out[PATH_MAX])
{
    const char *folder = getenv("TANDEM_DATADIR");
    if (folder && folder[0]) return try_folder(out, folder, name);
    char program[PATH_MAX], beside[PATH_MAX + 32];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n > 0) {
        program[n] = 0;
        *strrchr(program, '/') = 0;
        snprintf(beside, sizeof beside, "%s/../assets", program);
        if (try_folder(out, beside, name)) return true;
        snprintf(beside, sizeof beside, "%s/../share/tandem", program);
        if (try_folder(out, beside, name)) return true;
    }
    return try_folder(out, TANDEM_DATADIR, name) || try_folder(out, "assets", name);
}

bool load_is_builtin(const char *path)
{
    return !path || !strcmp(path, LOAD_BUILTIN);
}

const char *load_builtin(void)
{
    static _Thread_local char path[PATH_MAX];
    return load_data(BUILTIN_NAME, path) ? path : NULL;
}

tdm_status load_check_large(const tdm_model_info *opened, const char *task, const char *remedy, tdm_error *err)
{
    const char *builtin = load_builtin();
    struct stat its, own;
    bool here = builtin && !opened->on_server && !stat(opened->path, &its) && !stat(builtin, &own);
    if (!here || its.st_dev != own.st_dev || its.st_ino != own.st_ino) return TDM_OK;
    return error_set(err, TDM_E_UNSUPPORTED, "%s needs a larger model than the built-in one: %s", task, remedy);
}

/* ---- Progress -------------------------------------------------------------------------------------------------- */

typedef struct {
    struct timespec start;
    bool terminal, shown;
    int last_percent;
    tdm_step last_step;
} progress_line;

static const struct {
    const char *what;
    bool bytes; /* or whatever else is counted */
} steps[TDM_STEPS] = {
    [TDM_STEP_READING] = {"reading packed weights", true},
    [TDM_STEP_PACKING] = {"packing weights", true},
    [TDM_STEP_PACKING_EXPERTS] = {"packing experts", true},
    [TDM_STEP_CONVERTING] = {"converting", true},
    [TDM_STEP_TESTING_GPU] = {"testing the GPU's driver, once", false},
    [TDM_STEP_COPYING_GPU] = {"copying to the GPU", true},
    [TDM_STEP_MEASURING_GPU] = {"measuring on the GPU", false},
    [TDM_STEP_COMPILING_GPU] = {"compiling for the GPU", false},
    [TDM_STEP_LIMITS] = {"measuring this machine", false},
};

static int show_progress(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    progress_line *line = ctx;
    if (interrupt_seen()) return 1;
    if (!line->terminal) return 0;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)(now.tv_sec - line->start.tv_sec) + 1e-9 * (double)(now.tv_nsec - line->start.tv_nsec);
    int percent = total ? (int)(100.0 * (double)done / (double)total) : 0;
    bool same = line->shown && percent == line->last_percent && step == line->last_step;
    if (seconds < 0.5 || same || !total) return 0;
    if (steps[step].bytes)
        fprintf(stderr, "\r%s %3d%%  %.1f of %.1f GB (Ctrl-C stops)\x1b[K", steps[step].what, percent,
                1e-9 * (double)done, 1e-9 * (double)total);
    else
        fprintf(stderr, "\r%s: %d of %d (Ctrl-C stops)\x1b[K", steps[step].what, (int)done + 1, (int)total);
    line->last_percent = percent;
    line->last_step = step;
    line->shown = true;
    return 0;
}

/* Who is told of progress: who asked for it, or the terminal; then Ctrl-C stops what is under way. */
typedef struct {
    tdm_progress progress;
    void *ctx;
    progress_line line;
} watch;

static void watch_begin(watch *w, const load_how *how)
{
    *w = (watch){.progress = how->progress, .ctx = how->progress_ctx};
    if (w->progress) return;
    interrupt_catch();
    w->line.terminal = isatty(STDERR_FILENO);
    clock_gettime(CLOCK_MONOTONIC, &w->line.start);
    w->progress = show_progress;
    w->ctx = &w->line;
}

static void watch_end(const watch *w)
{
    if (w->ctx != &w->line) return;
    interrupt_release();
    if (w->line.shown) fputs("\r\x1b[K", stderr);
}

/* ---- Opening --------------------------------------------------------------------------------------------------- */

/* The kernels of a unit whose kind is this option. */
static const char *kernels_of(const options *o, option_id kind)
{
    const char *name = options_text(o, kind);
    return name && !strcmp(name, "blas") ? name : options_text(o, OPTION_KERNELS);
}

/* Commands that answer keep packed weights. In a private session none are written: their files tell which models are
 * used. */
static void set_packing(tdm_model_options *m, const options *o, char **folder)
{
    bool never = options_given(o, OPTION_PACK_CACHE) && !options_whole(o, OPTION_PACK_CACHE, 0);
    if (!option_belongs(OPTION_PACK_CACHE, o->command) || never) return;
    m->pack_folder = *folder = files_path(FILES_CACHE, "packed");
    m->pack_limit = options_whole(o, OPTION_PACK_CACHE, 0);
    m->pack_read_only = option_belongs(OPTION_PRIVATE, o->command) && options_flag(o, OPTION_PRIVATE);
}

bool load_is_elsewhere(const options *o, const char *path)
{
    return named_is_server(o, path);
}

static const char no_builtin[] =
    "the built-in model (" BUILTIN_NAME
    ") was not found: set TANDEM_DATADIR to its folder, or name another model with -m (`tandem pull` fetches one)";

tdm_status load_model(tdm_model **out, const options *o, const char *path, const load_how *how, tdm_error *err)
{
    const char *builtin = load_builtin();
    if (load_is_builtin(path)) path = NULL;
    if (!path && !builtin)
        return error_set(err, TDM_E_NOT_FOUND, "%s", no_builtin);
    if (load_is_elsewhere(o, path))
        return error_set(err, TDM_E_UNSUPPORTED, "%.200s: `%s` works with local models only", path,
                         command_table[o->command].name);
    watch w;
    watch_begin(&w, how);
    tdm_model_options m = {
        .path = path ? path : builtin,
        .builtin = builtin,
        .hubs = hub_caches(),
        .kernels = how->kernels ? how->kernels
                                : kernels_of(o, how->prefill ? OPTION_PREFILL_KIND : OPTION_DECODE_KIND),
        .quant = options_text(o, OPTION_QUANT),
        .lm_head = options_text(o, OPTION_LM_HEAD),
        .expert_memory = options_whole(o, OPTION_EXPERT_MEMORY, 0),
        .threads = (int)options_int(o, OPTION_THREADS, 0),
        .text_only = how->text_only,
        .progress = w.progress,
        .progress_ctx = w.ctx,
    };
    char *folder = NULL;
    set_packing(&m, o, &folder);
    tdm_status status = tdm_model_open(out, &m, err);
    watch_end(&w);
    free(folder);
    return status;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

/* What a server may have before Enter, a tdm_speculation; -1: as it is right for its kind. Drafts only where the
 * configuration says so for this server, what may cost money only by --read-ahead. */
static int may_be_sent_ahead(const options *o, const named *n)
{
    const char *ahead = options_text(o, OPTION_READ_AHEAD);
    if (ahead && !strcmp(ahead, "off")) return TDM_SPEC_OFF;
    if (n->drafts) return TDM_SPEC_FULL;
    return ahead && !strcmp(ahead, "history") ? TDM_SPEC_HISTORY : -1;
}

static bool given_up(void *ctx)
{
    const watch *w = ctx;
    return w->progress(w->ctx, TDM_STEP_READING, 0, 0);
}

/* A model on a server. */
static tdm_status open_hosted(load_pair *out, const options *o, const char *model, const load_how *how, tdm_error *err)
{
    named n;
    tdm_status status = named_find(&n, o, model, err);
    hosted_options s = {
        .address = n.address,
        .kind = n.kind,
        .key_file = n.key_file,
        .key_env = n.key_env,
        .tokenizer = load_builtin(),
        .ahead = how->drafts ? TDM_SPEC_FULL : may_be_sent_ahead(o, &n),
        .agreed = how->agreed || options_flag(o, OPTION_YES),
    };
    if (!status && !s.tokenizer) status = error_set(err, TDM_E_NOT_FOUND, "%s", no_builtin);
    watch w;
    watch_begin(&w, how);
    s.patience = (facts_patience){given_up, &w};
    if (!status) status = hosted_open(&out->server, &s, err);
    watch_end(&w);
    if (!status) out->model = hosted_model(out->server);
    return status;
}

tdm_status load_pair_open(load_pair *out, const options *o, const char *path, const load_how *how, tdm_error *err)
{
    bool first = same_text(path, options_text(o, OPTION_MODEL));
    const char *other = first ? options_text(o, OPTION_PREFILL_MODEL) : NULL;
    bool two = other || !same_text(kernels_of(o, OPTION_PREFILL_KIND), kernels_of(o, OPTION_DECODE_KIND));
    load_how its = *how;
    its.prefill = true;
    *out = (load_pair){0};
    if (load_is_elsewhere(o, path)) return open_hosted(out, o, path, how, err);
    tdm_status status = load_model(&out->model, o, path, how, err);
    if (!status && two) status = load_model(&out->prefill, o, other ? other : path, &its, err);
    if (status) load_pair_close(out);
    return status;
}

void load_pair_close(load_pair *pair)
{
    tdm_places_close(pair->places);
    tdm_model_close(pair->prefill);
    if (!pair->server) tdm_model_close(pair->model);
    hosted_close(pair->server);
    *pair = (load_pair){0};
}

bool load_cost_note(const load_pair *pair, char *out, size_t room)
{
    if (!pair->server || hosted_facts(pair->server)->kind != DIALECT_OPENAI) return false;
    const char *host = hosted_place(pair->server)->host;
    if (hosted_ahead(pair->server))
        snprintf(out, room, "%s: each turn is read ahead by a request of its own, which may cost money", host);
    else
        snprintf(out, room, "%s: nothing is read before Enter, since it may cost money (--read-ahead history)", host);
    return true;
}

tdm_status load_convert(const char *in, const char *out, const char *type, tdm_error *err)
{
    const char *builtin = load_builtin();
    if (load_is_builtin(in) && !builtin) return error_set(err, TDM_E_NOT_FOUND, "%s", no_builtin);
    watch w;
    watch_begin(&w, &(load_how){0});
    tdm_model_options m = {
        .path = load_is_builtin(in) ? builtin : in,
        .builtin = builtin,
        .hubs = hub_caches(),
        .progress = w.progress,
        .progress_ctx = w.ctx,
    };
    tdm_status status = tdm_convert(&m, out, type, err);
    watch_end(&w);
    return status;
}

/* The units that were measured to be the best ones. */
static void choose_units(tdm_machine_options *m, const options *o, const tdm_model *model, char *gpu, size_t room)
{
    tdm_model_info info;
    units_pair pair;
    if (!model || !units_are_open(o)) return;
    tdm_model_describe(model, &info);
    if (!units_choose(info.fingerprint, &pair, gpu, room)) return;
    if (pair != UNITS_CORES_GPU) m->prefill_unit = gpu;
    if (pair != UNITS_GPU_CORES) m->decode_unit = gpu;
}

tdm_status load_machine(tdm_machine **out, const options *o, const tdm_model *model, const load_how *how,
                        tdm_error *err)
{
    char gpu[16];
    tdm_machine_options m = {
        .threads = (int)options_int(o, OPTION_THREADS, 0),
        .prefill_unit = options_text(o, OPTION_PREFILL_UNIT),
        .decode_unit = options_text(o, OPTION_DECODE_UNIT),
        .prefill_kind = options_text(o, OPTION_PREFILL_KIND),
        .decode_kind = options_text(o, OPTION_DECODE_KIND),
        .no_lending = options_flag(o, OPTION_NO_LENDING),
    };
    choose_units(&m, o, model, gpu, sizeof gpu);
    char *folder = files_path(FILES_CACHE, "gpu");
    m.cache_folder = folder;
    watch w;
    watch_begin(&w, how);
    m.progress = w.progress;
    m.progress_ctx = w.ctx;
    tdm_status status = tdm_machine_open(out, &m, err);
    watch_end(&w);
    free(folder);
    return status;
}

tdm_status load_places(load_pair *pair, tdm_machine *machine, const options *o, const load_how *how, tdm_error *err)
{
    tdm_chat_options c;
    settings_chat_options(&c, o, pair->model);
    c.prefill_model = pair->prefill;
    watch w;
    watch_begin(&w, how);
    tdm_status status = tdm_places_open(&pair->places, pair->model, machine, &c, w.progress, w.ctx, err);
    watch_end(&w);
    pair->context = status ? 0 : c.context;
    return status;
}

tdm_status load_chat(tdm_chat **out, load_pair *pair, tdm_machine *machine, tdm_chat_options *settings, tdm_error *err)
{
    settings->prefill_model = pair->prefill;
    if (pair->places) settings->context = pair->context;
    tdm_status status = tdm_chat_open(out, pair->model, machine, settings, err);
    tdm_places_close(pair->places);
    pair->places = NULL;
    return status;
}

bool load_machine_note(const options *o, const tdm_machine *m, char *out, size_t room)
{
    tdm_unit_info prefill, decode;
    tdm_unit_describe(m, TDM_PREFILL_UNIT, &prefill);
    tdm_unit_describe(m, TDM_DECODE_UNIT, &decode);
    int cores = tdm_machine_cores(m), threads = (int)options_int(o, OPTION_THREADS, 0);
    bool first = prefill.cores && options_given(o, OPTION_PREFILL_UNIT);
    bool second = decode.cores && options_given(o, OPTION_DECODE_UNIT);
    int shared = prefill.cores + decode.cores - cores;
    out[0] = 0;
    if (prefill.refused[0] || decode.refused[0])
        snprintf(out, room, "%s", prefill.refused[0] ? prefill.refused : decode.refused);
    else if (prefill.shares_device)
        snprintf(out, room, "both share one GPU (%s)", prefill.device);
    else if (threads > cores)
        snprintf(out, room, "%d core%s used, not %d: %s", cores, cores > 1 ? "s are" : " is", threads,
                 first || second ? "the units have no more" : "no more may be used here");
    else if ((first || second) && shared > 0 && !strcmp(prefill.name, decode.name))
        snprintf(out, room, "both units are on %s: they take turns there", prefill.name);
    else if ((first || second) && shared > 0)
        snprintf(out, room, "the units %s and %s share %d core%s: they take turns there", prefill.name, decode.name,
                 shared, shared > 1 ? "s" : "");
    return out[0];
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */

tdm_kv load_kv(const options *o)
{
    return (tdm_kv)options_int(o, OPTION_KV, TDM_KV_F16); /* the words stand in the order of tdm_kv */
}

void load_notes(const tdm_model *m)
{
    tdm_model_info info;
    tdm_model_describe(m, &info);
    if (info.template_replaced && !info.on_server) /* a server renders its own */
        fputs("tandem: the model's own chat template is not known; the Qwen3.5 form is used instead\n", stderr);
    char disk[160];
    if (load_disk_note(&info, disk, sizeof disk)) fprintf(stderr, "tandem: %s\n", disk);
    if (info.synthetic) fputs("tandem: made-up weights: the text is noise, the times are real\n", stderr);
}

void load_machine_notes(const options *o, const tdm_machine *m)
{
    char line[300];
    if (load_machine_note(o, m, line, sizeof line)) fprintf(stderr, "tandem: %s\n", line);
}

bool load_disk_note(const tdm_model_info *info, char *out, size_t room)
{
    if (!info->expert_memory || info->expert_memory >= info->expert_bytes) return false;
    double tps = info->from_disk_tps;
    int n = snprintf(out, room, "%.3g of %.3g GB of experts fit into memory, the others are read from disk",
                     1e-9 * (double)info->expert_memory, 1e-9 * (double)info->expert_bytes);
    if (tps > 0 && n > 0 && (size_t)n < room)
        snprintf(out + n, room - (size_t)n, ": about %.*f tokens/s", tps < 10 ? 1 : 0, tps);
    return true;
}

int load_failed(const tdm_error *err)
{
    if (err->code == TDM_E_CANCELLED)
        fputs("tandem: interrupted\n", stderr);
    else
        fprintf(stderr, "tandem: %s\n", err->text);
    return err->code == TDM_E_ARG ? 2 : 1;
}
