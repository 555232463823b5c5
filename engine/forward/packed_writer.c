#include "engine/forward/packed_writer.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"

/* Packing that takes less time than this is not noticed. */
static const double worth_seconds = 0.4;

enum { DELAY_SECONDS = 2 };

struct packed_writer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* stop or hurry */
    atomic_bool stop;
    bool hurry;
    uint64_t key, limit;
    struct blob *blobs;
    size_t n;
    char *folder;
    tdm_status status;
    tdm_error error;
};

static void wait_a_moment(struct packed_writer *p)
{
    int64_t until = clock_ns() + DELAY_SECONDS * INT64_C(1000000000);
    pthread_mutex_lock(&p->lock);
    while (!p->stop && !p->hurry && !clock_wait(&p->changed, &p->lock, until)) continue;
    pthread_mutex_unlock(&p->lock);
}

static void *write_in_background(void *ctx)
{
    struct packed_writer *p = ctx;
    const struct sched_param lowest = {0};
    pthread_setschedparam(pthread_self(), SCHED_IDLE, &lowest); /* not required */
    wait_a_moment(p);
    p->status = packed_save(p->folder, p->key, p->limit, p->blobs, p->n, &p->stop, &p->error);
    return NULL;
}

static void discard(struct packed_writer *p)
{
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->changed);
    free(p->blobs);
    free(p->folder);
    free(p);
}

tdm_status packed_writer_start(struct packed_writer **out, const struct weights *w, const char *folder, uint64_t limit,
                               tdm_error *err)
{
    *out = NULL;
    if (w->was_packed || !w->pack_key || w->load_seconds < worth_seconds) return TDM_OK;
    struct packed_writer *p = calloc(1, sizeof *p);
    if (!p) return error_set(err, TDM_E_NOMEM, "no memory for keeping packed weights");
    p->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    clock_condition_init(&p->changed);
    p->key = w->pack_key;
    p->limit = limit;
    p->folder = strdup(folder);
    p->n = weights_blobs(w, &p->blobs);
    if (!p->folder || !p->n || pthread_create(&p->thread, NULL, write_in_background, p)) {
        discard(p);
        return error_set(err, TDM_E_NOMEM, "no memory for keeping packed weights");
    }
    *out = p;
    return TDM_OK;
}

static void end(struct packed_writer *p, bool stop)
{
    pthread_mutex_lock(&p->lock);
    p->stop = stop;
    p->hurry = true;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
}

void packed_writer_stop(struct packed_writer *p)
{
    if (!p) return;
    end(p, true);
    discard(p);
}

tdm_status packed_writer_finish(struct packed_writer *p, tdm_error *err)
{
    end(p, false);
    tdm_status status = p->status;
    if (status && err) *err = p->error;
    discard(p);
    return status;
}
