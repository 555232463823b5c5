#include "src/attach/job.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/process/task.h"

typedef struct request {
    struct request *next;
    attach_result result;
} request;

struct attach_job {
    int wake;
    request *first, *last; /* the first one is at work while the task runs */
    task task;
    pthread_mutex_t counting;
    const tdm_model *model; /* under `counting`, and so is this */
    uint32_t picture_tokens;
};

/* ---- The thread ------------------------------------------------------------------------------------------------ */

static bool stops(void *ctx)
{
    return task_cancelled(&((attach_job *)ctx)->task);
}

static void run(void *arg)
{
    attach_job *j = arg;
    attach_result *r = &j->first->result;
    switch (r->kind) {
    case ATTACH_FILE:
        r->status = attach_read(&r->one, r->what, stops, j, r->note, &r->err);
        break;
    case ATTACH_COMMAND:
        r->status = attach_run(&r->one, r->what, stops, j, r->note, &r->err);
        break;
    case ATTACH_CLIPBOARD:
        r->status = attach_paste(&r->one, stops, j, &r->err);
        break;
    }
    pthread_mutex_lock(&j->counting);
    tdm_error unheard; /* it is counted again before it is sent */
    if (!r->status && j->model) attach_count(&r->one, j->model, j->picture_tokens, &unheard);
    pthread_mutex_unlock(&j->counting);
    if (!r->status) r->one.of_draft = r->of_draft;
}

/* ---- The front end's ------------------------------------------------------------------------------------------- */

attach_job *attach_job_open(int wake)
{
    attach_job *j = calloc(1, sizeof *j);
    if (!j) return NULL;
    j->wake = wake;
    pthread_mutex_init(&j->counting, NULL);
    return j;
}

void attach_result_free(attach_result *r)
{
    free(r->what);
    attach_release(&r->one);
    *r = (attach_result){0};
}

static void drop(request *r)
{
    attach_result_free(&r->result);
    free(r);
}

static void begin(attach_job *j)
{
    if (j->task.running || !j->first || task_begin(&j->task, run, j, j->wake)) return;
    error_set(&j->first->result.err, TDM_E_NOMEM, "%s: no thread to read it", j->first->result.what);
    j->first->result.status = TDM_E_NOMEM;
}

void attach_job_close(attach_job *j)
{
    if (!j) return;
    attach_job_stop(j);
    task_wait(&j->task);
    while (j->first) {
        request *next = j->first->next;
        drop(j->first);
        j->first = next;
    }
    pthread_mutex_destroy(&j->counting);
    free(j);
}

void attach_job_model(attach_job *j, const tdm_model *model, uint32_t picture_tokens)
{
    if (!j) return;
    pthread_mutex_lock(&j->counting);
    j->model = model;
    j->picture_tokens = picture_tokens;
    pthread_mutex_unlock(&j->counting);
}

tdm_status attach_job_ask(attach_job *j, attach_kind kind, const char *what, bool of_draft, tdm_error *err)
{
    request *r = calloc(1, sizeof *r);
    if (r) r->result = (attach_result){.kind = kind, .what = strdup(what), .of_draft = of_draft};
    if (!r || !r->result.what) {
        free(r);
        return error_set(err, TDM_E_NOMEM, "%s: no memory to attach it", what);
    }
    if (j->last) j->last->next = r;
    else j->first = r;
    j->last = r;
    begin(j);
    return TDM_OK;
}

bool attach_job_take(attach_job *j, attach_result *out)
{
    request *r = j ? j->first : NULL;
    bool failed = r && !j->task.running && r->result.status;
    if (!r || (!failed && !task_take(&j->task))) return false;
    *out = r->result;
    if (!(j->first = r->next)) j->last = NULL;
    free(r);
    begin(j);
    return true;
}

bool attach_job_waiting(const attach_job *j, int i, attach_kind *kind, const char **what)
{
    const request *r = j ? j->first : NULL;
    while (r && i--) r = r->next;
    if (!r) return false;
    *kind = r->result.kind;
    *what = r->result.what;
    return true;
}

bool attach_job_busy(const attach_job *j)
{
    return j && j->first;
}

const char *attach_job_command(const attach_job *j)
{
    for (const request *r = j ? j->first : NULL; r; r = r->next)
        if (r->result.kind == ATTACH_COMMAND) return r->result.what;
    return NULL;
}

void attach_job_stop(attach_job *j)
{
    if (!j || !j->first) return;
    task_cancel(&j->task);
    while (j->first->next) {
        request *next = j->first->next;
        j->first->next = next->next;
        drop(next);
    }
    j->last = j->first;
}
