/* In place of NVIDIA's management library: one device, whose values a test sets through `fake_nvml`. */
#include <string.h>

#include "tests/engine/unit/shared_nvml.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT struct fake_nvml fake_nvml;

enum { DEVICE = 7, NOT_FOUND = 6, NOT_SUPPORTED = 3 };
struct utilization {
    unsigned gpu, memory;
};
struct memory {
    unsigned long long total, free, used;
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **device);
int nvmlDeviceGetUtilizationRates(void *device, struct utilization *out);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *out);
int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *out);
int nvmlDeviceGetTemperature(void *device, int kind, unsigned *out);
int nvmlDeviceGetPowerUsage(void *device, unsigned *out);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *out);

EXPORT int nvmlInit_v2(void)
{
    fake_nvml.users += fake_nvml.broken == 0;
    return fake_nvml.broken;
}

EXPORT int nvmlShutdown(void)
{
    fake_nvml.users--;
    return 0;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **device)
{
    *device = (void *)DEVICE;
    return strcmp(pci, "0000:41:00.0") ? NOT_FOUND : 0;
}

static int answer(void *device, int value)
{
    return device != (void *)DEVICE ? NOT_FOUND : value < 0 ? NOT_SUPPORTED : 0;
}

EXPORT int nvmlDeviceGetUtilizationRates(void *device, struct utilization *out)
{
    *out = (struct utilization){(unsigned)fake_nvml.busy, 0};
    return answer(device, fake_nvml.busy);
}

EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct memory *out)
{
    *out = (struct memory){140ull << 30, 90ull << 30, 50ull << 30};
    return answer(device, 0);
}

EXPORT int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *out)
{
    *out = kind == 0 ? 1980 : 0;
    return answer(device, 0);
}

EXPORT int nvmlDeviceGetTemperature(void *device, int kind, unsigned *out)
{
    *out = kind == 0 ? 71 : 0;
    return answer(device, 0);
}

EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *out)
{
    *out = (unsigned)fake_nvml.milliwatts;
    return answer(device, fake_nvml.milliwatts);
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *out)
{
    *out = (unsigned long long)fake_nvml.millijoules;
    return answer(device, fake_nvml.millijoules);
}
