#include "src/bench/report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/harmless.h"
#include "engine/json/write.h"
#include "engine/os/start.h"
#include "engine/os/file.h"
#include "src/files/files.h"
#include "src/io/output.h"
#include "src/models/load.h"
#include "src/process/inherit.h"

/* No text is printed: it would stand between the JSON objects, or in the Markdown. */
static bool quiet(const bench *b)
{
    return b->json == stdout || b->markdown;
}

/* What was asked for, without the options that only say where the results go: malloc'ed; NULL without memory. */
static char *command(const bench *b)
{
    static const option_id shown[] = {
        OPTION_QUICK,         OPTION_NO_LENDING,    OPTION_BUDGET,        OPTION_RUNS,           OPTION_REST,
        OPTION_BENCH_THREADS, OPTION_BENCH_PROMPTS, OPTION_BENCH_REPLY,   OPTION_BENCH_DISPATCH, OPTION_KV,
        OPTION_KERNELS,       OPTION_QUANT,         OPTION_LM_HEAD,       OPTION_PREFILL_UNIT,   OPTION_DECODE_UNIT,
        OPTION_PREFILL_KIND,  OPTION_DECODE_KIND,   OPTION_EXPERT_MEMORY, OPTION_BENCH_STREAMS,  OPTION_MTP_ACCEPT,
        OPTION_TEMPLATE};
    static const option_id lists[] = {OPTION_BENCH_MODELS, OPTION_ACCEPT_UNKNOWN, OPTION_ROWS};
    const options *o = b->o;
    struct buffer_stream s;
    FILE *out = buffer_stream_open(&s);
    if (!out) return NULL;
    fputs("tandem bench", out);
    for (int i = 0; i < o->n_arguments; i++) harmless_print(out, " %s", o->arguments[i]);
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        for (int i = 0; i < o->values[lists[k]].n; i++) {
            const char *value = o->values[lists[k]].list[i], *quote = strpbrk(value, " *") ? "'" : "";
            if (option_table[lists[k]].letter)
                harmless_print(out, " -%c %s%s%s", option_table[lists[k]].letter, quote, value, quote);
            else
                harmless_print(out, " --%s %s%s%s", option_table[lists[k]].name, quote, value, quote);
        }
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        if (!options_given(o, shown[i])) continue;
        harmless_print(out, " --%s", option_table[shown[i]].name);
        if (option_table[shown[i]].kind != KIND_FLAG) harmless_print(out, " %s", options_text(o, shown[i]));
    }
    return buffer_stream_close(&s, NULL);
}

/* ---- Markdown ---------------------------------------------------------------------------------------------------- */

/* Starts measured.py, which makes Markdown of all rows that it is given, once it has them. */
static tdm_status open_markdown(bench *b, tdm_error *err)
{
    char path[PATH_MAX], python[PATH_MAX];
    int ends[2];
    if (!load_data("measured.py", path) && !load_data("../src/bench/measured.py", path))
        return error_set(err, TDM_E_IO,
                         "--md: measured.py, which writes Markdown, is neither beside the data nor in "
                         "the tree");
    if (pipe2(ends, O_CLOEXEC)) return error_errno(err, TDM_E_IO, "--md: no pipe");
    char *argv[] = {"python3", path, "markdown", NULL}, **environment = inherit_for_user();
    bool found = file_find_program(getenv("PATH"), argv[0], python);
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    start_attributes(&attributes, 0);
    errno = !environment ? ENOMEM : !found ? ENOENT : posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO);
    if (!errno) errno = posix_spawn(&b->writer, python, &files, &attributes, argv, environment);
    tdm_status status =
        errno ? error_errno(err, TDM_E_IO, "--md: Python (python3), which writes Markdown, is lacking") : TDM_OK;
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    free(environment);
    close(ends[0]);
    if (!status && (b->markdown = fdopen(ends[1], "w"))) return TDM_OK;
    close(ends[1]);
    return status ? status : error_errno(err, TDM_E_IO, "--md: no memory for it");
}

static tdm_status close_markdown(bench *b, tdm_error *err)
{
    int ended = 0;
    if (!b->markdown) return TDM_OK;
    fclose(b->markdown);
    b->markdown = NULL;
    while (waitpid(b->writer, &ended, 0) < 0 && errno == EINTR) continue;
    if (!ended) return TDM_OK;
    if (WIFSIGNALED(ended) && WTERMSIG(ended) == SIGPIPE) output_fail(EPIPE); /* its output is closed */
    return error_set(err, TDM_E_IO, "--md: measured.py has not written all");
}

/* ---- Beginning, tables ------------------------------------------------------------------------------------------- */

tdm_status bench_report_open(bench *b, tdm_error *err)
{
    const char *json = options_text(b->o, OPTION_BENCH_JSON);
    if (json && !strcmp(json, "-")) b->json = stdout;
    else if (json && files_create(json, 0666, &b->json, err)) return TDM_E_IO;
    if (options_flag(b->o, OPTION_MARKDOWN) && !quiet(b)) return open_markdown(b, err);
    if (quiet(b)) return TDM_OK;
    char *asked = command(b), text[300];
    harmless_print(stdout, "%s\n", asked ? asked : "tandem bench");
    free(asked);
    harmless_print(stdout, "cpu    %s\n", bench_host_text(&b->host, text, sizeof text));
    if (b->host.gpu[0])
        harmless_print(stdout, "gpu    %s is %s, driver %s\n", b->host.gpu, b->host.gpu_name, b->host.gpu_driver);
    harmless_print(stdout, "start  %s\n", bench_moment_text(&b->host.start, text, sizeof text));
    fflush(stdout);
    return TDM_OK;
}

void bench_report_model(const bench *b)
{
    if (quiet(b)) return;
    const tdm_model_info *i = &b->info;
    harmless_print(
        stdout,
        "\n%s: %.0f M parameters, %s, %.0f MB packed, %.0f MB read a decoded token, %.2f GFLOP a prefilled one%s\n",
        b->model_name, 1e-6 * (double)i->parameters, i->weight_types, 1e-6 * (double)i->packed_bytes,
        1e-6 * (double)i->bytes_per_token, 1e-9 * (double)i->flops_per_token,
        i->synthetic ? "; made-up weights: the text is noise, the times are real" : "");
    fflush(stdout);
}

void bench_report_table(bench *b, bench_table *t)
{
    bench_conclude(t);
    if (b->json) bench_table_json(t, b->json);
    if (b->markdown) bench_table_json(t, b->markdown);
    if (!quiet(b)) bench_table_print(t, stdout);
    fflush(stdout);
}

/* ---- What a suite ran on ----------------------------------------------------------------------------------------- */

static void add_real_or_null(json_object *o, const char *key, double value)
{
    if (value > 0)
        json_add_real(o, key, value);
    else
        json_add_null(o, key);
}

static json_object *moment_object(const bench_moment *m)
{
    json_object *o = json_new_object();
    add_real_or_null(o, "mhz", m->mhz);
    json_add_string(o, "governor", m->governor[0] ? m->governor : NULL);
    json_add_string(o, "power", m->power);
    json_add_real(o, "load", m->load);
    json_add_int(o, "other_tandems", m->others);
    return o;
}

static json_object *ran_on(const bench *b, const bench_moment *before, double seconds)
{
    static const char *const ceilings[PANEL_KINDS] = {
        [PANEL_F32] = "fp32_gops", [PANEL_BF16] = "bf16_gops", [PANEL_INT8] = "int8_gops"};
    json_object *o = json_new_object(), *machine = json_new_object(), *c = json_new_object();
    bench_moment after;
    bench_host_now(&after);
    char *asked = command(b);
    json_add_string(o, "suite", b->suite);
    json_add_string(o, "model", b->model_name);
    json_add_string(o, "command", asked);
    free(asked);
    json_add_real(o, "seconds", seconds);
    json_add_string(o, "weight_types", b->info.weight_types);
    json_add_string(o, "kernels", b->kernels);
    static const char *const kv[] = {[TDM_KV_F32] = "f32", [TDM_KV_F16] = "f16", [TDM_KV_Q8_0] = "q8_0"};
    json_add_string(o, "kv", b->models.model ? kv[load_kv(b->o)] : NULL);
    json_add_string(o, "units", b->models.model ? b->host.units : NULL);
    json_add_bool(o, "lending", !options_flag(b->o, OPTION_NO_LENDING));
    json_add_string(machine, "cpu", b->host.cpu);
    json_add_int(machine, "cores", b->host.cores.count);
    json_add_int(machine, "cpus", b->host.cpus);
    json_add_string(machine, "caches", b->host.caches);
    if (b->host.gpu[0]) {
        json_add_string(machine, "gpu", b->host.gpu_name);
        json_add_string(machine, "gpu_driver", b->host.gpu_driver);
    }
    json_add(o, "machine", machine);
    for (int kind = 0; kind < PANEL_KINDS; kind++) add_real_or_null(c, ceilings[kind], 1e-9 * b->host.peak[kind]);
    add_real_or_null(c, "matrix_int8_gops", 1e-9 * b->host.matrix_peak[PANEL_INT8]);
    add_real_or_null(c, "matrix_bf16_gops", 1e-9 * b->host.matrix_peak[PANEL_BF16]);
    add_real_or_null(c, "read_gbs", 1e-9 * b->host.read);
    json_add(o, "ceilings", c);
    json_add(o, "start", moment_object(before));
    json_add(o, "end", moment_object(&after));
    double stolen = bench_moment_stolen(before, &after);
    json_add_real(o, "stolen", stolen < 0 ? NAN : stolen);
    return o;
}

/* A member for reading; "not told" where it is null or absent. */
static const char *told(json_object *o, const char *key)
{
    const char *text = json_text(o, key, NULL);
    return text ? text : "not told";
}

static void print_moment(const char *name, json_object *o)
{
    char mhz[32];
    harmless_print(stdout, "%s %s MHz, governor %s, %s, load average %.1f, other running Tandems: %lld", name,
                   bench_number(json_real(o, "mhz", NAN), mhz), told(o, "governor"), told(o, "power"),
                   json_real(o, "load", 0), (long long)json_int(o, "other_tandems", 0));
}

static void print_ran_on(json_object *o)
{
    json_object *machine = json_member(o, "machine", JSON_OBJECT), *c = json_member(o, "ceilings", JSON_OBJECT);
    json_object *start = json_member(o, "start", JSON_OBJECT), *end = json_member(o, "end", JSON_OBJECT);
    char n[4][32];
    harmless_print(stdout, "  %s, %s, %.0f s on %s: %lld cores of %lld, %s; ", told(o, "suite"), told(o, "model"),
                   json_real(o, "seconds", 0), told(machine, "cpu"), (long long)json_int(machine, "cores", 0),
                   (long long)json_int(machine, "cpus", 0), told(machine, "caches"));
    if (json_text(machine, "gpu", NULL))
        harmless_print(stdout, "%s, driver %s; ", told(machine, "gpu"), told(machine, "gpu_driver"));
    if (json_text(o, "units", NULL)) harmless_print(stdout, "%s; ", told(o, "units"));
    if (json_text(o, "kv", NULL)) harmless_print(stdout, "keys and values %s; ", told(o, "kv"));
    harmless_print(stdout, "kernels %s; ceilings: int8 %s Gop/s, bf16 %s, fp32 %s", told(o, "kernels"),
                   bench_number(json_real(c, "int8_gops", NAN), n[0]),
                   bench_number(json_real(c, "bf16_gops", NAN), n[1]),
                   bench_number(json_real(c, "fp32_gops", NAN), n[2]));
    if (json_real(c, "matrix_int8_gops", 0) > 0)
        harmless_print(stdout, " (matrix unit: int8 %s, bf16 %s)",
                       bench_number(json_real(c, "matrix_int8_gops", NAN), n[0]),
                       bench_number(json_real(c, "matrix_bf16_gops", NAN), n[1]));
    harmless_print(stdout, ", reading %s GB/s; ", bench_number(json_real(c, "read_gbs", NAN), n[3]));
    print_moment("start:", start);
    print_moment("; end:", end);
    double stolen = json_real(o, "stolen", 0);
    if (stolen > 0) harmless_print(stdout, "; the host took %.0f %% of the CPU time", 100 * stolen);
    putchar('\n');
    fflush(stdout);
}

void bench_report_suite(const bench *b, const bench_moment *before, double seconds)
{
    json_object *o = ran_on(b, before, seconds);
    if (b->json) json_write(o, b->json);
    if (b->json) fflush(b->json);
    if (b->markdown) json_write(o, b->markdown);
    if (!quiet(b)) print_ran_on(o);
    json_free(o);
}

tdm_status bench_report_close(bench *b, tdm_error *err)
{
    tdm_status status = TDM_OK;
    if (b->json && b->json != stdout && fclose(b->json))
        status = error_errno(err, TDM_E_IO, "%s: can't be written", options_text(b->o, OPTION_BENCH_JSON));
    double seconds = 1e-9 * (double)(clock_ns() - b->began_ns);
    if (!quiet(b)) harmless_print(stdout, "%.0f s in all\n", seconds);
    b->json = NULL;
    tdm_status shown = close_markdown(b, status ? NULL : err);
    return status ? status : shown;
}
