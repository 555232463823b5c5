#include "tests/check.h"
#include "tests/engine/unit/tree.h"

#include "engine/unit/topology.h"

#include <sched.h>

#define CPU "/sys/devices/system/cpu/cpu%d"

struct shape {
    int cpus, smt;            /* CPUs; siblings of a core, numbered next to each other */
    int per_l2, per_l3;       /* CPUs that share one; 0: not told */
};

static void write_list(const char *root, int first, int n, const char *path, int cpu, int index)
{
    char list[32], file[128];
    snprintf(list, sizeof list, n > 1 ? "%d-%d" : "%d", first, first + n - 1);
    snprintf(file, sizeof file, path, cpu, index);
    tree_write(root, list, "%s", file);
}

static void write_cache(const char *root, int cpu, int index, int level, const char *type, int per)
{
    char text[8];
    snprintf(text, sizeof text, "%d", level);
    tree_write(root, text, CPU "/cache/index%d/level", cpu, index);
    tree_write(root, type, CPU "/cache/index%d/type", cpu, index);
    write_list(root, cpu / per * per, per, CPU "/cache/index%d/shared_cpu_list", cpu, index);
}

static const char *make(struct shape s)
{
    const char *root = tree_new();
    char online[32];
    snprintf(online, sizeof online, s.cpus > 1 ? "0-%d" : "%d", s.cpus - 1);
    tree_write(root, online, "/sys/devices/system/cpu/online");
    for (int c = 0; c < s.cpus; c++) {
        tree_write(root, "0", CPU "/topology/physical_package_id", c);
        write_list(root, c / s.smt * s.smt, s.smt, CPU "/topology/thread_siblings_list", c, 0);
        write_cache(root, c, 0, 1, "Data", s.smt);
        if (s.per_l2) write_cache(root, c, 1, 2, "Unified", s.per_l2);
        if (s.per_l3) write_cache(root, c, 2, 3, "Unified", s.per_l3);
    }
    return root;
}

static struct cores all_cpus(void)
{
    static struct cores all;
    all.count = CORES_MAX;
    for (int i = 0; i < CORES_MAX; i++) all.cpu[i] = i;
    return all;
}

static struct topology topology;

static void check_split(const char *root, const char *allowed, const char *prefill, const char *decode)
{
    struct cores a = all_cpus(), p, d;
    tdm_error err = {0};
    char text[256];
    if (allowed) CHECK_INT(TDM_OK, cores_parse(&a, allowed, &err));
    CHECK_INT(TDM_OK, topology_read(&topology, root, &a, &err));
    topology_split(&topology, &p, &d);
    CHECK_STR(prefill, cores_format(&p, text, sizeof text));
    CHECK_STR(decode, cores_format(&d, text, sizeof text));
}

TEST(two_plain_cores)
{
    const char *root = make((struct shape){2, 1, 1, 2});
    check_split(root, NULL, "cpu:1", "cpu:0");
    CHECK_INT(2, topology.count);
    CHECK_INT(2, topology.cores);
    CHECK_INT(0, topology.limit);
    CHECK(!topology.hybrid);
    CHECK_INT(0, topology.cpu[1].l3);
    CHECK_INT(1, topology.cpu[1].l2);
}

TEST(a_single_core_is_shared)
{
    check_split(make((struct shape){1, 1, 1, 1}), NULL, "cpu:0", "cpu:0");
    /* two siblings of one core are one core */
    check_split(make((struct shape){2, 2, 2, 2}), NULL, "cpu:0", "cpu:0");
    /* an affinity mask too */
    check_split(make((struct shape){8, 1, 1, 8}), "cpu:5", "cpu:5", "cpu:5");
}

TEST(siblings_stay_together)
{
    const char *root = make((struct shape){8, 2, 2, 8});
    check_split(root, NULL, "cpu:4,6", "cpu:0,2");
    CHECK_INT(8, topology.count);
    CHECK_INT(4, topology.cores);
    CHECK_INT(6, topology.cpu[7].core);
    check_split(root, "cpu:1-7", "cpu:4,6", "cpu:1-2"); /* of core 0 only the sibling is allowed */
    check_split(root, "cpu:2-3,6", "cpu:6", "cpu:2");
    struct cores all;
    char text[64];
    topology_all(&topology, &all);
    CHECK_STR("cpu:2,6", cores_format(&all, text, sizeof text));
}

TEST(shared_caches_stay_whole)
{
    /* AMD with two CCX of four cores, without SMT; then three of them, which no half divides; then one with six. */
    check_split(make((struct shape){8, 1, 1, 4}), NULL, "cpu:4-7", "cpu:0-3");
    check_split(make((struct shape){12, 1, 1, 4}), NULL, "cpu:4-11", "cpu:0-3");
    check_split(make((struct shape){6, 1, 1, 6}), NULL, "cpu:3-5", "cpu:0-2");
    /* A quarter is the least: two of sixteen don't make a unit. */
    check_split(make((struct shape){16, 1, 1, 14}), NULL, "cpu:8-15", "cpu:0-7");
    /* clusters of four around a second-level cache, one last level */
    check_split(make((struct shape){12, 1, 4, 12}), NULL, "cpu:4-11", "cpu:0-3");
    /* odd numbers: prefill gets more */
    check_split(make((struct shape){5, 1, 1, 5}), NULL, "cpu:2-4", "cpu:0-1");
}

TEST(intel_hybrid_by_its_lists)
{
    /* 4 performance cores with SMT (0-7), 8 efficiency cores (8-15) in clusters of four */
    const char *root = make((struct shape){16, 1, 1, 16});
    for (int c = 0; c < 8; c++) write_list(root, c / 2 * 2, 2, CPU "/topology/thread_siblings_list", c, 0);
    tree_write(root, "0-7", "/sys/devices/cpu_core/cpus");
    tree_write(root, "8-15", "/sys/devices/cpu_atom/cpus");
    check_split(root, NULL, "cpu:0,2,4,6", "cpu:8-15");
    CHECK(topology.hybrid);
    CHECK_INT(12, topology.cores);
    CHECK(topology.cpu[8].efficient && !topology.cpu[7].efficient);
    /* bound to one kind: halves again */
    check_split(root, "cpu:8-15", "cpu:12-15", "cpu:8-11");
    CHECK(!topology.hybrid && !topology.cpu[0].efficient);
    check_split(root, "cpu:0-7", "cpu:4,6", "cpu:0,2");
}

TEST(arm_by_capacity)
{
    /* little 0-3, middle 4-6, prime 7 */
    const char *root = make((struct shape){8, 1, 1, 0});
    for (int c = 0; c < 8; c++) tree_write(root, c < 4 ? "325" : c < 7 ? "870" : "1024", CPU "/cpu_capacity", c);
    check_split(root, NULL, "cpu:4-7", "cpu:0-3");
    CHECK_INT(325, topology.cpu[0].capacity);
    /* all equal is not hybrid */
    for (int c = 0; c < 8; c++) tree_write(root, "1024", CPU "/cpu_capacity", c);
    check_split(root, NULL, "cpu:4-7", "cpu:0-3");
    CHECK(!topology.hybrid);
}

TEST(kinds_by_frequency)
{
    const char *root = make((struct shape){6, 1, 1, 6});
    for (int c = 0; c < 6; c++) tree_write(root, c < 2 ? "3300000" : "5100000", CPU "/cpufreq/cpuinfo_max_freq", c);
    check_split(root, NULL, "cpu:2-5", "cpu:0-1");
    CHECK_INT(5100, topology.cpu[5].max_mhz);
    /* favoured cores are only a little faster */
    for (int c = 0; c < 6; c++) tree_write(root, c < 2 ? "4900000" : "5100000", CPU "/cpufreq/cpuinfo_max_freq", c);
    check_split(root, NULL, "cpu:3-5", "cpu:0-2");
}

TEST(two_sockets)
{
    const char *root = make((struct shape){8, 1, 1, 4});
    for (int c = 0; c < 8; c++) tree_write(root, c % 2 ? "1" : "0", CPU "/topology/physical_package_id", c);
    for (int c = 0; c < 8; c++)
        tree_write(root, c % 2 ? "1,3,5,7" : "0,2,4,6", CPU "/cache/index2/shared_cpu_list", c);
    check_split(root, NULL, "cpu:1,3,5,7", "cpu:0,2,4,6");
    CHECK_INT(1, topology.cpu[7].l3);
}

TEST(a_cgroup_limits)
{
    const char *root = make((struct shape){8, 1, 1, 8});
    tree_write(root, "0::/user/app", "/proc/self/cgroup");
    tree_write(root, "max 100000", "/sys/fs/cgroup/user/app/cpu.max");
    check_split(root, NULL, "cpu:4-7", "cpu:0-3");
    CHECK_INT(0, topology.limit);
    tree_write(root, "450000 100000", "/sys/fs/cgroup/user/cpu.max"); /* of the parent */
    check_split(root, NULL, "cpu:2-3", "cpu:0-1");
    CHECK_INT(4, topology.limit);
    tree_write(root, "50000 100000", "/sys/fs/cgroup/user/app/cpu.max"); /* half a CPU is one worker */
    check_split(root, NULL, "cpu:0", "cpu:0");
    CHECK_INT(1, topology.limit);

    root = make((struct shape){8, 1, 1, 8}); /* version 1 */
    tree_write(root, "4:memory:/x\n3:cpu,cpuacct:/docker/1\n0::/", "/proc/self/cgroup");
    tree_write(root, "-1", "/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us");
    tree_write(root, "100000", "/sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us");
    check_split(root, NULL, "cpu:4-7", "cpu:0-3");
    tree_write(root, "200000", "/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us");
    check_split(root, NULL, "cpu:1", "cpu:0");

    root = make((struct shape){8, 1, 1, 8}); /* in a container: the path is the host's, the mount the container's */
    tree_write(root, "0::/../../elsewhere", "/proc/self/cgroup");
    tree_write(root, "300000 100000", "/sys/fs/cgroup/cpu.max");
    check_split(root, NULL, "cpu:1-2", "cpu:0");
}

TEST(a_limit_takes_the_fastest)
{
    const char *root = make((struct shape){8, 1, 1, 8});
    tree_write(root, "6-7", "/sys/devices/cpu_core/cpus");
    tree_write(root, "0-5", "/sys/devices/cpu_atom/cpus");
    tree_write(root, "0::/", "/proc/self/cgroup");
    tree_write(root, "300000 100000", "/sys/fs/cgroup/cpu.max");
    check_split(root, NULL, "cpu:6-7", "cpu:0");
    tree_write(root, "200000 100000", "/sys/fs/cgroup/cpu.max");
    check_split(root, NULL, "cpu:7", "cpu:6");
}

TEST(nothing_told)
{
    const char *root = tree_new(); /* no /sys at all */
    check_split(root, "cpu:0-3", "cpu:2-3", "cpu:0-1");
    CHECK_INT(4, topology.cores);
    root = make((struct shape){4, 1, 0, 0});
    tree_write(root, "rubbish", "/sys/devices/system/cpu/online");
    tree_write(root, "99999999", CPU "/topology/thread_siblings_list", 2);
    tree_write(root, "0::", "/proc/self/cgroup");
    check_split(root, "cpu:0-3", "cpu:2-3", "cpu:0-1");
    root = make((struct shape){4, 1, 0, 0});
    struct cores a = {1, {9}};
    tdm_error err = {0};
    CHECK_INT(TDM_E_ARG, topology_read(&topology, root, &a, &err));
    CHECK_STR("none of the CPUs that this process may use is online", err.text);
}

TEST(this_machine)
{
    tdm_error err = {0};
    struct cores p, d;
    cpu_set_t mask;
    REQUIRE(topology_read(&topology, "", NULL, &err) == TDM_OK);
    sched_getaffinity(0, sizeof mask, &mask);
    CHECK(topology.count >= 1 && topology.count <= CPU_COUNT(&mask));
    topology_split(&topology, &p, &d);
    CHECK(p.count >= 1 && d.count >= 1);
    for (int i = 0; i < p.count; i++) CHECK(CPU_ISSET(p.cpu[i], &mask));
    for (int i = 0; i < d.count; i++) CHECK(CPU_ISSET(d.cpu[i], &mask));
    for (int i = 0; i < p.count && topology.cores > 1 && topology.limit != 1; i++)
        CHECK(!cores_contain(&d, p.cpu[i]));
}

TEST_MAIN(T(two_plain_cores), T(a_single_core_is_shared), T(siblings_stay_together), T(shared_caches_stay_whole),
          T(intel_hybrid_by_its_lists), T(arm_by_capacity), T(kinds_by_frequency), T(two_sockets), T(a_cgroup_limits),
          T(a_limit_takes_the_fastest), T(nothing_told), T(this_machine))
