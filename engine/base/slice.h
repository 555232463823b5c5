/* Scheduling requests of threads: short time slices for interactive ones, batch scheduling for compute.
 *
 * Compute threads on all cores share the CPUs with the screen. On Linux (6.12 and later, sched_setattr with a slice) a
 * waking thread preempts the running one at once if its slice is shorter, and a SCHED_BATCH thread never preempts by
 * waking. Neither changes a thread's long-term share of the CPU, and no privilege is needed. Where the system does not
 * support it, these functions do nothing. */
#ifndef TANDEM_BASE_SLICE_H
#define TANDEM_BASE_SLICE_H

/* For a thread that answers a key or shows a token, which takes less than a millisecond. Threads and programs that it
 * starts later do not inherit it. */
void slice_for_answers(void);
/* For a compute thread: waking threads preempt it, and it preempts none when it wakes. */
void slice_for_work(void);

#endif
