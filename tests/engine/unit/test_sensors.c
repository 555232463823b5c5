#include "tests/check.h"
#include "tests/engine/unit/tree.h"

#include "engine/base/clock.h"
#include "engine/unit/sensors.h"

#include <sys/stat.h>
#include <unistd.h>

#define RAPL "/sys/class/powercap/intel-rapl:"

static const int64_t second = 1000000000;

static void add_zone(const char *root, const char *zone, const char *name, const char *energy)
{
    tree_write(root, name, RAPL "%s/name", zone);
    tree_write(root, "262143328850", RAPL "%s/max_energy_range_uj", zone);
    tree_write(root, energy, RAPL "%s/energy_uj", zone);
}

static void check_absent(const char *reason, const char *remedy, const struct sensor *s)
{
    CHECK(!s->valid);
    CHECK_STR(reason, s->reason);
    CHECK_STR(remedy, s->remedy);
}

TEST(power_of_packages)
{
    const char *root = tree_new();
    add_zone(root, "0", "package-0", "1000000");
    add_zone(root, "0:0", "core", "500000");
    add_zone(root, "0:1", "dram", "0");
    add_zone(root, "1", "package-1", "262143328000");
    add_zone(root, "2", "psys", "5");
    tree_write(root, "package-0", "/sys/class/powercap/intel-rapl-mmio:0/name");
    tree_write(root, "1", "/sys/class/powercap/intel-rapl-mmio:0/energy_uj");
    struct sensors *s = sensors_open(root);
    struct sensors_now now;
    sensors_read(s, 10 * second, &now);
    CHECK_INT(5, now.zones);
    CHECK_STR("package-0", now.zone[0].name);
    CHECK_STR("package-1", now.zone[1].name);
    CHECK_STR("psys", now.zone[2].name);
    CHECK_STR("package-0/core", now.zone[3].name);
    CHECK_STR("package-0/dram", now.zone[4].name);
    CHECK(now.zone[1].package && !now.zone[2].package && !now.zone[3].package);
    check_absent("needs a second reading", "", &now.watts);
    CHECK(now.joules.valid);
    CHECK_NEAR(0, now.joules.value, 0);

    add_zone(root, "0", "package-0", "31000000");  /* 30 J in 2 s */
    add_zone(root, "1", "package-1", "20000000");  /* runs over: 20.00085 J */
    sensors_read(s, 12 * second, &now);
    REQUIRE(now.watts.valid);
    CHECK_NEAR(25.000425, now.watts.value, 1e-6);
    CHECK_NEAR(50.00085, now.joules.value, 1e-6);
    CHECK_NEAR(15, now.zone[0].watts.value, 1e-9);
    CHECK_NEAR(0, now.zone[3].watts.value, 0);

    /* A reading too soon after keeps the mean and counts the energy. */
    add_zone(root, "0", "package-0", "32000000");
    sensors_read(s, 12 * second + second / 100, &now);
    CHECK_NEAR(25.000425, now.watts.value, 1e-6);
    CHECK_NEAR(51.00085, now.joules.value, 1e-6);
    add_zone(root, "0", "package-0", "41000000");
    sensors_read(s, 13 * second, &now);
    CHECK_NEAR(10, now.watts.value, 1e-9);
    CHECK_NEAR(60.00085, now.joules.value, 1e-6);

    /* A damaged counter is said to be one. */
    tree_write(root, "much", RAPL "0/energy_uj");
    sensors_read(s, 14 * second, &now);
    check_absent("RAPL zone package-0 can't be read: Invalid argument", "", &now.watts);
    sensors_close(s);
}

TEST(rapl_for_root_only)
{
    const char *root = tree_new();
    char path[512];
    add_zone(root, "0", "package-0", "1000000");
    snprintf(path, sizeof path, "%s" RAPL "0/energy_uj", root);
    struct sensors *s = sensors_open(root);
    struct sensors_now now;
    chmod(check_tmp(), 0711);
    bool was_root = geteuid() == 0; /* who may read everything */
    chmod(path, was_root ? 0400 : 0);
    if (was_root) REQUIRE(seteuid(65534) == 0);
    sensors_read(s, second, &now);
    check_absent("RAPL is readable by root only", "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj",
                 &now.watts);
    check_absent(now.watts.reason, now.watts.remedy, &now.zone[0].watts);
    if (was_root) REQUIRE(seteuid(0) == 0);
    chmod(path, 0644); /* the remedy works while the program runs */
    sensors_read(s, 2 * second, &now);
    check_absent("needs a second reading", "", &now.watts);
    add_zone(root, "0", "package-0", "4000000");
    sensors_read(s, 3 * second, &now);
    CHECK_NEAR(3, now.watts.value, 1e-9);
    sensors_close(s);
}

TEST(no_rapl_says_why)
{
    const char *root = tree_new();
    struct sensors_now now;
    struct sensors *s = sensors_open(root);
    sensors_read(s, second, &now);
    check_absent("this processor has no energy counters that Linux shows", "", &now.watts);
    tree_write(root, "vendor_id\t: GenuineIntel\nflags\t\t: fpu vme", "/proc/cpuinfo");
    sensors_read(s, second, &now);
    check_absent("the kernel's RAPL driver is not loaded", "sudo modprobe intel_rapl_msr", &now.joules);
    tree_write(root, "vendor_id\t: AuthenticAMD\nflags\t\t: fpu hypervisor vme", "/proc/cpuinfo");
    sensors_read(s, second, &now);
    check_absent("a virtual machine without the processor's energy counters", "", &now.watts);
    sensors_close(s);
}

TEST(temperatures)
{
    const char *root = tree_new();
    struct sensors_now now;
    struct sensors *s = sensors_open(root);
    sensors_read(s, second, &now);
    check_absent("no temperature sensor of the processor (a virtual machine, or no driver)", "", &now.celsius);

    tree_write(root, "acpitz", "/sys/class/thermal/thermal_zone0/type");
    tree_write(root, "99000", "/sys/class/thermal/thermal_zone0/temp");
    tree_write(root, "x86_pkg_temp", "/sys/class/thermal/thermal_zone1/type");
    tree_write(root, "47500", "/sys/class/thermal/thermal_zone1/temp");
    sensors_read(s, second, &now);
    CHECK(now.celsius.valid);
    CHECK_NEAR(47.5, now.celsius.value, 1e-9);

    tree_write(root, "nvme", "/sys/class/hwmon/hwmon0/name");
    tree_write(root, "80000", "/sys/class/hwmon/hwmon0/temp1_input");
    tree_write(root, "coretemp", "/sys/class/hwmon/hwmon10/name");
    tree_write(root, "51000", "/sys/class/hwmon/hwmon10/temp1_input");
    tree_write(root, "Package id 0", "/sys/class/hwmon/hwmon10/temp1_label");
    tree_write(root, "53000", "/sys/class/hwmon/hwmon10/temp2_input");
    tree_write(root, "100000", "/sys/class/hwmon/hwmon10/temp1_crit");
    sensors_read(s, second, &now);
    CHECK_NEAR(53, now.celsius.value, 1e-9);

    tree_write(root, "k10temp", "/sys/class/hwmon/hwmon10/name");
    tree_write(root, "Tctl", "/sys/class/hwmon/hwmon10/temp1_label"); /* with its offset: not counted beside Tdie */
    tree_write(root, "71000", "/sys/class/hwmon/hwmon10/temp1_input");
    tree_write(root, "Tdie", "/sys/class/hwmon/hwmon10/temp2_label");
    sensors_read(s, second, &now);
    CHECK_NEAR(53, now.celsius.value, 1e-9);
    tree_write(root, "Tccd1", "/sys/class/hwmon/hwmon10/temp2_label");
    sensors_read(s, second, &now);
    CHECK_NEAR(71, now.celsius.value, 1e-9);
    sensors_close(s);
}

#define SUPPLY "/sys/class/power_supply/"

TEST(batteries)
{
    const char *root = tree_new();
    struct sensors_now now;
    struct sensors *s = sensors_open(root);
    tree_write(root, "Mains", SUPPLY "AC/type");
    tree_write(root, "Battery", SUPPLY "mouse/type");
    tree_write(root, "Device", SUPPLY "mouse/scope");
    tree_write(root, "Discharging", SUPPLY "mouse/status");
    tree_write(root, "1000000", SUPPLY "mouse/power_now");
    sensors_read(s, second, &now);
    check_absent("no battery", "", &now.battery_watts);
    CHECK(!sensors_on_battery(root));
    tree_write(root, "Battery", SUPPLY "BAT0/type");
    tree_write(root, "Charging", SUPPLY "BAT0/status");
    sensors_read(s, second, &now);
    check_absent("on mains", "", &now.battery_watts);
    CHECK(!sensors_on_battery(root));
    tree_write(root, "Discharging", SUPPLY "BAT0/status");
    sensors_read(s, second, &now);
    check_absent("the battery does not tell its power", "", &now.battery_watts);
    CHECK(sensors_on_battery(root));
    tree_write(root, "-2000000", SUPPLY "BAT0/current_now");
    tree_write(root, "12000000", SUPPLY "BAT0/voltage_now");
    sensors_read(s, second, &now);
    CHECK_NEAR(24, now.battery_watts.value, 1e-9);
    tree_write(root, "Battery", SUPPLY "BAT1/type");
    tree_write(root, "Discharging", SUPPLY "BAT1/status");
    tree_write(root, "7500000", SUPPLY "BAT1/power_now");
    sensors_read(s, second, &now);
    CHECK_NEAR(31.5, now.battery_watts.value, 1e-9);
    sensors_close(s);
}

TEST(frequency_load_and_memory)
{
    const char *root = tree_new();
    struct sensors_now now;
    struct sensors *s = sensors_open(root);
    sensors_read(s, second, &now);
    CHECK(!now.mhz.valid && !now.governor.valid && !now.load.valid && !now.memory_free.valid);
    CHECK_STR("/proc/loadavg can't be read", now.load.reason);
    const char *cpu = "/sys/devices/system/cpu/";
    tree_write(root, "2400000", "%scpu0/cpufreq/scaling_cur_freq", cpu);
    tree_write(root, "powersave", "%scpu0/cpufreq/scaling_governor", cpu);
    tree_write(root, "3600000", "%scpu11/cpufreq/scaling_cur_freq", cpu);
    tree_write(root, "9999999", "%scpufreq/cpufreq/scaling_cur_freq", cpu);
    tree_write(root, "0.75 0.50 0.25 1/200 4321", "/proc/loadavg");
    tree_write(root, "MemTotal:       2000 kB\nMemFree:         100 kB\nMemAvailable:    1500 kB", "/proc/meminfo");
    sensors_read(s, second, &now);
    CHECK_NEAR(3000, now.mhz.value, 1e-9);
    CHECK(now.governor.valid);
    CHECK_STR("powersave", now.governor_name);
    CHECK_NEAR(0.75, now.load.value, 1e-9);
    CHECK_NEAR(1500 * 1024, now.memory_free.value, 0);
    CHECK_NEAR(2000 * 1024, now.memory_total.value, 0);
    sensors_close(s);
}

TEST(this_machine_tells_or_says_why_not)
{
    struct sensors *s = sensors_open("");
    struct sensors_now now;
    sensors_read(s, clock_ns(), &now);
    const struct sensor *all[] = {&now.joules,   &now.watts, &now.battery_watts, &now.celsius,     &now.mhz,
                                  &now.governor, &now.load,  &now.memory_free,   &now.memory_total};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) CHECK(all[i]->valid || all[i]->reason[0]);
    CHECK(now.load.valid && now.memory_free.valid && now.memory_free.value <= now.memory_total.value);
    sensors_close(s);
}

TEST_MAIN(T(power_of_packages), T(rapl_for_root_only), T(no_rapl_says_why), T(temperatures), T(batteries),
          T(frequency_load_and_memory), T(this_machine_tells_or_says_why_not))
