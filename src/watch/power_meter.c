#include "src/watch/power_meter.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/tandem.h"
#include "engine/unit/gpu_sensors.h"

enum { MAX_GPUS = 4, MAX_SENSORS = 64 };

struct power_meter {
    bool looked;
    tdm_sensors *machine;
    struct gpu_sensors *gpu[MAX_GPUS];
    int n_gpus;
};

power_meter *power_meter_open(void)
{
    return calloc(1, sizeof(power_meter));
}

void power_meter_close(power_meter *m)
{
    if (!m) return;
    tdm_sensors_close(m->machine);
    for (int i = 0; i < m->n_gpus; i++) gpu_sensors_close(m->gpu[i]);
    free(m);
}

static void look(power_meter *m)
{
    tdm_gpu_info gpus[MAX_GPUS];
    int n = tdm_gpu_list(gpus, MAX_GPUS);
    m->looked = true;
    m->machine = tdm_sensors_open();
    for (int i = 0; i < n && i < MAX_GPUS; i++) {
        struct gpu_sensors *s = gpus[i].software ? NULL : gpu_sensors_open(gpus[i].pci, "", NULL);
        if (s) m->gpu[m->n_gpus++] = s;
    }
}

double power_meter_watts(void *meter, bool *processor)
{
    power_meter *m = meter;
    tdm_sensor all[MAX_SENSORS];
    double watts = 0;
    int told = 0;
    if (!m->looked) look(m);
    size_t n = m->machine ? tdm_sensors_read(m->machine, all, MAX_SENSORS) : 0;
    *processor = false;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(all[i].name, "power") || !all[i].valid) continue;
        watts += all[i].value;
        *processor = true;
        told++;
    }
    for (int i = 0; i < m->n_gpus; i++) {
        struct gpu_sensors_now now;
        gpu_sensors_read(m->gpu[i], clock_ns(), &now);
        if (!now.watts.valid) continue;
        watts += now.watts.value;
        told++;
    }
    return told ? watts : -1;
}
