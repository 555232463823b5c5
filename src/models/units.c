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

enum { FORMAT = 3, LONGEST_FILE = 1 << 14, MAX_GPUS = 16 };

static const char *const names[UNITS_PAIRS] = {"cores + cores", "bfloat16 + cores", "GPU + cores",    "cores + GPU",
                                               "GPU + GPU",     "GPU + other GPU",  "other GPU + GPU"};
static const char *const keys[UNITS_PAIRS] = {"cores+cores", "bfloat16+cores", "gpu+cores", "cores+gpu",
                                              "gpu+gpu",     "gpu+other",      "other+gpu"};

int units_gpu_of(units_pair pair, int unit)
{
    static const int places[UNITS_PAIRS][TDM_UNITS] = {{-1, -1}, {-1, -1}, {0, -1}, {-1, 0}, {0, 0}, {0, 1}, {1, 0}};
    return places[pair][unit];
}

/* ---- The choice -------------------------------------------------------------------------------------------------- */

/* What keeps a pair from taking another's place by how it reads. */
enum lack { LACKS_NOTHING, LACKS_FIGURES, LACKS_WAIT, LACKS_WRITING, LACKS_READING, LACKS_SHORT };

/* felt: the longest wait that is like the shortest. */
static enum lack lack_of(const units_row *r, const units_row *other, double felt)
{
    if (r->read_tps <= 0 || r->short_tps <= 0 || other->read_tps <= 0 || other->short_tps <= 0) return LACKS_FIGURES;
    if (r->ttft_ms > felt) return LACKS_WAIT;
    if (1.05 * r->decode_tps < other->decode_tps) return LACKS_WRITING;
    if (r->read_tps <= 1.1 * other->read_tps) return LACKS_READING;
    return 1.1 * r->short_tps < other->short_tps ? LACKS_SHORT : LACKS_NOTHING;
}

struct choice {
    units_pair best;
    bool by_reading;   /* it took the place of one that waits and writes alike */
    units_pair beside; /* with which the pair in bfloat16 was compared */
    enum lack bf16_lacks;
};

static struct choice choose(const units_measured *m)
{
    struct choice c = {.bf16_lacks = LACKS_FIGURES};
    double shortest = INFINITY;
    for (int i = 0; i < UNITS_PAIRS; i++)
        if (m->row[i].known && i != UNITS_BF16_CORES) shortest = fmin(shortest, m->row[i].ttft_ms);
    double felt = fmax(1.1 * shortest, shortest + 5);
    int best = -1;
    for (int i = 0; i < UNITS_PAIRS; i++) {
        if (!m->row[i].known || m->row[i].ttft_ms > felt || i == UNITS_BF16_CORES) continue;
        if (best < 0 || m->row[i].decode_tps > 1.05 * m->row[best].decode_tps) best = i;
    }
    if (best < 0) return c;
    c.best = (units_pair)best;
    for (int i = 0; i < UNITS_PAIRS; i++) {
        if (!m->row[i].known) continue;
        enum lack lack = lack_of(&m->row[i], &m->row[c.best], felt);
        if (i == UNITS_BF16_CORES) c.beside = c.best, c.bf16_lacks = lack;
        if (lack == LACKS_NOTHING) c.best = (units_pair)i, c.by_reading = true;
    }
    return c;
}

units_pair units_best(const units_measured *m)
{
    return choose(m).best;
}

void units_tell(const units_measured *m, char *out, size_t room)
{
    struct choice choice = choose(m);
    units_pair best = choice.best;
    const units_row *b = &m->row[best], *c = &m->row[UNITS_CORES_CORES];
    const char *gpu = m->gpu[0].name;
    if (best == UNITS_CORES_CORES)
        snprintf(out, room, "units measured with this model: the cores stay (%.3g tokens/s; %s%s%s %s tried)",
                 b->decode_tps, m->matrix ? "bfloat16" : "", m->matrix && gpu[0] ? " and " : "", gpu,
                 m->matrix && gpu[0] ? "were" : "was");
    else if (choice.by_reading)
        snprintf(out, room,
                 "units measured with this model: %s is best, it reads %.*f tokens/s (cores + cores: %.*f); taken from "
                 "the next start on; /units has the table",
                 names[best], b->read_tps < 10, b->read_tps, c->read_tps < 10, c->read_tps);
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

static double by_reading(const units_row *r)
{
    return r->read_tps > 0 ? -r->read_tps : INFINITY;
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

static void tell_row(FILE *out, const char *name, const units_row *r, bool reads)
{
    fprintf(out, "%-16s %8.2g ms %7.3g", name, r->ttft_ms, r->decode_tps);
    if (r->read_tps > 0 && r->short_tps > 0)
        fprintf(out, " %7.*f %9.*f", r->read_tps < 10, r->read_tps, r->short_tps < 10, r->short_tps);
    else if (reads)
        fprintf(out, " %7s %9s", "-", "-");
    fputs(" tok/s", out);
    if (r->read_watts > 0 && r->write_watts > 0) fprintf(out, " %5.0f W %5.0f W", r->read_watts, r->write_watts);
    fputc('\n', out);
}

static void tell_bf16(FILE *out, const units_measured *m, const struct choice *c)
{
    static const char *const why[] = {[LACKS_NOTHING] = "another pair reads faster still",
                                      [LACKS_FIGURES] = "it is not known how fast it reads",
                                      [LACKS_WAIT] = "it is longer until the first token",
                                      [LACKS_WRITING] = "it writes slower",
                                      [LACKS_READING] = "it does not read a prompt faster by more than a tenth",
                                      [LACKS_SHORT] = "it reads a short message slower"};
    const units_row *r = &m->row[UNITS_BF16_CORES], *other = &m->row[c->beside];
    if (!r->known) {
        fprintf(out, "%s: not taken, it could not be measured\n", names[UNITS_BF16_CORES]);
        return;
    }
    fprintf(out, "%s beside %s: ", names[UNITS_BF16_CORES], names[c->beside]);
    if (c->bf16_lacks != LACKS_FIGURES)
        fprintf(out, "a prompt is read %.2f times as fast, a short message %.2f times: ", r->read_tps / other->read_tps,
                r->short_tps / other->short_tps);
    if (c->best == UNITS_BF16_CORES)
        fputs("taken\n", out);
    else
        fprintf(out, "not taken, %s\n", why[c->bf16_lacks]);
}

/* What stands for the words in the names of pairs. */
static void tell_devices(FILE *out, const units_measured *m)
{
    fputs("pairs measured with this model, PREFILL + DECODE (", out);
    if (m->matrix) fputs("bfloat16: cores with the matrix unit", out);
    if (m->gpu[0].name[0]) fprintf(out, "%sGPU: %s", m->matrix ? "; " : "", m->gpu[0].name);
    if (m->gpu[1].name[0]) fprintf(out, "; other: %s", m->gpu[1].name);
    fputs(")\n", out);
}

char *units_table(const units_measured *m)
{
    struct buffer_stream s;
    FILE *out = buffer_stream_open(&s);
    int wait = best_by(m, by_wait), speed = best_by(m, by_speed), prompt = best_by(m, by_reading);
    int reading = best_by(m, by_reading_power), writing = best_by(m, by_writing_power);
    struct choice c = choose(m);
    if (!out) return NULL;
    tell_devices(out, m);
    fprintf(out, "%-16s %11s %7s", "", "first token", "reply");
    if (prompt >= 0) fprintf(out, " %7s %9s", "prompt", "short one");
    if (reading >= 0)
        fprintf(out, "       reading writing, power of %s", m->processor ? "processor and GPU" : "the GPU alone");
    fputc('\n', out);
    for (int i = 0; i < UNITS_PAIRS; i++)
        if (m->row[i].known) tell_row(out, names[i], &m->row[i], prompt >= 0);
    if (wait >= 0) fprintf(out, "shortest wait: %s; fastest reply: %s; ", names[wait], names[speed]);
    if (wait >= 0 && prompt >= 0) fprintf(out, "fastest reading: %s; ", names[prompt]);
    if (wait >= 0) fprintf(out, "taken: %s\n", names[c.best]);
    if (m->matrix) tell_bf16(out, m, &c);
    if (reading >= 0 && writing >= 0 && m->processor)
        fprintf(out, "least power to read: %s; least energy of a token: %s\n", names[reading], names[writing]);
    return buffer_stream_close(&s, NULL);
}

static bool names_one(const options *o, option_id id)
{
    return option_belongs(id, o->command) && options_given(o, id);
}

bool units_are_open(const options *o)
{
    static const option_id named[] = {OPTION_PREFILL_UNIT, OPTION_DECODE_UNIT, OPTION_PREFILL_KIND,
                                      OPTION_DECODE_KIND,  OPTION_THREADS,     OPTION_PREFILL_MODEL};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (names_one(o, named[i])) return false;
    return true;
}

bool units_have_matrix(const options *o, const tdm_model_info *model)
{
    return model->kernels && !strcmp(model->kernels, "amx") && !names_one(o, OPTION_KERNELS);
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
    *out = (units_row){.known = true,
                       .ttft_ms = json_real(o, "ttft_ms", -1),
                       .decode_tps = json_real(o, "decode_tps", -1),
                       .read_tps = json_real(o, "read_tps", 0),
                       .short_tps = json_real(o, "short_tps", 0),
                       .read_watts = json_real(o, "read_watts", 0),
                       .write_watts = json_real(o, "write_watts", 0)};
    const double figures[] = {out->ttft_ms, out->decode_tps, out->read_tps, out->short_tps};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (!(figures[i] >= 0 && figures[i] < 1e9)) return false;
    return true;
}

static const char *const gpu_keys[UNITS_GPUS] = {"gpu", "other"};
static const char *const identity_keys[UNITS_GPUS] = {"identity", "other_identity"};

/* Without a matrix unit the first one is always there. */
static bool read_gpu(json_object *o, int i, units_measured *out)
{
    const char *gpu = json_text(o, gpu_keys[i], NULL), *identity = json_text(o, identity_keys[i], NULL);
    if (!gpu || !identity) return i > 0 || out->matrix;
    snprintf(out->gpu[i].name, sizeof out->gpu[i].name, "%s", gpu);
    out->gpu[i].identity = strtoull(identity, NULL, 16);
    return true;
}

bool units_recall(units_measured *out, uint64_t fingerprint, bool matrix)
{
    char *path = path_of(fingerprint), *text = NULL;
    json_object *o = NULL;
    size_t n;
    *out = (units_measured){0};
    bool good = path && !files_read_text(path, LONGEST_FILE, &text, &n, NULL) &&
                !json_parse(&o, path, text, n, JSON_UTF8, NULL);
    if (good) {
        out->matrix = json_int(o, "matrix_unit", 0);
        good = json_int(o, "format", 0) == FORMAT && out->matrix == matrix;
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
    json_add_int(o, "matrix_unit", m->matrix);
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
        if (m->row[i].read_tps > 0) json_add_real(row, "read_tps", m->row[i].read_tps);
        if (m->row[i].short_tps > 0) json_add_real(row, "short_tps", m->row[i].short_tps);
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

bool units_choose(uint64_t fingerprint, bool matrix, units_choice *out)
{
    units_measured m;
    tdm_gpu_info gpus[MAX_GPUS];
    int considered[UNITS_GPUS];
    *out = (units_choice){0};
    if (!units_recall(&m, fingerprint, matrix)) return false;
    units_pair pair = units_best(&m);
    if (pair == UNITS_BF16_CORES) out->prefill_kind = UNITS_BF16;
    if (pair == UNITS_CORES_CORES || pair == UNITS_BF16_CORES)
        return out->prefill_kind; /* then the devices need not be looked for */
    int n = tdm_gpu_list(gpus, MAX_GPUS), found = units_gpus(gpus, n < MAX_GPUS ? n : MAX_GPUS, considered);
    for (int u = 0; u < TDM_UNITS; u++) {
        int place = units_gpu_of(pair, u);
        if (place < 0) continue;
        if (place >= found || gpus[considered[place]].identity != m.gpu[place].identity) return false;
        snprintf(out->unit[u], UNITS_NAME, "gpu:%d", considered[place]);
    }
    return true;
}
