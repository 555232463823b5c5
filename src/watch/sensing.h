/* The figures of the machine for the monitor: power, temperature, memory, cores. They are read at most once a second,
 * only while they are shown, and no longer once everything has rested for a while. Drawing reads nothing. One
 * thread. */
#ifndef TANDEM_SRC_SENSING_H
#define TANDEM_SRC_SENSING_H

#include "engine/tandem.h"
#include "engine/unit/sensors.h"
#include "src/watch/gpu_sensing.h"
#include "ui/draw/view.h"

enum { SENSING_SETTLES_S = 10 }; /* for this time after the last work power and temperature still fall */

typedef struct {
    struct sensors *sensors; /* NULL: not opened yet */
    const char *root;        /* "" or the folder of a made-up tree */
    int64_t read_ns;         /* when the sensors were read; 0: never */
    struct view_figure power, temperature, battery, steal;
    double free_gib, total_gib;
    struct view_core *cores; /* n_cores of them */
    size_t n_cores;
    char reason[96], remedy[64];
    const char *nvml; /* NVIDIA's library, NULL: the installed one */
    struct sensing_gpu {
        tdm_unit_info about;  /* the unit's */
        gpu_sensing *sensors; /* NULL: not opened yet, or nothing to read there */
        struct gpu_sensors_now now;
        bool known;           /* `now` was read */
        int64_t lost_ns;
    } gpus[TDM_UNITS]; /* by unit; of a GPU that both units share, the first has the sensors */
} sensing;

/* Reads if it is due, and returns whether it did. shown: the values are on the screen; last_work_ns: when a unit last
 * worked. prefill, decode: the units' names, which contain their cores ("cpu:0-5,12"). */
bool sensing_read(sensing *s, bool shown, int64_t last_work_ns, int64_t now_ns, const char *prefill,
                  const char *decode);
/* Notes the present units. due: sensing_read has read, so a reading of their GPUs begins, too; a later call takes its
 * values. */
void sensing_read_gpus(sensing *s, const tdm_unit_info units[TDM_UNITS], bool due, int64_t now_ns);
/* The values of a unit's GPU; points into s. */
struct view_gpu sensing_gpu(const sensing *s, int unit);
/* Whether a unit's name contains that CPU. */
bool sensing_unit_has(const char *unit, int cpu);
/* Whether the machine runs on a battery with less than that percentage left. Reads the sensors at once: not for every
 * frame. */
bool sensing_battery_is_low(sensing *s, double percent, int64_t now_ns);
/* When sensing_read must be called again even without events; INT64_MAX: never. */
int64_t sensing_deadline(const sensing *s, bool shown, int64_t last_work_ns, int64_t now_ns);
void sensing_close(sensing *s);

#endif
