#include "engine/thread/worker.h"

#include "engine/base/error.h"
#include "engine/base/slice.h"
#include "engine/thread/wait.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct worker {
    _Alignas(64) _Atomic uint32_t ticket; /* a wait word: changes with each post */
    worker_fn *fn;                        /* of the newest post; written before ticket changes */
    void *ctx;
    _Alignas(64) int64_t alarm_ns; /* the rest is the thread's own */
    worker_fn *alarm_fn;
    void *alarm_ctx;
    bool quit;
    pthread_t thread;
};

static _Thread_local struct worker *self;

struct worker *worker_self(void)
{
    return self;
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    self = w;
    slice_for_work();
    uint32_t seen = 0;
    while (!w->quit) {
        if (wait_change(&w->ticket, seen, w->alarm_ns)) {
            seen = wait_value(&w->ticket);
            w->fn(w->ctx);
        } else {
            w->alarm_ns = WAIT_FOREVER;
            w->alarm_fn(w->alarm_ctx);
        }
    }
    return NULL;
}

tdm_status worker_open(struct worker **out, int cpu, const char *name, tdm_error *err)
{
    *out = NULL;
    if (cpu < -1 || cpu >= CPU_SETSIZE)
        return error_set(err, TDM_E_ARG, "CPU %d: expected 0 to %d", cpu, CPU_SETSIZE - 1);
    struct worker *w = aligned_alloc(64, sizeof *w);
    pthread_attr_t attr;
    if (!w || pthread_attr_init(&attr)) {
        free(w);
        return error_set(err, TDM_E_NOMEM, "no memory for a worker thread");
    }
    memset(w, 0, sizeof *w);
    w->alarm_ns = WAIT_FOREVER;
    if (cpu >= 0) {
        cpu_set_t mask;
        CPU_ZERO(&mask);
        CPU_SET(cpu, &mask);
        pthread_attr_setaffinity_np(&attr, sizeof mask, &mask);
    }
    /* Signals are the business of the program's own threads, but for those that a thread's own work raises: were they
     * blocked, the process would end without its handlers. */
    static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t others, before;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&others, own[i]);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    int failed = pthread_create(&w->thread, &attr, worker_main, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (failed) {
        free(w);
        if (failed == EINVAL) return error_set(err, TDM_E_ARG, "CPU %d: not one that this process may use", cpu);
        errno = failed;
        return error_errno(err, TDM_E_NOMEM, "cannot start a worker thread for CPU %d", cpu);
    }
    char short_name[16] = "";
    strncat(short_name, name, sizeof short_name - 1);
    pthread_setname_np(w->thread, short_name);
    *out = w;
    return TDM_OK;
}

void worker_post(struct worker *w, worker_fn *fn, void *ctx)
{
    w->fn = fn;
    w->ctx = ctx;
    wait_set(&w->ticket, wait_value(&w->ticket) + WAIT_STEP);
}

void worker_alarm(struct worker *w, int64_t at_ns, worker_fn *fn, void *ctx)
{
    assert_always(self == w);
    w->alarm_ns = at_ns;
    w->alarm_fn = fn;
    w->alarm_ctx = ctx;
}

static void worker_quit(void *ctx)
{
    ((struct worker *)ctx)->quit = true;
}

void worker_close(struct worker *w)
{
    if (!w) return;
    assert_always(self != w);
    worker_post(w, worker_quit, w);
    pthread_join(w->thread, NULL);
    free(w);
}
