/* A worker: one thread, pinned to one CPU, that runs what is posted to it, one thing at a time.
 *
 * Between two things it spins for WAIT_SPIN_NS and then sleeps, so an idle worker uses no CPU. Two workers of one
 * CPU would spin against each other: whoever opens workers opens one a CPU.
 *
 * Threads: posting needs the exclusive right to the worker, which its user arranges (a team has it for its life, a
 * machine hands it out under its lock); a worker that runs something must not be posted to. */
#ifndef TANDEM_THREAD_WORKER_H
#define TANDEM_THREAD_WORKER_H

#include "engine/tandem.h"

typedef void worker_fn(void *ctx);

struct worker;

/* Starts a thread on a CPU (-1: anywhere). A CPU that this process may not use is TDM_E_ARG. The name (at most 15
 * characters are kept) is what `top -H` shows. */
tdm_status worker_open(struct worker **out, int cpu, const char *name, tdm_error *err);
/* Waits for the end of what runs, then ends the thread. */
void worker_close(struct worker *w);

/* Has fn(ctx) run by the worker and returns at once. What the caller wrote before is visible to fn; the way back
 * (that fn has ended) is told by fn itself. */
void worker_post(struct worker *w, worker_fn *fn, void *ctx);

/* Has fn(ctx) run by the worker once at at_ns or soon after, when it waits for posts then; replaces an earlier
 * alarm. WAIT_FOREVER removes it. Only for calls on the worker's own thread. */
void worker_alarm(struct worker *w, int64_t at_ns, worker_fn *fn, void *ctx);

/* The worker whose thread this is, or NULL. */
struct worker *worker_self(void);

#endif
