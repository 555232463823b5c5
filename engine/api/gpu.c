/* tdm_gpu_describe, tdm_gpu_list: the GPUs that a unit may name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/backend/selftest.h"
#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/base/harmless.h"
#include "engine/unit/gpu_sensors.h"

enum { LIMIT = 16 };

/* "busy 3 %, 1.2 of 139.8 GiB taken, 1980 MHz, 31 C, 75.1 W": the values of its sensors. */
static void print_sensors(FILE *out, const char *pci)
{
    struct gpu_sensors *s = gpu_sensors_open(pci, "", NULL);
    struct gpu_sensors_now now;
    const char *gap = "";
    if (!s) return;
    gpu_sensors_read(s, clock_ns(), &now);
    const struct {
        const struct sensor *sensor;
        const char *format;
        double unit;
    } rows[] = {{&now.busy, "busy %.0f %%", 1},
                {&now.memory_used, "%.1f GiB taken", 1 << 30},
                {&now.mhz, "%.0f MHz", 1},
                {&now.celsius, "%.0f C", 1},
                {&now.watts, "%.1f W", 1}};
    fprintf(out, "%-14s ", "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rows[i].sensor->valid) continue;
        fputs(gap, out);
        fprintf(out, rows[i].format, rows[i].sensor->value / rows[i].unit);
        gap = ", ";
    }
    if (!gap[0]) fprintf(out, "no sensors: %s", now.busy.reason);
    fputc('\n', out);
    gpu_sensors_close(s);
}

static void describe_test(FILE *out, const char *cache_folder, const struct gpu_info *info)
{
    struct selftest_result r = {0};
    if (cache_folder) selftest_kept(&r, cache_folder, info);
    if (!r.known)
        fprintf(out, "%-14s self-test: when it is first used\n", "");
    else if (r.passed)
        fprintf(out, "%-14s self-test passed; matrix units: %s\n", "", r.units);
    else
        harmless_print(out, "%-14s self-test failed, so it is not used: %s\n", "", r.why);
}

TDM_API tdm_status tdm_gpu_describe(const char *cache_folder, char **text, tdm_error *err)
{
    static const char *const kinds[] = {[GPU_DISCRETE] = "discrete", [GPU_INTEGRATED] = "integrated",
                                        [GPU_VIRTUAL] = "virtual", [GPU_SOFTWARE] = "software, runs on the cores"};
    struct buffer_stream s;
    FILE *out = buffer_stream_open(&s);
    if (!out) return error_set(err, TDM_E_NOMEM, "no memory for the list of GPUs");
    struct gpu_info info[LIMIT];
    int n = gpu_list(info, LIMIT);
    if (gpu_absence()) fprintf(out, "%s\n", gpu_absence());
    if (!gpu_absence() && n == 0) fprintf(out, "no GPU has Vulkan 1.3 and what the shaders need\n");
    for (int i = 0; i < n && i < LIMIT; i++) {
        harmless_print(out, "gpu:%-10d %s\n", i, info[i].name);
        harmless_print(out, "%-14s %s, driver %s, %.1f GB%s%s\n", "", kinds[info[i].kind], info[i].driver,
                       1e-9 * (double)info[i].memory, info[i].pci[0] ? ", at " : "", info[i].pci);
        if (info[i].kind != GPU_SOFTWARE) print_sensors(out, info[i].pci);
        describe_test(out, cache_folder, &info[i]);
    }
    *text = buffer_stream_close(&s, NULL);
    return *text ? TDM_OK : error_set(err, TDM_E_NOMEM, "no memory for the list of GPUs");
}

TDM_API int tdm_gpu_list(tdm_gpu_info *out, int room)
{
    struct gpu_info info[LIMIT];
    int n = gpu_list(info, LIMIT);
    n = n < LIMIT ? n : LIMIT;
    for (int i = 0; i < n && i < room; i++) {
        uint64_t hash = fnv_bytes(gpu_shaders_hash(), info[i].name, strlen(info[i].name));
        out[i] = (tdm_gpu_info){.software = info[i].kind == GPU_SOFTWARE,
                                .identity = fnv_bytes(hash, info[i].driver, strlen(info[i].driver))};
        memcpy(out[i].name, info[i].name, sizeof out[i].name);
        memcpy(out[i].driver, info[i].driver, sizeof out[i].driver);
        memcpy(out[i].pci, info[i].pci, sizeof out[i].pci);
    }
    return n;
}
