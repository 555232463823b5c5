#include "engine/thread/wait.h"

#include "engine/base/clock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void wait_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* `yield` is a no-op on most cores; isb waits some 10 ns */
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

static void futex_wake_all(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Sleeps while *word == expected; true at the deadline. May return early for no reason. */
static bool futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t deadline_ns)
{
    struct timespec t = clock_timespec(deadline_ns);
    /* WAIT_BITSET takes an absolute CLOCK_MONOTONIC time, plain WAIT a relative one. */
    long r = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline_ns == WAIT_FOREVER ? NULL : &t,
                     NULL, FUTEX_BITSET_MATCH_ANY);
    return r < 0 && errno == ETIMEDOUT;
}

/* How the waits of this thread went: spins that were in vain, one after the other, and how many waits are still brief
 * because of them. */
static _Thread_local struct {
    int in_vain, brief;
} spins;

static int64_t spin_ns(void)
{
    if (!spins.brief) return WAIT_SPIN_NS;
    spins.brief--;
    return WAIT_BRIEF_NS;
}

static void was_in_vain(int64_t spun_ns)
{
    if (spun_ns < WAIT_SPIN_NS || ++spins.in_vain < WAIT_IN_VAIN) return;
    spins.in_vain = 0;
    spins.brief = WAIT_BRIEF;
}

bool wait_change(_Atomic uint32_t *word, uint32_t seen, int64_t deadline_ns)
{
    if (wait_value(word) != seen) return true;
    int64_t start = 0, spin = spin_ns();
    for (unsigned i = 0;; i++) {
        if (wait_value(word) != seen) {
            spins.in_vain = 0;
            return true;
        }
        wait_relax();
        if (i % 16 != 15) continue;
        int64_t now = clock_ns();
        if (!start) start = now;
        if (now >= deadline_ns) return false;
        if (now - start >= spin) break;
    }
    was_in_vain(spin);
    for (;;) {
        uint32_t old = atomic_fetch_or_explicit(word, WAIT_ASLEEP, memory_order_acq_rel) & ~(uint32_t)WAIT_ASLEEP;
        if (old != seen) return true;
        bool late = futex_wait(word, seen | WAIT_ASLEEP, deadline_ns);
        if (wait_value(word) != seen) return true;
        if (late) return false;
    }
}

void wait_set(_Atomic uint32_t *word, uint32_t value)
{
    if (atomic_exchange_explicit(word, value, memory_order_acq_rel) & WAIT_ASLEEP) futex_wake_all(word);
}

void wait_count_down(_Atomic uint32_t *word)
{
    uint32_t old = atomic_fetch_sub_explicit(word, WAIT_STEP, memory_order_acq_rel);
    /* A private futex is only an address: waking sleepers of a word that has gone meanwhile is harmless. */
    if (old == (WAIT_STEP | WAIT_ASLEEP)) futex_wake_all(word);
}
