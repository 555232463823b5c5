/* Is the machine short of memory? By Linux' pressure stall information (/proc/pressure/memory, Linux 4.20 and later):
 * the share of the last 10 seconds in which some program waited for memory. Where there is none, memory is never short.
 *
 * The kernel tells when it begins (a descriptor to poll), so an idle program is not woken to look. One thread. */
#ifndef TANDEM_SRC_PRESSURE_H
#define TANDEM_SRC_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    bool open;
    const char *root;  /* NULL, or the folder of a made-up tree, which is looked at; nothing is written into it */
    int fd;            /* open: poll it for POLLPRI; -1: the kernel does not tell */
    int64_t looked_ns; /* 0: never */
    bool is_short;
    int64_t eased_ns; /* while memory is short: since when no program waits for it; 0: one does */
} pressure;

typedef enum {
    PRESSURE_AS_BEFORE,
    PRESSURE_SHORT, /* memory is short: something should be given back, again and again until this ends */
    PRESSURE_OVER,  /* memory has not been short for half a minute */
} pressure_change;

/* Looks, at most every 2 s; opens the source at the first call. */
pressure_change pressure_look(pressure *p, int64_t now_ns);
/* To be polled for POLLPRI; -1: there is nothing to poll. */
int pressure_fd(const pressure *p);
/* While memory is short: when to look again; otherwise INT64_MAX. */
int64_t pressure_deadline(const pressure *p);
void pressure_close(pressure *p);

#endif
