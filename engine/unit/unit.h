/* A unit runs forward passes: some cores of a machine, an activity ring, and a source of work.
 *
 *     struct machine *m;            machine_open(&m, err);
 *     struct unit *u;               unit_open(&u, m, "prefill", UNIT_NATIVE, &cores, err);
 *     unit_set_source(u, next_job, owner);
 *     ...                           unit_wake(u) whenever there may be something new to do
 *     unit_close(u);                machine_close(m);
 *
 * The driver, the worker of the unit's first core, asks the source for jobs and runs each with a team: the unit's own
 * free cores and, with lending on, the free cores of other units that have nothing to do. Lent cores go back at the end
 * of a job: a unit that gets work joins no new job of others, and a lent core returns when the borrower's job ends. So
 * a job should be one dispatch or one token.
 *
 * The work of a unit of kind UNIT_GPU is offloaded: a device computes. Its driver is a thread of its own, pinned to
 * nothing, whose jobs mostly wait for the device; it borrows no cores and lends none, and its teams are the driver
 * alone. All but the first of the cores with which it is opened stand by: after unit_set_offloaded(u, false) they join
 * the driver's teams as in any other unit; and a job with on_borrowed_cores, which copies memory, uses a few of those
 * whose own units are idle.
 *
 * Work without a team does not wait for the driver. Sampling the first token from stored logits (the hand-over) is not
 * a job of the decode unit, whose driver may be lent to a dispatch of 100 ms. The thread that has the state does it: in
 * the prefill unit's source, at the end of its job, or on the thread that sends. It records the span in the decode
 * unit's ring with activity_add, which any thread may call, and then calls unit_wake.
 *
 * Several units may name the same core. Units that share a driver's core take turns job by job (as on a machine with
 * one core); any other shared core joins whichever job begins while it is free.
 *
 * Threads: all functions may be called from any thread but workers; unit_wake, unit_activity, unit_kind,
 * unit_set_offloaded and unit_now from workers too, hence from sources and jobs. */
#ifndef TANDEM_UNIT_UNIT_H
#define TANDEM_UNIT_UNIT_H

#include "engine/thread/team.h"
#include "engine/unit/activity.h"
#include "engine/unit/cores.h"
#include "engine/unit/machine.h"

enum unit_kind { UNIT_NATIVE, UNIT_BLAS, UNIT_BF16, UNIT_GPU };

struct unit;

/* One job. The driver opens a span of this kind and token count, runs fn and records the span; fn may correct kind,
 * tokens and bytes in *span before it returns (after a cancelled dispatch). fn runs on the driver's thread and may call
 * team_run any number of times; the team is valid until fn returns, and its size differs from job to job. */
struct work {
    void (*fn)(void *ctx, struct team *team, struct activity_span *span);
    void *ctx;
    enum span_kind kind; /* SPAN_NONE: not recorded */
    uint32_t tokens;
    uint64_t bytes;
    bool on_borrowed_cores; /* of an offloaded unit: idle cores of other units do this job */
};

/* A source of work. It fills *work and returns UNIT_WORK; or it returns the time (clock_ns) at which to be asked again
 * unless unit_wake comes first; or UNIT_IDLE: after unit_wake only. Called on the driver's thread with no lock held,
 * never while a job of the unit runs; it should take well under a millisecond. */
typedef int64_t unit_next_fn(void *ctx, int64_t now_ns, struct work *work);

#define UNIT_WORK ((int64_t)0)
#define UNIT_IDLE INT64_MAX

/* Opens a unit on cores[0..]; the first one is the driver's (of UNIT_GPU, none is). Starts the workers that the machine
 * lacks. The name is for error lines. A core that this process may not use is TDM_E_ARG. */
tdm_status unit_open(struct unit **out, struct machine *m, const char *name, enum unit_kind kind,
                     const struct cores *cores, tdm_error *err);
/* First removes the source, as unit_set_source(u, NULL, NULL). */
void unit_close(struct unit *u);

enum unit_kind unit_kind(const struct unit *u);
/* Whether the unit's jobs are offloaded (to a device, to a server) and mostly wait, from its next job on: then it
 * borrows no cores and lends none, and its teams are the driver alone. Until it is called, only a unit of kind UNIT_GPU
 * does. */
void unit_set_offloaded(struct unit *u, bool on);
struct activity *unit_activity(const struct unit *u);

/* Replaces the source (NULL: none) and asks the new one. When this returns, neither the old source nor one of its jobs
 * runs, and it is never called again. */
void unit_set_source(struct unit *u, unit_next_fn *next, void *ctx);

/* Has the driver ask the source (again), now or after the running job. Cheap; no wake is lost. */
void unit_wake(struct unit *u);

/* Runs one job on the unit, before the source's next job, and returns when it has ended. Calls of several threads run
 * in order. */
void unit_call(struct unit *u, const struct work *work);

/* Waits for the end of the source's job and pauses the source until unit_resume; calls nest. unit_call still works. */
void unit_quiesce(struct unit *u);
void unit_resume(struct unit *u);

/* What the unit is doing at this moment. */
struct unit_now {
    struct cores cores; /* those with which it computes; none for a GPU */
    bool working; /* a job runs */
    int team;     /* its members; 0 without a job */
    int borrowed; /* of them, cores that are not the unit's own */
    int lent;     /* own cores in the job of another unit */
};
void unit_now(struct unit *u, struct unit_now *now);

#endif
