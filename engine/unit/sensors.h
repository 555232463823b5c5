/* Sensors: power, temperature, frequency, load, memory and cores of this machine, as far as the system reports them.
 *
 * Nothing runs in the background: the caller reads them when it shows them, about once a second (a reading opens some
 * tens of small files). Each value is valid or has a one-line reason why not, and, where the user can change that, the
 * exact command. */
#ifndef TANDEM_UNIT_SENSORS_H
#define TANDEM_UNIT_SENSORS_H

#include "engine/tandem.h"

struct sensor {
    bool valid;
    double value;
    char reason[96];  /* if not valid */
    char remedy[160]; /* a shell command that helps, or "" */
};

enum { SENSORS_ZONES = 16, SENSORS_CORES = 512 };

/* One RAPL zone: a package, or a part of one (core, uncore, dram), or the whole platform (psys). */
struct sensor_zone {
    char name[32];  /* "package-0", "package-0/dram" */
    bool package;
    double joules;  /* since sensors_open */
    struct sensor watts; /* mean since the last reading, or over the last quarter second if that is longer */
};

/* One CPU as Linux counts them, with the work of all programs. */
struct sensor_core {
    int cpu;
    double busy; /* percent of the time since the reading before; 0 at the first */
    double mhz;  /* 0: unknown */
};

struct sensors_now {
    int64_t at_ns;
    struct sensor joules;        /* of all packages, since sensors_open */
    struct sensor watts;         /* of all packages */
    struct sensor battery_watts; /* power drawn from the batteries; valid while they discharge */
    bool discharging;            /* a battery is; then the machine most likely runs on it */
    struct sensor battery;       /* percent of the fullest battery's charge */
    struct sensor steal;         /* percent of the CPUs' time that the host of a virtual machine took since the reading
                                    before */
    struct sensor celsius;       /* the hottest CPU sensor */
    struct sensor mhz;           /* mean of all CPUs */
    struct sensor governor;      /* valid: its name is in governor_name */
    char governor_name[32];
    struct sensor load;          /* runnable tasks, mean of a minute */
    struct sensor memory_free;   /* bytes available without swapping */
    struct sensor memory_total;
    int zones;
    struct sensor_zone zone[SENSORS_ZONES];
    int cores;                   /* ascending by their numbers */
    struct sensor_core core[SENSORS_CORES];
};

struct sensors;

/* root: "", or a folder with a test's own tree. NULL: out of memory. */
struct sensors *sensors_open(const char *root);
void sensors_close(struct sensors *s);

/* Reads all; now_ns is clock_ns(). Power needs two readings. */
void sensors_read(struct sensors *s, int64_t now_ns, struct sensors_now *out);

/* Whether a battery of the machine discharges, without the other sensors. */
bool sensors_on_battery(const char *root);

#endif
