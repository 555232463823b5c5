#include "src/models/ceilings_job.h"

#include <stdio.h>

static int on_progress(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    (void)step, (void)done, (void)total;
    return task_cancelled(&((ceilings_job *)ctx)->task);
}

static void measure(void *ctx)
{
    ceilings_job *j = ctx;
    tdm_error unkept; /* it is measured again another time */
    j->status = ceilings_measure(&j->value, j->machine, j->kernels, on_progress, j, j->keeps ? &unkept : NULL, &j->err);
}

void ceilings_job_begin(ceilings_job *j, tdm_machine *m, const char *kernels, bool keeps, int wake)
{
    if (j->task.running) return;
    j->machine = m;
    j->keeps = keeps;
    snprintf(j->kernels, sizeof j->kernels, "%s", kernels);
    j->failed = !task_begin(&j->task, measure, j, wake);
}

bool ceilings_job_take(ceilings_job *j, ceilings *c)
{
    if (!task_take(&j->task)) return false;
    j->failed = j->status && j->status != TDM_E_CANCELLED;
    if (!j->status) *c = j->value;
    return true;
}
