#include "src/chat/job.h"

#include <unistd.h>

static void *run(void *arg)
{
    job *j = arg;
    j->work(j->ctx);
    atomic_store(&j->done, true);
    ssize_t told = j->wake >= 0 ? write(j->wake, "j", 1) : 0;
    (void)told;
    return NULL;
}

bool job_begin(job *j, void (*work)(void *ctx), void *ctx, int wake)
{
    j->work = work;
    j->ctx = ctx;
    j->wake = wake;
    atomic_store(&j->cancel, false);
    atomic_store(&j->done, false);
    j->running = !pthread_create(&j->thread, NULL, run, j);
    return j->running;
}

void job_cancel(job *j)
{
    atomic_store(&j->cancel, true);
}

bool job_cancelled(const job *j)
{
    return atomic_load(&j->cancel);
}

bool job_take(job *j)
{
    if (!j->running || !atomic_load(&j->done)) return false;
    pthread_join(j->thread, NULL);
    j->running = false;
    return true;
}

void job_end(job *j)
{
    if (!j->running) return;
    job_cancel(j);
    pthread_join(j->thread, NULL);
    j->running = false;
}
