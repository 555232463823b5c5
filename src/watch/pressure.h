/* Is the machine short of memory? By Linux' pressure stall information (/proc/pressure/memory, Linux 4.20 and later):
 * the share of the last 10 seconds in which some program waited for memory. Where there is none, memory is never short.
 *
 * The kernel signals its beginning (a descriptor to poll), so an idle program need not wake up to check. One thread. */
#ifndef TANDEM_SRC_PRESSURE_H
#define TANDEM_SRC_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    bool open;
    const char *root;  /* NULL, or the folder of a made-up tree, which is only read */
    int fd;            /* poll it for POLLPRI; -1: the kernel does not signal */
    int64_t looked_ns; /* 0: never */
    bool is_short;
    int64_t eased_ns; /* while memory is short: since when no program has waited for it; 0: one does */
} pressure;

typedef enum {
    PRESSURE_AS_BEFORE,
    PRESSURE_SHORT, /* memory is short: the caller should free some, repeatedly until it ends */
    PRESSURE_OVER,  /* memory has not been short for half a minute */
} pressure_change;

/* Checks, at most every 2 s; opens the source at the first call. */
pressure_change pressure_look(pressure *p, int64_t now_ns);
/* A descriptor to poll for POLLPRI; -1: none. */
int pressure_fd(const pressure *p);
/* While memory is short: when to check again; otherwise INT64_MAX. */
int64_t pressure_deadline(const pressure *p);
void pressure_close(pressure *p);

#endif
