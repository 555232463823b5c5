/* Private to the sensors of GPUs: one kind of driver, behind gpu_sensors.h. */
#ifndef TANDEM_UNIT_GPU_SOURCE_H
#define TANDEM_UNIT_GPU_SOURCE_H

#include "engine/unit/gpu_sensors.h"

/* A device's ascending counters; the differences between two readings give mean values. */
struct gpu_counters {
    bool has_joules, has_asleep;
    double joules, asleep_ms;
};

struct gpu_source {
    /* The device's sensors; NULL: it has another driver, or there is no memory. */
    void *(*open)(const char *pci, const char *root, const char *nvml);
    void (*close)(void *source);
    /* Sets the values that it knows; the others have the reason `none` already. */
    void (*read)(void *source, struct gpu_sensors_now *out, struct gpu_counters *counters);
    const char *none; /* the reason for a value that this driver can report but this device lacks */
};

extern const struct gpu_source gpu_source_nvml, gpu_source_amdgpu, gpu_source_intel;

void gpu_source_set(struct sensor *s, double value);
void gpu_source_absent(struct sensor *s, const char *reason);

#endif
