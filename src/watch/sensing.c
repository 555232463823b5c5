#include "src/watch/sensing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t second = 1000000000;

static bool rests(int64_t last_work_ns, int64_t now_ns)
{
    return now_ns - last_work_ns > SENSING_SETTLES_S * second;
}

static struct view_figure figure(const struct sensor *s)
{
    return (struct view_figure){.value = s->value, .valid = s->valid, .why = s->reason};
}

bool sensing_unit_has(const char *unit, int cpu)
{
    const char *at = unit ? strchr(unit, ':') : NULL;
    if (at) at++;
    while (at && *at >= '0' && *at <= '9') {
        char *end;
        long from = strtol(at, &end, 10), to = from;
        if (*end == '-') to = strtol(end + 1, &end, 10);
        if (cpu >= from && cpu <= to) return true;
        at = *end == ',' ? end + 1 : NULL;
    }
    return false;
}

static void take_cores(sensing *s, const struct sensors_now *now, const char *prefill, const char *decode)
{
    size_t n = (size_t)now->cores;
    struct view_core *cores = n ? realloc(s->cores, n * sizeof *cores) : NULL;
    s->n_cores = 0;
    if (!cores) return;
    s->cores = cores;
    for (; s->n_cores < n; s->n_cores++) {
        const struct sensor_core *c = &now->core[s->n_cores];
        cores[s->n_cores] = (struct view_core){
            .cpu = c->cpu,
            .unit = sensing_unit_has(prefill, c->cpu)  ? VIEW_CORE_PREFILL
                    : sensing_unit_has(decode, c->cpu) ? VIEW_CORE_DECODE
                                                       : VIEW_CORE_FREE,
            .busy = c->busy,
            .ghz = c->mhz / 1000,
        };
    }
}

static void take(sensing *s, const struct sensors_now *now)
{
    /* A package's own counter comes first; a battery tells what the whole machine draws. */
    const struct sensor *power = now->watts.valid || !now->battery_watts.valid ? &now->watts : &now->battery_watts;
    s->power = figure(power);
    snprintf(s->reason, sizeof s->reason, "%s", power->reason);
    s->power.why = s->reason;
    s->temperature = figure(&now->celsius);
    s->temperature.why = NULL;
    s->battery = figure(&now->battery);
    s->steal = figure(&now->steal);
    s->battery.why = s->steal.why = NULL;
    s->free_gib = now->memory_free.valid ? now->memory_free.value / (1 << 30) : 0;
    s->total_gib = now->memory_total.valid ? now->memory_total.value / (1 << 30) : 0;
    snprintf(s->remedy, sizeof s->remedy, "%s", power->remedy[0] ? "^X w shows the command that allows it" : "");
}

bool sensing_read(sensing *s, bool shown, int64_t last_work_ns, int64_t now_ns, const char *prefill,
                  const char *decode)
{
    struct sensors_now now;
    if (!shown || (s->read_ns && (now_ns - s->read_ns < second || rests(last_work_ns, s->read_ns)))) return false;
    s->read_ns = now_ns;
    if (!s->sensors && !(s->sensors = sensors_open(s->root ? s->root : ""))) return false;
    sensors_read(s->sensors, now_ns, &now);
    take(s, &now);
    take_cores(s, &now, prefill, decode);
    return true;
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

/* Another machine may be open than at the last call. */
static void take_unit(struct sensing_gpu *g, const tdm_unit_info *unit, int64_t now_ns)
{
    if (strcmp(g->about.device, unit->device) || strcmp(g->about.device_pci, unit->device_pci)) {
        gpu_sensing_close(g->sensors);
        *g = (struct sensing_gpu){0};
    }
    g->about = *unit;
    if (!unit->device_lost) g->lost_ns = 0;
    else if (!g->lost_ns) g->lost_ns = now_ns;
}

void sensing_read_gpus(sensing *s, const tdm_unit_info units[TDM_UNITS], bool due, int64_t now_ns)
{
    for (int u = 0; u < TDM_UNITS; u++) {
        struct sensing_gpu *g = &s->gpus[u];
        take_unit(g, &units[u], now_ns);
        if (!units[u].device[0] || units[u].device_software || (u && units[u].shares_device)) continue;
        if (!g->sensors && due) g->sensors = gpu_sensing_open(units[u].device_pci, s->root ? s->root : "", s->nvml);
        if (!g->sensors) continue;
        if (due) gpu_sensing_ask(g->sensors);
        g->known = gpu_sensing_take(g->sensors, &g->now);
    }
}

static struct view_figure in_units(const struct sensor *s, double unit)
{
    struct view_figure f = figure(s);
    f.value /= unit;
    return f;
}

struct view_gpu sensing_gpu(const sensing *s, int unit)
{
    enum { GIB = 1 << 30 };
    const struct sensing_gpu *g = &s->gpus[unit];
    const struct gpu_sensors_now *now = g->about.shares_device ? &s->gpus[0].now : &g->now;
    bool known = g->about.shares_device ? s->gpus[0].known : g->known;
    struct view_gpu out = {0};
    if (!g->about.device[0]) return out;
    out = (struct view_gpu){
        .device = g->about.device,
        .shared = g->about.shares_device,
        .lost_ns = g->lost_ns,
        .memory = {.value = (double)g->about.device_used / GIB, .valid = true},
        .total = {.value = (double)g->about.device_memory / GIB, .valid = g->about.device_memory > 0},
    };
    out.why = g->about.device_software ? "it runs on the cores" : "not yet";
    if (!known) return out;
    out.busy = figure(&now->busy);
    if (now->memory_used.valid) out.memory = in_units(&now->memory_used, GIB);
    if (now->memory_total.valid) out.total = in_units(&now->memory_total, GIB);
    out.ghz = in_units(&now->mhz, 1000);
    out.celsius = figure(&now->celsius);
    out.watts = figure(&now->watts);
    bool some = out.busy.valid || out.ghz.valid || out.celsius.valid || out.watts.valid;
    out.why = some ? NULL : now->busy.reason;
    return out;
}

bool sensing_battery_is_low(sensing *s, double percent, int64_t now_ns)
{
    struct sensors_now now;
    if (!s->sensors && !(s->sensors = sensors_open(s->root ? s->root : ""))) return false;
    sensors_read(s->sensors, now_ns, &now);
    return now.discharging && now.battery.valid && now.battery.value < percent;
}

int64_t sensing_deadline(const sensing *s, bool shown, int64_t last_work_ns, int64_t now_ns)
{
    bool moves = s->power.valid || s->temperature.valid || s->gpus[0].sensors || s->gpus[1].sensors;
    if (shown && !s->read_ns) return now_ns; /* also at rest: a form that shows them was just chosen */
    return shown && moves && !rests(last_work_ns, now_ns) ? s->read_ns + second : INT64_MAX;
}

void sensing_close(sensing *s)
{
    sensors_close(s->sensors);
    for (int u = 0; u < TDM_UNITS; u++) gpu_sensing_close(s->gpus[u].sensors);
    memset(s->gpus, 0, sizeof s->gpus);
    free(s->cores);
    s->sensors = NULL;
    s->cores = NULL;
    s->n_cores = 0;
}
