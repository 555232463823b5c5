/* `tandem bench power`: average and peak watts of each package while the machine rests, one unit prefills, one decodes,
 * or both work; joules per token. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/unit/sensors.h"
#include "src/bench/bench.h"
#include "src/bench/bench_loop.h"
#include "src/bench/bench_plan.h"

/* A package's power is a mean over a quarter of a second (engine/unit/sensors.h): reading faster tells nothing new. */
enum { SAMPLE_US = 250000, DECODE_ROOM = 64 };
#define PHASE_S 2.0
#define QUICK_PHASE_S 0.6

/* Reads the sensors while others work. */
struct sampler {
    struct sensors *sensors;
    atomic_bool stop;
    struct {
        char name[32];
        double sum, peak;
        int n;
    } package[SENSORS_ZONES];
    int packages;
    double joules;
};

static void sample(struct sampler *s, const struct sensors_now *now)
{
    for (int z = 0; z < now->zones; z++) {
        int p = 0;
        if (!now->zone[z].package || !now->zone[z].watts.valid) continue;
        while (p < s->packages && strcmp(s->package[p].name, now->zone[z].name)) p++;
        if (p == s->packages)
            snprintf(s->package[s->packages++].name, sizeof s->package->name, "%s", now->zone[z].name);
        double watts = now->zone[z].watts.value;
        s->package[p].sum += watts;
        s->package[p].peak = watts > s->package[p].peak ? watts : s->package[p].peak;
        s->package[p].n++;
    }
}

static void *sampler_run(void *ctx)
{
    struct sampler *s = ctx;
    struct sensors_now now;
    sensors_read(s->sensors, clock_ns(), &now);
    double before = now.joules.value;
    while (!atomic_load(&s->stop)) {
        usleep(SAMPLE_US);
        sensors_read(s->sensors, clock_ns(), &now);
        sample(s, &now);
    }
    s->joules = now.joules.value - before;
    return NULL;
}

enum phase { REST, PREFILL, DECODE, BOTH, PHASES };

/* Works, or rests, for some seconds with the sampler beside it; counts tokens. */
static tdm_status one_phase(enum phase phase, bench_loop *prefill, bench_loop *decode, struct sampler *s,
                            double *tokens, tdm_error *err)
{
    double tps, other_tps = 0;
    pthread_t thread;
    tdm_status status = TDM_OK;
    *s = (struct sampler){.sensors = s->sensors};
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

static const char *const names[PHASES] = {"rest", "prefill", "decode", "both"};

static tdm_status measure(bench *b, void *ctx, int phase, int round, tdm_error *err)
{
    struct power *x = ctx;
    struct sampler *s = &x->sampler;
    double tokens;
    (void)round;
    bench_step(b, "%s", names[phase]);
    tdm_status status = one_phase((enum phase)phase, &x->prefill, &x->decode, s, &tokens, err);
    for (int p = 0; p < s->packages && !status; p++) {
        int row = bench_table_row(x->t, "%s|%s", names[phase], s->package[p].name);
        bench_table_add(x->t, row, 0, s->package[p].sum / s->package[p].n);
        bench_table_add(x->t, row, 1, s->package[p].peak);
        if (tokens > 0 && p == 0) bench_table_add(x->t, row, 2, s->joules / tokens);
    }
    return status;
}

tdm_status bench_power(bench *b, tdm_error *err)
{
    struct power x = {.sampler.sensors = sensors_open(b->sensors_root)};
    if (!x.sampler.sensors) return error_set(err, TDM_E_NOMEM, "out of memory");
    x.t = bench_new_table(b, "", "power of each package; energy: of all packages, by prefilled and decoded tokens",
                          "phase|package", "average:W|peak:W|energy:J/token", err);
    if (!x.t || unreadable(x.t, x.sampler.sensors)) {
        b->wanted = true;
        sensors_close(x.sampler.sensors);
        return x.t ? TDM_OK : err->code;
    }
    static const int rank[PHASES] = {[DECODE] = 0, [PREFILL] = 1, [BOTH] = 2, [REST] = 3};
    tdm_machine *machine = NULL;
    tdm_ids ids = {0};
    double seconds = b->quick ? QUICK_PHASE_S : PHASE_S;
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
    for (int phase = 0; phase < PHASES; phase++)
        bench_plan_add(b, &plan, rank[phase], 0, seconds + 2e-6 * SAMPLE_US, "%s", names[phase]);
    if (!status) status = bench_plan_run(b, &plan, measure, &x, err);
    bench_plan_close(&plan);
    tdm_session_close(x.prefill.session);
    tdm_session_close(x.decode.session);
    tdm_machine_close(machine);
    sensors_close(x.sampler.sensors);
    tdm_ids_free(&ids);
    return status;
}
