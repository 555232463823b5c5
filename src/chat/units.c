#include "src/chat/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "engine/base/file.h"
#include "src/cli/files.h"
#include "src/cli/jsonio.h"

enum { FORMAT = 1, LONGEST_FILE = 1 << 14, MOST_GPUS = 16 };

static const char *const names[UNITS_PAIRS] = {"cores + cores", "GPU + cores", "cores + GPU", "GPU + GPU"};
static const char *const keys[UNITS_PAIRS] = {"cores+cores", "gpu+cores", "cores+gpu", "gpu+gpu"};

/* ---- The choice -------------------------------------------------------------------------------------------------- */

units_pair units_best(const units_measured *m)
{
    double shortest = INFINITY;
    for (int i = 0; i < UNITS_PAIRS; i++)
        if (m->row[i].known) shortest = fmin(shortest, m->row[i].ttft_ms);
    double felt = fmax(1.1 * shortest, shortest + 5);
    int best = -1;
    for (int i = 0; i < UNITS_PAIRS; i++) {
        if (!m->row[i].known || m->row[i].ttft_ms > felt) continue;
        if (best < 0 || m->row[i].decode_tps > 1.05 * m->row[best].decode_tps) best = i;
    }
    return best < 0 ? UNITS_CORES_CORES : (units_pair)best;
}

void units_tell(const units_measured *m, char *out, size_t room)
{
    units_pair best = units_best(m);
    const units_row *b = &m->row[best], *c = &m->row[UNITS_CORES_CORES];
    if (best == UNITS_CORES_CORES)
        snprintf(out, room, "units measured with this model: the cores stay (%.3g tokens/s; %s was tried)",
                 b->decode_tps, m->gpu);
    else
        snprintf(out, room,
                 "units measured with this model: %s is best, %.2g ms to the first token and %.3g tokens/s (cores + "
                 "cores: %.2g, %.3g); taken from the next start on",
                 names[best], b->ttft_ms, b->decode_tps, c->ttft_ms, c->decode_tps);
}

bool units_are_open(const options *o)
{
    static const option_id named[] = {OPTION_PREFILL_UNIT, OPTION_DECODE_UNIT, OPTION_PREFILL_KIND,
                                      OPTION_DECODE_KIND,  OPTION_THREADS,     OPTION_PREFILL_MODEL};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (option_belongs(named[i], o->command) && options_given(o, named[i])) return false;
    return true;
}

const tdm_gpu_info *units_gpu(const tdm_gpu_info *gpus, int n)
{
    for (int i = 0; i < n; i++)
        if (!gpus[i].software) return &gpus[i];
    return NULL;
}

/* ---- The file ---------------------------------------------------------------------------------------------------- */

static char *path_of(uint64_t fingerprint)
{
    char name[64];
    snprintf(name, sizeof name, "units-%016llx.json", (unsigned long long)fingerprint);
    return files_path(FILES_CACHE, name);
}

static bool read_row(json_object *o, units_row *out)
{
    if (!o) return true; /* this pair could not be measured */
    *out = (units_row){true, jsonio_real(o, "ttft_ms", -1), jsonio_real(o, "decode_tps", -1)};
    return out->ttft_ms >= 0 && out->ttft_ms < 1e9 && out->decode_tps >= 0 && out->decode_tps < 1e9;
}

bool units_recall(units_measured *out, uint64_t fingerprint)
{
    char *path = path_of(fingerprint), *text = NULL;
    json_object *o = NULL;
    size_t n;
    *out = (units_measured){0};
    bool good = path && !files_read(path, LONGEST_FILE, &text, &n, NULL) && !jsonio_parse(&o, path, text, n, NULL);
    if (good) {
        const char *gpu = jsonio_text(o, "gpu", NULL), *identity = jsonio_text(o, "identity", NULL);
        good = jsonio_int(o, "format", 0) == FORMAT && gpu && identity;
        for (int i = 0; i < UNITS_PAIRS && good; i++)
            good = read_row(jsonio_member(o, keys[i], json_type_object), &out->row[i]);
        if (good) snprintf(out->gpu, sizeof out->gpu, "%s", gpu);
        if (good) out->identity = strtoull(identity, NULL, 16);
        json_object_put(o);
    }
    free(text);
    free(path);
    return good;
}

tdm_status units_keep(const units_measured *m, uint64_t fingerprint, tdm_error *err)
{
    char *path = path_of(fingerprint);
    if (!path) return error_set(err, TDM_E_IO, "neither XDG_CACHE_HOME nor HOME is set");
    json_object *o = jsonio_object();
    jsonio_add_int(o, "format", FORMAT);
    jsonio_add_string(o, "gpu", m->gpu);
    jsonio_add_hash(o, "identity", m->identity);
    for (int i = 0; i < UNITS_PAIRS; i++) {
        if (!m->row[i].known) continue;
        json_object *row = jsonio_object();
        jsonio_add_real(row, "ttft_ms", m->row[i].ttft_ms);
        jsonio_add_real(row, "decode_tps", m->row[i].decode_tps);
        jsonio_add(o, keys[i], row);
    }
    char *name = strrchr(path, '/');
    *name = 0;
    tdm_status status = file_make_folders(path, 0700, err);
    *name = '/';
    struct buffer line = {0};
    if (!status) status = jsonio_line(o, &line, err);
    if (!status) status = atomic_file_put(path, line.bytes, line.n, err);
    buffer_free(&line);
    json_object_put(o);
    free(path);
    return status;
}

bool units_choose(uint64_t fingerprint, units_pair *pair, char *gpu, size_t room)
{
    units_measured m;
    tdm_gpu_info gpus[MOST_GPUS];
    if (!units_recall(&m, fingerprint)) return false;
    *pair = units_best(&m);
    if (*pair == UNITS_CORES_CORES) return false; /* so the devices need not be looked for */
    int n = tdm_gpu_list(gpus, MOST_GPUS);
    for (int i = 0; i < n && i < MOST_GPUS; i++) {
        if (gpus[i].identity != m.identity || gpus[i].software) continue;
        snprintf(gpu, room, "gpu:%d", i);
        return true;
    }
    return false;
}
