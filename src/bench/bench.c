#include "src/bench/bench.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/model/type.h"
#include "src/bench/report/report.h"
#include "src/bench/talk.h"
#include "src/cli/subcommands.h"
#include "src/cli/words.h"
#include "src/io/number.h"
#include "src/io/output.h"
#include "src/models/load.h"
#include "src/process/interrupt.h"
#include "src/server/remote_model.h"

/* ---- For the suites ---------------------------------------------------------------------------------------------- */

bench_table *bench_new_table(bench *b, const char *part, const char *title, const char *parameters,
                             const char *measures, tdm_error *err)
{
    bench_table *t =
        b->n_tables < BENCH_TABLES ? bench_table_new(b->suite, part, b->model_name, title, parameters, measures) : NULL;
    if (t)
        b->tables[b->n_tables++] = t;
    else
        error_set(err, TDM_E_NOMEM, "bench: no memory for a table");
    return t;
}

void bench_tables_done(bench *b)
{
    output_passing_end(false);
    for (; b->n_printed < b->n_tables; b->n_printed++)
        if (!b->tables[b->n_printed]->unwanted) bench_report_table(b, b->tables[b->n_printed]);
}

bool bench_wanted(const bench *b, const char *row, ...)
{
    char text[300];
    char *const *texts = b->o->values[OPTION_ROWS].list;
    va_list args;
    va_start(args, row);
    vsnprintf(text, sizeof text, row, args);
    va_end(args);
    for (char *bar = strchr(text, '|'); bar; bar = strchr(bar, '|')) *bar = ' ';
    for (int i = 0; i < b->o->values[OPTION_ROWS].n; i++)
        if (strstr(text, texts[i])) return true;
    return !b->o->values[OPTION_ROWS].n;
}

void bench_part(bench *b, double share)
{
    b->start_ns = clock_ns();
    if (!b->suite_until_ns) return;
    int64_t left = b->suite_until_ns - b->start_ns;
    b->until_ns = b->start_ns + (left > 0 ? (int64_t)(share * (double)left) : 0);
}

void bench_step(bench *b, const char *format, ...)
{
    char what[160];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (isatty(STDERR_FILENO)) {
        int64_t now = clock_ns();
        double left = b->until_ns ? 1e-9 * (double)(b->until_ns - now) : 0;
        char of_suite[40] = "", in_all[40] = "";
        if (left > 0) snprintf(of_suite, sizeof of_suite, ", %.0f s left", left);
        if (b->all_until_ns > now)
            snprintf(in_all, sizeof in_all, ", %.0f s in all", 1e-9 * (double)(b->all_until_ns - now));
        output_passing("%s, %s: round %d, %s%s%s", b->suite, b->model_name, b->round + 1, what, of_suite, in_all);
    }
    if (b->rest_s > 0) usleep((useconds_t)(1e6 * b->rest_s));
}

tdm_status bench_machine(bench *b, tdm_machine **out, bool lending, tdm_error *err)
{
    const options *o = b->o;
    tdm_machine_options m = {
        .prefill_unit = options_text(o, OPTION_PREFILL_UNIT),
        .decode_unit = options_text(o, OPTION_DECODE_UNIT),
        .prefill_kind = options_text(o, OPTION_PREFILL_KIND),
        .decode_kind = options_text(o, OPTION_DECODE_KIND),
        .no_lending = !lending,
    };
    tdm_status status = tdm_machine_open(out, &m, err);
    if (status) return status;
    tdm_unit_info unit[TDM_UNITS];
    for (int u = 0; u < TDM_UNITS; u++) tdm_unit_describe(*out, u, &unit[u]);
    snprintf(b->host.units, sizeof b->host.units, "%s (%s) prefills, %s (%s) decodes, lending %s", unit[0].name,
             unit[0].kind, unit[1].name, unit[1].kind,
             options_flag(o, OPTION_NO_LENDING) ? "off" : "on where not said otherwise");
    return TDM_OK;
}

void bench_chat_options(const bench *b, tdm_chat_options *o)
{
    bench_talk_defaults(o, b->models.model);
    o->kv = o->prefill_kv = load_kv(b->o);
    o->prefill_model = b->models.prefill;
}

double bench_round_trip_ms(const bench *b)
{
    return remote_model_info(b->models.server)->round_trip_ms;
}

tdm_status bench_session(bench *b, tdm_sequence **out, tdm_machine *machine, int unit, int context, int dispatch,
                         tdm_error *err)
{
    tdm_sequence_options s = {.unit = unit, .kv = load_kv(b->o), .context = context, .dispatch = dispatch};
    bool other = unit == TDM_PREFILL_UNIT && b->models.prefill;
    return tdm_sequence_open(out, other ? b->models.prefill : b->models.model, machine, &s, err);
}

tdm_status bench_kernel_set(const bench *b, const struct kernels **out, enum panel_kind *kind, tdm_error *err)
{
    tdm_status status = kernels_find(out, options_text(b->o, OPTION_KERNELS), err);
    if (status) return status;
    char type[32];
    snprintf(type, sizeof type, "%.*s", (int)strcspn(b->info.weight_types, " "), b->info.weight_types);
    enum type most = type_from_name(type);
    *kind = most == TYPE_COUNT ? PANEL_F32 : (*out)->panel_of(most);
    return TDM_OK;
}

bool bench_fits(const bench *b, bench_table *t, int tokens, int more)
{
    int context = b->info.trained_context;
    if (context <= 0 || tokens + more <= context) return true;
    bench_table_note(t, "left out: %d tokens, beyond the model's context", tokens);
    return false;
}

int bench_full_count(const bench *b, int count)
{
    return options_given(b->o, OPTION_RUNS) && b->runs < count ? b->runs : count;
}

int bench_list(const char *text, int low, int high, int list[BENCH_LIST], const char *option_name, tdm_error *err)
{
    int n = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        char word[24];
        int64_t value;
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (length >= sizeof word || n == BENCH_LIST || !number_int(word, low, high, &value)) {
            error_set(err, TDM_E_ARG,
                      "--%s: '%s' is not allowed; expected at most %d numbers from %d to %d, with commas", option_name,
                      text, BENCH_LIST, low, high);
            return -1;
        }
        list[n++] = (int)value;
        at += length;
        if (!*at) return n;
    }
}

/* ---- The suites -------------------------------------------------------------------------------------------------- */

/* The suites in the order in which they run: long ones late, except for the one that the program is about. share: of
 * the budget, by weight. The last ones measure no model. */
static const struct suite {
    const char *name, *what;
    bench_suite_fn *run;
    void (*conclude)(bench_table *t);
    double share;
    bool no_model;
    bool in_full; /* full counts when it is asked for by itself and without a budget */
} suites[] = {
    {"turns", "warm turns, typed: time to the first token, by pipeline and level of speculation", bench_turns,
     bench_turns_conclude, 7, false, true},
    {"throughput", "prefill and decode of short prompts, by pipeline", bench_throughput, NULL, 1, false, false},
    {"dispatch", "prefill by tokens of a forward pass", bench_dispatch, NULL, 0.5, false, false},
    {"handover", "what moving a state costs, by its length", bench_handover, NULL, 0.5, false, false},
    {"crossover", "the prompt length from which the other unit prefills faster", bench_crossover,
     bench_crossover_conclude, 0.5, false, false},
    {"power", "watts and joules", bench_power, NULL, 0.5, false, false},
    {"ttft", "time to the first token, by pipeline and prompt", bench_ttft, bench_ttft_conclude, 2, false, false},
    {"model", "prefill and decode beside the machine's ceilings", bench_model_speed, NULL, 1.5, false, false},
    {"pass", "where the time of one dispatch goes, by function", bench_pass, NULL, 0.5, false, false},
    {"streams", "several streams decoded together, for one reading of the weights", bench_streams, NULL, 0.5, false,
     false},
    {"mtp", "drafted tokens that one pass verifies: passes, prompts and replies beside those without", bench_mtp, NULL,
     1.5, false, false},
    {"interference", "decode while the other unit prefills, and the other way round", bench_interference, NULL, 2,
     false, false},
    {"glyph", "Enter to the first character on a terminal", bench_glyph, NULL, 3, false, true},
    {"screen", "the full screen: first frame, key echo, drawing", bench_screen, NULL, 1, false, false},
    {"template", "the chat template: prompts and keys", bench_template, NULL, 0.2, false, false},
    {"server", "warm turns on a server, by level of speculation", bench_server, NULL, 1, false, false},
    {"kernels", "products of matrices beside the machine's ceilings", bench_kernels, NULL, 1, true, false},
    {"images", "pictures encoded, beside the machine's ceilings", bench_images, NULL, 0.5, true, false},
    {"images", "and asked about, with models that see", bench_vision, NULL, 0.5, false, false},
};
enum { SUITES = sizeof suites / sizeof *suites };

void bench_conclude(bench_table *t)
{
    int before = t->n_notes;
    for (int s = 0; s < SUITES; s++)
        if (!strcmp(suites[s].name, t->suite) && suites[s].conclude) suites[s].conclude(t);
    t->n_conclusions = t->n_notes - before;
}

/* A suite's share of the budget, where the built-in model's is 1: the runs of a larger one take longer. */
static double model_weight(const char *name)
{
    return !strcmp(name, "builtin") ? 1 : 4;
}

static tdm_status run_suite(bench *b, const struct suite *s, double weight, double *shares_left, tdm_error *err)
{
    int64_t now = clock_ns(), left = b->all_until_ns > now ? b->all_until_ns - now : 0;
    double share = s->share * weight;
    b->suite = s->name;
    b->round = 0;
    b->has_rows = false;
    b->suite_until_ns = b->all_until_ns ? now + (int64_t)((double)left * share / *shares_left) : 0;
    *shares_left -= share;
    if (b->all_until_ns && !left && b->n_tables) {
        output_note("tandem bench: left out, since the budget is used up: %s, %s", s->name, b->model_name);
        b->any_row_wanted = true;
        return TDM_OK;
    }
    b->until_ns = b->suite_until_ns;
    bench_part(b, 1);
    bench_moment before;
    bench_host_now(&before);
    if (b->full_counts) output_note("%s in full, %s: --budget or --rows shorten it", s->name, b->model_name);
    tdm_status status = s->run(b, err);
    /* What was measured before a failure is shown all the same. */
    bench_tables_done(b);
    bench_report_suite(b, &before, 1e-9 * (double)(clock_ns() - now));
    if (!status || status == TDM_E_CANCELLED || status == TDM_E_ARG) return status;
    /* One suite that can't run doesn't take the others with it. */
    output_note("tandem bench: %s, %s: %s", s->name, b->model_name, err->text);
    b->failed = true;
    return TDM_OK;
}

/* The suites chosen by the arguments (all: none). */
static int choose(const options *o, bool chosen[SUITES])
{
    for (int s = 0; s < SUITES; s++) chosen[s] = o->n_arguments == 0;
    for (int i = 0; i < o->n_arguments; i++) {
        int s = 0;
        while (s < SUITES && strcmp(suites[s].name, o->arguments[i])) s++;
        if (s == SUITES) {
            nearest best = {0};
            for (s = 0; s < SUITES; s++) nearest_offer(&best, o->arguments[i], suites[s].name);
            if (best.name)
                output_note("tandem bench: unknown suite '%s'; did you mean '%s'? There are:", o->arguments[i],
                            best.name);
            else
                output_note("tandem bench: unknown suite '%s'; there are:", o->arguments[i]);
            for (s = 0; s < SUITES; s++) output_note("  %-14s%s", suites[s].name, suites[s].what);
            return 2;
        }
        /* A suite may have another part, which measures a model: no model is loaded for that part alone. */
        for (const char *name = suites[s].name; s < SUITES; s++)
            chosen[s] |= !strcmp(suites[s].name, name) &&
                         (suites[s].run != bench_vision || options_given(o, OPTION_BENCH_MODELS));
    }
    return 0;
}

static bool sees(const bench *b)
{
    tdm_vision vision;
    tdm_model_vision(b->models.model, &vision);
    if (!vision.there && b->o->n_arguments)
        output_note("tandem bench: %s sees no pictures: %s", b->model_name, vision.why);
    return vision.there;
}

/* The suites that need no model, or all others with this one. */
static tdm_status run_suites(bench *b, bool no_model, const bool chosen[SUITES], double weight, double *shares_left,
                             tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (int s = 0; s < SUITES && !status; s++) {
        if (!chosen[s] || suites[s].no_model != no_model) continue;
        bool of_server = suites[s].run == bench_server; /* the only suite for a model on a server */
        if (!no_model && of_server != b->info.on_server) {
            if (b->o->n_arguments)
                output_note("tandem bench: %s measures models %s", suites[s].name,
                            of_server ? "on servers (-m http://HOST:PORT)" : "that are here");
            b->any_row_wanted = true;
            continue;
        }
        if (suites[s].run == bench_vision && !sees(b)) continue;
        status = output_read() ? run_suite(b, &suites[s], weight, shares_left, err)
                               : error_set(err, TDM_E_CANCELLED, "interrupted");
    }
    return status;
}

/* Tables of several runs are joined by model: another kernel set is another row of figures. */
static void name_model(bench *b, const char *name)
{
    const char *kernels = options_text(b->o, OPTION_KERNELS);
    b->model_option = name;
    snprintf(b->model_name, sizeof b->model_name, "%s%s%s", name, kernels ? "@" : "", kernels ? kernels : "");
}

/* For suites that open machines of their own. */
static tdm_status name_units(bench *b, tdm_error *err)
{
    tdm_machine *machine = NULL;
    tdm_status status = bench_machine(b, &machine, !options_flag(b->o, OPTION_NO_LENDING), err);
    tdm_machine_close(machine);
    return status;
}

static tdm_status run_model(bench *b, const char *name, const bool chosen[SUITES], double *shares_left, tdm_error *err)
{
    bool builtin = !strcmp(name, "builtin");
    name_model(b, builtin ? "built-in" : name);
    /* Benchmarks type texts of their own, so a server gets nothing that the user wrote. */
    tdm_status status = load_pair_open(&b->models, b->o, builtin ? NULL : name, &(load_how){.drafts = true}, err);
    interrupt_catch(); /* loading handles Ctrl-C in a way of its own */
    const struct kernels *k;
    enum panel_kind kind;
    if (!status) {
        tdm_model_describe(b->models.model, &b->info);
        b->kernels = b->info.kernels;
        status = bench_kernel_set(b, &k, &kind, err);
    }
    bool here = !b->info.on_server;
    if (!status && here) status = bench_host_ceilings(&b->host, k, err);
    if (!status && here) status = name_units(b, err);
    if (!status && here) bench_report_model(b);
    if (!status) status = run_suites(b, false, chosen, model_weight(name), shares_left, err);
    bench_pairs_close(&b->pairs);
    load_pair_close(&b->models);
    return status;
}

static tdm_status run_without_model(bench *b, const bool chosen[SUITES], double *shares_left, tdm_error *err)
{
    const struct kernels *k;
    name_model(b, "no model");
    b->info = (tdm_model_info){0};
    tdm_status status = kernels_find(&k, options_text(b->o, OPTION_KERNELS), err);
    if (!status && b->host.read <= 0) status = bench_host_ceilings(&b->host, k, err);
    if (status) return status;
    b->kernels = k->name;
    return run_suites(b, true, chosen, 1, shares_left, err);
}

/* "20m", "90s", "90": seconds, or 0. */
static double seconds_of(const char *text)
{
    char number[32];
    double value;
    size_t n = strlen(text);
    double unit = n && text[n - 1] == 'm' ? 60 : n && text[n - 1] == 'h' ? 3600 : 1;
    if (n && strchr("smh", text[n - 1])) n--;
    if (n >= sizeof number) return 0;
    snprintf(number, sizeof number, "%.*s", (int)n, text);
    return number_real(number, 0.1, 1e6, &value) ? value * unit : 0;
}

static tdm_status measure(bench *b, const bool chosen[SUITES], double budget, tdm_error *err)
{
    static const char *const usual[] = {"builtin", "synthetic:0.8b:q8_0", NULL};
    const char *const *models = usual;
    if (options_given(b->o, OPTION_BENCH_MODELS)) models = (const char *const *)b->o->values[OPTION_BENCH_MODELS].list;
    int n_models = 0;
    bool with = false, without = false;
    double shares = 0, weights = 0;
    while (models[n_models]) weights += model_weight(models[n_models++]);
    for (int s = 0; s < SUITES; s++) {
        if (!chosen[s]) continue;
        shares += suites[s].share * (suites[s].no_model ? 1 : weights);
        *(suites[s].no_model ? &without : &with) = true;
    }
    if (!b->full_counts) b->all_until_ns = b->began_ns + (int64_t)(1e9 * budget);
    tdm_status status = bench_prompt_open(&b->prompt, err);
    interrupt_catch();
    for (int m = 0; with && m < n_models && !status; m++) status = run_model(b, models[m], chosen, &shares, err);
    if (!status && without) status = run_without_model(b, chosen, &shares, err);
    if (!status && options_given(b->o, OPTION_ROWS) && !b->any_row_wanted)
        status =
            error_set(err, TDM_E_ARG, "--rows: no row of these suites holds '%s'", b->o->values[OPTION_ROWS].list[0]);
    interrupt_release();
    bench_prompt_close(&b->prompt);
    return status;
}

int bench_main(options *o)
{
    tdm_error err = {0};
    bool chosen[SUITES];
    static bench b;
    b = (bench){.o = o, .quick = options_flag(o, OPTION_QUICK), .runs = (int)options_int(o, OPTION_RUNS, 10)};
    b.rest_s = options_real(o, OPTION_REST, 0);
    b.began_ns = clock_ns();
    b.sensors_root = "";
    if (choose(o, chosen)) return 2;
    const char *json = options_text(o, OPTION_BENCH_JSON);
    if (json && strcmp(json, "-") && !subcommands_may_write(o, json)) return 1;
    const char *budget_text = options_text(o, OPTION_BUDGET);
    double budget = budget_text ? seconds_of(budget_text) : b.quick ? 120 : 1200;
    if (budget <= 0)
        return subcommands_usage(o, "--budget: '%s' is not allowed; expected a time such as 90s or 20m", budget_text);
    for (int s = 0; s < SUITES; s++)
        b.full_counts |= !budget_text && !b.quick && o->n_arguments == 1 && chosen[s] && suites[s].in_full;
    bench_host_start(&b.host);
    bench_pairs_find_gpu(&b);
    tdm_status status = bench_report_open(&b, &err);
    if (status) return load_failed(&err);
    status = measure(&b, chosen, budget, &err);
    tdm_error late = {0};
    tdm_status written = bench_report_close(&b, &late);
    if (written && !status) {
        status = written;
        err = late;
    }
    for (int t = 0; t < b.n_tables; t++) bench_table_free(b.tables[t]);
    if (status) return output_good() ? load_failed(&err) : 1;
    return b.failed;
}
