/* Sensors of a GPU: how busy it is, with the work of all programs, its memory, clock, temperature and power, as far as
 * its driver reports them: NVIDIA's by libnvidia-ml, amdgpu's and Intel's (i915, xe) by /sys.
 *
 * As with sensors.h nothing runs in the background, and each value is valid or has a one-line reason why not. A reading
 * may take some milliseconds, the first one of NVIDIA's library a tenth of a second: not for a thread that draws. */
#ifndef TANDEM_UNIT_GPU_SENSORS_H
#define TANDEM_UNIT_GPU_SENSORS_H

#include "engine/unit/sensors.h"

struct gpu_sensors_now {
    int64_t at_ns;
    struct sensor busy;         /* percent; Intel: of the time since the reading before in which it was not asleep */
    struct sensor memory_used;  /* bytes, of all programs */
    struct sensor memory_total;
    struct sensor mhz;          /* of the shaders */
    struct sensor celsius;
    struct sensor watts;        /* where the driver has only a counter of energy: mean since the reading before */
    struct sensor joules;       /* since gpu_sensors_open, by the driver's counter */
};

struct gpu_sensors;

/* pci: the place of the device, "0000:41:00.0"; "": nothing can be read. root: "", or the folder of a made-up tree.
 * nvml: NVIDIA's library, NULL for libnvidia-ml.so.1. A missing library is no error. NULL: out of memory. One thread at
 * a time. */
struct gpu_sensors *gpu_sensors_open(const char *pci, const char *root, const char *nvml);
void gpu_sensors_close(struct gpu_sensors *s); /* NULL is allowed */
/* now_ns is clock_ns(). */
void gpu_sensors_read(struct gpu_sensors *s, int64_t now_ns, struct gpu_sensors_now *out);

#endif
