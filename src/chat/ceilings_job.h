/* Measures the ceilings (src/chat/ceilings.h) on a thread of its own while nobody needs the units: about two
 * seconds, in steps of some hundredths, after each of which it can be given up. One thread, the front end's, calls
 * these functions; the machine must not be closed before ceilings_job_end. */
#ifndef TANDEM_SRC_CEILINGS_JOB_H
#define TANDEM_SRC_CEILINGS_JOB_H

#include <pthread.h>
#include <stdatomic.h>

#include "src/chat/ceilings.h"

typedef struct {
    bool running; /* to be joined */
    bool failed;  /* the machine can't be measured: it isn't tried again */
    pthread_t thread;
    atomic_bool cancel, done;
    tdm_machine *machine;
    char kernels[32];
    bool keeps;
    int wake;     /* the thread writes a byte there when it is done */
    ceilings value;
    tdm_status status;
    tdm_error err; /* where it failed */
} ceilings_job;

/* kernels: the name of the set. keeps: what is measured may be written to disk. */
void ceilings_job_begin(ceilings_job *j, tdm_machine *m, const char *kernels, bool keeps, int wake);
/* Gives it up; nobody waits. */
void ceilings_job_cancel(ceilings_job *j);
/* Has it just ended? Then true, and what was measured, if it was, is in *c. */
bool ceilings_job_take(ceilings_job *j, ceilings *c);
/* Gives it up and waits for it. */
void ceilings_job_end(ceilings_job *j);

#endif
