/* Private to engine/unit: the assignment of cores to units over time. One lock per machine guards everything here; it
 * is held for bookkeeping only, never while a source or a job runs.
 *
 * A core is a CPU with its worker, or the driver of a unit whose work is offloaded (cpu -1), which is a member of its
 * own unit's teams alone. It is free, driving (its worker is in schedule_drive or is about to be: only the thread that
 * set `driving` may post it there) or used as a team member by the job of a unit (`user`: only that unit's driver may
 * post to it). Invariant: whenever the lock is released, the driver's core of a unit that has something to do is not
 * free. */
#ifndef TANDEM_UNIT_SCHEDULE_H
#define TANDEM_UNIT_SCHEDULE_H

#include "engine/unit/unit.h"

#include <pthread.h>

enum { MACHINE_UNITS = 16, MACHINE_CORES = CORES_MAX + MACHINE_UNITS, UNIT_CORES = CORES_MAX + 1 };

struct core {
    struct worker *worker;
    struct machine *machine;
    int cpu; /* -1: the core of a driver that is not pinned */
    bool driving;
    struct unit *user;
    struct unit *last; /* the unit that it drove last, since units that share a driver take turns */
};

struct machine {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a job or a call has ended, a core has come free */
    bool lending;
    int cores, units;
    struct core *core[MACHINE_CORES];
    struct unit *unit[MACHINE_UNITS];
};

/* A unit_call that waits, on its caller's stack. */
struct call {
    struct work work;
    bool done;
    struct call *next;
};

struct unit {
    struct machine *machine;
    enum unit_kind kind;
    bool offloaded; /* a device or a server computes: the unit's cores, but for the driver's, stand by */
    struct activity *activity;

    int cores;
    struct core *core[UNIT_CORES]; /* core[0] is the driver's */

    unit_next_fn *next;
    void *ctx;
    bool want;      /* the source is to be asked now */
    int64_t ask_at; /* and at this time in any case */
    int paused;
    bool asking;    /* the source or one of its jobs runs ... */
    bool deciding;  /* ... the source */
    struct call *calls;

    bool working;          /* a job runs, of the source or a call */
    struct team team;      /* of the running job */
    int borrowed;
    struct core *used[MACHINE_CORES]; /* used[i] is member i's core */
    struct member members[MACHINE_CORES];

    /* The unit whose jobs have this unit's cores, NULL: none; and since when. Both stay set between jobs, so that a
     * reply is one span of lending, not one per token. */
    struct unit *lent_to;
    int64_t lent_ns;
};

/* All with the machine's lock held. */

/* Posts u to its driver's core if there is something to do and the core is free. */
void schedule_kick(struct unit *u);
/* Ends the open span of lending of u. */
void schedule_end_lent(struct unit *u);
/* The core of a CPU, with a new worker if there is none yet; of -1 always a new one. */
tdm_status schedule_core(struct core **out, struct machine *m, int cpu, tdm_error *err);

#endif
