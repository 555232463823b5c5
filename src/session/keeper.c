#include "src/session/keeper.h"

#include <time.h>

#define MS INT64_C(1000000)

enum {
    EVERY_MS = 1000,
    STILL_WRITING_MS = 100, /* a slow disk is asked about again */
    SHARE = 100,            /* of a core's time that writing may take: one in so many */
};

static int64_t thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void *run(void *arg)
{
    keeper *k = arg;
    k->status = store_save(&k->place, &k->s, &k->err);
    session_free(&k->s);
    k->cost_ns = thread_ns();
    atomic_store(&k->done, true);
    return NULL;
}

int64_t keeper_deadline(const keeper *k)
{
    return k->pending ? k->next_ns : INT64_MAX;
}

bool keeper_ready(keeper *k, int64_t now_ns)
{
    if (!k->pending || now_ns < k->next_ns) return false;
    bool writing = k->running && !atomic_load(&k->done);
    int64_t work_ns = writing ? 0 : k->cost_ns * SHARE, every_ns = (writing ? STILL_WRITING_MS : EVERY_MS) * MS;
    k->next_ns = now_ns + (work_ns > every_ns ? work_ns : every_ns);
    return !writing;
}

void keeper_begin(keeper *k, const store_place *place, const session *s)
{
    k->place = *place;
    k->s = *s;
    atomic_store(&k->done, false);
    k->running = !pthread_create(&k->thread, NULL, run, k);
    if (!k->running) session_free(&k->s); /* the next one may find room for a thread */
}

bool keeper_end(keeper *k)
{
    bool ran = k->running;
    if (ran) pthread_join(k->thread, NULL);
    k->running = false;
    return ran;
}
