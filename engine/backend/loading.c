#include "engine/backend/loading.h"

#include <stdlib.h>
#include <time.h>

#include "engine/backend/known.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"

enum { STATES_AT_LEAST = 2 }; /* a model without room for these is of no use on a device */

void loading_init(struct device *d)
{
    clock_condition_init(&d->changed);
    pthread_mutex_init(&d->lock, NULL);
}

void loading_end(struct device *d)
{
    pthread_mutex_lock(&d->lock);
    d->closing = true;
    while (d->loads) pthread_cond_wait(&d->changed, &d->lock);
    pthread_mutex_unlock(&d->lock);
    assert_always(!d->models);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
}

static tdm_status given_up(tdm_error *err)
{
    return error_set(err, TDM_E_CANCELLED, "loading was cancelled");
}

/* ---- On this thread ---------------------------------------------------------------------------------------------- */

/* How far loading is, for other threads that wait for the same model. */
struct telling {
    struct device *device;
    struct model *model;
    const struct backend_load *what;
};

static int tell(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    struct telling *t = ctx;
    struct device *d = t->device;
    pthread_mutex_lock(&d->lock);
    bool closing = d->closing;
    t->model->step = step;
    t->model->done = done;
    t->model->total = total;
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    return closing || (t->what->progress && t->what->progress(t->what->progress_ctx, step, done, total));
}

static tdm_status upload(struct model *m, struct device *d, const struct backend_load *what, tdm_error *err)
{
    struct telling telling = {d, m, what};
    struct gpu_model_options o = {.lm_head = what->weights->lm_head->type,
                                  .kv = what->kv,
                                  .context = what->context,
                                  .tokens = PASS_TOKENS,
                                  .runs = PASS_RUNS,
                                  .states = STATES_AT_LEAST,
                                  .tower = what->tower,
                                  .progress = tell,
                                  .progress_ctx = &telling};
    gpu_model_needs(what->source, &o, &m->needs);
    tdm_status status = gpu_model_new(&m->gpu, d->gpu, what->source, &o, err);
    if (!status && d->folder) known_keep_choices(d->gpu, d->folder);
    return status;
}

/* Out of the list. With the lock. */
static void take_out(struct device *d, struct model *m)
{
    struct model **at = &d->models;
    while (*at != m) at = &(*at)->next;
    *at = m->next;
}

/* Loads the model that this thread has put into the list. With the lock, which is not held meanwhile. */
static tdm_status load_here(struct model *m, struct device *d, const struct backend_load *what, tdm_error *err)
{
    pthread_mutex_unlock(&d->lock);
    tdm_status status = upload(m, d, what, err);
    pthread_mutex_lock(&d->lock);
    m->loading = false;
    pthread_cond_broadcast(&d->changed);
    if (!status && d->closing) status = given_up(err);
    if (!status) return TDM_OK;
    take_out(d, m);
    gpu_model_free(m->gpu);
    free(m);
    return status;
}

/* ---- By another one ---------------------------------------------------------------------------------------------- */

/* The same model, in the list; NULL: it is not there. With the lock. */
static struct model *find(struct device *d, const struct backend_load *what)
{
    struct model *m = d->models;
    while (m && (m->base.weights != what->weights || m->kv != what->kv || m->context != what->context)) m = m->next;
    return m;
}

/* Waits for the next step of another thread that loads m, which may be gone then; or for as long as a caller that
 * cancels may have to wait, whether the other thread gets on or not. With the lock, which is not held while progress is
 * reported. */
static tdm_status wait_for(struct device *d, const struct model *m, const struct backend_load *what, tdm_error *err)
{
    enum { OFTEN_MS = 50 };
    tdm_step step = m->step;
    uint64_t done = m->done, total = m->total;
    pthread_mutex_unlock(&d->lock);
    bool stop = what->progress && what->progress(what->progress_ctx, step, done, total);
    pthread_mutex_lock(&d->lock);
    if (stop || d->closing) return given_up(err);
    const struct model *now = find(d, what);
    if (now && now->loading) clock_wait(&d->changed, &d->lock, clock_ns() + OFTEN_MS * 1000000);
    return TDM_OK;
}

/* ---- Loading ----------------------------------------------------------------------------------------------------- */

/* With the lock. */
static tdm_status load_or_share(struct model **out, struct device *d, const struct backend_load *what, tdm_error *err)
{
    struct model *m;
    tdm_status status = TDM_OK;
    while ((m = find(d, what)) && m->loading && !status) status = wait_for(d, m, what, err);
    if (status) return status;
    if (!m) {
        if (!(m = calloc(1, sizeof *m))) return error_set(err, TDM_E_NOMEM, "%s: no memory", d->name);
        *m = (struct model){
            .base = {.backend = &backend_gpu, .weights = what->weights, .device = &d->base, .tower = what->tower},
            .kv = what->kv,
            .context = what->context,
            .loading = true,
            .step = TDM_STEP_COPYING_GPU,
            .total = 1,
            .next = d->models};
        d->models = m;
        status = load_here(m, d, what, err);
        if (status) return status;
    }
    m->users++;
    *out = m;
    return TDM_OK;
}

tdm_status loading_load(struct backend_model **out, struct backend_device *device, const struct backend_load *what,
                        tdm_error *err)
{
    struct device *d = (struct device *)device;
    struct model *m = NULL;
    pthread_mutex_lock(&d->lock);
    d->loads++;
    tdm_status status = load_or_share(&m, d, what, err);
    d->loads--;
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    *out = m ? &m->base : NULL;
    return status;
}

void loading_unload(struct backend_model *model)
{
    struct model *m = (struct model *)model;
    struct device *d = (struct device *)m->base.device;
    pthread_mutex_lock(&d->lock);
    bool last = --m->users == 0;
    if (last) take_out(d, m);
    pthread_mutex_unlock(&d->lock);
    if (!last) return;
    gpu_model_free(m->gpu);
    free(m);
}
