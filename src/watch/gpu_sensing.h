/* A GPU's sensors, read by a task (src/process/task.h): a reading may take longer than a frame. One thread uses it. */
#ifndef TANDEM_SRC_GPU_SENSING_H
#define TANDEM_SRC_GPU_SENSING_H

#include "engine/unit/gpu_sensors.h"

typedef struct gpu_sensing gpu_sensing;

/* As gpu_sensors_open; reads nothing before gpu_sensing_ask. NULL: no memory. */
gpu_sensing *gpu_sensing_open(const char *pci, const char *root, const char *nvml);
void gpu_sensing_close(gpu_sensing *g); /* waits for the reading under way; NULL is allowed */
/* Begins a reading, unless one is under way. */
void gpu_sensing_ask(gpu_sensing *g);
/* The newest finished reading; false: there is none yet. */
bool gpu_sensing_take(gpu_sensing *g, struct gpu_sensors_now *out);

#endif
