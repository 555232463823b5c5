/* Sensors of GPUs, by made-up trees of /sys and a made-up library of NVIDIA. */
#include "tests/check.h"
#include "tests/engine/unit/shared_nvml.h"
#include "tests/engine/unit/tree.h"

#include "engine/unit/gpu_sensors.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#define PLACE "0000:41:00.0"
#define DEVICE "/sys/bus/pci/devices/" PLACE "/"

static const int64_t second = 1000000000;

static void check_value(double expected, const struct sensor *s)
{
    CHECK(s->valid);
    CHECK_NEAR(expected, s->value, 1e-9);
}

static void check_absent(const char *reason, const struct sensor *s)
{
    CHECK(!s->valid);
    CHECK_STR(reason, s->reason);
}

/* The library that was built beside this program. */
static const char *nvml_path(void)
{
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
    path[n > 0 ? n : 0] = 0;
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash : path, "/shared_nvml.so");
    return path;
}

static struct fake_nvml *nvml(void)
{
    static struct fake_nvml *fake, none;
    void *library = fake ? NULL : dlopen(nvml_path(), RTLD_NOW);
    if (library) fake = dlsym(library, "fake_nvml");
    CHECK(fake != NULL);
    if (!fake) fake = &none;
    *fake = (struct fake_nvml){.busy = 97, .milliwatts = 512300, .millijoules = 1000000};
    return fake;
}

TEST(nvidia)
{
    struct fake_nvml *fake = nvml();
    struct gpu_sensors *s = gpu_sensors_open(PLACE, tree_new(), nvml_path());
    struct gpu_sensors_now now;
    gpu_sensors_read(s, 10 * second, &now);
    check_value(97, &now.busy);
    check_value(50.0 * (1 << 30), &now.memory_used);
    check_value(140.0 * (1 << 30), &now.memory_total);
    check_value(1980, &now.mhz);
    check_value(71, &now.celsius);
    check_value(512.3, &now.watts);
    check_value(0, &now.joules);
    fake->millijoules += 25500;
    gpu_sensors_read(s, 11 * second, &now);
    check_value(25.5, &now.joules);
    CHECK_INT(1, fake->users);

    /* Power by the counter where there is nothing else. */
    fake->milliwatts = -1;
    fake->millijoules += 84000;
    gpu_sensors_read(s, 13 * second, &now);
    check_value(42, &now.watts);
    fake->busy = fake->millijoules = -1;
    gpu_sensors_read(s, 14 * second, &now);
    check_absent("NVIDIA's library does not tell", &now.busy);
    check_absent("NVIDIA's library does not tell", &now.watts);
    check_absent("NVIDIA's library does not tell", &now.joules);
    check_value(71, &now.celsius);
    gpu_sensors_close(s);
    CHECK_INT(0, fake->users);
}

/* Nothing of it is an error. */
TEST(nothing_to_read)
{
    static const char missing[] = "libnvidia-ml.so.1 is not installed, or does not know this device";
    struct fake_nvml *fake = nvml();
    const char *root = tree_new();
    struct gpu_sensors_now now;
    tree_write(root, "0x10de", DEVICE "vendor");
    struct gpu_sensors *s = gpu_sensors_open(PLACE, root, "/nowhere/libnvidia-ml.so.1");
    gpu_sensors_read(s, second, &now);
    check_absent(missing, &now.busy);
    gpu_sensors_close(s);
    fake->broken = 9; /* the driver is not loaded */
    s = gpu_sensors_open(PLACE, root, nvml_path());
    gpu_sensors_read(s, second, &now);
    check_absent(missing, &now.watts);
    gpu_sensors_close(s);
    CHECK_INT(0, fake->users);
    fake->broken = 0;
    static const char *const places[] = {"", "0000:42:00.0", "../../../etc", "0000:41:00.0/.."};
    static const char *const reasons[] = {"the driver does not tell which device it is",
                                          "its driver has no sensors that Tandem knows",
                                          "the driver does not tell which device it is",
                                          "the driver does not tell which device it is"};
    for (int i = 0; i < 4; i++) {
        s = gpu_sensors_open(places[i], root, nvml_path());
        gpu_sensors_read(s, second, &now);
        check_absent(reasons[i], &now.memory_used);
        gpu_sensors_close(s);
    }
    CHECK_INT(0, fake->users);
    gpu_sensors_close(NULL);
}

TEST(amdgpu)
{
    const char *root = tree_new();
    struct gpu_sensors_now now;
    tree_write(root, "0x1002", DEVICE "vendor");
    tree_write(root, "43", DEVICE "gpu_busy_percent");
    tree_write(root, "3221225472", DEVICE "mem_info_vram_used");
    tree_write(root, "17163091968", DEVICE "mem_info_vram_total");
    tree_write(root, "2450000000", DEVICE "hwmon/hwmon3/freq1_input");
    tree_write(root, "58000", DEVICE "hwmon/hwmon3/temp1_input");
    tree_write(root, "203000000", DEVICE "hwmon/hwmon3/power1_average");
    struct gpu_sensors *s = gpu_sensors_open(PLACE, root, "/nowhere");
    gpu_sensors_read(s, second, &now);
    check_value(43, &now.busy);
    check_value(3221225472.0, &now.memory_used);
    check_value(17163091968.0, &now.memory_total);
    check_value(2450, &now.mhz);
    check_value(58, &now.celsius);
    check_value(203, &now.watts);
    check_absent("amdgpu does not tell", &now.joules);
    tree_write(root, "much", DEVICE "gpu_busy_percent");
    gpu_sensors_read(s, 2 * second, &now);
    check_absent("amdgpu does not tell", &now.busy);
    gpu_sensors_close(s);

    /* Newer cards tell the power of the moment only. */
    root = tree_new();
    tree_write(root, "0x1002", DEVICE "vendor");
    tree_write(root, "19000000", DEVICE "hwmon/hwmon0/power1_input");
    s = gpu_sensors_open(PLACE, root, "/nowhere");
    gpu_sensors_read(s, second, &now);
    check_value(19, &now.watts);
    check_absent("amdgpu does not tell", &now.celsius);
    gpu_sensors_close(s);
}

TEST(i915)
{
    const char *root = tree_new();
    struct gpu_sensors_now now;
    tree_write(root, "0x8086", DEVICE "vendor");
    tree_write(root, "1150", DEVICE "drm/card0/gt_act_freq_mhz");
    tree_write(root, "8000", DEVICE "drm/card0/power/rc6_residency_ms");
    tree_write(root, "5000000", DEVICE "hwmon/hwmon1/energy1_input");
    tree_write(root, "47000", DEVICE "hwmon/hwmon1/temp1_input");
    struct gpu_sensors *s = gpu_sensors_open(PLACE, root, "/nowhere");
    gpu_sensors_read(s, 5 * second, &now);
    check_value(1150, &now.mhz);
    check_value(47, &now.celsius);
    check_value(0, &now.joules);
    check_absent("needs a second reading", &now.busy);
    check_absent("needs a second reading", &now.watts);
    check_absent("the Intel driver does not tell", &now.memory_used);
    tree_write(root, "8500", DEVICE "drm/card0/power/rc6_residency_ms");
    tree_write(root, "35000000", DEVICE "hwmon/hwmon1/energy1_input");
    gpu_sensors_read(s, 7 * second, &now);
    check_value(75, &now.busy); /* it slept half a second of two */
    check_value(15, &now.watts);
    check_value(30, &now.joules);
    gpu_sensors_close(s);
}

TEST(xe)
{
    const char *root = tree_new();
    struct gpu_sensors_now now;
    tree_write(root, "0x8086", DEVICE "vendor");
    tree_write(root, "2400", DEVICE "tile0/gt0/freq0/act_freq");
    tree_write(root, "0", DEVICE "tile0/gt0/gtidle/idle_residency_ms");
    tree_write(root, "1000000", DEVICE "hwmon/hwmon2/energy2_input");
    tree_write(root, "52000", DEVICE "hwmon/hwmon2/temp2_input");
    struct gpu_sensors *s = gpu_sensors_open(PLACE, root, "/nowhere");
    gpu_sensors_read(s, second, &now);
    check_value(2400, &now.mhz);
    check_value(52, &now.celsius);
    tree_write(root, "900", DEVICE "tile0/gt0/gtidle/idle_residency_ms");
    tree_write(root, "91000000", DEVICE "hwmon/hwmon2/energy2_input");
    gpu_sensors_read(s, 2 * second, &now);
    check_value(10, &now.busy);
    check_value(90, &now.watts);
    gpu_sensors_close(s);
}

TEST_MAIN(T(nvidia), T(nothing_to_read), T(amdgpu), T(i915), T(xe))
