/* When the sensors are read: told by what a made-up tree of /sys holds at the time. */
#include "tests/check.h"
#include "tests/engine/unit/tree.h"

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

TEST(at_most_once_a_second_and_only_when_shown)
{
    sensing s = {.root = machine()};
    int64_t t = 100 * second;
    sensing_read(&s, false, t, t);
    CHECK(s.read_ns == 0 && !s.sensors); /* nobody looks: not even opened */
    CHECK(sensing_deadline(&s, false, t, t) == INT64_MAX);
    sensing_read(&s, true, t, t);
    CHECK_NEAR(51, s.temperature.value, 1e-9);
    CHECK_NEAR(2, s.free_gib, 1e-9);
    CHECK(!s.power.valid);
    CHECK_STR("needs a second reading", s.power.why);
    set_energy(s.root, "13000000"); /* 12 J */
    tree_write(s.root, "60000", "/sys/class/hwmon/hwmon0/temp1_input");
    sensing_read(&s, true, t, t + second - 1);
    CHECK_NEAR(51, s.temperature.value, 1e-9); /* too early: not read */
    CHECK(sensing_deadline(&s, true, t, t) == t + second);
    sensing_read(&s, false, t, t + 2 * second);
    CHECK_NEAR(51, s.temperature.value, 1e-9);
    sensing_read(&s, true, t, t + 2 * second);
    CHECK_NEAR(60, s.temperature.value, 1e-9);
    CHECK(s.power.valid);
    CHECK_NEAR(6, s.power.value, 1e-9);
    sensing_close(&s);
}

TEST(it_rests_with_the_units)
{
    sensing s = {.root = machine()};
    int64_t work = 100 * second, t = work;
    for (; t <= work + (SENSING_SETTLES_S + 1) * second; t += second) sensing_read(&s, true, work, t);
    tree_write(s.root, "40000", "/sys/class/hwmon/hwmon0/temp1_input");
    sensing_read(&s, true, work, t + second);
    CHECK_NEAR(51, s.temperature.value, 1e-9);
    CHECK(sensing_deadline(&s, true, work, t + second) == INT64_MAX);
    work = t + 2 * second; /* it goes on with the next work */
    sensing_read(&s, true, work, work);
    CHECK_NEAR(40, s.temperature.value, 1e-9);
    CHECK(sensing_deadline(&s, true, work, work) == work + second);
    sensing_close(&s);
}

TEST(what_the_machine_does_not_tell)
{
    sensing s = {.root = tree_new()};
    sensing_read(&s, true, second, second);
    CHECK(!s.power.valid && !s.temperature.valid);
    CHECK_STR("this processor has no energy counters that Linux shows", s.power.why);
    CHECK_STR("", s.remedy);
    CHECK(sensing_deadline(&s, true, second, second) == INT64_MAX); /* what isn't there doesn't change */
    sensing_close(&s);
    s = (sensing){.root = tree_new()};
    tree_write(s.root, "vendor_id\t: GenuineIntel", "/proc/cpuinfo");
    sensing_read(&s, true, second, second);
    CHECK_STR("the kernel's RAPL driver is not loaded", s.power.why);
    CHECK_STR("^X w shows the command that allows it", s.remedy);
    tree_write(s.root, "Battery", "/sys/class/power_supply/BAT0/type");
    tree_write(s.root, "Discharging", "/sys/class/power_supply/BAT0/status");
    tree_write(s.root, "7500000", "/sys/class/power_supply/BAT0/power_now");
    sensing_read(&s, true, 2 * second, 2 * second);
    CHECK(s.power.valid);
    CHECK_NEAR(7.5, s.power.value, 1e-9);
    CHECK_STR("", s.remedy);
    sensing_close(&s);
}

TEST_MAIN(T(at_most_once_a_second_and_only_when_shown), T(it_rests_with_the_units), T(what_the_machine_does_not_tell))
