/* Sensors of amdgpu, i915 and xe in /sys, as their drivers document them: Documentation/gpu/amdgpu/thermal.rst and
 * driver-misc.rst, Documentation/ABI/testing/sysfs-driver-intel-i915-hwmon, sysfs-driver-intel-xe-hwmon and
 * sysfs-driver-i915 of the Linux source. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/unit/gpu_source.h"
#include "engine/unit/sysfs.h"

struct drm {
    char root[256];
    char device[96]; /* "/sys/bus/pci/devices/0000:03:00.0" */
    char hwmon[192], card[192]; /* folders; "": none */
};

/* The first folder in `in` whose name begins with `prefix`. */
static void find_folder(const char *root, const char *in, const char *prefix, char out[192])
{
    char names[1][64];
    out[0] = 0;
    if (sysfs_list(root, in, prefix, names, 1) == 1) snprintf(out, 192, "%.120s/%.63s", in, names[0]);
}

static bool is_vendor(const struct drm *d, const char *id)
{
    char text[16];
    return sysfs_text(d->root, text, sizeof text, "%s/vendor", d->device) && !strcmp(text, id);
}

/* The sensors of a device of that vendor. */
static void *open_drm(const char *pci, const char *root, const char *vendor)
{
    struct drm *d = calloc(1, sizeof *d);
    char folder[128];
    if (!d) return NULL;
    snprintf(d->root, sizeof d->root, "%s", root);
    snprintf(d->device, sizeof d->device, "/sys/bus/pci/devices/%.32s", pci);
    if (!is_vendor(d, vendor)) {
        free(d);
        return NULL;
    }
    snprintf(folder, sizeof folder, "%s/hwmon", d->device);
    find_folder(root, folder, "hwmon", d->hwmon);
    snprintf(folder, sizeof folder, "%s/drm", d->device);
    find_folder(root, folder, "card", d->card);
    return d;
}

/* The number in the first of some files (below a folder, which may be missing) that exists, times `unit`. */
static bool first_of(const struct drm *d, const char *folder, const char *const *files, double unit, double *out)
{
    int64_t value;
    for (; folder[0] && *files; files++)
        if (sysfs_number(d->root, &value, "%s/%s", folder, *files)) {
            *out = unit * (double)value;
            return true;
        }
    return false;
}

static void set_first(const struct drm *d, const char *folder, const char *const *files, double unit,
                      struct sensor *out)
{
    double value;
    if (first_of(d, folder, files, unit, &value)) gpu_source_set(out, value);
}

#define FILES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- amdgpu ------------------------------------------------------------------------------------------------------ */

static void *open_amdgpu(const char *pci, const char *root, const char *nvml)
{
    (void)nvml;
    return open_drm(pci, root, "0x1002");
}

static void read_amdgpu(void *source, struct gpu_sensors_now *out, struct gpu_counters *counters)
{
    const struct drm *d = source;
    (void)counters;
    set_first(d, d->device, FILES("gpu_busy_percent"), 1, &out->busy);
    set_first(d, d->device, FILES("mem_info_vram_used"), 1, &out->memory_used);
    set_first(d, d->device, FILES("mem_info_vram_total"), 1, &out->memory_total);
    set_first(d, d->hwmon, FILES("freq1_input"), 1e-6, &out->mhz);
    set_first(d, d->hwmon, FILES("temp1_input"), 1e-3, &out->celsius);
    set_first(d, d->hwmon, FILES("power1_average", "power1_input"), 1e-6, &out->watts);
}

const struct gpu_source gpu_source_amdgpu = {
    .open = open_amdgpu, .close = free, .read = read_amdgpu, .none = "amdgpu does not tell"};

/* ---- i915 and xe ------------------------------------------------------------------------------------------------- */

static void *open_intel(const char *pci, const char *root, const char *nvml)
{
    (void)nvml;
    return open_drm(pci, root, "0x8086");
}

/* Neither driver reports how much memory is taken, and i915 not how busy the GPU is; both count the time in which it
 * slept. */
static void read_intel(void *source, struct gpu_sensors_now *out, struct gpu_counters *counters)
{
    const struct drm *d = source;
    set_first(d, d->card, FILES("gt/gt0/rps_act_freq_mhz", "gt_act_freq_mhz"), 1, &out->mhz);
    set_first(d, d->device, FILES("tile0/gt0/freq0/act_freq"), 1, &out->mhz);
    set_first(d, d->hwmon, FILES("temp2_input", "temp1_input"), 1e-3, &out->celsius); /* xe: the package; i915 */
    counters->has_joules = first_of(d, d->hwmon, FILES("energy1_input", "energy2_input"), 1e-6, &counters->joules);
    counters->has_asleep =
        first_of(d, d->card, FILES("gt/gt0/rc6_residency_ms", "power/rc6_residency_ms"), 1, &counters->asleep_ms) ||
        first_of(d, d->device, FILES("tile0/gt0/gtidle/idle_residency_ms"), 1, &counters->asleep_ms);
}

const struct gpu_source gpu_source_intel = {
    .open = open_intel, .close = free, .read = read_intel, .none = "the Intel driver does not tell"};
