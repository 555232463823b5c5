/* What tests set in the made-up NVML (shared_nvml.c), which they load with dlopen. */
#ifndef TANDEM_TESTS_SHARED_NVML_H
#define TANDEM_TESTS_SHARED_NVML_H

struct fake_nvml {
    int users;  /* nvmlInit_v2 less nvmlShutdown */
    int broken; /* what nvmlInit_v2 returns */
    int busy, milliwatts, millijoules; /* negative: not supported */
};

#endif
