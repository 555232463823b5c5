/* The cores that this process may use, the caches that they share and their speeds; and the default split of the cores
 * between the two units.
 *
 * Read from the affinity mask, /sys/devices/system/cpu, the lists of hybrid CPUs (/sys/devices/cpu_core, cpu_atom) and
 * the CPU quota of the process's cgroups. Where a file is missing: no SMT, no shared cache, equal speeds. */
#ifndef TANDEM_UNIT_TOPOLOGY_H
#define TANDEM_UNIT_TOPOLOGY_H

#include "engine/unit/cores.h"

struct topology_cpu {
    int cpu;
    int package;    /* physical package id, 0 where unknown */
    int core;       /* the lowest CPU of its physical core: SMT siblings have the same */
    int l2, l3;     /* the lowest CPU that shares this cache; unknown: the CPU itself, the lowest of its package */
    int capacity;   /* relative speed (cpu_capacity, at most 1024); 0 where unknown */
    int max_mhz;    /* highest frequency, 0 where unknown */
    bool efficient; /* an efficiency core, on a machine that also has performance cores */
};

struct topology {
    int count;      /* CPUs that are online and allowed */
    int cores;      /* physical cores among them */
    int limit;      /* CPU quota of the cgroups in CPUs, rounded down, at least 1; 0: no limit */
    bool hybrid;    /* performance and efficiency cores among them */
    struct topology_cpu cpu[CORES_MAX]; /* ascending by number */
};

/* root: "", or a folder with a test's own tree. allowed: NULL for the CPUs that this process may use. */
tdm_status topology_read(struct topology *out, const char *root, const struct cores *allowed, tdm_error *err);

/* The default cores of the two units.
 *
 * One CPU of each physical core is used: SMT siblings share the vector units, and a spinning one slows the other; the
 * sibling stays free for the rest of the program. If the quota is below the number of cores, the fastest are taken.
 * Performance cores prefill and efficiency cores decode. On machines with one kind each unit gets half, prefill the
 * larger one; the boundary is moved so that it splits no last-level cache (else no second-level cache), if each unit
 * keeps at least a quarter. A single core is in both sets. */
void topology_split(const struct topology *t, struct cores *prefill, struct cores *decode);

/* All cores that the split uses, as one set. */
void topology_all(const struct topology *t, struct cores *all);

#endif
