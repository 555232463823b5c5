/* tdm_gpu_describe: the GPUs that a unit may name. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/gpu/gpu.h"
#include "engine/unit/gpu_sensors.h"

enum { MOST = 16 };

/* "busy 3 %, 1.2 of 139.8 GiB taken, 1980 MHz, 31 C, 75.1 W": what its sensors tell. */
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

TDM_API tdm_status tdm_gpu_describe(char **text, tdm_error *err)
{
    static const char *const kinds[] = {[GPU_DISCRETE] = "discrete", [GPU_INTEGRATED] = "integrated",
                                        [GPU_VIRTUAL] = "virtual", [GPU_SOFTWARE] = "software, runs on the cores"};
    size_t size;
    FILE *out = open_memstream(text, &size);
    if (!out) return error_set(err, TDM_E_NOMEM, "no memory for the list of GPUs");
    struct gpu_info info[MOST];
    int n = gpu_list(info, MOST);
    if (gpu_absence()) fprintf(out, "%s\n", gpu_absence());
    if (!gpu_absence() && n == 0) fprintf(out, "no GPU has Vulkan 1.3 and what the shaders need\n");
    for (int i = 0; i < n && i < MOST; i++) {
        fprintf(out, "gpu:%-10d %s\n%-14s %s, driver %s, %.1f GB%s%s\n", i, info[i].name, "", kinds[info[i].kind],
                info[i].driver, 1e-9 * (double)info[i].memory, info[i].pci[0] ? ", at " : "", info[i].pci);
        if (info[i].kind != GPU_SOFTWARE) print_sensors(out, info[i].pci);
    }
    return fclose(out) ? error_set(err, TDM_E_NOMEM, "no memory for the list of GPUs") : TDM_OK;
}
