#include "tests/engine/gpu/held.h"

#include <errno.h>
#include <time.h>

#include "tests/check.h"

enum { STILL_S = 60 };

pthread_mutex_t held_mutex = PTHREAD_MUTEX_INITIALIZER;
atomic_bool held_stuck;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static atomic_bool runs, is_held;
static int holds, answered; /* places where the thread was held; where the others have made a round */

void held_wait_for_change(void)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += STILL_S;
    if (pthread_cond_timedwait(&changed, &held_mutex, &at) == ETIMEDOUT) held_stuck = true;
}

void held_set(bool *what, bool value)
{
    pthread_mutex_lock(&held_mutex);
    *what = value;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&held_mutex);
}

void held_until(const bool *what)
{
    pthread_mutex_lock(&held_mutex);
    HELD_WAIT(*what);
    CHECK(!held_stuck);
    pthread_mutex_unlock(&held_mutex);
}

void held_start(pthread_t *out, void *(*what)(void *), void *ctx, bool is_to_be_held)
{
    pthread_mutex_lock(&held_mutex);
    runs = true;
    is_held = is_to_be_held;
    held_stuck = false;
    holds = answered = 0;
    if (pthread_create(out, NULL, what, ctx)) abort();
    thread = *out;
    pthread_mutex_unlock(&held_mutex);
}

/* held_start knows it then. */
void held_begun(void)
{
    pthread_mutex_lock(&held_mutex);
    pthread_mutex_unlock(&held_mutex);
}

void held_end(void)
{
    pthread_mutex_lock(&held_mutex);
    runs = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&held_mutex);
}

bool held_runs(void)
{
    return runs;
}

bool held_is_me(void)
{
    return runs && pthread_equal(pthread_self(), thread);
}

int held_count(void)
{
    return holds;
}

void held_here(void)
{
    if (!is_held || !held_is_me()) return;
    pthread_mutex_lock(&held_mutex);
    int own = ++holds;
    pthread_cond_broadcast(&changed);
    HELD_WAIT(answered >= own);
    pthread_mutex_unlock(&held_mutex);
}

int held_at_progress(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    CHECK(done < total);
    ++((int *)ctx)[step];
    held_here();
    return 0;
}

void held_go_on(void (*round)(void *), void *ctx)
{
    pthread_mutex_lock(&held_mutex);
    while (runs && !held_stuck) {
        HELD_WAIT(!runs || holds > answered);
        if (!runs) break;
        int seen = holds;
        pthread_mutex_unlock(&held_mutex);
        round(ctx);
        pthread_mutex_lock(&held_mutex);
        answered = seen;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&held_mutex);
    CHECK(!held_stuck);
}
