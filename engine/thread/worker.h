/* A worker: one thread, pinned to one CPU, that runs the functions posted to it, one at a time.
 *
 * Between two functions it spins for WAIT_SPIN_NS and then sleeps, so an idle worker uses no CPU time. Two workers on
 * one CPU would spin against each other: open one per CPU.
 *
 * Threads: only the current owner may post to a worker (a team owns its workers for life, a machine assigns its own
 * under its lock), and not while it runs a function. */
#ifndef TANDEM_THREAD_WORKER_H
#define TANDEM_THREAD_WORKER_H

#include "engine/tandem.h"

typedef void worker_fn(void *ctx);

struct worker;

/* Starts a thread on a CPU (-1: anywhere). A CPU that this process may not use is TDM_E_ARG. The name (at most 15
 * characters are kept) is what `top -H` shows. */
tdm_status worker_open(struct worker **out, int cpu, const char *name, tdm_error *err);
/* Waits for the running function, then ends the thread. */
void worker_close(struct worker *w);

/* Has the worker run fn(ctx) and returns at once. What the caller wrote before is visible to fn. There is no completion
 * signal: fn gives one itself if it is needed. */
void worker_post(struct worker *w, worker_fn *fn, void *ctx);

/* Has the worker run fn(ctx) once, at at_ns or as soon after as it is idle; replaces an earlier alarm, WAIT_FOREVER
 * removes it. To be called on the worker's own thread only. */
void worker_alarm(struct worker *w, int64_t at_ns, worker_fn *fn, void *ctx);

/* The worker whose thread this is, or NULL. */
struct worker *worker_self(void);

#endif
