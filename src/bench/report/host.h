/* The machine of a bench: lines about it that belong beside every figure, and its measured ceilings. */
#ifndef TANDEM_SRC_BENCH_HOST_H
#define TANDEM_SRC_BENCH_HOST_H

#include <stdio.h>

#include "engine/kernel/kernel.h"
#include "engine/thread/team.h"
#include "engine/unit/cores.h"

/* The values that change from one suite to the next. */
typedef struct {
    double mhz;        /* 0: unknown */
    char governor[32]; /* "": unknown */
    const char *power; /* mains, battery, no battery */
    double load;       /* runnable tasks, mean of a minute */
    int others;        /* other running Tandems */
    /* CPU time since the system's start, in ticks: running or ready to run; of it the time that the host took */
    double wanted, stolen;
} bench_moment;

typedef struct {
    char cpu[96], caches[96]; /* "Some CPU"; "L1 48K, L2 2048K" */
    int cpus;                 /* of the machine */
    struct cores cores;       /* the cores that units use by default */
    char gpu[16];             /* "gpu:0": the GPU of pairs of units (pairs.h); "": none */
    char other_gpu[16];       /* "gpu:1": another one; "": none */
    char gpu_name[128], gpu_driver[128], gpu_pci[16];
    bool gpu_software;        /* it runs on the cores */
    char units[200];          /* "cpu:0 (native) prefills, cpu:1 (native) decodes, lending on" */
    bench_moment start;
    double peak[PANEL_KINDS], matrix_peak[PANEL_KINDS], read; /* operations and bytes per second, all cores; 0: none */
} bench_host;

void bench_host_start(bench_host *h);
void bench_host_now(bench_moment *out);
/* "2,100 MHz, governor not told, no battery, load average 0.4, other running Tandems: 0". Returns out. */
char *bench_moment_text(const bench_moment *m, char *out, size_t room);
/* The share of the CPU time wanted between two moments that the host of a virtual machine took, 0 to 1; -1: unknown. */
double bench_moment_stolen(const bench_moment *from, const bench_moment *to);
/* "Some CPU: 2 cores used of 2 CPUs, L1 48K, L2 2048K". Returns out. */
char *bench_host_text(const bench_host *h, char *out, size_t room);
/* The ceilings of the kernel set that the first model uses, on all cores: some 0.3 s and 256 MiB. */
tdm_status bench_host_ceilings(bench_host *h, const struct kernels *k, tdm_error *err);

/* Memory for ceiling_read, and the team that reads it: to compare speeds with the present read speed. */
typedef struct {
    struct team *team;
    const struct kernels *kernels;
    void *memory;
    size_t bytes;
} bench_reader;

enum { BENCH_READ_MIB = 256, BENCH_READ_MAX_MIB = 1024 };

/* threads: cores used, at most those of h; 0: all. */
tdm_status bench_reader_open(bench_reader *r, const bench_host *h, const struct kernels *k, int threads, int mib,
                             tdm_error *err);
double bench_reader_speed(bench_reader *r); /* bytes per second */
void bench_reader_close(bench_reader *r);

#endif
