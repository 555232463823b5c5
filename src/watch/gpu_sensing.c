#include "src/watch/gpu_sensing.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "src/process/task.h"

struct gpu_sensing {
    char *pci, *root, *nvml;
    task task; /* reads */
    struct gpu_sensors *sensors;
    struct gpu_sensors_now reading; /* the task's while it runs */
    struct gpu_sensors_now now;
    bool known;
};

static void work(void *ctx)
{
    gpu_sensing *g = ctx;
    if (!g->sensors) g->sensors = gpu_sensors_open(g->pci, g->root, g->nvml); /* here, since it loads a library */
    if (g->sensors) gpu_sensors_read(g->sensors, clock_ns(), &g->reading);
}

gpu_sensing *gpu_sensing_open(const char *pci, const char *root, const char *nvml)
{
    gpu_sensing *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    g->pci = strdup(pci);
    g->root = strdup(root);
    g->nvml = nvml ? strdup(nvml) : NULL;
    if (g->pci && g->root && (g->nvml || !nvml)) return g;
    gpu_sensing_close(g);
    return NULL;
}

void gpu_sensing_close(gpu_sensing *g)
{
    if (!g) return;
    task_wait(&g->task);
    gpu_sensors_close(g->sensors);
    free(g->pci);
    free(g->root);
    free(g->nvml);
    free(g);
}

/* The reading has ended: it is the newest. */
static void keep(gpu_sensing *g)
{
    g->now = g->reading;
    g->known = true;
}

void gpu_sensing_ask(gpu_sensing *g)
{
    if (task_take(&g->task)) keep(g);
    if (!g->task.running) task_begin(&g->task, work, g, -1);
}

bool gpu_sensing_take(gpu_sensing *g, struct gpu_sensors_now *out)
{
    if (task_take(&g->task)) keep(g);
    *out = g->now;
    return g->known;
}
