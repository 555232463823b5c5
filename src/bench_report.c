#include "src/bench_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/error.h"
#include "src/bench_svg.h"
#include "src/files.h"

static bool markdown(const bench *b)
{
    return options_flag(b->o, OPTION_MARKDOWN);
}

/* Text would stand between the objects. */
static bool quiet(const bench *b)
{
    return b->json == stdout;
}

static void print_command(const bench *b)
{
    static const option_id shown[] = {OPTION_QUICK, OPTION_NO_LENDING, OPTION_BUDGET, OPTION_RUNS, OPTION_REST,
                                      OPTION_BENCH_THREADS, OPTION_BENCH_PROMPTS, OPTION_BENCH_REPLY,
                                      OPTION_BENCH_DISPATCH, OPTION_KV, OPTION_KERNELS, OPTION_QUANT, OPTION_LM_HEAD,
                                      OPTION_PREFILL_UNIT, OPTION_DECODE_UNIT, OPTION_PREFILL_KIND, OPTION_DECODE_KIND};
    const options *o = b->o;
    printf(markdown(b) ? "    tandem bench" : "tandem bench");
    for (int i = 0; i < o->n_arguments; i++) printf(" %s", o->arguments[i]);
    for (int i = 0; i < o->values[OPTION_BENCH_MODELS].n; i++) printf(" -m %s", o->values[OPTION_BENCH_MODELS].list[i]);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        if (!options_given(o, shown[i])) continue;
        printf(" --%s", option_table[shown[i]].name);
        if (option_table[shown[i]].kind != KIND_FLAG) printf(" %s", options_text(o, shown[i]));
    }
    printf("\n%s", markdown(b) ? "\n" : "");
}

tdm_status bench_report_open(bench *b, tdm_error *err)
{
    const char *json = options_text(b->o, OPTION_BENCH_JSON), *svg = options_text(b->o, OPTION_SVG);
    if (json && !(b->json = strcmp(json, "-") ? fopen(json, "we") : stdout))
        return error_errno(err, TDM_E_IO, "%s: can't be written", json);
    if (svg && mkdir(svg, 0777) && errno != EEXIST) return error_errno(err, TDM_E_IO, "%s: can't be made", svg);
    if (quiet(b)) return TDM_OK;
    print_command(b);
    printf("%scpu    %s\n%sstart  %s\n", markdown(b) ? "    " : "", b->host.cpu, markdown(b) ? "    " : "",
           b->host.start);
    fflush(stdout);
    return TDM_OK;
}

void bench_report_model(const bench *b)
{
    if (quiet(b)) return;
    const tdm_model_info *i = &b->info;
    printf("\n%s%s: %.0f M parameters, %s, %.0f MB packed, %.0f MB read a decoded token, %.2f GFLOP a prefilled one, "
           "kernels %s%s\n",
           markdown(b) ? "## " : "", b->model_name, 1e-6 * (double)i->parameters, i->weight_types,
           1e-6 * (double)i->packed_bytes, 1e-6 * (double)i->bytes_per_token, 1e-9 * (double)i->flops_per_token,
           i->kernels, i->synthetic ? "; made-up weights: the text is noise, the times are real" : "");
    printf("%sceilings just now: int8 %.0f Gop/s, bf16 %.0f, fp32 %.0f, reading %.1f GB/s\n", markdown(b) ? "\n" : "",
           1e-9 * b->host.peak[PANEL_INT8], 1e-9 * b->host.peak[PANEL_BF16], 1e-9 * b->host.peak[PANEL_F32],
           1e-9 * b->host.read);
    if (b->host.matrix_peak[PANEL_INT8] > 0)
        printf("on the matrix unit: int8 %.0f Gop/s, bf16 %.0f\n", 1e-9 * b->host.matrix_peak[PANEL_INT8],
               1e-9 * b->host.matrix_peak[PANEL_BF16]);
    fflush(stdout);
}

void bench_report_table(bench *b, const bench_table *t)
{
    if (b->json) bench_table_json(t, b->json);
    if (!quiet(b)) (markdown(b) ? bench_table_markdown : bench_table_print)(t, stdout);
    fflush(stdout);
}

void bench_report_suite(const bench *b, const char *before)
{
    char after[200];
    if (b->json) fflush(b->json);
    if (quiet(b)) return;
    bench_host_moment(after, sizeof after);
    printf("%s%s; before: %s; after: %s%s\n", markdown(b) ? "\n_Units: " : "  units: ", b->host.units, before, after,
           markdown(b) ? "_" : "");
    fflush(stdout);
}

/* "turns-gaps-synthetic-0.8b-q8_0.svg" */
static void chart_name(char *out, size_t room, const char *a, const char *b, const char *c)
{
    snprintf(out, room, "%s%s%s-%s.svg", a, b[0] ? "-" : "", b, c);
    for (char *at = out; *at; at++)
        if (*at == ':' || *at == '/' || *at == ' ') *at = '-';
}

static tdm_status write_chart(const char *folder, const char *name, const char *text, tdm_error *err)
{
    char *path = files_join(folder, name);
    if (!path) return error_set(err, TDM_E_NOMEM, "out of memory");
    FILE *f = fopen(path, "we");
    bool good = f && fputs(text, f) >= 0;
    if (f && fclose(f)) good = false;
    tdm_status status = good ? TDM_OK : error_errno(err, TDM_E_IO, "%s: can't be written", path);
    free(path);
    return status;
}

static tdm_status write_charts(const bench *b, const char *folder, tdm_error *err)
{
    char name[300];
    tdm_status status = TDM_OK;
    for (int i = 0; i < b->n_tables && !status; i++) {
        const bench_table *t = b->tables[i];
        char *text = bench_svg_table(t);
        if (!text) continue;
        chart_name(name, sizeof name, t->suite, t->part, t->model);
        status = write_chart(folder, name, text, err);
        free(text);
    }
    for (int i = 0; i < b->n_timelines && !status; i++) {
        chart_name(name, sizeof name, "timeline", "", b->timeline_names[i]);
        status = write_chart(folder, name, b->timelines[i], err);
    }
    return status;
}

tdm_status bench_report_close(bench *b, double seconds, tdm_error *err)
{
    const char *svg = options_text(b->o, OPTION_SVG);
    tdm_status status = svg ? write_charts(b, svg, err) : TDM_OK;
    if (b->json && b->json != stdout && fclose(b->json) && !status)
        status = error_errno(err, TDM_E_IO, "%s: can't be written", options_text(b->o, OPTION_BENCH_JSON));
    if (!quiet(b)) printf("%s%.0f s in all\n", markdown(b) ? "\n" : "", seconds);
    b->json = NULL;
    return status;
}
