#include "engine/thread/team.h"

#include "engine/base/error.h"
#include "engine/thread/wait.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEAM_MEMBERS = 4096 };

/* A team that brought its own threads. The team comes first: team_close gets from it to the rest. */
struct own_team {
    struct team team;
    bool pinned;
    cpu_set_t before; /* affinity of the driver before team_open */
    struct member members[];
};

void team_init(struct team *t, struct member *members, int count)
{
    memset(t, 0, sizeof *t);
    t->members = members;
    t->count = count;
}

void team_solo(struct team *t)
{
    team_init(t, &t->solo, 1);
    memset(&t->solo, 0, sizeof t->solo);
}

static void member_main(void *ctx)
{
    struct member *m = ctx;
    struct team *t = m->team;
    t->fn(t->ctx, m);
    wait_count_down(&t->left);
}

void team_run(struct team *t, team_fn *fn, void *ctx)
{
    assert_always(t->count >= 1);
    t->fn = fn;
    t->ctx = ctx;
    uint32_t phase = wait_value(&t->phase);
    atomic_store_explicit(&t->left, (uint32_t)(t->count - 1) * WAIT_STEP, memory_order_relaxed);
    for (int i = 0; i < t->count; i++) { /* all of them before one begins, which may look at the others */
        struct member *m = &t->members[i];
        *m = (struct member){.team = t, .index = i, .count = t->count, .worker = m->worker, .phase = phase};
        atomic_init(&m->taken, (uint64_t)phase << 32);
    }
    for (int i = 1; i < t->count; i++) worker_post(t->members[i].worker, member_main, &t->members[i]);
    fn(ctx, &t->members[0]);
    for (uint32_t left; (left = wait_value(&t->left)) != 0;) wait_change(&t->left, left, WAIT_FOREVER);
}

void member_barrier(struct member *m)
{
    struct team *t = m->team;
    uint32_t phase = m->phase;
    m->phase = phase + WAIT_STEP;
    m->from = 0;
    if (atomic_fetch_add_explicit(&t->arrived, 1, memory_order_acq_rel) + 1 < (uint32_t)m->count) {
        wait_change(&t->phase, phase, WAIT_FOREVER);
        return;
    }
    atomic_store_explicit(&t->arrived, 0, memory_order_relaxed);
    wait_set(&t->phase, phase + WAIT_STEP);
}

/* Takes some of the `size` items of a member's stretch: at most `most`, and half of what is left of it. Returns how
 * many; *index is the first. Items that were taken in another phase don't count: no member takes items in a phase that
 * another member has left. */
static uint32_t take(struct member *owner, uint32_t phase, uint32_t size, uint32_t most, uint32_t *index)
{
    uint64_t seen = atomic_load_explicit(&owner->taken, memory_order_relaxed);
    uint32_t n;
    do {
        *index = seen >> 32 == phase ? (uint32_t)seen : 0;
        if (*index >= size) return 0;
        n = (size - *index) / 2;
        n = n < 1 ? 1 : n > most ? most : n;
    } while (!atomic_compare_exchange_weak_explicit(&owner->taken, &seen, (uint64_t)phase << 32 | (*index + n),
                                                    memory_order_relaxed, memory_order_relaxed));
    return n;
}

bool member_share(struct member *m, uint32_t total, uint32_t most, uint32_t *begin, uint32_t *end)
{
    assert_always(most > 0 && m->from < m->count);
    uint64_t count = (uint64_t)m->count;
    for (; m->from < m->count; m->from++) {
        uint64_t owner = ((uint64_t)m->index + (uint64_t)m->from) % count;
        uint64_t first = total * owner / count, after = total * (owner + 1) / count;
        uint32_t index, n = take(&m->team->members[owner], m->phase, (uint32_t)(after - first), most, &index);
        if (!n) continue;
        *begin = (uint32_t)first + index;
        *end = *begin + n;
        return true;
    }
    return false;
}

bool member_claim(struct member *m, uint32_t total, uint32_t chunk, uint32_t *begin, uint32_t *end)
{
    assert_always(chunk > 0);
    if (!member_share(m, total / chunk + (total % chunk != 0), 1, begin, end)) return false;
    *begin *= chunk;
    *end = total - *begin < chunk ? total : *begin + chunk;
    return true;
}

tdm_status team_open(struct team **out, int count, const int *cpus, tdm_error *err)
{
    *out = NULL;
    if (count < 1 || count > TEAM_MEMBERS)
        return error_set(err, TDM_E_ARG, "a team of %d threads: expected 1 to %d", count, TEAM_MEMBERS);
    size_t bytes = sizeof(struct own_team) + (size_t)count * sizeof(struct member);
    struct own_team *o = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!o) return error_set(err, TDM_E_NOMEM, "no memory for a team of %d threads", count);
    memset(o, 0, bytes);
    team_init(&o->team, o->members, count);
    tdm_status status = TDM_OK;
    for (int i = 1; i < count && !status; i++) {
        char name[32];
        snprintf(name, sizeof name, "team-%d", i);
        status = worker_open(&o->members[i].worker, cpus ? cpus[i] : -1, name, err);
    }
    if (!status && cpus) {
        cpu_set_t one;
        CPU_ZERO(&one);
        if (cpus[0] >= 0 && cpus[0] < CPU_SETSIZE) CPU_SET(cpus[0], &one);
        o->pinned = !pthread_getaffinity_np(pthread_self(), sizeof o->before, &o->before) &&
                    !pthread_setaffinity_np(pthread_self(), sizeof one, &one);
        if (!o->pinned) status = error_set(err, TDM_E_ARG, "CPU %d: not one that this process may use", cpus[0]);
    }
    if (status) {
        team_close(&o->team);
        return status;
    }
    *out = &o->team;
    return TDM_OK;
}

void team_close(struct team *t)
{
    if (!t) return;
    struct own_team *o = (struct own_team *)t;
    for (int i = 1; i < t->count; i++) worker_close(o->members[i].worker);
    if (o->pinned) pthread_setaffinity_np(pthread_self(), sizeof o->before, &o->before);
    free(o);
}
