#include "src/chat/ceilings_job.h"

#include <stdio.h>
#include <unistd.h>

static int on_progress(void *ctx, const char *what, uint64_t done, uint64_t total)
{
    ceilings_job *j = ctx;
    (void)what, (void)done, (void)total;
    return atomic_load(&j->cancel);
}

static void *run(void *arg)
{
    ceilings_job *j = arg;
    tdm_error unkept; /* it is measured again another time */
    j->status = ceilings_measure(&j->value, j->machine, j->kernels, on_progress, j, j->keeps ? &unkept : NULL, &j->err);
    atomic_store(&j->done, true);
    ssize_t told = write(j->wake, "c", 1);
    (void)told;
    return NULL;
}

void ceilings_job_begin(ceilings_job *j, tdm_machine *m, const char *kernels, bool keeps, int wake)
{
    if (j->running) return;
    j->machine = m;
    j->wake = wake;
    j->keeps = keeps;
    snprintf(j->kernels, sizeof j->kernels, "%s", kernels);
    atomic_store(&j->cancel, false);
    atomic_store(&j->done, false);
    j->running = !pthread_create(&j->thread, NULL, run, j);
    j->failed = !j->running;
}

void ceilings_job_cancel(ceilings_job *j)
{
    atomic_store(&j->cancel, true);
}

bool ceilings_job_take(ceilings_job *j, ceilings *c)
{
    if (!j->running || !atomic_load(&j->done)) return false;
    pthread_join(j->thread, NULL);
    j->running = false;
    j->failed = j->status && j->status != TDM_E_CANCELLED;
    if (!j->status) *c = j->value;
    return true;
}

void ceilings_job_end(ceilings_job *j)
{
    if (!j->running) return;
    ceilings_job_cancel(j);
    pthread_join(j->thread, NULL);
    j->running = false;
}
