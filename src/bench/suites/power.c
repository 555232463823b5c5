/* `tandem bench power`: average and peak watts of each package while the machine rests, one unit prefills, one decodes,
 * or both work; joules per token. Where there is a GPU, the same of it and of the packages for every pair of units. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/unit/gpu_sensors.h"
#include "engine/unit/sensors.h"
#include "src/bench/bench.h"
#include "src/bench/loop.h"
#include "src/bench/report/plan.h"

/* A package's power is a mean over a quarter of a second (engine/unit/sensors.h): reading faster tells nothing new. */
enum { SAMPLE_US = 250000, DECODE_ROOM = 64 };
#define PHASE_S 2.0
#define QUICK_PHASE_S 0.6

/* What draws power: a package of the processor, or the GPU. */
struct source {
    char name[32];
    double sum, peak; /* of `n` samples of its watts */
    int n;
    double joules; /* by its counter; negative: it has none */
};

/* Reads the sensors while others work. */
struct sampler {
    struct sensors *sensors;
    struct gpu_sensors *gpu; /* NULL: only the packages are of interest */
    const char *gpu_name;
    atomic_bool stop;
    struct source of[SENSORS_ZONES + 1];
    int n;
    double seconds;
};

static struct source *source_of(struct sampler *s, const char *name)
{
    int i = 0;
    while (i < s->n && strcmp(s->of[i].name, name)) i++;
    if (i == s->n) {
        s->of[s->n++] = (struct source){.joules = -1};
        snprintf(s->of[i].name, sizeof s->of[i].name, "%s", name);
    }
    return &s->of[i];
}

static void add_sample(struct source *of, double watts)
{
    of->sum += watts;
    of->peak = watts > of->peak ? watts : of->peak;
    of->n++;
}

static void sample(struct sampler *s, const struct sensors_now *now, const struct gpu_sensors_now *gpu)
{
    for (int z = 0; z < now->zones; z++)
        if (now->zone[z].package && now->zone[z].watts.valid)
            add_sample(source_of(s, now->zone[z].name), now->zone[z].watts.value);
    if (s->gpu && gpu->watts.valid) add_sample(source_of(s, s->gpu_name), gpu->watts.value);
}

static void read_all(struct sampler *s, struct sensors_now *now, struct gpu_sensors_now *gpu)
{
    sensors_read(s->sensors, clock_ns(), now);
    if (s->gpu) gpu_sensors_read(s->gpu, clock_ns(), gpu);
}

static void *sampler_run(void *ctx)
{
    struct sampler *s = ctx;
    struct sensors_now now, first;
    struct gpu_sensors_now gpu = {0}, first_gpu;
    read_all(s, &now, &gpu);
    first = now;
    first_gpu = gpu;
    while (!atomic_load(&s->stop)) {
        usleep(SAMPLE_US);
        read_all(s, &now, &gpu);
        sample(s, &now, &gpu);
    }
    s->seconds = 1e-9 * (double)(now.at_ns - first.at_ns);
    for (int z = 0; z < now.zones && z < first.zones; z++)
        if (now.zone[z].package && now.zone[z].watts.valid)
            source_of(s, now.zone[z].name)->joules = now.zone[z].joules - first.zone[z].joules;
    if (s->gpu && gpu.joules.valid && first_gpu.joules.valid)
        source_of(s, s->gpu_name)->joules = gpu.joules.value - first_gpu.joules.value;
    return NULL;
}

/* What it drew in the phase: by its counter, else by the mean of its samples. */
static double joules_of(const struct sampler *s, const struct source *of)
{
    return of->joules >= 0 ? of->joules : of->n ? s->seconds * of->sum / of->n : 0;
}

enum phase { REST, PREFILL, DECODE, BOTH, PHASES };

/* Works, or rests, for some seconds with the sampler beside it; counts tokens. */
static tdm_status one_phase(enum phase phase, bench_loop *prefill, bench_loop *decode, struct sampler *s,
                            double *tokens, tdm_error *err)
{
    double tps, other_tps = 0;
    pthread_t thread;
    tdm_status status = TDM_OK;
    *s = (struct sampler){.sensors = s->sensors, .gpu = s->gpu, .gpu_name = s->gpu_name};
    *tokens = 0;
    if (pthread_create(&thread, NULL, sampler_run, s)) return error_set(err, TDM_E_NOMEM, "bench: no thread");
    if (phase == REST)
        usleep((useconds_t)(1e6 * decode->at_most_s));
    else
        status =
            bench_loop_run(phase == PREFILL ? prefill : decode, phase == BOTH ? prefill : NULL, &tps, &other_tps, err);
    atomic_store(&s->stop, true);
    pthread_join(thread, NULL);
    if (phase == PREFILL || phase == BOTH) *tokens += (double)atomic_load(&prefill->done);
    if (phase == DECODE || phase == BOTH) *tokens += (double)atomic_load(&decode->done);
    return status;
}

/* Why nothing is measured, as a note; false when something can be. */
static bool unreadable(bench_table *t, struct sensors *sensors)
{
    struct sensors_now now;
    sensors_read(sensors, clock_ns(), &now);
    if (now.joules.valid) return false;
    bench_table_note(t, "not measured: %s%s%s", now.joules.reason, now.joules.remedy[0] ? "; " : "", now.joules.remedy);
    return true;
}

struct power {
    bench_table *t;
    struct sampler sampler;
    bench_loop prefill, decode;
};

static double phase_s(const bench *b)
{
    return b->quick ? QUICK_PHASE_S : PHASE_S;
}

static const char *const names[PHASES] = {"rest", "prefill", "decode", "both"};

static tdm_status measure(bench *b, void *ctx, int phase, int round, tdm_error *err)
{
    struct power *x = ctx;
    struct sampler *s = &x->sampler;
    double tokens, joules = 0;
    (void)round;
    bench_step(b, "%s", names[phase]);
    tdm_status status = one_phase((enum phase)phase, &x->prefill, &x->decode, s, &tokens, err);
    for (int p = 0; p < s->n; p++) joules += joules_of(s, &s->of[p]);
    for (int p = 0; p < s->n && !status; p++) {
        if (!s->of[p].n) continue;
        int row = bench_table_row(x->t, "%s|%s", names[phase], s->of[p].name);
        bench_table_add(x->t, row, 0, s->of[p].sum / s->of[p].n);
        bench_table_add(x->t, row, 1, s->of[p].peak);
        if (tokens > 0 && p == 0) bench_table_add(x->t, row, 2, joules / tokens);
    }
    return status;
}

static void note_published(bench_table *t)
{
    bench_table_note(t, "published by the ancestor (M2 Ultra, 0.8B FP16): 62.05 W of the GPU while it prefills, 14.17 "
                        "while it decodes, 0.22 while the Neural Engine prefills, which draws 1.58");
}

static tdm_status power_of_packages(bench *b, tdm_error *err)
{
    struct power x = {.sampler.sensors = sensors_open(b->sensors_root)};
    if (!x.sampler.sensors) return error_set(err, TDM_E_NOMEM, "out of memory");
    x.t = bench_new_table(b, "", "power of each package; energy: of all packages, by prefilled and decoded tokens",
                          "phase|package", "average:W|peak:W|energy:J/token", err);
    if (!x.t || unreadable(x.t, x.sampler.sensors)) {
        b->any_row_wanted = true;
        sensors_close(x.sampler.sensors);
        return x.t ? TDM_OK : err->code;
    }
    note_published(x.t);
    tdm_machine *machine = NULL;
    tdm_ids ids = {0};
    double seconds = phase_s(b);
    int context = BENCH_LOOP_PROMPT + DECODE_ROOM;
    tdm_status status = bench_machine(b, &machine, !options_flag(b->o, OPTION_NO_LENDING), err);
    if (!status) status = bench_prompt_ids(&b->prompt, b->models.model, 0, BENCH_LOOP_PROMPT, &ids, err);
    x.prefill = (bench_loop){.prompt = ids.ids, .at_most_s = seconds};
    x.decode = (bench_loop){.prompt = ids.ids, .decodes = true, .room = DECODE_ROOM, .at_most_s = seconds};
    if (!status)
        status = bench_session(b, &x.prefill.session, machine, TDM_PREFILL_UNIT, context, BENCH_LOOP_DISPATCH, err);
    if (!status)
        status = bench_session(b, &x.decode.session, machine, TDM_DECODE_UNIT, context, BENCH_LOOP_DISPATCH, err);
    bench_plan plan;
    bench_plan_open(&plan, x.t);
    for (int phase = 0; phase < PHASES; phase++) bench_plan_add(b, &plan, "%s", names[phase]);
    if (!status) status = bench_plan_run(b, &plan, measure, &x, err);
    bench_plan_close(&plan);
    tdm_sequence_close(x.prefill.session);
    tdm_sequence_close(x.decode.session);
    tdm_machine_close(machine);
    sensors_close(x.sampler.sensors);
    tdm_ids_free(&ids);
    return status;
}

/* ---- Units of every kind ----------------------------------------------------------------------------------------- */

/* The phases of the pairs, the most telling first; what the machine draws at rest no pair changes. */
static const enum phase pair_phases[] = {DECODE, PREFILL, BOTH};
enum { PAIR_PHASES = sizeof pair_phases / sizeof *pair_phases };

struct pair_power {
    struct power power;
    const bench_pairs *pairs;
};

static tdm_status measure_pair(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    struct pair_power *y = ctx;
    struct power *x = &y->power;
    struct sampler *s = &x->sampler;
    const bench_pair *pair = &y->pairs->pair[number / PAIR_PHASES];
    enum phase phase = pair_phases[number % PAIR_PHASES];
    double tokens;
    (void)round;
    bench_step(b, "%s, %s", pair->name, names[phase]);
    x->prefill.session = pair->session[TDM_PREFILL_UNIT];
    x->decode.session = pair->session[TDM_DECODE_UNIT];
    tdm_status status = one_phase(phase, &x->prefill, &x->decode, s, &tokens, err);
    for (int p = 0; p < s->n && !status; p++) {
        int row = bench_table_row(x->t, "%s|%s|%s", pair->name, names[phase], s->of[p].name);
        if (s->of[p].n) bench_table_add(x->t, row, 0, s->of[p].sum / s->of[p].n);
        if (s->of[p].n) bench_table_add(x->t, row, 1, s->of[p].peak);
        if (tokens > 0) bench_table_add(x->t, row, 2, joules_of(s, &s->of[p]) / tokens);
        if (tokens > 0 && s->seconds > 0) bench_table_add(x->t, row, 3, tokens / s->seconds);
    }
    return status;
}

/* Adds a note that names the values that can't be measured; false: none can. */
static bool note_unknown(const bench *b, bench_table *t, struct sampler *s)
{
    struct sensors_now now;
    struct gpu_sensors_now gpu;
    read_all(s, &now, &gpu);
    if (!now.joules.valid)
        bench_table_note(t, "packages: unknown: %s%s%s", now.joules.reason, now.joules.remedy[0] ? "; " : "",
                         now.joules.remedy);
    usleep(2000); /* power by a counter needs two readings */
    gpu_sensors_read(s->gpu, clock_ns(), &gpu);
    if (!gpu.watts.valid && !gpu.joules.valid)
        bench_table_note(t, "%s: unknown: %s", s->gpu_name,
                         b->host.gpu_software ? "it runs on the cores, what it draws the packages do"
                                              : gpu.watts.reason);
    return now.joules.valid || gpu.watts.valid || gpu.joules.valid;
}

static tdm_status power_of_pairs(bench *b, tdm_error *err)
{
    struct pair_power y = {0};
    struct power *x = &y.power;
    const char *rows[PAIR_PHASES + 1] = {NULL};
    for (int i = 0; i < PAIR_PHASES; i++) rows[i] = names[pair_phases[i]];
    if (!bench_pairs_wanted(b, rows)) return TDM_OK;
    x->t = bench_new_table(b, "pairs", "PREFILL+DECODE on each kind of unit: power and energy of packages and GPU; "
                           "energy: of each, by the tokens of the phase",
                           "units|phase|of", "average:W|peak:W|energy:J/token|speed:tok/s", err);
    if (!x->t) return err->code;
    x->sampler = (struct sampler){.sensors = sensors_open(b->sensors_root),
                                  .gpu = gpu_sensors_open(b->host.gpu_pci, b->sensors_root, NULL),
                                  .gpu_name = b->host.gpu};
    tdm_ids ids = {0};
    bench_plan plan;
    bench_plan_open(&plan, x->t);
    note_published(x->t);
    tdm_status status = x->sampler.sensors && x->sampler.gpu ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
    bool known = !status && note_unknown(b, x->t, &x->sampler);
    b->any_row_wanted |= !known;
    if (!status && known) status = bench_pairs_open(b, x->t, rows, &y.pairs, err);
    if (!status) status = bench_prompt_ids(&b->prompt, b->models.model, 0, BENCH_LOOP_PROMPT, &ids, err);
    x->prefill = (bench_loop){.prompt = ids.ids, .at_most_s = phase_s(b)};
    x->decode = (bench_loop){.prompt = ids.ids, .decodes = true, .room = DECODE_ROOM, .at_most_s = phase_s(b)};
    if (!status && known) bench_plan_add_pairs(b, &plan, rows, NULL);
    if (!status && known) status = bench_plan_run(b, &plan, measure_pair, &y, err);
    bench_plan_close(&plan);
    sensors_close(x->sampler.sensors);
    gpu_sensors_close(x->sampler.gpu);
    tdm_ids_free(&ids);
    return status;
}

tdm_status bench_power(bench *b, tdm_error *err)
{
    if (b->host.gpu[0]) bench_part(b, 0.25);
    tdm_status status = power_of_packages(b, err);
    if (b->host.gpu[0]) bench_part(b, 1);
    return status ? status : power_of_pairs(b, err);
}
