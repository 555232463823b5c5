#include "src/watch/gpu_sensing.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"

struct gpu_sensing {
    char *pci, *root, *nvml;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    bool asked, stop, known;
    struct gpu_sensors_now now;
};

static void *run(void *ctx)
{
    gpu_sensing *g = ctx;
    struct gpu_sensors *sensors = NULL;
    struct gpu_sensors_now now = {0};
    pthread_mutex_lock(&g->lock);
    while (!g->stop) {
        if (!g->asked) {
            pthread_cond_wait(&g->changed, &g->lock);
            continue;
        }
        pthread_mutex_unlock(&g->lock);
        if (!sensors) sensors = gpu_sensors_open(g->pci, g->root, g->nvml); /* here, since it loads a library */
        if (sensors) gpu_sensors_read(sensors, clock_ns(), &now);
        pthread_mutex_lock(&g->lock);
        g->now = now;
        g->known = true;
        g->asked = false;
        pthread_cond_broadcast(&g->changed);
    }
    pthread_mutex_unlock(&g->lock);
    gpu_sensors_close(sensors);
    return NULL;
}

static void destroy(gpu_sensing *g)
{
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
    free(g->pci);
    free(g->root);
    free(g->nvml);
    free(g);
}

gpu_sensing *gpu_sensing_open(const char *pci, const char *root, const char *nvml)
{
    gpu_sensing *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    g->pci = strdup(pci);
    g->root = strdup(root);
    g->nvml = nvml ? strdup(nvml) : NULL;
    bool copied = g->pci && g->root && (g->nvml || !nvml);
    if (copied && !pthread_create(&g->thread, NULL, run, g)) return g;
    destroy(g);
    return NULL;
}

void gpu_sensing_close(gpu_sensing *g)
{
    if (!g) return;
    pthread_mutex_lock(&g->lock);
    g->stop = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
    pthread_join(g->thread, NULL);
    destroy(g);
}

void gpu_sensing_ask(gpu_sensing *g)
{
    pthread_mutex_lock(&g->lock);
    g->asked = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

bool gpu_sensing_take(gpu_sensing *g, struct gpu_sensors_now *out)
{
    pthread_mutex_lock(&g->lock);
    bool known = g->known;
    *out = g->now;
    pthread_mutex_unlock(&g->lock);
    return known;
}

bool gpu_sensing_wait(gpu_sensing *g, struct gpu_sensors_now *out)
{
    pthread_mutex_lock(&g->lock);
    while (g->asked) pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
    return gpu_sensing_take(g, out);
}
