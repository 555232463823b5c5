#include "engine/unit/gpu_sensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/unit/gpu_source.h"
#include "engine/unit/sysfs.h"

struct gpu_sensors {
    const struct gpu_source *kind; /* NULL: nothing can be read */
    void *source;
    char none[96]; /* why */
    bool begun;    /* there was a reading */
    int64_t then_ns;
    struct gpu_counters first, then; /* at the first reading, at the one before */
};

void gpu_source_set(struct sensor *s, double value)
{
    *s = (struct sensor){.valid = true, .value = value};
}

void gpu_source_absent(struct sensor *s, const char *reason)
{
    *s = (struct sensor){.valid = false};
    snprintf(s->reason, sizeof s->reason, "%s", reason);
}

/* Gives the reason why a device has no sensors here. */
static void say_none(struct gpu_sensors *s, const char *pci, const char *root)
{
    char vendor[16];
    const char *why = "its driver has no sensors that Tandem knows";
    if (!pci[0])
        why = "the driver does not tell which device it is";
    else if (sysfs_text(root, vendor, sizeof vendor, "/sys/bus/pci/devices/%s/vendor", pci) &&
             !strcmp(vendor, "0x10de"))
        why = "libnvidia-ml.so.1 is not installed, or does not know this device";
    snprintf(s->none, sizeof s->none, "%s", why);
}

struct gpu_sensors *gpu_sensors_open(const char *pci, const char *root, const char *nvml)
{
    static const struct gpu_source *const kinds[] = {&gpu_source_amdgpu, &gpu_source_intel, &gpu_source_nvml};
    struct gpu_sensors *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    /* It becomes a part of paths. */
    if (strspn(pci, "0123456789abcdef:.") != strlen(pci) || strstr(pci, "..")) pci = "";
    for (size_t i = 0; pci[0] && !s->source && i < sizeof kinds / sizeof *kinds; i++) {
        s->source = kinds[i]->open(pci, root, nvml);
        if (s->source) s->kind = kinds[i];
    }
    if (s->source) snprintf(s->none, sizeof s->none, "%s", s->kind->none);
    else say_none(s, pci, root);
    return s;
}

void gpu_sensors_close(struct gpu_sensors *s)
{
    if (s && s->source) s->kind->close(s->source);
    free(s);
}

/* The means of what the counters count. */
static void read_counters(struct gpu_sensors *s, const struct gpu_counters *now, struct gpu_sensors_now *out)
{
    double seconds = 1e-9 * (double)(out->at_ns - s->then_ns);
    bool again = s->begun && seconds > 0;
    if (!s->begun) s->first = *now;
    if (now->has_joules && s->first.has_joules) gpu_source_set(&out->joules, now->joules - s->first.joules);
    if (now->has_joules && !out->watts.valid) {
        if (again && s->then.has_joules) gpu_source_set(&out->watts, (now->joules - s->then.joules) / seconds);
        else gpu_source_absent(&out->watts, "needs a second reading");
    }
    if (now->has_asleep && !out->busy.valid) {
        double awake = 100 - 0.1 * (now->asleep_ms - s->then.asleep_ms) / seconds;
        if (again && s->then.has_asleep) gpu_source_set(&out->busy, awake < 0 ? 0 : awake > 100 ? 100 : awake);
        else gpu_source_absent(&out->busy, "needs a second reading");
    }
    s->then = *now;
    s->then_ns = out->at_ns;
    s->begun = true;
}

void gpu_sensors_read(struct gpu_sensors *s, int64_t now_ns, struct gpu_sensors_now *out)
{
    struct gpu_counters counters = {0};
    *out = (struct gpu_sensors_now){.at_ns = now_ns};
    struct sensor *all[] = {&out->busy, &out->memory_used, &out->memory_total, &out->mhz,
                            &out->celsius, &out->watts, &out->joules};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) gpu_source_absent(all[i], s->none);
    if (!s->source) return;
    s->kind->read(s->source, out, &counters);
    read_counters(s, &counters, out);
}
