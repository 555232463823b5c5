/* What a bench ran on: lines about the machine that belong beside every figure, and its measured ceilings. */
#ifndef TANDEM_SRC_BENCH_HOST_H
#define TANDEM_SRC_BENCH_HOST_H

#include <stdio.h>

#include "engine/base/team.h"
#include "engine/kernel/kernel.h"
#include "engine/unit/cores.h"

typedef struct {
    char cpu[128];      /* "Some CPU: 2 cores, 48 KiB L1d, 2 MiB L2, 32 MiB L3" */
    char start[200];    /* frequency, governor, mains or battery, load average, other running Tandems */
    char units[200];    /* "cpu:0 prefills, cpu:1 decodes, lending on" */
    struct cores cores; /* those that units use by default */
    double peak[PANEL_KINDS], matrix_peak[PANEL_KINDS], read; /* operations and bytes per second, all cores; 0: none */
} bench_host;

void bench_host_start(bench_host *h);
/* The line of h->start, as it is now: before and after each suite. */
void bench_host_moment(char *out, size_t room);
/* The ceilings of the kernel set that the first model uses, on all cores: some 0.3 s and 256 MiB. */
tdm_status bench_host_ceilings(bench_host *h, const struct kernels *k, tdm_error *err);
/* Memory that ceiling_read walks, and the team that walks it: for speeds held against the read speed of the moment. */
typedef struct {
    struct team *team;
    const struct kernels *kernels;
    void *memory;
    size_t bytes;
} bench_reader;

/* threads: cores used, at most those of h; 0: all. */
tdm_status bench_reader_open(bench_reader *r, const bench_host *h, const struct kernels *k, int threads, tdm_error *err);
double bench_reader_speed(bench_reader *r); /* bytes per second */
void bench_reader_close(bench_reader *r);

#endif
