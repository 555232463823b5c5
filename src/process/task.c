#include "src/process/task.h"

#include <unistd.h>

static void *run(void *arg)
{
    task *t = arg;
    t->work(t->ctx);
    int wake = t->wake;
    atomic_store(&t->done, true);
    ssize_t told = wake >= 0 ? write(wake, "t", 1) : 0;
    (void)told;
    return NULL;
}

bool task_begin(task *t, void (*work)(void *ctx), void *ctx, int wake)
{
    t->work = work;
    t->ctx = ctx;
    t->wake = wake;
    atomic_store(&t->cancel, false);
    atomic_store(&t->done, false);
    t->running = !pthread_create(&t->thread, NULL, run, t);
    return t->running;
}

void task_cancel(task *t)
{
    atomic_store(&t->cancel, true);
}

bool task_cancelled(const task *t)
{
    return atomic_load(&t->cancel);
}

bool task_take(task *t)
{
    if (!t->running || !atomic_load(&t->done)) return false;
    task_wait(t);
    return true;
}

void task_wait(task *t)
{
    if (!t->running) return;
    pthread_join(t->thread, NULL);
    t->running = false;
}

void task_end(task *t)
{
    if (!t->running) return;
    task_cancel(t);
    task_wait(t);
}
