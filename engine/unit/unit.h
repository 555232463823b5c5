/* A unit: a named place where forward passes run: some cores of a machine, an activity ring, and a source of work.
 *
 *     struct machine *m;            machine_open(&m, err);
 *     struct unit *u;               unit_open(&u, m, "prefill", UNIT_NATIVE, &cores, err);
 *     unit_set_source(u, follower_next, follower);
 *     ...                           unit_wake(u) whenever there may be something new to do
 *     unit_close(u);                machine_close(m);
 *
 * The driver, the worker of the unit's first core, asks the source what to do next and runs the jobs that it names,
 * each with a team: the unit's own cores that are free and, with lending on, the free cores of the other units that
 * have nothing to do. The end of a job is the boundary at which lent cores go back: the moment a unit gets work its
 * driver takes part in nothing new, and if it is lent, it is back at the end of the borrower's job. So a job is
 * one dispatch or one token.
 *
 * What needs no team does not wait for a boundary: sampling a first token from stored logits (the hand-over) is no job
 * of the decode unit, whose driver may be lent to a dispatch of 100 ms, but is done by the thread that has the state:
 * in the prefill unit's source or at the end of its job, or by the thread that sends. It is recorded in the ring of
 * the unit that it stands for with activity_add, which any thread may call; then unit_wake.
 *
 * Several units may name the same core. On a shared driver's core they take turns job by job (a machine with one core
 * works so); another shared core joins whichever job begins while it is free.
 *
 * Threads: all functions may be called from any thread that is no worker; unit_wake, unit_activity, unit_now and the
 * constant facts from workers too, so also from sources and jobs. */
#ifndef TANDEM_UNIT_UNIT_H
#define TANDEM_UNIT_UNIT_H

#include "engine/thread/team.h"
#include "engine/unit/activity.h"
#include "engine/unit/cores.h"
#include "engine/unit/machine.h"

enum unit_kind { UNIT_NATIVE, UNIT_BLAS };

struct unit;

/* One job. The driver opens a span of this kind and token count, runs fn and records the span; fn may correct kind,
 * tokens and bytes in *span before it returns (a dispatch that was cancelled). fn runs on the driver's thread and
 * calls team_run as often as it likes; the team is valid until it returns and its size differs from job to job. */
struct work {
    void (*fn)(void *ctx, struct team *team, struct activity_span *span);
    void *ctx;
    enum span_kind kind; /* SPAN_NONE: not recorded */
    uint32_t tokens;
    uint64_t bytes;
};

/* A source of work: fills *work and returns UNIT_WORK, or returns the time (clock_ns) at which to ask again unless
 * woken earlier, or UNIT_IDLE: when woken. Called on the driver's thread with no lock held, never while a job of the
 * unit runs; what it does itself should take well under a millisecond. */
typedef int64_t unit_next_fn(void *ctx, int64_t now_ns, struct work *work);

#define UNIT_WORK ((int64_t)0)
#define UNIT_IDLE INT64_MAX

/* Opens a unit on cores[0..]; the first one is the driver's. Starts the workers that the machine lacks. The name is
 * for error lines. A core that this process may not use is TDM_E_ARG. */
tdm_status unit_open(struct unit **out, struct machine *m, const char *name, enum unit_kind kind,
                     const struct cores *cores, tdm_error *err);
/* Ends the source as unit_set_source(u, NULL, NULL) does. */
void unit_close(struct unit *u);

enum unit_kind unit_kind(const struct unit *u);
struct activity *unit_activity(const struct unit *u);

/* Replaces the source and asks it. When this returns, the source before it is not running, nor any of its jobs, and
 * is never called again. NULL: none. */
void unit_set_source(struct unit *u, unit_next_fn *next, void *ctx);

/* Has the source asked (again), now or after the running job. Cheap; wakes are never lost. */
void unit_wake(struct unit *u);

/* Runs one job on the unit and returns when it has ended: between two jobs of the source, before its next. Calls of
 * several threads run in order. */
void unit_call(struct unit *u, const struct work *work);

/* Waits for the end of the source's job and holds the source until unit_resume. unit_call still works. Counts. */
void unit_quiesce(struct unit *u);
void unit_resume(struct unit *u);

/* What the unit is doing at this moment. */
struct unit_now {
    struct cores cores;
    bool working; /* a job runs */
    int team;     /* its members; 0 without a job */
    int borrowed; /* of them, cores that are not the unit's own */
    int lent;     /* own cores in the job of another unit */
};
void unit_now(struct unit *u, struct unit_now *now);

#endif
