#include "src/models/ceilings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/base/harmless.h"
#include "engine/json/write.h"
#include "engine/os/atomic_file.h"
#include "engine/os/file.h"
#include "src/files/files.h"

enum { FORMAT = 1, LONGEST_FILE = 1 << 16 };

static const char *const arithmetics[TDM_ARITHMETICS] = {[TDM_F32] = "fp32", [TDM_BF16] = "bf16", [TDM_INT8] = "int8"};
static const char *const places[TDM_UNITS + 1] = {"prefill", "decode", "all"};

static tdm_ceiling *place(tdm_ceilings *c, int i)
{
    return i < TDM_UNITS ? &c->unit[i] : &c->all;
}

/* ---- The file -------------------------------------------------------------------------------------------------- */

char *ceilings_write(const ceilings *c, const char *processor, size_t *n)
{
    tdm_ceilings copy = c->value;
    json_object *o = json_new_object();
    json_add_int(o, "format", FORMAT);
    json_add_string(o, "processor", processor);
    json_add_int(o, "measured", c->when);
    for (int i = 0; i <= TDM_UNITS; i++) {
        const tdm_ceiling *one = place(&copy, i);
        json_object *each = json_new_object();
        for (int a = 0; a < TDM_ARITHMETICS; a++) json_add_real(each, arithmetics[a], one->operations[a]);
        json_add_real(each, "bytes", one->bytes);
        json_add(o, places[i], each);
    }
    struct buffer text = {0};
    bool whole = !json_write_line(o, &text, NULL);
    json_free(o);
    if (!whole) buffer_free(&text);
    *n = text.n;
    return text.bytes;
}

/* A speed of a real machine: beyond a million times the fastest of today the file is wrong. */
static bool read_speed(json_object *o, const char *key, double *out)
{
    *out = json_real(o, key, 0);
    return *out > 0 && *out < 1e21;
}

/* All the speeds of a place, or 0 for all: it was not measured. */
static bool read_place(json_object *o, tdm_ceiling *c)
{
    int known = read_speed(o, "bytes", &c->bytes);
    for (int a = 0; a < TDM_ARITHMETICS; a++) known += read_speed(o, arithmetics[a], &c->operations[a]);
    bool none = o && c->bytes == 0;
    for (int a = 0; a < TDM_ARITHMETICS; a++) none = none && c->operations[a] == 0;
    return none || known == TDM_ARITHMETICS + 1;
}

bool ceilings_read(ceilings *out, const char *processor, const char *text, size_t n)
{
    json_object *o;
    tdm_ceilings found = {0};
    if (json_parse(&o, "ceilings", text, n, JSON_UTF8, NULL)) return false;
    const char *whose = json_text(o, "processor", NULL);
    bool good = json_int(o, "format", 0) == FORMAT && whose && !strcmp(whose, processor);
    for (int i = 0; i <= TDM_UNITS && good; i++)
        good = read_place(json_member(o, places[i], JSON_OBJECT), place(&found, i));
    int64_t when = good ? json_int(o, "measured", 0) : 0;
    json_free(o);
    if (good) *out = (ceilings){true, found, when};
    return good;
}

/* ---- Keeping --------------------------------------------------------------------------------------------------- */

/* All that the figures depend on: the description of the processor, the kernel set, the units. malloc'ed. */
static char *processor_of(const tdm_machine *m, const char *kernels)
{
    tdm_unit_info unit[TDM_UNITS];
    const char *set;
    char *cpu = NULL, *all = NULL;
    if (tdm_kernels_name(kernels, &set, NULL) || tdm_cpu_describe(&cpu, NULL)) return NULL;
    for (int u = 0; u < TDM_UNITS; u++) tdm_unit_describe(m, u, &unit[u]);
    if (asprintf(&all, "%skernels %s, prefill %s, decode %s", cpu, set, unit[TDM_PREFILL_UNIT].name,
                 unit[TDM_DECODE_UNIT].name) < 0)
        all = NULL;
    free(cpu);
    return all;
}

static char *path_of(const char *processor)
{
    char name[64];
    uint64_t hash = fnv_bytes(FNV_START, processor, strlen(processor));
    snprintf(name, sizeof name, "ceilings-%016llx.json", (unsigned long long)hash);
    return files_path(FILES_CACHE, name);
}

void ceilings_recall(ceilings *c, const tdm_machine *m, const char *kernels)
{
    char *processor = processor_of(m, kernels), *path = processor ? path_of(processor) : NULL, *text = NULL;
    size_t n;
    *c = (ceilings){0};
    struct stat st;
    if (path && !stat(path, &st) && !files_read_text(path, LONGEST_FILE, &text, &n, NULL)) {
        ceilings_read(c, processor, text, n);
        if (c->known && !c->when) c->when = (int64_t)st.st_mtime; /* earlier programs wrote no date */
    }
    free(text);
    free(path);
    free(processor);
}

static tdm_status keep(const ceilings *c, const tdm_machine *m, const char *kernels, tdm_error *err)
{
    char *processor = processor_of(m, kernels), *path = processor ? path_of(processor) : NULL;
    size_t n;
    char *text = path ? ceilings_write(c, processor, &n) : NULL;
    tdm_status status = text ? TDM_OK
                        : path ? error_set(err, TDM_E_NOMEM, "out of memory")
                               : error_set(err, TDM_E_IO, "neither XDG_CACHE_HOME nor HOME is set");
    if (!status) {
        char *name = strrchr(path, '/');
        *name = 0;
        status = file_make_folders(path, 0700, err);
        *name = '/';
    }
    if (!status) status = atomic_file_put(path, text, n, err);
    free(text);
    free(path);
    free(processor);
    return status;
}

tdm_status ceilings_measure(ceilings *c, tdm_machine *m, const char *kernels, tdm_progress progress, void *progress_ctx,
                            tdm_error *kept_err, tdm_error *err)
{
    tdm_ceilings value;
    if (kept_err) kept_err->code = TDM_OK;
    tdm_status status = tdm_machine_measure(m, kernels, progress, progress_ctx, &value, err);
    if (status) return status;
    *c = (ceilings){true, value, (int64_t)time(NULL)};
    if (kept_err) keep(c, m, kernels, kept_err);
    return TDM_OK;
}

ceilings_memory ceilings_memory_of(const ceilings *c)
{
    return c->known ? (ceilings_memory){c->value.all.bytes, c->when} : (ceilings_memory){0};
}

tdm_status ceilings_memory_now(ceilings_memory *out, const ceilings *c, tdm_machine *m, tdm_error *err)
{
    *out = ceilings_memory_of(c);
    if (c->known) return TDM_OK;
    out->when = (int64_t)time(NULL);
    return tdm_machine_measure_reading(m, &out->bytes_per_s, err);
}

/* ---- Using ----------------------------------------------------------------------------------------------------- */

char *ceilings_text(const ceilings *c, const tdm_machine *m)
{
    static const char *const names[] = {"PREFILL", "DECODE", "both"};
    struct buffer_stream s;
    FILE *out = buffer_stream_open(&s);
    tdm_ceilings value = c->value;
    if (!out) return NULL;
    tdm_unit_info info[TDM_UNITS];
    for (int i = 0; i < TDM_UNITS; i++) tdm_unit_describe(m, i, &info[i]);
    harmless_print(out, "ceilings of PREFILL (%s) and DECODE (%s): GOP/s of each type, GB/s of memory\n",
                   info[TDM_PREFILL_UNIT].name, info[TDM_DECODE_UNIT].name);
    harmless_print(out, "%-7s%7s%7s%7s%8s\n", "", "fp32", "bf16", "int8", "memory");
    for (int i = 0; i <= TDM_UNITS; i++) {
        const tdm_ceiling *each = place(&value, i);
        harmless_print(out, "%-7s", names[i]);
        if (each->bytes == 0) {
            harmless_print(out, " not measured: %s\n", i < TDM_UNITS ? info[i].device : "neither computes on cores");
            continue;
        }
        for (int a = 0; a < TDM_ARITHMETICS; a++) harmless_print(out, " %6.0f", each->operations[a] * 1e-9);
        harmless_print(out, " %7.1f\n", each->bytes * 1e-9);
    }
    return buffer_stream_close(&s, NULL);
}

double ceilings_operations(const ceilings *c, int unit, tdm_arithmetic a, ceilings_time t)
{
    if (!c->known || (unsigned)a >= TDM_ARITHMETICS) return 0;
    return t.own_s * c->value.unit[unit].operations[a] + t.all_s * c->value.all.operations[a];
}

double ceilings_bytes(const ceilings *c, int unit, ceilings_time t)
{
    return c->known ? t.own_s * c->value.unit[unit].bytes + t.all_s * c->value.all.bytes : 0;
}
