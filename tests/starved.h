/* Tests of what happens without memory: this header, in the one file of a test program, puts an allocator in malloc's
 * place that fails when the test says so. A sanitizer has an allocator of its own, and the test is skipped:
 *
 *     if (!starved_can()) return;
 *     for (long n = 0; starved_by(n, make); n++) ...
 */
#ifndef TANDEM_TESTS_STARVED_H
#define TANDEM_TESTS_STARVED_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tests/check.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STARVED_CAN 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define STARVED_CAN 0
#endif
#endif
#ifndef STARVED_CAN
#define STARVED_CAN 1
#endif

/* Allocations until one fails; below 0: none does. `starved_always`: nor does any after it succeed. */
static volatile long starved_after = -1;
static volatile bool starved_always, starved_hit;
static volatile bool starved_alone; /* starved_by() spares the other threads, whose allocations come when they come */
static __thread bool starved_here;
static volatile long starved_left; /* of those, when the run of starved_by() was over */

static inline bool starved_can(void)
{
    if (!STARVED_CAN) check_skipped = "a sanitizer has an allocator of its own";
    return STARVED_CAN;
}

/* Runs it with the n-th allocation from now on, from 0, failing. False: it made fewer. */
static inline bool starved_by(long n, void (*run)(void))
{
    starved_hit = false;
    starved_here = true;
    starved_after = n;
    run();
    starved_left = starved_after;
    starved_after = -1;
    starved_here = false;
    return starved_hit;
}

#define STARVED __attribute__((visibility("default"))) /* for libraries too */
#if STARVED_CAN
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static inline bool starved_now(void)
{
    if (starved_after < 0 || (starved_alone && !starved_here) || (starved_after && starved_after--)) return false;
    if (!starved_always) starved_after = -1;
    starved_hit = true;
    errno = ENOMEM;
    return true;
}

STARVED void *malloc(size_t size)
{
    return starved_now() ? NULL : __libc_malloc(size);
}

STARVED void *calloc(size_t n, size_t size)
{
    return starved_now() ? NULL : __libc_calloc(n, size);
}

STARVED void *realloc(void *old, size_t size)
{
    return starved_now() ? NULL : __libc_realloc(old, size);
}
#endif

#endif
