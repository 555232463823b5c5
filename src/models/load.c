#include "src/models/load.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/os/file.h"
#include "src/files/agreed.h"
#include "src/files/files.h"
#include "src/hub/environment.h"
#include "src/io/address_text.h"
#include "src/io/output.h"
#include "src/models/models.h"
#include "src/models/settings.h"
#include "src/models/units.h"
#include "src/process/interrupt.h"
#include "src/server/refusal.h"
#include "src/server/remote_model.h"
#include "src/server/server_alias.h"

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

bool load_is_small(const tdm_model_info *opened)
{
    static const uint64_t builtin = UINT64_C(0xd02b67b940c6f3bc);
    const char *own = load_builtin();
    if (opened->on_server || !opened->path) return false;
    return opened->fingerprint == builtin || (own && file_is_same(opened->path, own));
}

tdm_status load_check_large(const tdm_model_info *opened, const char *what, const char *remedy, tdm_error *err)
{
    if (!load_is_small(opened)) return TDM_OK;
    return error_set(err, TDM_E_UNSUPPORTED, "%s needs a larger model than the built-in one: %s", what, remedy);
}

/* ---- Progress -------------------------------------------------------------------------------------------------- */

typedef struct {
    struct timespec start;
    bool terminal, shown, told;
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
    [TDM_STEP_SERVER] = {"the server loads its model, seconds", false},
};

static int show_progress(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    progress_line *line = ctx;
    if (interrupt_seen()) return 1;
    if (!line->terminal && step == TDM_STEP_SERVER && !line->told) {
        line->told = true;
        output_note("tandem: the server loads its model: it is waited for, for at most %d minutes", (int)total / 60);
    }
    if (!line->terminal) return 0;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)(now.tv_sec - line->start.tv_sec) + 1e-9 * (double)(now.tv_nsec - line->start.tv_nsec);
    int percent = total ? (int)(100.0 * (double)done / (double)total) : 0;
    bool same = line->shown && percent == line->last_percent && step == line->last_step;
    if (seconds < 0.5 || same || !total) return 0;
    if (steps[step].bytes)
        output_passing("%s %3d%%  %.1f of %.1f GB (Ctrl-C stops)", steps[step].what, percent, 1e-9 * (double)done,
                       1e-9 * (double)total);
    else
        output_passing("%s: %d of %d (Ctrl-C stops)", steps[step].what, (int)done + 1, (int)total);
    line->last_percent = percent;
    line->last_step = step;
    line->shown = true;
    return 0;
}

/* Where progress goes: to the caller that asked for it, or to the terminal; then Ctrl-C stops what is under way. */
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
    if (w->line.shown) output_passing_end(false);
}

/* ---- Opening --------------------------------------------------------------------------------------------------- */

/* The kernels of a unit whose kind is this option. */
static const char *kernels_of(const options *o, option_id kind)
{
    const char *name = options_text(o, kind);
    return name && strcmp(name, "native") ? name : options_text(o, OPTION_KERNELS);
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

static const char *const *accepted(const options *o)
{
    return (const char *const *)o->values[OPTION_ACCEPT_UNKNOWN].list;
}

bool load_is_remote(const options *o, const char *path)
{
    return server_alias_is_server(o, path);
}

static const char no_builtin[] =
    "the built-in model (" BUILTIN_NAME
    ") was not found: set TANDEM_DATADIR to its folder, or name another model with -m (`tandem pull` fetches one)";

enum { LONGEST_TEMPLATE = 1 << 20 }; /* as engine/text/jinja/jinja.h */

/* Where no such model is: which one may have been meant. */
static void suggest(const options *o, const char *path, tdm_error *err)
{
    char meant[160];
    models_meant(o, path, meant, sizeof meant);
    size_t n = strlen(err->text);
    if (address_text_lacks_scheme(path))
        snprintf(err->text + n, sizeof err->text - n, "; a server is named http://%.100s", path);
    else if (meant[0])
        snprintf(err->text + n, sizeof err->text - n, "; did you mean '%s'?", meant);
}

/* The text of --template, or its word; NULL: it isn't given, or not for this model. */
static tdm_status load_template(const options *o, bool own, char **out, tdm_error *err)
{
    const char *path = own ? NULL : options_text(o, OPTION_TEMPLATE);
    size_t n;
    *out = NULL;
    if (!path) return TDM_OK;
    if (strcmp(path, "chatml")) return files_read_text(path, LONGEST_TEMPLATE, out, &n, err);
    *out = strdup(path);
    return *out ? TDM_OK : error_set(err, TDM_E_NOMEM, "no memory for a chat template");
}

tdm_status load_model(tdm_model **out, const options *o, const char *path, const load_how *how, tdm_error *err)
{
    const char *builtin = load_builtin();
    if (load_is_builtin(path)) path = NULL;
    if (!path && !builtin)
        return error_set(err, TDM_E_NOT_FOUND, "%s", no_builtin);
    if (load_is_remote(o, path))
        return error_set(err, TDM_E_UNSUPPORTED, "%.200s: `%s` works with local models only", path,
                         command_table[o->command].name);
    watch w;
    watch_begin(&w, how);
    const char *mmproj = options_text(o, OPTION_MMPROJ);
    tdm_model_options m = {
        .path = path ? path : builtin,
        .builtin = builtin,
        .hubs = hub_caches(),
        .kernels = how->kernels ? how->kernels : kernels_of(o, how->prefill ? OPTION_PREFILL_KIND : OPTION_DECODE_KIND),
        .quant = options_text(o, OPTION_QUANT),
        .lm_head = options_text(o, OPTION_LM_HEAD),
        .expert_memory = options_whole(o, OPTION_EXPERT_MEMORY, 0),
        .threads = (int)options_int(o, OPTION_THREADS, 0),
        .text_only = how->text_only,
        .accept_unknown = accepted(o),
        .mmproj = mmproj && !strcmp(mmproj, "none") ? "" : mmproj,
        .weights_of = how->weights_of,
        .progress = w.progress,
        .progress_ctx = w.ctx,
    };
    char *folder = NULL, *template = NULL;
    set_packing(&m, o, &folder);
    tdm_status status = load_template(o, how->own_template, &template, err);
    m.chat_template = template;
    if (!status) status = tdm_model_open(out, &m, err);
    watch_end(&w);
    free(template);
    free(folder);
    if (status == TDM_E_NOT_FOUND && path && err) suggest(o, path, err);
    return status;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

/* Whether it is the model that the program was started with. */
static bool is_first(const options *o, const char *path)
{
    const char *first = options_text(o, OPTION_MODEL);
    return load_is_builtin(path) ? load_is_builtin(first) : same_text(path, first);
}

/* What a server may have before Enter, a tdm_speculation; -1: as it is right for its kind. Drafts only where the
 * configuration says so for this server, what may cost money only by --read-ahead. */
static int may_be_sent_ahead(const options *o, const server_alias *n)
{
    const char *ahead = options_text(o, OPTION_READ_AHEAD);
    if (ahead && !strcmp(ahead, "off")) return TDM_SPEC_OFF;
    if (n->drafts) return TDM_SPEC_FULL;
    return ahead && !strcmp(ahead, "history") ? TDM_SPEC_HISTORY : -1;
}

static bool given_up(void *ctx, int loading_s)
{
    const watch *w = ctx;
    if (loading_s < 0) return w->progress(w->ctx, TDM_STEP_READING, 0, 0);
    return w->progress(w->ctx, TDM_STEP_SERVER, (uint64_t)loading_s, REFUSAL_MAX_S);
}

/* A model on a server. */
static tdm_status open_hosted(load_pair *out, const options *o, const char *model, const load_how *how, tdm_error *err)
{
    server_alias n;
    tdm_status status = server_alias_find(&n, o, model, err);
    remote_model_options s = {
        .address = n.text,
        .kind = n.kind,
        .key_file = n.key_file,
        .key_env = n.key_env,
        .tokenizer = load_builtin(),
        .ahead = how->drafts ? TDM_SPEC_FULL : may_be_sent_ahead(o, &n),
        .agreed = how->agreed || options_flag(o, OPTION_YES),
        .plain_http = how->plain_http || n.plain_http || (!status && agreed_with_plain_http(n.address.url)),
        .lacks_plain_http = how->lacks_plain_http,
    };
    watch w;
    watch_begin(&w, how);
    s.patience = (server_info_patience){given_up, &w};
    char *template = NULL;
    if (!status) status = load_template(o, how->own_template, &template, err);
    s.chat_template = template;
    if (!status) status = remote_model_open(&out->server, &s, err);
    free(template);
    watch_end(&w);
    if (!status) out->model = remote_model_of(out->server);
    return status;
}

tdm_status load_pair_open(load_pair *out, const options *o, const char *path, const load_how *how, tdm_error *err)
{
    bool first = is_first(o, path);
    const char *other = first ? options_text(o, OPTION_PREFILL_MODEL) : NULL;
    bool two = other || !same_text(kernels_of(o, OPTION_PREFILL_KIND), kernels_of(o, OPTION_DECODE_KIND));
    load_how its = *how;
    its.own_template = !first && o->command != COMMAND_BENCH; /* whose models are measured alike */
    *out = (load_pair){0};
    if (load_is_remote(o, path)) return open_hosted(out, o, path, &its, err);
    tdm_status status = load_model(&out->model, o, path, &its, err);
    its.prefill = true;
    its.weights_of = out->model;
    if (!status && two) status = load_model(&out->prefill, o, other ? other : path, &its, err);
    if (status) load_pair_close(out);
    return status;
}

void load_pair_close(load_pair *pair)
{
    tdm_preload_close(pair->places);
    tdm_model_close(pair->prefill);
    if (!pair->server) tdm_model_close(pair->model);
    remote_model_close(pair->server);
    *pair = (load_pair){0};
}

bool load_cost_note(const load_pair *pair, char *out, size_t room)
{
    if (!pair->server || remote_model_info(pair->server)->kind != DIALECT_OPENAI) return false;
    const char *host = remote_model_address(pair->server)->host;
    if (remote_model_ahead(pair->server))
        snprintf(out, room, "%s: each turn is read ahead by a request of its own, which may cost money", host);
    else
        snprintf(out, room, "%s: nothing is read before Enter, since it may cost money (--read-ahead history)", host);
    return true;
}

static void print_notice(const char *line)
{
    output_note("tandem: %s", line);
}

tdm_status load_convert(const options *o, const char *in, const char *out, const char *type, tdm_error *err)
{
    const char *builtin = load_builtin();
    if (load_is_builtin(in) && !builtin) return error_set(err, TDM_E_NOT_FOUND, "%s", no_builtin);
    watch w;
    watch_begin(&w, &(load_how){0});
    tdm_model_options m = {
        .path = load_is_builtin(in) ? builtin : in,
        .builtin = builtin,
        .hubs = hub_caches(),
        .accept_unknown = accepted(o),
        .progress = w.progress,
        .progress_ctx = w.ctx,
        .notice = print_notice,
    };
    tdm_status status = tdm_convert(&m, out, type, err);
    watch_end(&w);
    if (status == TDM_E_NOT_FOUND && err) suggest(o, in, err);
    return status;
}

/* The units, and PREFILL's kind, that were measured to be the best ones. */
static void choose_units(tdm_machine_options *m, const options *o, const tdm_model *model, units_choice *best)
{
    tdm_model_info info;
    if (!model || !units_are_open(o)) return;
    tdm_model_describe(model, &info);
    if (!units_choose(info.fingerprint, units_have_matrix(o, &info), best)) return;
    if (best->unit[TDM_PREFILL_UNIT][0]) m->prefill_unit = best->unit[TDM_PREFILL_UNIT];
    if (best->unit[TDM_DECODE_UNIT][0]) m->decode_unit = best->unit[TDM_DECODE_UNIT];
    if (best->prefill_kind) m->prefill_kind = best->prefill_kind;
}

tdm_status load_machine(tdm_machine **out, const options *o, const tdm_model *model, const load_how *how,
                        tdm_error *err)
{
    units_choice best;
    tdm_machine_options m = {
        .threads = (int)options_int(o, OPTION_THREADS, 0),
        .prefill_unit = options_text(o, OPTION_PREFILL_UNIT),
        .decode_unit = options_text(o, OPTION_DECODE_UNIT),
        .prefill_kind = options_text(o, OPTION_PREFILL_KIND),
        .decode_kind = options_text(o, OPTION_DECODE_KIND),
        .no_lending = options_flag(o, OPTION_NO_LENDING),
    };
    choose_units(&m, o, model, &best);
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

tdm_status load_bf16(tdm_model **out, const options *o, const tdm_model *decodes, const load_how *how, tdm_error *err)
{
    tdm_model_info info;
    tdm_model_describe(decodes, &info);
    load_how its = *how;
    its.kernels = UNITS_BF16;
    its.own_template = true; /* the other model's counts */
    its.weights_of = decodes;
    return load_model(out, o, info.path, &its, err);
}

/* Whether the machine's PREFILL reads for this model in bfloat16 without being told to. */
static bool was_chosen(const tdm_machine *machine, const options *o, const tdm_model *model)
{
    tdm_model_info info;
    tdm_model_describe(model, &info);
    return units_are_open(o) && units_have_matrix(o, &info) &&
           !strcmp(tdm_machine_kind(machine, TDM_PREFILL_UNIT), UNITS_BF16);
}

tdm_status load_places(load_pair *pair, tdm_machine *machine, const options *o, const load_how *how, tdm_error *err)
{
    tdm_chat_options c;
    tdm_status status = TDM_OK;
    if (!pair->server && was_chosen(machine, o, pair->model))
        status = load_bf16(&pair->prefill, o, pair->model, how, err);
    if (status) return status;
    settings_chat_options(&c, o, pair->model);
    c.prefill_model = pair->prefill;
    watch w;
    watch_begin(&w, how);
    status = tdm_preload_open(&pair->places, pair->model, machine, &c, w.progress, w.ctx, err);
    watch_end(&w);
    pair->context = status ? 0 : c.context;
    return status;
}

tdm_status load_chat(tdm_chat **out, load_pair *pair, tdm_machine *machine, tdm_chat_options *settings, tdm_error *err)
{
    settings->prefill_model = pair->prefill;
    if (pair->places) settings->context = pair->context;
    tdm_status status = tdm_chat_open(out, pair->model, machine, settings, err);
    tdm_preload_close(pair->places);
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
    return (tdm_kv)(TDM_KV_F32 + options_int(o, OPTION_KV, TDM_KV_F16 - TDM_KV_F32)); /* its words are in this order */
}

void load_notices(const tdm_model *m)
{
    tdm_model_info info;
    tdm_model_describe(m, &info);
    for (const char *const *at = info.notices; *at; at++) print_notice(*at);
}

void load_notes(const tdm_model *m)
{
    tdm_model_info info;
    tdm_model_describe(m, &info);
    load_notices(m);
    if (info.template_note) output_note("tandem: %s", info.template_note);
    char disk[160];
    if (load_disk_note(&info, disk, sizeof disk)) output_note("tandem: %s", disk);
    if (info.synthetic) output_note("tandem: made-up weights: the text is noise, the times are real");
}

void load_machine_notes(const options *o, const tdm_machine *m)
{
    char line[300];
    if (load_machine_note(o, m, line, sizeof line)) output_note("tandem: %s", line);
}

bool load_template_note(const options *o, const char *path, char *out, size_t room)
{
    const char *first = options_text(o, OPTION_MODEL);
    if (!options_text(o, OPTION_TEMPLATE) || is_first(o, path)) return false;
    snprintf(out, room, "its own template: --template is for %.200s", first ? first : "the built-in model");
    return true;
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
        output_note("tandem: interrupted");
    else
        output_note("tandem: %s", err->text);
    return err->code == TDM_E_ARG ? 2 : 1;
}
