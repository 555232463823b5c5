/* Work on a thread of its own that can be given up, and whose end is told: what ceilings_job.h, units_job.h and the
 * demo's runs stand on. Begun, cancelled, taken and ended by one thread, the front end's; the work reads the job's
 * `cancel` by job_cancelled, and its results are read once job_take or job_end has returned. */
#ifndef TANDEM_SRC_JOB_H
#define TANDEM_SRC_JOB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Zeroed: nothing has been begun. */
typedef struct {
    bool running; /* to be joined */
    atomic_bool cancel, done;
    pthread_t thread;
    int wake;
    void (*work)(void *ctx);
    void *ctx;
} job;

/* Begins work(ctx); once it is done a byte is written to `wake` (-1: none). Nothing is running. False: there is no
 * thread for it. */
bool job_begin(job *j, void (*work)(void *ctx), void *ctx, int wake);
/* Gives it up; nobody waits. */
void job_cancel(job *j);
/* Is it to be given up? For the work, too. */
bool job_cancelled(const job *j);
/* Has it just ended? Then true, once. */
bool job_take(job *j);
/* Gives it up and waits for it. */
void job_end(job *j);

#endif
