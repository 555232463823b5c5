#include "engine/unit/unit.h"

#include "engine/base/error.h"
#include "engine/thread/worker.h"
#include "engine/unit/schedule.h"

#include <stdlib.h>
#include <string.h>

enum unit_kind unit_kind(const struct unit *u)
{
    return u->kind;
}

void unit_set_offloaded(struct unit *u, bool on)
{
    pthread_mutex_lock(&u->machine->lock);
    u->offloaded = on;
    pthread_mutex_unlock(&u->machine->lock);
}

struct activity *unit_activity(const struct unit *u)
{
    return u->activity;
}

/* Waits until neither the source nor one of its jobs runs, and holds it. With the lock. */
static void pause_source(struct unit *u)
{
    u->paused++;
    while (u->asking) pthread_cond_wait(&u->machine->changed, &u->machine->lock);
}

static void resume_source(struct unit *u)
{
    assert_always(u->paused > 0);
    u->paused--;
    u->want = true;
    schedule_kick(u);
}

/* Starts the workers of all cores in found; with the lock. On failure those that were started stay with the machine,
 * asleep. */
static tdm_status find_cores(struct unit *u, const struct cores *cores, tdm_error *err)
{
    struct machine *m = u->machine;
    if (cores->count < 1) return error_set(err, TDM_E_ARG, "a unit without cores");
    tdm_status status = u->offloaded ? schedule_core(&u->core[u->cores++], m, -1, err) : TDM_OK;
    for (int i = u->offloaded; i < cores->count && !status; i++) /* the driver stands for the first one */
        status = schedule_core(&u->core[u->cores++], m, cores->cpu[i], err);
    return status;
}

tdm_status unit_open(struct unit **out, struct machine *m, const char *name, enum unit_kind kind,
                     const struct cores *cores, tdm_error *err)
{
    assert_always(!worker_self());
    *out = NULL;
    struct unit *u = aligned_alloc(64, sizeof *u);
    struct activity *activity = activity_new();
    if (!u || !activity) {
        free(u);
        activity_free(activity);
        return error_set(err, TDM_E_NOMEM, "unit %s: no memory", name);
    }
    memset(u, 0, sizeof *u);
    u->machine = m;
    u->kind = kind;
    u->activity = activity;
    u->ask_at = UNIT_IDLE;
    u->offloaded = kind == UNIT_GPU;
    pthread_mutex_lock(&m->lock);
    assert_always(m->units < MACHINE_UNITS);
    tdm_status status = find_cores(u, cores, err);
    if (!status) m->unit[m->units++] = u;
    pthread_mutex_unlock(&m->lock);
    if (status) {
        activity_free(activity);
        free(u);
        return status;
    }
    *out = u;
    return TDM_OK;
}

void unit_close(struct unit *u)
{
    if (!u) return;
    assert_always(!worker_self());
    struct machine *m = u->machine;
    pthread_mutex_lock(&m->lock);
    pause_source(u);
    assert_always(!u->calls && !u->working);
    int at = 0;
    for (int i = 0; i < m->units; i++) {
        if (m->unit[i] == u) at = i;
        if (m->unit[i]->lent_to == u) schedule_end_lent(m->unit[i]);
    }
    m->unit[at] = m->unit[--m->units];
    for (int i = 0; i < m->cores; i++)
        if (m->core[i]->last == u) m->core[i]->last = NULL;
    pthread_mutex_unlock(&m->lock);
    activity_free(u->activity);
    free(u);
}

void unit_set_source(struct unit *u, unit_next_fn *next, void *ctx)
{
    assert_always(!worker_self());
    pthread_mutex_lock(&u->machine->lock);
    pause_source(u);
    u->next = next;
    u->ctx = ctx;
    u->ask_at = UNIT_IDLE;
    resume_source(u);
    pthread_mutex_unlock(&u->machine->lock);
}

void unit_wake(struct unit *u)
{
    pthread_mutex_lock(&u->machine->lock);
    u->want = true;
    schedule_kick(u);
    pthread_mutex_unlock(&u->machine->lock);
}

void unit_call(struct unit *u, const struct work *work)
{
    assert_always(!worker_self()); /* a worker would wait for itself, or for a job that waits for it */
    struct call call = {.work = *work};
    pthread_mutex_lock(&u->machine->lock);
    struct call **end = &u->calls;
    while (*end) end = &(*end)->next;
    *end = &call;
    schedule_kick(u);
    while (!call.done) pthread_cond_wait(&u->machine->changed, &u->machine->lock);
    pthread_mutex_unlock(&u->machine->lock);
}

void unit_quiesce(struct unit *u)
{
    assert_always(!worker_self());
    pthread_mutex_lock(&u->machine->lock);
    pause_source(u);
    pthread_mutex_unlock(&u->machine->lock);
}

void unit_resume(struct unit *u)
{
    pthread_mutex_lock(&u->machine->lock);
    resume_source(u);
    pthread_mutex_unlock(&u->machine->lock);
}

void unit_now(struct unit *u, struct unit_now *now)
{
    pthread_mutex_lock(&u->machine->lock);
    now->cores.count = now->lent = 0;
    for (int i = 0; i < u->cores && !u->offloaded; i++) {
        if (u->core[i]->cpu >= 0) now->cores.cpu[now->cores.count++] = u->core[i]->cpu;
        now->lent += u->core[i]->user && u->core[i]->user != u;
    }
    now->working = u->working;
    now->team = u->working ? u->team.count : 0;
    now->borrowed = u->working ? u->borrowed : 0;
    pthread_mutex_unlock(&u->machine->lock);
}
