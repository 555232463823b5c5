#include "src/watch/sensing.h"

#include <stdio.h>

static const int64_t second = 1000000000;

static bool rests(int64_t last_work_ns, int64_t now_ns)
{
    return now_ns - last_work_ns > SENSING_SETTLES_S * second;
}

static struct view_figure figure(const struct sensor *s)
{
    return (struct view_figure){.value = s->value, .valid = s->valid, .why = s->reason};
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
    s->free_gib = now->memory_free.valid ? now->memory_free.value / (1 << 30) : 0;
    snprintf(s->remedy, sizeof s->remedy, "%s", power->remedy[0] ? "^X w shows the command that allows it" : "");
}

void sensing_read(sensing *s, bool shown, int64_t last_work_ns, int64_t now_ns)
{
    struct sensors_now now;
    if (!shown || (s->read_ns && (now_ns - s->read_ns < second || rests(last_work_ns, s->read_ns)))) return;
    if (!s->sensors && !(s->sensors = sensors_open(s->root ? s->root : ""))) return;
    sensors_read(s->sensors, now_ns, &now);
    s->read_ns = now_ns;
    take(s, &now);
}

int64_t sensing_deadline(const sensing *s, bool shown, int64_t last_work_ns, int64_t now_ns)
{
    bool moves = s->power.valid || s->temperature.valid;
    return shown && moves && !rests(last_work_ns, now_ns) ? s->read_ns + second : INT64_MAX;
}

void sensing_close(sensing *s)
{
    sensors_close(s->sensors);
    s->sensors = NULL;
}
