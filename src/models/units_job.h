/* Measures the pairs of units (units.h) on a thread of its own while the units are not needed; after each token it can
 * be given up (task_cancel, task_end). One thread, the front end's, calls these functions; the model must not be closed
 * before task_end. */
#ifndef TANDEM_SRC_UNITS_JOB_H
#define TANDEM_SRC_UNITS_JOB_H

#include "src/models/units.h"
#include "src/process/task.h"

/* Watts that are drawn now, as power_meter_watts has them. */
typedef double units_watts(void *ctx, bool *processor);

typedef struct {
    task task;
    uint64_t done_with; /* the model's fingerprint that needs no measuring any more */
    const tdm_model *model;
    uint64_t fingerprint;
    units_measured value;
    bool measured; /* there is something to tell */
    tdm_status status;
    tdm_error err;
    units_watts *watts; /* NULL: power isn't measured; called on the job's thread */
    void *watts_ctx;
    /* For tests: instead of the devices that there are, and of two turns. */
    const tdm_gpu_info *gpus;
    int n_gpus;
    units_probe *probe;
} units_job;

/* Nothing is measured where that is kept already, or where no GPU is considered. */
void units_job_begin(units_job *j, const tdm_model *model, int wake);
/* Has it just ended? Then true, and *line says what it found; "": nothing. */
bool units_job_take(units_job *j, char *line, size_t room);

#endif
