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

void sensing_read(sensing *s, bool shown, int64_t last_work_ns, int64_t now_ns, const char *prefill,
                  const char *decode)
{
    struct sensors_now now;
    if (!shown || (s->read_ns && (now_ns - s->read_ns < second || rests(last_work_ns, s->read_ns)))) return;
    if (!s->sensors && !(s->sensors = sensors_open(s->root ? s->root : ""))) return;
    sensors_read(s->sensors, now_ns, &now);
    s->read_ns = now_ns;
    take(s, &now);
    take_cores(s, &now, prefill, decode);
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
    bool moves = s->power.valid || s->temperature.valid;
    return shown && moves && !rests(last_work_ns, now_ns) ? s->read_ns + second : INT64_MAX;
}

void sensing_close(sensing *s)
{
    sensors_close(s->sensors);
    free(s->cores);
    s->sensors = NULL;
    s->cores = NULL;
    s->n_cores = 0;
}
