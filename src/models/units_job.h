/* Measures the pairs of units (units.h) on a thread of its own while the units are not needed; after each token it can
 * be given up (task_cancel, task_end). One thread, the front end's, calls these functions; the model must not be closed
 * before task_end. */
#ifndef TANDEM_SRC_UNITS_JOB_H
#define TANDEM_SRC_UNITS_JOB_H

#include "src/models/units.h"
#include "src/process/task.h"

/* The present power in watts, as from power_meter_watts. */
typedef double units_watts(void *ctx, bool *processor);

typedef struct {
    task task;
    uint64_t done_with; /* fingerprint of a model that needs no more measuring */
    const options *o;
    const tdm_model *model;
    uint64_t fingerprint;
    units_measured value;
    bool measured; /* value has results */
    tdm_status status;
    tdm_error err;
    units_watts *watts; /* NULL: power isn't measured; called on the job's thread */
    void *watts_ctx;
    /* For tests: replace the existing devices (matrix: there is a matrix unit), the model that reads in bfloat16, and
     * playing. */
    const tdm_gpu_info *gpus;
    int n_gpus;
    bool matrix;
    const tdm_model *bf16;
    units_probe *probe;
} units_job;

/* Does nothing if there are results already, or neither a GPU nor a matrix unit to consider. o: as the model was opened
 * with; the job's thread opens it in bfloat16 with them. */
void units_job_begin(units_job *j, const options *o, const tdm_model *model, int wake);
/* Has it just ended? Then true, and line has the result, or "". */
bool units_job_take(units_job *j, char *line, size_t room);

#endif
