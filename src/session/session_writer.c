#include "src/session/session_writer.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "src/process/task.h"

#define MS INT64_C(1000000)

enum {
    EVERY_MS = 1000,
    STILL_WRITING_MS = 100, /* a slow disk is asked about again */
    SHARE = 100,            /* of a core's time that writing may take: one in this many */
};

typedef struct {
    session_slot slot;
    session s;
} copy;

struct session_writer {
    /* The front end's */
    bool pending;    /* text has come that no file has */
    int64_t next_ns; /* it is saved not before this */
    task task;
    /* Both threads', under the mutex */
    pthread_mutex_t mutex;
    bool running; /* the thread will look for another copy before it ends */
    bool waits;   /* the copy is there */
    copy next;
    bool ended;   /* a save has, and its result has not been taken */
    tdm_status status;
    tdm_error err;
    int64_t cost_ns; /* time of the processor */
    int wake;
};

session_writer *session_writer_new(void)
{
    session_writer *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    pthread_mutex_init(&k->mutex, NULL);
    k->wake = -1;
    return k;
}

void session_writer_free(session_writer *k)
{
    if (!k) return;
    session_writer_wait(k);
    pthread_mutex_destroy(&k->mutex);
    free(k);
}

void session_writer_set_wake(session_writer *k, int fd)
{
    if (!k) return;
    pthread_mutex_lock(&k->mutex);
    k->wake = fd;
    pthread_mutex_unlock(&k->mutex);
}

/* ---- When ------------------------------------------------------------------------------------------------------ */

void session_writer_text_came(session_writer *k)
{
    if (k) k->pending = true;
}

void session_writer_rest(session_writer *k)
{
    if (!k) return;
    k->pending = false;
    k->next_ns = 0;
}

int64_t session_writer_deadline(const session_writer *k)
{
    return k && k->pending ? k->next_ns : INT64_MAX;
}

bool session_writer_ready(session_writer *k, int64_t now_ns)
{
    if (!k || !k->pending || now_ns < k->next_ns) return false;
    pthread_mutex_lock(&k->mutex);
    bool writing = k->running;
    int64_t work_ns = writing ? 0 : k->cost_ns * SHARE, every_ns = (writing ? STILL_WRITING_MS : EVERY_MS) * MS;
    pthread_mutex_unlock(&k->mutex);
    k->next_ns = now_ns + (work_ns > every_ns ? work_ns : every_ns);
    k->pending = writing;
    return !writing;
}

/* ---- Writing --------------------------------------------------------------------------------------------------- */

static int64_t thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Takes the copy that waits. False: there is none, and the thread ends. */
static bool next_copy(session_writer *k, copy *out)
{
    pthread_mutex_lock(&k->mutex);
    bool there = k->waits;
    if (there) *out = k->next;
    k->waits = false;
    k->running = there;
    pthread_mutex_unlock(&k->mutex);
    return there;
}

static void run(void *arg)
{
    session_writer *k = arg;
    for (copy c; next_copy(k, &c);) {
        int64_t began_ns = thread_ns();
        tdm_error err = {0};
        tdm_status status = store_save(&c.slot, &c.s, &err);
        session_free(&c.s);
        pthread_mutex_lock(&k->mutex);
        int wake = status || k->status ? k->wake : -1;
        k->status = status;
        k->err = err;
        k->ended = true;
        k->cost_ns = thread_ns() - began_ns;
        pthread_mutex_unlock(&k->mutex);
        ssize_t told = wake >= 0 ? write(wake, "k", 1) : 0;
        (void)told;
    }
}

void session_writer_put(session_writer *k, const session_slot *slot, const session *s)
{
    session dropped = *s;
    if (k) {
        k->pending = false;
        pthread_mutex_lock(&k->mutex);
        bool begins = !k->running;
        dropped = k->waits ? k->next.s : (session){0};
        k->next = (copy){*slot, *s};
        k->waits = k->running = true;
        pthread_mutex_unlock(&k->mutex);
        if (begins) {
            task_wait(&k->task);
            if (!task_begin(&k->task, run, k, -1)) run(k);
        }
    }
    session_free(&dropped);
}

bool session_writer_busy(session_writer *k)
{
    if (!k) return false;
    pthread_mutex_lock(&k->mutex);
    bool busy = k->running;
    pthread_mutex_unlock(&k->mutex);
    return busy;
}

void session_writer_wait(session_writer *k)
{
    if (k) task_wait(&k->task);
}

bool session_writer_take(session_writer *k, tdm_status *status, tdm_error *err)
{
    if (!k) return false;
    pthread_mutex_lock(&k->mutex);
    bool ended = k->ended;
    k->ended = false;
    if (ended) {
        *status = k->status;
        *err = k->err;
    }
    pthread_mutex_unlock(&k->mutex);
    return ended;
}
