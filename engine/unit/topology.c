#include "engine/unit/topology.h"

#include "engine/base/error.h"
#include "engine/unit/sysfs.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A core is an efficiency core if it has less than this share of the fastest one's figure. Frequencies of equal cores
 * differ by some percent (favoured cores), those of the two kinds by a quarter and more; capacities, which count the
 * work per clock too, by more than half, and those of middle cores by less. */
static const double slow_capacity = 0.6, slow_frequency = 0.8;

/* ---- Reading ------------------------------------------------------------------------------------------------- */

static bool read_list(const char *root, struct cores *out, const char *path)
{
    char text[4096];
    return sysfs_text(root, text, sizeof text, "%s", path) && !cores_parse_list(out, text, NULL);
}

/* The lowest CPU of a list, or fallback. */
static int read_lowest(const char *root, int fallback, const char *path)
{
    struct cores list;
    if (!read_list(root, &list, path)) return fallback;
    int lowest = list.cpu[0];
    for (int i = 1; i < list.count; i++)
        if (list.cpu[i] < lowest) lowest = list.cpu[i];
    return lowest;
}

static void read_cpu(struct topology_cpu *c, const char *root)
{
    char path[128];
    int64_t value;
    const char *cpu = "/sys/devices/system/cpu/cpu";
    c->package =
        sysfs_number(root, &value, "%s%d/topology/physical_package_id", cpu, c->cpu) && value > 0 ? (int)value : 0;
    snprintf(path, sizeof path, "%s%d/topology/thread_siblings_list", cpu, c->cpu);
    c->core = read_lowest(root, c->cpu, path);
    c->l2 = c->cpu;
    c->l3 = -1;
    for (int i = 0; i < 16; i++) {
        char type[32];
        if (!sysfs_number(root, &value, "%s%d/cache/index%d/level", cpu, c->cpu, i)) break;
        if (!sysfs_text(root, type, sizeof type, "%s%d/cache/index%d/type", cpu, c->cpu, i)) continue;
        snprintf(path, sizeof path, "%s%d/cache/index%d/shared_cpu_list", cpu, c->cpu, i);
        if (value == 2 && strcmp(type, "Instruction")) c->l2 = read_lowest(root, c->l2, path);
        if (value == 3) c->l3 = read_lowest(root, c->l3, path);
    }
    if (sysfs_number(root, &value, "%s%d/cpu_capacity", cpu, c->cpu) && value > 0) c->capacity = (int)value;
    if (sysfs_number(root, &value, "%s%d/cpufreq/cpuinfo_max_freq", cpu, c->cpu) && value > 0)
        c->max_mhz = (int)(value / 1000);
}

static void find_efficient(struct topology *t, const char *root)
{
    struct cores fast, slow;
    bool listed = read_list(root, &fast, "/sys/devices/cpu_core/cpus") &&
                  read_list(root, &slow, "/sys/devices/cpu_atom/cpus");
    int capacity = 0, mhz = 0, efficient = 0;
    for (int i = 0; i < t->count; i++) {
        if (t->cpu[i].capacity > capacity) capacity = t->cpu[i].capacity;
        if (t->cpu[i].max_mhz > mhz) mhz = t->cpu[i].max_mhz;
    }
    bool by_capacity = false;
    for (int i = 0; i < t->count; i++) by_capacity |= t->cpu[i].capacity && t->cpu[i].capacity < capacity;
    for (int i = 0; i < t->count; i++) {
        struct topology_cpu *c = &t->cpu[i];
        if (listed)
            c->efficient = cores_contain(&slow, c->cpu);
        else if (by_capacity)
            c->efficient = c->capacity && c->capacity < slow_capacity * capacity;
        else
            c->efficient = c->max_mhz && c->max_mhz < slow_frequency * mhz;
        efficient += c->efficient;
    }
    t->hybrid = efficient > 0 && efficient < t->count;
    for (int i = 0; i < t->count; i++) t->cpu[i].efficient &= t->hybrid;
}

/* ---- The cgroups' quota -------------------------------------------------------------------------------------- */

/* Quota and period in microseconds to CPUs; negative or "max" is no limit. */
static void take_quota(double *cpus, int64_t quota, int64_t period)
{
    if (quota <= 0 || period <= 0) return;
    double granted = (double)quota / (double)period;
    if (*cpus == 0 || granted < *cpus) *cpus = granted;
}

/* Each ancestor of a group may set a limit; the lowest holds. Within a container the mount shows the own group as the
 * root, whatever its path says. */
static void read_quotas(double *cpus, const char *root, const char *group, bool v2)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu",
                                         "/sys/fs/cgroup/cpu,cpuacct"};
    char path[256];
    if (strstr(group, "..")) group = ""; /* beyond the namespace's root */
    snprintf(path, sizeof path, "%s", group);
    for (;;) {
        for (size_t i = v2 ? 0 : 2; i < (v2 ? 2 : sizeof mounts / sizeof *mounts); i++) {
            char text[64];
            int64_t quota, period;
            if (v2) {
                long long q, p;
                if (sysfs_text(root, text, sizeof text, "%s%s/cpu.max", mounts[i], path) &&
                    sscanf(text, "%lld %lld", &q, &p) == 2)
                    take_quota(cpus, q, p);
            } else if (sysfs_number(root, &quota, "%s%s/cpu.cfs_quota_us", mounts[i], path) &&
                       sysfs_number(root, &period, "%s%s/cpu.cfs_period_us", mounts[i], path)) {
                take_quota(cpus, quota, period);
            }
        }
        char *slash = strrchr(path, '/');
        if (!slash) return;
        *slash = 0;
    }
}

static int read_limit(const char *root)
{
    char text[4096];
    double cpus = 0;
    if (!sysfs_text(root, text, sizeof text, "/proc/self/cgroup")) return 0;
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        /* hierarchy:controllers:path */
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *controllers++ = *path++ = 0;
        if (!strcmp(line, "0") && !*controllers) {
            read_quotas(&cpus, root, path, true);
            continue;
        }
        for (char *name; (name = strsep(&controllers, ","));)
            if (!strcmp(name, "cpu")) read_quotas(&cpus, root, path, false);
    }
    if (cpus == 0) return 0;
    return cpus < 1 ? 1 : cpus > CORES_MAX ? CORES_MAX : (int)cpus;
}

tdm_status topology_read(struct topology *t, const char *root, const struct cores *allowed, tdm_error *err)
{
    memset(t, 0, sizeof *t);
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (allowed)
        for (int i = 0; i < allowed->count; i++) CPU_SET(allowed->cpu[i], &mask);
    else if (sched_getaffinity(0, sizeof mask, &mask))
        return error_errno(err, TDM_E_IO, "cannot read which CPUs this process may use");
    struct cores online;
    bool known = read_list(root, &online, "/sys/devices/system/cpu/online");
    for (int cpu = 0; cpu < CORES_MAX; cpu++) {
        if (!CPU_ISSET(cpu, &mask) || (known && !cores_contain(&online, cpu))) continue;
        t->cpu[t->count].cpu = cpu;
        read_cpu(&t->cpu[t->count++], root);
    }
    if (t->count == 0) return error_set(err, TDM_E_ARG, "none of the CPUs that this process may use is online");
    for (int i = 0; i < t->count; i++) {
        struct topology_cpu *c = &t->cpu[i];
        bool first = true;
        for (int k = 0; k < i; k++) {
            first &= t->cpu[k].core != c->core;
            if (c->l3 < 0 && t->cpu[k].package == c->package) c->l3 = t->cpu[k].l3;
        }
        if (c->l3 < 0) c->l3 = c->cpu; /* the first of its package */
        t->cores += first;
    }
    find_efficient(t, root);
    t->limit = read_limit(root);
    return TDM_OK;
}

/* ---- The split ----------------------------------------------------------------------------------------------- */

static int compare(int a, int b)
{
    return (a > b) - (a < b);
}

/* Fast cores first; those that share caches stand together. */
static int by_kind_and_cache(const void *a, const void *b)
{
    const struct topology_cpu *x = a, *y = b;
    int c;
    if ((c = compare(x->efficient, y->efficient))) return c;
    if ((c = compare(x->package, y->package))) return c;
    if ((c = compare(x->l3, y->l3))) return c;
    if ((c = compare(x->l2, y->l2))) return c;
    return compare(x->cpu, y->cpu);
}

/* One CPU of each core, as many as the limit allows, in that order. */
static int choose(const struct topology *t, struct topology_cpu *chosen)
{
    int n = 0;
    for (int i = 0; i < t->count; i++) {
        bool first = true;
        for (int k = 0; k < i && first; k++) first = t->cpu[k].core != t->cpu[i].core;
        if (first) chosen[n++] = t->cpu[i];
    }
    qsort(chosen, (size_t)n, sizeof *chosen, by_kind_and_cache);
    return t->limit && t->limit < n ? t->limit : n;
}

/* How many of n equally fast cores decode: half, or the nearest number that keeps a cache whole. */
static int cut(const struct topology_cpu *c, int n)
{
    for (int level = 3; level >= 2; level--) {
        int best = 0;
        for (int k = (n + 3) / 4; k <= n - (n + 3) / 4; k++) {
            bool whole = level == 3 ? c[k].l3 != c[k - 1].l3 : c[k].l2 != c[k - 1].l2;
            if (whole && (!best || abs(2 * k - n) < abs(2 * best - n))) best = k;
        }
        if (best) return best;
    }
    return n / 2;
}

static void take(struct cores *set, const struct topology_cpu *c, int n)
{
    set->count = n;
    for (int i = 0; i < n; i++) set->cpu[i] = c[i].cpu;
}

void topology_split(const struct topology *t, struct cores *prefill, struct cores *decode)
{
    struct topology_cpu chosen[CORES_MAX];
    int n = choose(t, chosen), fast = 0;
    while (fast < n && !chosen[fast].efficient) fast++;
    if (n == 1) {
        take(prefill, chosen, 1);
        take(decode, chosen, 1);
    } else if (fast > 0 && fast < n) {
        take(prefill, chosen, fast);
        take(decode, chosen + fast, n - fast);
    } else {
        int k = cut(chosen, n);
        take(decode, chosen, k);
        take(prefill, chosen + k, n - k);
    }
}

void topology_all(const struct topology *t, struct cores *all)
{
    struct topology_cpu chosen[CORES_MAX];
    take(all, chosen, choose(t, chosen));
}
