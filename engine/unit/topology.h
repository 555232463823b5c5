/* The cores that this process may use, what they share and how fast they are; and the default split of them between
 * the two units.
 *
 * Read from the affinity mask, /sys/devices/system/cpu, the lists of hybrid CPUs (/sys/devices/cpu_core, cpu_atom) and
 * the CPU quota of the cgroups that the process is in. What a file does not tell is assumed away: no SMT, nothing
 * shared, equally fast. */
#ifndef TANDEM_UNIT_TOPOLOGY_H
#define TANDEM_UNIT_TOPOLOGY_H

#include "engine/unit/cores.h"

struct topology_cpu {
    int cpu;
    int package;    /* physical package id, 0 where unknown */
    int core;       /* the lowest CPU of its physical core: SMT siblings have the same */
    int l2, l3;     /* the lowest CPU that shares this cache; unknown: the CPU itself, the lowest of its package */
    int capacity;   /* relative speed where the kernel tells, else 0 (cpu_capacity, at most 1024) */
    int max_mhz;    /* highest frequency, 0 where unknown */
    bool efficient; /* an efficiency core on a machine that has both kinds */
};

struct topology {
    int count;      /* CPUs that are online and allowed */
    int cores;      /* physical cores among them */
    int limit;      /* CPUs' worth of time that the cgroups grant, rounded down, at least 1; 0: no limit */
    bool hybrid;    /* performance and efficiency cores among them */
    struct topology_cpu cpu[CORES_MAX]; /* ascending by number */
};

/* root: "" or the folder of a made-up tree. allowed: NULL for the CPUs that this process may use. */
tdm_status topology_read(struct topology *out, const char *root, const struct cores *allowed, tdm_error *err);

/* The default cores of the two units.
 *
 * One CPU of each physical core is used: two SMT siblings share the vector units, and one that spins slows the other;
 * the sibling stays free for the rest of the program. With fewer CPUs granted than there are cores, the fastest are
 * taken. Then performance cores prefill and efficiency cores decode; without both kinds each unit gets half, prefill
 * the larger one, cut where no last-level cache (else no second-level cache) is split, if such a place leaves each
 * unit a quarter. A single core is shared: both sets name it. */
void topology_split(const struct topology *t, struct cores *prefill, struct cores *decode);

/* All cores that the split uses, as one set. */
void topology_all(const struct topology *t, struct cores *all);

#endif
