#include "engine/unit/schedule.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/thread/worker.h"

#include <stdio.h>
#include <stdlib.h>

enum { HANDS = 8, /* more threads copy no faster */ MANY = 8 };

static bool has_work(const struct unit *u, int64_t now)
{
    return u->calls || (u->next && !u->paused && (u->want || u->ask_at <= now));
}

static bool owns(const struct unit *u, const struct core *c)
{
    for (int i = 0; i < u->cores; i++)
        if (u->core[i] == c) return true;
    return false;
}

/* ---- Lending ------------------------------------------------------------------------------------------------- */

void schedule_end_lent(struct unit *u)
{
    if (!u->lent_to) return;
    struct activity_span s = {.start_ns = u->lent_ns, .end_ns = clock_ns(), .kind = SPAN_LENT};
    activity_end(u->activity, &s);
    u->lent_to = NULL;
}

static void begin_lent(struct unit *u, struct unit *to, int64_t now)
{
    if (u->lent_to == to) return;
    schedule_end_lent(u);
    struct activity_span s = {.start_ns = now, .kind = SPAN_LENT};
    activity_begin(u->activity, &s);
    u->lent_to = to;
    u->lent_ns = now;
}

static void use(struct unit *u, struct core *c)
{
    u->used[u->team.count] = c;
    u->members[u->team.count++].worker = c->worker;
    c->user = u;
}

/* Is the core free, and not needed by a unit other than u that drives on it? */
static bool is_available(const struct core *c, const struct unit *u, int64_t now)
{
    if (c->driving || c->user) return false;
    for (int i = 0; i < c->machine->units; i++) {
        const struct unit *v = c->machine->unit[i];
        if (v != u && v->core[0] == c && has_work(v, now)) return false;
    }
    return true;
}

/* Does every unit that computes with this core rest? */
static bool rests(const struct core *c, int64_t now)
{
    for (int i = 0; i < c->machine->units; i++) {
        const struct unit *v = c->machine->unit[i];
        if (!v->offloaded && owns(v, c) && (v->working || has_work(v, now))) return false;
    }
    return true;
}

/* Waits for the other unit's decision, which takes a moment, so that its cores are not left idle for a whole job. u is
 * at work by now, so no unit waits for it or takes its cores. */
static void await_decisions(struct unit *u)
{
    struct machine *m = u->machine;
    for (int i = 0; !u->offloaded && i < m->units; i++)
        while (m->lending && m->unit[i] != u && !m->unit[i]->offloaded && m->unit[i]->deciding)
            pthread_cond_wait(&m->changed, &m->lock);
}

/* Cores that stand by, for a job that they do in a device's stead. */
static void gather_hands(struct unit *u, int64_t now)
{
    for (int i = 1; i < u->cores && u->team.count < HANDS; i++)
        if (is_available(u->core[i], u, now) && rests(u->core[i], now)) use(u, u->core[i]);
}

/* A device's driver is pinned to nothing, and waits for the device many times a second. One core of many is left free
 * for it, or it would wait for a core as well. */
static bool leaves_one(const struct unit *u, int64_t now)
{
    const struct machine *m = u->machine;
    bool beside = false;
    for (int i = 0; i < m->units; i++) {
        const struct unit *v = m->unit[i];
        beside |= v != u && v->offloaded && v->kind == UNIT_GPU && (v->asking || has_work(v, now));
    }
    return beside && u->cores >= MANY;
}

/* Sets up the team of u's next job. */
static void gather(struct unit *u, const struct work *work, int64_t now)
{
    struct machine *m = u->machine;
    team_init(&u->team, u->members, 1);
    u->borrowed = 0;
    u->used[0] = u->core[0];
    u->members[0].worker = NULL;
    if (u->offloaded && work->on_borrowed_cores) gather_hands(u, now);
    if (u->offloaded) return;
    int most = leaves_one(u, now) ? u->cores - 1 : u->cores;
    for (int i = 1; i < most; i++)
        if (is_available(u->core[i], u, now)) use(u, u->core[i]);
    if (u->kind == UNIT_GPU) return; /* it has all of its cores, and none of them for its driver */
    int own = u->team.count;
    for (int k = 0; k < m->units; k++) {
        struct unit *v = m->unit[k];
        if (v == u || v->offloaded) continue;
        int before = u->team.count;
        if (m->lending && !v->working && !has_work(v, now))
            for (int i = 0; i < v->cores; i++)
                if (!owns(u, v->core[i]) && is_available(v->core[i], u, now)) use(u, v->core[i]);
        if (u->team.count > before)
            begin_lent(v, u, now);
        else if (v->lent_to == u)
            schedule_end_lent(v);
    }
    u->borrowed = u->team.count - own;
}

/* Gives the team's cores back. Those whose units have something to do by now drive them. */
static void release(struct unit *u)
{
    struct machine *m = u->machine;
    for (int i = 1; i < u->team.count; i++) u->used[i]->user = NULL;
    u->team.count = u->borrowed = 0;
    for (int k = 0; k < m->units; k++)
        if (m->unit[k] != u) schedule_kick(m->unit[k]);
}

/* ---- Driving ------------------------------------------------------------------------------------------------- */

static void run_job(struct unit *u, const struct work *work)
{
    struct machine *m = u->machine;
    schedule_end_lent(u);
    u->working = true;
    await_decisions(u);
    int64_t now = clock_ns();
    gather(u, work, now);
    pthread_mutex_unlock(&m->lock);

    struct activity_span span = {.start_ns = now, .kind = work->kind, .tokens = work->tokens, .bytes = work->bytes};
    activity_begin(u->activity, &span);
    work->fn(work->ctx, &u->team, &span);
    span.end_ns = clock_ns();
    activity_end(u->activity, &span);

    pthread_mutex_lock(&m->lock);
    u->working = false;
    release(u);
}

/* Runs a waiting call, or asks the source and runs what it names. */
static void step(struct unit *u)
{
    struct machine *m = u->machine;
    struct call *call = u->calls;
    if (call) {
        u->calls = call->next;
        run_job(u, &call->work);
        call->done = true; /* its memory is the caller's again when the lock is released */
    } else {
        struct work work = {0};
        u->want = false;
        u->ask_at = UNIT_IDLE;
        u->asking = u->deciding = true;
        pthread_mutex_unlock(&m->lock);
        int64_t answer = u->next(u->ctx, clock_ns(), &work);
        pthread_mutex_lock(&m->lock);
        u->deciding = false;
        pthread_cond_broadcast(&m->changed);
        if (answer == UNIT_WORK) {
            assert_always(work.fn);
            run_job(u, &work);
            u->want = true;
        } else {
            u->ask_at = answer;
        }
        u->asking = false;
    }
    pthread_cond_broadcast(&m->changed);
}

/* The unit to look after next among those that this core drives, in turn; NULL if none has anything to do. */
static struct unit *next_unit(struct core *c)
{
    struct machine *m = c->machine;
    int64_t now = clock_ns();
    int from = 0;
    for (int i = 0; i < m->units; i++)
        if (m->unit[i] == c->last) from = i + 1;
    for (int i = 0; i < m->units; i++) {
        struct unit *u = m->unit[(from + i) % m->units];
        if (u->core[0] == c && has_work(u, now)) return u;
    }
    return NULL;
}

static void schedule_drive(void *ctx);

/* The time has come at which a source wanted to be asked again. */
static void schedule_alarm(void *ctx)
{
    struct core *c = ctx;
    struct machine *m = c->machine;
    pthread_mutex_lock(&m->lock);
    /* Not free: the post that is under way, or the borrower's release, does it. */
    bool is_free = !c->driving && !c->user;
    if (is_free) c->driving = true;
    pthread_mutex_unlock(&m->lock);
    if (is_free) schedule_drive(c);
}

/* Looks after the units whose driver this core is until they have nothing to do. c->driving is set. */
static void schedule_drive(void *ctx)
{
    struct core *c = ctx;
    struct machine *m = c->machine;
    pthread_mutex_lock(&m->lock);
    for (struct unit *u; (u = next_unit(c));) {
        c->last = u;
        step(u);
    }
    int64_t alarm = UNIT_IDLE;
    for (int i = 0; i < m->units; i++) {
        struct unit *u = m->unit[i];
        if (u->core[0] == c && u->next && !u->paused && u->ask_at < alarm) alarm = u->ask_at;
        if (u->lent_to && u->lent_to->core[0] == c) schedule_end_lent(u); /* this core's units have gone idle */
    }
    worker_alarm(c->worker, alarm, schedule_alarm, c);
    c->driving = false;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
}

void schedule_kick(struct unit *u)
{
    struct core *c = u->core[0];
    if (c->driving || c->user || !has_work(u, clock_ns())) return;
    c->driving = true;
    worker_post(c->worker, schedule_drive, c);
}

tdm_status schedule_core(struct core **out, struct machine *m, int cpu, tdm_error *err)
{
    for (int i = 0; i < m->cores && cpu >= 0; i++) {
        if (m->core[i]->cpu != cpu) continue;
        *out = m->core[i];
        return TDM_OK;
    }
    if (m->cores == MACHINE_CORES) return error_set(err, TDM_E_ARG, "more than %d cores", CORES_MAX);
    struct core *c = calloc(1, sizeof *c);
    if (!c) return error_set(err, TDM_E_NOMEM, "no memory for CPU %d", cpu);
    c->machine = m;
    c->cpu = cpu;
    char name[32];
    if (cpu < 0)
        snprintf(name, sizeof name, "driver");
    else
        snprintf(name, sizeof name, "core-%d", cpu);
    tdm_status status = worker_open(&c->worker, cpu, name, err);
    if (status) {
        free(c);
        return status;
    }
    m->core[m->cores++] = c;
    *out = c;
    return TDM_OK;
}
