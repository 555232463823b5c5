/* Sensors: power, temperature, frequency, load and memory of this machine, as far as the system reports them.
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

enum { SENSORS_ZONES = 16 };

/* One RAPL zone: a package, or a part of one (core, uncore, dram), or the whole platform (psys). */
struct sensor_zone {
    char name[32];  /* "package-0", "package-0/dram" */
    bool package;
    double joules;  /* since sensors_open */
    struct sensor watts; /* mean since the last reading, or over the last quarter second if that is longer */
};

struct sensors_now {
    int64_t at_ns;
    struct sensor joules;        /* of all packages, since sensors_open */
    struct sensor watts;         /* of all packages */
    struct sensor battery_watts; /* power drawn from the batteries; valid while they discharge */
    struct sensor celsius;       /* the hottest CPU sensor */
    struct sensor mhz;           /* mean of all CPUs */
    struct sensor governor;      /* valid: its name is in governor_name */
    char governor_name[32];
    struct sensor load;          /* runnable tasks, mean of a minute */
    struct sensor memory_free;   /* bytes available without swapping */
    struct sensor memory_total;
    int zones;
    struct sensor_zone zone[SENSORS_ZONES];
};

struct sensors;

/* root: "", or a folder with a test's own tree. NULL: out of memory. */
struct sensors *sensors_open(const char *root);
void sensors_close(struct sensors *s);

/* Reads all; now_ns is clock_ns(). Power needs two readings. */
void sensors_read(struct sensors *s, int64_t now_ns, struct sensors_now *out);

#endif
