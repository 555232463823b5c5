/* Monotonic time in nanoseconds (CLOCK_MONOTONIC): the only clock of spans, traces and statistics. */
#ifndef TANDEM_BASE_CLOCK_H
#define TANDEM_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif
