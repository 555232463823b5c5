/* A team: some threads that run one function together, each with its own member (SPMD).
 *
 *     static void scale(void *ctx, struct member *m)
 *     {
 *         uint32_t begin, end;
 *         while (member_claim(m, rows, 64, &begin, &end)) ...rows [begin, end)...
 *         member_barrier(m);                        the next phase sees all rows
 *         while (member_claim(m, heads, 1, &begin, &end)) ...
 *     }
 *     team_run(team, scale, &work);                 returns when all members have returned
 *
 * The thread that calls team_run is member 0, the driver. A forward pass is one team_run with barriers inside, since a
 * barrier costs a fraction of a run. Nothing here allocates once the team exists.
 *
 * A phase is what lies between two barriers (or the ends of the run). In a phase there is at most one sequence of
 * member_claim (or member_share) calls, with the same total and chunk in every member; a member may leave it early or
 * not take part. Every member passes the same number of barriers. Each member has a contiguous share of the items, the
 * same in all phases with the same total. It takes its own share from the beginning, so that it reads one stream of
 * memory and the data that it wrote itself, and then steals chunks that are left in the others' shares. Which member
 * gets which chunk is therefore not fixed: results must not depend on it.
 *
 * Where teams come from: a unit hands one to each job (engine/unit/unit.h); team_solo makes a team of the caller alone;
 * team_open makes one with threads of its own, for tests and benchmarks without units. All use the same workers
 * (engine/thread/worker.h). */
#ifndef TANDEM_THREAD_TEAM_H
#define TANDEM_THREAD_TEAM_H

#include "engine/thread/worker.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct team;

struct member {
    _Alignas(64) struct team *team;
    int index, count; /* 0 <= index < count; 0 is the driver */
    /* private */
    struct worker *worker; /* NULL for the driver */
    uint32_t phase;
    int from;                            /* whose share it takes from, counted from its own; count: nothing left */
    _Alignas(64) _Atomic uint64_t taken; /* of its share, by any member: phase << 32 | items */
};

typedef void team_fn(void *ctx, struct member *m);

struct team {
    int count; /* members that the next team_run has */
    /* private: a cache line for each word that several threads write */
    struct member *members; /* [count] at least */
    team_fn *fn;
    void *ctx;
    struct member solo;                         /* the members of a team of one */
    _Alignas(64) _Atomic uint32_t left;         /* wait word: members that have not returned */
    _Alignas(64) _Atomic uint32_t phase;        /* wait word: changes when a barrier opens */
    _Atomic uint32_t arrived;                   /* at the barrier; beside phase, which the last one writes */
};

/* Runs fn(ctx, member) in every member and returns when all have returned. Only one thread may run a team at a
 * time, and a member must not run its own team. */
void team_run(struct team *t, team_fn *fn, void *ctx);

/* Waits until every member is here. What members wrote before it is visible to all after it. */
void member_barrier(struct member *m);

/* Takes the next chunk of the items 0..total-1 of this phase: [*begin, *end), `chunk` items, the last one fewer. False
 * when none is left. Slower cores take fewer chunks: there should be several times as many chunks as members. */
bool member_claim(struct member *m, uint32_t total, uint32_t chunk, uint32_t *begin, uint32_t *end);

/* The same with chunks of at most `most` items that become smaller towards the end of a share, so that all members end
 * at about the same time. Every member passes the same total and most. */
bool member_share(struct member *m, uint32_t total, uint32_t most, uint32_t *begin, uint32_t *end);

/* A team of the caller alone; team_run calls fn directly. Nothing to free. */
void team_solo(struct team *t);

/* A team with count-1 threads of its own; the caller of team_run is the driver. With cpus[count], member i is pinned to
 * CPU cpus[i] (each at most once); so is the calling thread, member 0, until it calls team_close, which restores its
 * affinity. NULL: nothing is pinned. */
tdm_status team_open(struct team **out, int count, const int *cpus, tdm_error *err);
void team_close(struct team *t);

/* For owners of workers: a team over the caller's array of members. Before each team_run the caller sets
 * members[1..count-1].worker, and may change count within the array. */
void team_init(struct team *t, struct member *members, int count);

#endif
