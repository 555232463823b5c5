/* When the sensors are read: told by what a made-up tree of /sys holds at the time. */
#include "tests/check.h"
#include "tests/engine/unit/tree.h"

#include <sched.h>

#include "engine/base/clock.h"
#include "src/watch/sensing.h"

#define ZONE "/sys/class/powercap/intel-rapl:0/"
static const int64_t second = 1000000000;

static void set_energy(const char *root, const char *microjoules)
{
    tree_write(root, microjoules, ZONE "energy_uj");
}

static const char *machine(void)
{
    const char *root = tree_new();
    tree_write(root, "package-0", ZONE "name");
    tree_write(root, "1000000000", ZONE "max_energy_range_uj");
    set_energy(root, "1000000");
    tree_write(root, "coretemp", "/sys/class/hwmon/hwmon0/name");
    tree_write(root, "51000", "/sys/class/hwmon/hwmon0/temp1_input");
    tree_write(root, "MemTotal: 4194304 kB\nMemAvailable: 2097152 kB", "/proc/meminfo");
    return root;
}

/* Waits for the first reading. */
static bool is_read(gpu_sensing *g)
{
    struct gpu_sensors_now now;
    int64_t until = clock_ns() + CHECK_PATIENCE_MS * INT64_C(1000000);
    while (!gpu_sensing_take(g, &now) && clock_ns() < until) sched_yield();
    return gpu_sensing_take(g, &now);
}

TEST(at_most_once_a_second_and_only_when_shown)
{
    sensing s = {.root = machine()};
    int64_t t = 100 * second;
    sensing_read(&s, false, t, t, "cpu:1", "cpu:0");
    CHECK(s.read_ns == 0 && !s.sensors); /* nobody looks: not even opened */
    CHECK(sensing_deadline(&s, false, t, t) == INT64_MAX);
    CHECK(sensing_deadline(&s, true, t - 60 * second, t) == t); /* also after the last work: at once */
    sensing_read(&s, true, t, t, "cpu:1", "cpu:0");
    CHECK_NEAR(51, s.temperature.value, 1e-9);
    CHECK_NEAR(2, s.free_gib, 1e-9);
    CHECK(!s.power.valid);
    CHECK_STR("needs a second reading", s.power.why);
    set_energy(s.root, "13000000"); /* 12 J */
    tree_write(s.root, "60000", "/sys/class/hwmon/hwmon0/temp1_input");
    sensing_read(&s, true, t, t + second - 1, "cpu:1", "cpu:0");
    CHECK_NEAR(51, s.temperature.value, 1e-9); /* too early: not read */
    CHECK(sensing_deadline(&s, true, t, t) == t + second);
    sensing_read(&s, false, t, t + 2 * second, "cpu:1", "cpu:0");
    CHECK_NEAR(51, s.temperature.value, 1e-9);
    sensing_read(&s, true, t, t + 2 * second, "cpu:1", "cpu:0");
    CHECK_NEAR(60, s.temperature.value, 1e-9);
    CHECK(s.power.valid);
    CHECK_NEAR(6, s.power.value, 1e-9);
    sensing_close(&s);
}

TEST(it_rests_with_the_units)
{
    sensing s = {.root = machine()};
    int64_t work = 100 * second, t = work;
    for (; t <= work + (SENSING_SETTLES_S + 1) * second; t += second) sensing_read(&s, true, work, t, "cpu:1", "cpu:0");
    tree_write(s.root, "40000", "/sys/class/hwmon/hwmon0/temp1_input");
    sensing_read(&s, true, work, t + second, "cpu:1", "cpu:0");
    CHECK_NEAR(51, s.temperature.value, 1e-9);
    CHECK(sensing_deadline(&s, true, work, t + second) == INT64_MAX);
    work = t + 2 * second; /* it goes on with the next work */
    sensing_read(&s, true, work, work, "cpu:1", "cpu:0");
    CHECK_NEAR(40, s.temperature.value, 1e-9);
    CHECK(sensing_deadline(&s, true, work, work) == work + second);
    sensing_close(&s);
}

TEST(what_the_machine_does_not_tell)
{
    sensing s = {.root = tree_new()};
    sensing_read(&s, true, second, second, "cpu:1", "cpu:0");
    CHECK(!s.power.valid && !s.temperature.valid);
    CHECK_STR("this processor has no energy counters that Linux shows", s.power.why);
    CHECK_STR("", s.remedy);
    CHECK(sensing_deadline(&s, true, second, second) == INT64_MAX); /* what isn't there doesn't change */
    sensing_close(&s);
    s = (sensing){.root = tree_new()};
    tree_write(s.root, "vendor_id\t: GenuineIntel", "/proc/cpuinfo");
    sensing_read(&s, true, second, second, "cpu:1", "cpu:0");
    CHECK_STR("the kernel's RAPL driver is not loaded", s.power.why);
    CHECK_STR("^X w shows the command that allows it", s.remedy);
    tree_write(s.root, "Battery", "/sys/class/power_supply/BAT0/type");
    tree_write(s.root, "Discharging", "/sys/class/power_supply/BAT0/status");
    tree_write(s.root, "7500000", "/sys/class/power_supply/BAT0/power_now");
    sensing_read(&s, true, 2 * second, 2 * second, "cpu:1", "cpu:0");
    CHECK(s.power.valid);
    CHECK_NEAR(7.5, s.power.value, 1e-9);
    CHECK_STR("", s.remedy);
    sensing_close(&s);
}

TEST(cores_of_the_units)
{
    sensing s = {.root = machine()};
    int64_t t = 100 * second;
    tree_write(s.root,
               "cpu  10 0 0 90 0 0 0 0\ncpu0 10 0 0 10 0 0 0 0\n"
               "cpu1 0 0 0 20 0 0 0 0\ncpu5 0 0 0 20 0 0 0 0\nintr 7",
               "/proc/stat");
    tree_write(s.root, "3900000", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
    tree_write(s.root, "Battery", "/sys/class/power_supply/BAT0/type");
    tree_write(s.root, "71", "/sys/class/power_supply/BAT0/capacity");
    sensing_read(&s, true, t, t, "cpu:1-3", "cpu:0");
    CHECK(s.n_cores == 3 && !s.steal.valid && s.cores[0].busy == 0);
    CHECK_NEAR(71, s.battery.value, 1e-9);
    tree_write(s.root,
               "cpu  19 0 0 100 0 0 0 1\ncpu0 19 0 0 10 0 0 0 1\n"
               "cpu1 0 0 0 30 0 0 0 0\ncpu5 5 0 0 25 0 0 0 0\nintr 7",
               "/proc/stat");
    sensing_read(&s, true, t, t + second, "cpu:1-3", "cpu:0");
    REQUIRE(s.n_cores == 3);
    CHECK(s.steal.valid);
    CHECK_NEAR(5, s.steal.value, 1e-9);
    CHECK_NEAR(100, s.cores[0].busy, 1e-9);
    CHECK_NEAR(3.9, s.cores[0].ghz, 1e-9);
    CHECK_NEAR(0, s.cores[1].busy, 1e-9);
    CHECK_NEAR(50, s.cores[2].busy, 1e-9);
    CHECK(s.cores[0].unit == VIEW_CORE_DECODE && s.cores[1].unit == VIEW_CORE_PREFILL);
    CHECK(s.cores[2].unit == VIEW_CORE_FREE);
    CHECK_INT(5, s.cores[2].cpu);
    tree_write(s.root, "cpu x", "/proc/stat");
    sensing_read(&s, true, t, t + 2 * second, "cpu:1-3", "cpu:0");
    CHECK(s.n_cores == 0 && !s.steal.valid);
    sensing_close(&s);
}

#define GPU "/sys/bus/pci/devices/0000:03:00.0/"

/* Both units on one, its sensors read on another thread; then on another one; then on none. */
TEST(gpus_of_the_units)
{
    sensing s = {.root = machine(), .nvml = "/nowhere"};
    tdm_unit_info units[TDM_UNITS] = {{.device = "Some GPU", .device_pci = "0000:03:00.0", .device_memory = 4ull << 30,
                                       .device_used = 1ull << 30, .shares_device = true}};
    units[1] = units[0];
    tree_write(s.root, "0x1002", GPU "vendor");
    tree_write(s.root, "43", GPU "gpu_busy_percent");
    tree_write(s.root, "3221225472", GPU "mem_info_vram_used");
    sensing_read_gpus(&s, units, false, second);
    CHECK(!s.gpus[0].sensors); /* nobody looks: not even opened */
    struct view_gpu g = sensing_gpu(&s, 0);
    CHECK(g.shared && !g.busy.valid && g.lost_ns == 0);
    CHECK_STR("Some GPU", g.device);
    CHECK_STR("not yet", g.why);
    CHECK_NEAR(1, g.memory.value, 1e-9); /* of this program alone */
    CHECK_NEAR(4, g.total.value, 1e-9);
    sensing_read_gpus(&s, units, true, second);
    REQUIRE(s.gpus[0].sensors && !s.gpus[1].sensors);
    CHECK(sensing_deadline(&s, true, second, second) < INT64_MAX);
    REQUIRE(is_read(s.gpus[0].sensors));
    sensing_read_gpus(&s, units, false, 2 * second);
    for (int u = 0; u < TDM_UNITS; u++) {
        g = sensing_gpu(&s, u);
        CHECK(g.busy.valid && !g.watts.valid && !g.why);
        CHECK_NEAR(43, g.busy.value, 1e-9);
        CHECK_NEAR(3, g.memory.value, 1e-9); /* of all programs */
    }
    units[0].device_lost = units[1].device_lost = true;
    for (int i = 3; i < 5; i++) sensing_read_gpus(&s, units, false, i * second);
    CHECK(sensing_gpu(&s, 1).lost_ns == 3 * second); /* when it was first seen */

    units[0] = (tdm_unit_info){.device = "Other GPU"};
    units[1] = (tdm_unit_info){.device = "llvmpipe", .device_software = true};
    sensing_read_gpus(&s, units, true, 5 * second);
    CHECK(s.gpus[0].sensors && !s.gpus[1].sensors && sensing_gpu(&s, 0).lost_ns == 0);
    REQUIRE(is_read(s.gpus[0].sensors));
    sensing_read_gpus(&s, units, false, 6 * second);
    CHECK_STR("the driver does not tell which device it is", sensing_gpu(&s, 0).why);
    CHECK_STR("it runs on the cores", sensing_gpu(&s, 1).why);
    units[0] = units[1] = (tdm_unit_info){0};
    sensing_read_gpus(&s, units, true, 7 * second);
    CHECK(!s.gpus[0].sensors && !sensing_gpu(&s, 0).device && !sensing_gpu(&s, 1).device);
    sensing_close(&s);
}

TEST(cores_in_the_names_of_units)
{
    CHECK(sensing_unit_has("cpu:0-5,12", 3) && sensing_unit_has("cpu:0-5,12", 12) && sensing_unit_has("cpu:7", 7));
    CHECK(!sensing_unit_has("cpu:0-5,12", 6) && !sensing_unit_has("cpu:", 0) && !sensing_unit_has("cpu", 0));
    CHECK(!sensing_unit_has(NULL, 0) && !sensing_unit_has("cpu:1-", 4) && !sensing_unit_has("cpu:-3", 2));
}

TEST_MAIN(T(cores_of_the_units), T(gpus_of_the_units), T(cores_in_the_names_of_units),
          T(at_most_once_a_second_and_only_when_shown),
          T(it_rests_with_the_units), T(what_the_machine_does_not_tell))
