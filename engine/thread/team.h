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
 * The thread that calls team_run is member 0, the driver. A forward pass is best one team_run with barriers inside:
 * a barrier costs a fraction of a run. Nothing here allocates once the team is made.
 *
 * A phase is what lies between two barriers (or the ends of the run). In a phase there is at most one sequence of
 * member_claim (or member_share) calls, with the same total and chunk in every member; a member may leave it early or
 * not take part. Every member passes the same number of barriers. The items are cut into one stretch for each member,
 * the same in all phases with as many of them. A member walks its own from the beginning, so that it reads memory in
 * one stream, and what it wrote itself; then it takes of the others' what they have not got to. So who gets which chunk
 * is not fixed: results must not depend on it.
 *
 * Where teams come from: a unit's job is handed one (engine/unit/unit.h); team_solo makes a team of the caller alone;
 * team_open makes one with threads of its own, for tests and benches that need no units. Both rest on the same
 * workers (engine/thread/worker.h). */
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
    int from;                            /* whose share it takes from, counted from its own; count: nothing is left */
    _Alignas(64) _Atomic uint64_t taken; /* of its stretch, by anybody: phase << 32 | items */
};

typedef void team_fn(void *ctx, struct member *m);

struct team {
    int count; /* members that the next team_run has */
    /* private: one line for each word that several threads write */
    struct member *members; /* [count] at least */
    team_fn *fn;
    void *ctx;
    struct member solo;                         /* the members of a team of one */
    _Alignas(64) _Atomic uint32_t left;         /* wait word: members that have not returned */
    _Alignas(64) _Atomic uint32_t phase;        /* wait word: changes as a barrier opens */
    _Atomic uint32_t arrived;                   /* at the barrier: the last one has the line of phase already */
};

/* Runs fn(ctx, member) in every member and returns when all have returned. Only one thread may run a team at a
 * time, and a member must not run its own team. */
void team_run(struct team *t, team_fn *fn, void *ctx);

/* Waits until every member is here. What members wrote before it is visible to all after it. */
void member_barrier(struct member *m);

/* Takes the next chunk of the items 0..total-1 of this phase: [*begin, *end), of `chunk` items but for the last.
 * False when none is left. A slower core takes fewer chunks: choose them several times as many as members. */
bool member_claim(struct member *m, uint32_t total, uint32_t chunk, uint32_t *begin, uint32_t *end);

/* The same for work in long chunks: they have at most `most` items and become smaller as fewer of a stretch are left,
 * so that members end at about the same time. total and most are those of all members. */
bool member_share(struct member *m, uint32_t total, uint32_t most, uint32_t *begin, uint32_t *end);

/* A team of the caller alone; team_run calls fn directly. Nothing to free. */
void team_solo(struct team *t);

/* A team with count-1 threads of its own; the caller of team_run is the driver. With cpus[count], member i is pinned
 * to CPU cpus[i] (each at most once); the calling thread, as member 0, too, until team_close puts its affinity back
 * (called by the same thread). NULL: nothing is pinned. */
tdm_status team_open(struct team **out, int count, const int *cpus, tdm_error *err);
void team_close(struct team *t);

/* For the owners of workers: a team over members that the caller keeps. members[1..count-1].worker are set by the
 * caller before each team_run, which also may change count (not beyond the array). */
void team_init(struct team *t, struct member *members, int count);

#endif
