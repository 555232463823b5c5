/* Waiting for a word to change: spin briefly, then sleep (futex). Workers and teams are built on it.
 *
 * A wait word is an _Atomic uint32_t with its value in bits 31..1; bit 0 is set while a thread sleeps on it. So a
 * thread that changes the word learns from the same atomic operation whether it has to wake sleepers, and does not
 * touch the memory around it afterwards, which may have been freed. Values therefore advance in steps of WAIT_STEP.
 *
 * The spin lasts about as long as a wake-up costs (WAIT_SPIN_NS): long enough that members do not sleep between the
 * phases of a forward pass, short enough not to waste CPU time on an idle machine. Where more threads want to run than
 * there are cores, the thread that is waited for often has no core, and the spinning thread keeps it from one: with two
 * programs of a thread per core, most spins were in vain, and both took five times as long as one (with this limit
 * twice). So a thread whose last WAIT_IN_VAIN spins were in vain spins briefly (WAIT_BRIEF_NS) in its next WAIT_BRIEF
 * waits, and then tries again. On a quiet machine about one spin in twenty is in vain, hardly ever several in a row.
 */
#ifndef TANDEM_THREAD_WAIT_H
#define TANDEM_THREAD_WAIT_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { WAIT_STEP = 2, WAIT_ASLEEP = 1 };
enum { WAIT_SPIN_NS = 50000, WAIT_BRIEF_NS = 5000, WAIT_IN_VAIN = 8, WAIT_BRIEF = 64 };

#define WAIT_FOREVER INT64_MAX

/* The value of a word without the sleeper's bit. Orders like an acquire load. */
static inline uint32_t wait_value(_Atomic uint32_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire) & ~(uint32_t)WAIT_ASLEEP;
}

/* Returns true as soon as the word's value differs from `seen`, or false at deadline_ns of clock_ns(). What was written
 * before the change is visible then (acquire). */
bool wait_change(_Atomic uint32_t *word, uint32_t seen, int64_t deadline_ns);

/* Sets the word to value (a multiple of WAIT_STEP) and wakes all threads that sleep on it; a release operation. */
void wait_set(_Atomic uint32_t *word, uint32_t value);

/* Subtracts one step and wakes the sleepers at zero. The word may have been freed when this returns. */
void wait_count_down(_Atomic uint32_t *word);

#endif
