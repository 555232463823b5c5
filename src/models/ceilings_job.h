/* Measures the ceilings (src/models/ceilings.h) on a thread of its own while the units are not needed: about two
 * seconds, in steps of some hundredths, after each of which it can be given up (task_cancel, task_end). One thread, the
 * front end's, calls these functions; the machine must not be closed before task_end. */
#ifndef TANDEM_SRC_CEILINGS_JOB_H
#define TANDEM_SRC_CEILINGS_JOB_H

#include "src/models/ceilings.h"
#include "src/process/task.h"

typedef struct {
    task task;
    bool failed; /* the machine can't be measured: it isn't tried again */
    tdm_machine *machine;
    char kernels[32];
    bool keeps;
    ceilings value;
    tdm_status status;
    tdm_error err; /* where it failed */
} ceilings_job;

/* kernels: the name of the set, copied. keeps: results may be written to disk. */
void ceilings_job_begin(ceilings_job *j, tdm_machine *m, const char *kernels, bool keeps, int wake);
/* Has it just ended? Then true, and *c has the result if it succeeded. */
bool ceilings_job_take(ceilings_job *j, ceilings *c);

#endif
