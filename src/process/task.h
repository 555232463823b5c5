/* One piece of work on a thread of its own, which can be cancelled and which reports its end: all such work of the
 * front ends.
 *
 * One thread, the front end's, begins, cancels, takes and ends a task. The work reads task_cancelled, and its results
 * may be read once task_take, task_wait or task_end has returned. */
#ifndef TANDEM_SRC_TASK_H
#define TANDEM_SRC_TASK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Zeroed: no work has begun. */
typedef struct {
    bool running; /* the thread has to be joined */
    atomic_bool cancel, done;
    pthread_t thread;
    int wake;
    void (*work)(void *ctx);
    void *ctx;
} task;

/* Begins work(ctx) while no other work of the task runs; a byte is written to `wake` (-1: none) once it is done. False:
 * no thread could be made. */
bool task_begin(task *t, void (*work)(void *ctx), void *ctx, int wake);
/* Cancels the work, without waiting for its end. */
void task_cancel(task *t);
/* Whether the work was cancelled. The work calls this, too. */
bool task_cancelled(const task *t);
/* Whether the work has just ended: true once. */
bool task_take(task *t);
/* Waits for the end of the work, if it is running. */
void task_wait(task *t);
/* Cancels the work and waits for its end. */
void task_end(task *t);

#endif
