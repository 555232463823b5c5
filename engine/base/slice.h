/* What a thread asks of the scheduler: how long it may run before others, and whether it gives way.
 *
 * Arithmetic on all cores and a screen share the CPUs. Linux (6.12 and later, sched_setattr of a slice) lets a waking
 * thread in at once when its slice is shorter than that of the one that runs, and a batch thread never takes the CPU
 * from another by waking. None of it changes how much of the CPU a thread gets in the long run, and no privilege is
 * needed; where the system doesn't know it, these change nothing. */
#ifndef TANDEM_BASE_SLICE_H
#define TANDEM_BASE_SLICE_H

/* For a thread that answers a key or shows a token, which takes less than a millisecond. Not for the threads and
 * programs that it starts from then on. */
void slice_for_answers(void);
/* For a thread that computes: who wakes on its CPU is let in, and when it wakes itself it waits its turn. */
void slice_for_work(void);

#endif
