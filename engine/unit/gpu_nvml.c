/* NVIDIA's sensors, through its management library (NVML), which comes with the driver. The functions and their
 * structures are those of nvml.h, https://docs.nvidia.com/deploy/nvml-api; all of them are as old as the versions here.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "engine/unit/gpu_source.h"

typedef struct nvmlDevice_st *device;
enum { NVML_SUCCESS = 0, CLOCK_GRAPHICS = 0, TEMPERATURE_GPU = 0 };

struct utilization {
    unsigned gpu, memory; /* percent */
};

struct memory {
    unsigned long long total, free, used; /* bytes */
};

struct nvml {
    void *library;
    device device;
    int (*shutdown)(void);
    int (*utilization)(device, struct utilization *);
    int (*memory)(device, struct memory *);
    int (*clock)(device, int kind, unsigned *mhz);
    int (*temperature)(device, int kind, unsigned *celsius);
    int (*power)(device, unsigned *milliwatts);
    int (*energy)(device, unsigned long long *millijoules);
};

static void close_nvml(void *source)
{
    struct nvml *n = source;
    if (n->shutdown) n->shutdown();
    dlclose(n->library);
    free(n);
}

static void *open_nvml(const char *pci, const char *root, const char *nvml)
{
    (void)root;
    struct nvml *n = calloc(1, sizeof *n);
    if (n) n->library = dlopen(nvml ? nvml : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!n || !n->library) {
        free(n);
        return NULL;
    }
    int (*init)(void), (*find)(const char *, device *);
    *(void **)&init = dlsym(n->library, "nvmlInit_v2");
    *(void **)&find = dlsym(n->library, "nvmlDeviceGetHandleByPciBusId_v2");
    if (init && find && init() == NVML_SUCCESS) {
        *(void **)&n->shutdown = dlsym(n->library, "nvmlShutdown");
        if (find(pci, &n->device) != NVML_SUCCESS) n->device = NULL;
    }
    if (!n->device) {
        close_nvml(n);
        return NULL;
    }
    *(void **)&n->utilization = dlsym(n->library, "nvmlDeviceGetUtilizationRates");
    *(void **)&n->memory = dlsym(n->library, "nvmlDeviceGetMemoryInfo");
    *(void **)&n->clock = dlsym(n->library, "nvmlDeviceGetClockInfo");
    *(void **)&n->temperature = dlsym(n->library, "nvmlDeviceGetTemperature");
    *(void **)&n->power = dlsym(n->library, "nvmlDeviceGetPowerUsage");
    *(void **)&n->energy = dlsym(n->library, "nvmlDeviceGetTotalEnergyConsumption");
    return n;
}

static void read_nvml(void *source, struct gpu_sensors_now *out, struct gpu_counters *counters)
{
    struct nvml *n = source;
    struct utilization busy;
    struct memory memory;
    unsigned value;
    unsigned long long millijoules;
    if (n->utilization && n->utilization(n->device, &busy) == NVML_SUCCESS) gpu_source_set(&out->busy, busy.gpu);
    if (n->memory && n->memory(n->device, &memory) == NVML_SUCCESS) {
        gpu_source_set(&out->memory_used, (double)memory.used);
        gpu_source_set(&out->memory_total, (double)memory.total);
    }
    if (n->clock && n->clock(n->device, CLOCK_GRAPHICS, &value) == NVML_SUCCESS) gpu_source_set(&out->mhz, value);
    if (n->temperature && n->temperature(n->device, TEMPERATURE_GPU, &value) == NVML_SUCCESS)
        gpu_source_set(&out->celsius, value);
    if (n->power && n->power(n->device, &value) == NVML_SUCCESS) gpu_source_set(&out->watts, 1e-3 * value);
    if (n->energy && n->energy(n->device, &millijoules) == NVML_SUCCESS) {
        counters->has_joules = true;
        counters->joules = 1e-3 * (double)millijoules;
    }
}

const struct gpu_source gpu_source_nvml = {
    .open = open_nvml, .close = close_nvml, .read = read_nvml, .none = "NVIDIA's library does not tell"};
