/* Measures the pairs of units (units.h) on a thread of its own while nobody needs the units; after each token it can be
 * given up. One thread, the front end's, calls these functions; the model must not be closed before units_job_end. */
#ifndef TANDEM_SRC_UNITS_JOB_H
#define TANDEM_SRC_UNITS_JOB_H

#include <pthread.h>
#include <stdatomic.h>

#include "src/chat/units.h"

typedef struct {
    bool running; /* to be joined */
    uint64_t done_with; /* the model's fingerprint that needs no measuring any more */
    pthread_t thread;
    atomic_bool cancel, done;
    const tdm_model *model;
    uint64_t fingerprint;
    int wake;     /* the thread writes a byte there when it is done */
    units_measured value;
    bool measured; /* there is something to tell */
    tdm_status status;
    tdm_error err;
    /* For tests: instead of the devices that there are, and of two turns. */
    const tdm_gpu_info *gpus;
    int n_gpus;
    units_probe *probe;
} units_job;

/* Nothing is measured where that is kept already, or where no GPU is considered. */
void units_job_begin(units_job *j, const tdm_model *model, int wake);
/* Gives it up; nobody waits. */
void units_job_cancel(units_job *j);
/* Has it just ended? Then true, and *line says what it found; "": nothing. */
bool units_job_take(units_job *j, char *line, size_t room);
/* Gives it up and waits for it. */
void units_job_end(units_job *j);

#endif
