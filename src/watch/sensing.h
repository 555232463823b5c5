/* The machine's figures of the monitor: power, temperature, memory, cores. Read at most once a second, only when they
 * are shown, and not any more once all has rested for a while; what draws them reads nothing. One thread. */
#ifndef TANDEM_SRC_SENSING_H
#define TANDEM_SRC_SENSING_H

#include "engine/unit/sensors.h"
#include "ui/draw/view.h"

enum { SENSING_SETTLES_S = 10 }; /* so long after the last work power and temperature still fall */

typedef struct {
    struct sensors *sensors; /* NULL: not opened yet */
    const char *root;        /* "" or the folder of a made-up tree */
    int64_t read_ns;         /* when; 0: never */
    struct view_figure power, temperature, battery, steal;
    double free_gib, total_gib;
    struct view_core *cores; /* n_cores of them */
    size_t n_cores;
    char reason[96], remedy[64];
} sensing;

/* Reads if it is time. shown: somebody looks; last_work_ns: when a unit last worked. prefill, decode: the units' names,
 * which tell their cores ("cpu:0-5,12"). */
void sensing_read(sensing *s, bool shown, int64_t last_work_ns, int64_t now_ns, const char *prefill,
                  const char *decode);
/* Whether a unit's name tells that CPU. */
bool sensing_unit_has(const char *unit, int cpu);
/* Whether the machine runs on a battery with less than that percentage left. Reads the sensors at once: not for every
 * frame. */
bool sensing_battery_is_low(sensing *s, double percent, int64_t now_ns);
/* When it wants to be called again although nothing happens; INT64_MAX: it needn't. */
int64_t sensing_deadline(const sensing *s, bool shown, int64_t last_work_ns, int64_t now_ns);
void sensing_close(sensing *s);

#endif
