#include "engine/unit/machine.h"

#include "engine/base/error.h"
#include "engine/thread/worker.h"
#include "engine/unit/schedule.h"

#include <stdlib.h>

tdm_status machine_open(struct machine **out, tdm_error *err)
{
    struct machine *m = *out = calloc(1, sizeof *m);
    if (!m) return error_set(err, TDM_E_NOMEM, "no memory for a machine");
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->changed, NULL);
    m->lending = true;
    return TDM_OK;
}

void machine_close(struct machine *m)
{
    if (!m) return;
    assert_always(!worker_self());
    pthread_mutex_lock(&m->lock);
    assert_always(m->units == 0);
    for (int i = 0; i < m->cores; i++)
        while (m->core[i]->driving || m->core[i]->user) pthread_cond_wait(&m->changed, &m->lock);
    pthread_mutex_unlock(&m->lock);
    for (int i = 0; i < m->cores; i++) {
        worker_close(m->core[i]->worker);
        free(m->core[i]);
    }
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

void machine_set_lending(struct machine *m, bool on)
{
    pthread_mutex_lock(&m->lock);
    m->lending = on;
    pthread_mutex_unlock(&m->lock);
}

bool machine_lending(struct machine *m)
{
    pthread_mutex_lock(&m->lock);
    bool on = m->lending;
    pthread_mutex_unlock(&m->lock);
    return on;
}

int machine_workers(struct machine *m)
{
    pthread_mutex_lock(&m->lock);
    int n = m->cores;
    pthread_mutex_unlock(&m->lock);
    return n;
}

int machine_cores(struct machine *m)
{
    pthread_mutex_lock(&m->lock);
    int n = 0;
    for (int i = 0; i < m->cores; i++) n += m->core[i]->cpu >= 0;
    pthread_mutex_unlock(&m->lock);
    return n;
}
