#include "src/models/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/json/write.h"
#include "engine/os/atomic_file.h"
#include "engine/os/file.h"
#include "src/files/files.h"

enum { FORMAT = 2, LONGEST_FILE = 1 << 14, MAX_GPUS = 16 };

static const char *const names[UNITS_PAIRS] = {"cores + cores", "GPU + cores",     "cores + GPU",
                                               "GPU + GPU",     "GPU + other GPU", "other GPU + GPU"};
static const char *const keys[UNITS_PAIRS] = {"cores+cores", "gpu+cores", "cores+gpu",
                                              "gpu+gpu",     "gpu+other", "other+gpu"};

int units_gpu_of(units_pair pair, int unit)
{
    static const int places[UNITS_PAIRS][TDM_UNITS] = {{-1, -1}, {0, -1}, {-1, 0}, {0, 0}, {0, 1}, {1, 0}};
    return places[pair][unit];
}

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
                 b->decode_tps, m->gpu[0].name);
    else
        snprintf(out, room,
                 "units measured with this model: %s is best, %.2g ms to the first token and %.3g tokens/s (cores + "
                 "cores: %.2g, %.3g); taken from the next start on; /units has the table",
                 names[best], b->ttft_ms, b->decode_tps, c->ttft_ms, c->decode_tps);
}

/* The measures by which a pair may be the best: the less the better. */
static double by_wait(const units_row *r)
{
    return r->ttft_ms;
}

static double by_speed(const units_row *r)
{
    return -r->decode_tps;
}

static double by_reading_power(const units_row *r)
{
    return r->read_watts > 0 ? r->read_watts : INFINITY;
}

static double by_writing_power(const units_row *r)
{
    return r->write_watts > 0 && r->decode_tps > 0 ? r->write_watts / r->decode_tps : INFINITY;
}

/* -1: of none it is known. */
static int best_by(const units_measured *m, double (*by)(const units_row *))
{
    int best = -1;
    for (int i = 0; i < UNITS_PAIRS; i++) {
        if (!m->row[i].known || by(&m->row[i]) >= INFINITY) continue;
        if (best < 0 || by(&m->row[i]) < by(&m->row[best])) best = i;
    }
    return best;
}

static void tell_row(FILE *out, const char *name, const units_row *r)
{
    fprintf(out, "%-16s %11.2g ms %6.3g tok/s", name, r->ttft_ms, r->decode_tps);
    if (r->read_watts > 0 && r->write_watts > 0) fprintf(out, " %6.0f W %6.0f W", r->read_watts, r->write_watts);
    fputc('\n', out);
}

char *units_table(const units_measured *m)
{
    struct buffer_stream s;
    FILE *out = buffer_stream_open(&s);
    int wait = best_by(m, by_wait), speed = best_by(m, by_speed);
    int reading = best_by(m, by_reading_power), writing = best_by(m, by_writing_power);
    if (!out) return NULL;
    fprintf(out, "pairs measured with this model, PREFILL + DECODE (GPU: %s", m->gpu[0].name);
    if (m->gpu[1].name[0]) fprintf(out, "; other: %s", m->gpu[1].name);
    fprintf(out, ")\n%-16s %14s %12s", "", "to first token", "reply");
    if (reading >= 0)
        fprintf(out, "  reading  writing, power of %s", m->processor ? "processor and GPU" : "the GPU alone");
    fputc('\n', out);
    for (int i = 0; i < UNITS_PAIRS; i++)
        if (m->row[i].known) tell_row(out, names[i], &m->row[i]);
    if (wait >= 0)
        fprintf(out, "shortest wait: %s; fastest reply: %s; taken: %s\n", names[wait], names[speed],
                names[units_best(m)]);
    if (reading >= 0 && writing >= 0 && m->processor)
        fprintf(out, "least power to read: %s; least energy of a token: %s\n", names[reading], names[writing]);
    return buffer_stream_close(&s, NULL);
}

bool units_are_open(const options *o)
{
    static const option_id named[] = {OPTION_PREFILL_UNIT, OPTION_DECODE_UNIT, OPTION_PREFILL_KIND,
                                      OPTION_DECODE_KIND,  OPTION_THREADS,     OPTION_PREFILL_MODEL};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (option_belongs(named[i], o->command) && options_given(o, named[i])) return false;
    return true;
}

int units_gpus(const tdm_gpu_info *gpus, int n, int out[UNITS_GPUS])
{
    int found = 0;
    for (int i = 0; i < n && found < UNITS_GPUS; i++)
        if (!gpus[i].software) out[found++] = i;
    return found;
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
    *out = (units_row){true, json_real(o, "ttft_ms", -1), json_real(o, "decode_tps", -1),
                       json_real(o, "read_watts", 0), json_real(o, "write_watts", 0)};
    return out->ttft_ms >= 0 && out->ttft_ms < 1e9 && out->decode_tps >= 0 && out->decode_tps < 1e9;
}

static const char *const gpu_keys[UNITS_GPUS] = {"gpu", "other"};
static const char *const identity_keys[UNITS_GPUS] = {"identity", "other_identity"};

/* The first one is always there. */
static bool read_gpu(json_object *o, int i, units_measured *out)
{
    const char *gpu = json_text(o, gpu_keys[i], NULL), *identity = json_text(o, identity_keys[i], NULL);
    if (!gpu || !identity) return i > 0;
    snprintf(out->gpu[i].name, sizeof out->gpu[i].name, "%s", gpu);
    out->gpu[i].identity = strtoull(identity, NULL, 16);
    return true;
}

bool units_recall(units_measured *out, uint64_t fingerprint)
{
    char *path = path_of(fingerprint), *text = NULL;
    json_object *o = NULL;
    size_t n;
    *out = (units_measured){0};
    bool good = path && !files_read_text(path, LONGEST_FILE, &text, &n, NULL) &&
                !json_parse(&o, path, text, n, JSON_UTF8, NULL);
    if (good) {
        good = json_int(o, "format", 0) == FORMAT;
        out->processor = json_int(o, "processor_power", 0);
        for (int i = 0; i < UNITS_GPUS && good; i++) good = read_gpu(o, i, out);
        for (int i = 0; i < UNITS_PAIRS && good; i++)
            good = read_row(json_member(o, keys[i], JSON_OBJECT), &out->row[i]);
        json_free(o);
    }
    free(text);
    free(path);
    return good;
}

tdm_status units_keep(const units_measured *m, uint64_t fingerprint, tdm_error *err)
{
    char *path = path_of(fingerprint);
    if (!path) return error_set(err, TDM_E_IO, "neither XDG_CACHE_HOME nor HOME is set");
    json_object *o = json_new_object();
    json_add_int(o, "format", FORMAT);
    json_add_int(o, "processor_power", m->processor);
    for (int i = 0; i < UNITS_GPUS; i++) {
        if (!m->gpu[i].name[0]) continue;
        json_add_string(o, gpu_keys[i], m->gpu[i].name);
        json_add_hash(o, identity_keys[i], m->gpu[i].identity);
    }
    for (int i = 0; i < UNITS_PAIRS; i++) {
        if (!m->row[i].known) continue;
        json_object *row = json_new_object();
        json_add_real(row, "ttft_ms", m->row[i].ttft_ms);
        json_add_real(row, "decode_tps", m->row[i].decode_tps);
        if (m->row[i].read_watts > 0) json_add_real(row, "read_watts", m->row[i].read_watts);
        if (m->row[i].write_watts > 0) json_add_real(row, "write_watts", m->row[i].write_watts);
        json_add(o, keys[i], row);
    }
    char *name = strrchr(path, '/');
    *name = 0;
    tdm_status status = file_make_folders(path, 0700, err);
    *name = '/';
    struct buffer line = {0};
    if (!status) status = json_write_text(o, &line, err);
    if (!status) status = atomic_file_put(path, line.bytes, line.n, err);
    buffer_free(&line);
    json_free(o);
    free(path);
    return status;
}

bool units_choose(uint64_t fingerprint, char unit[TDM_UNITS][UNITS_NAME])
{
    units_measured m;
    tdm_gpu_info gpus[MAX_GPUS];
    int considered[UNITS_GPUS];
    if (!units_recall(&m, fingerprint)) return false;
    units_pair pair = units_best(&m);
    if (pair == UNITS_CORES_CORES) return false; /* then the devices need not be looked for */
    int n = tdm_gpu_list(gpus, MAX_GPUS), found = units_gpus(gpus, n < MAX_GPUS ? n : MAX_GPUS, considered);
    for (int u = 0; u < TDM_UNITS; u++) {
        int place = units_gpu_of(pair, u);
        unit[u][0] = 0;
        if (place < 0) continue;
        if (place >= found || gpus[considered[place]].identity != m.gpu[place].identity) return false;
        snprintf(unit[u], UNITS_NAME, "gpu:%d", considered[place]);
    }
    return true;
}
