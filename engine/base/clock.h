/* Monotonic time in nanoseconds (CLOCK_MONOTONIC): the only clock of spans, traces, statistics and deadlines. */
#ifndef TANDEM_BASE_CLOCK_H
#define TANDEM_BASE_CLOCK_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline int64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline struct timespec clock_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

/* A condition for clock_wait: who sets the time of day neither ends nor prolongs a wait. */
static inline void clock_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* Like pthread_cond_wait, until a time at the latest; returns whether it has come. */
static inline bool clock_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t until_ns)
{
    const struct timespec at = clock_timespec(until_ns);
    return pthread_cond_timedwait(condition, lock, &at) == ETIMEDOUT;
}

#endif
