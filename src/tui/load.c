#include "src/tui/load.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"

/* What the thread has opened. */
static void drop(tui_load *l)
{
    load_pair_close(&l->models);
    tdm_machine_close(l->machine);
    l->machine = NULL;
}

static int on_progress(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    tui_load *l = ctx;
    atomic_store(&l->step, (int)step);
    atomic_store(&l->done_bytes, done);
    atomic_store(&l->total_bytes, total);
    return task_cancelled(&l->task);
}

static void run(void *arg)
{
    tui_load *l = arg;
    const load_how how = {.agreed = true,
                          .plain_http = l->plain_http,
                          .lacks_plain_http = &l->lacks_plain_http,
                          .progress = on_progress,
                          .progress_ctx = l};
    tdm_status status = load_pair_open(&l->models, l->o, l->path, &how, &l->err);
    if (!status && !l->used) status = load_machine(&l->machine, l->o, l->models.model, &how, &l->err);
    if (!status) status = load_places(&l->models, l->used ? l->used : l->machine, l->o, &how, &l->err);
    if (status) drop(l);
}

tdm_status tui_load_begin(tui_load *l, const options *o, const char *path, bool switching, tdm_machine *used, int wake,
                          tdm_error *err)
{
    if (l->state == TUI_LOAD_RUNNING) return error_set(err, TDM_E_BUSY, "a model is being loaded; Ctrl-C stops it");
    char *copy = path ? strdup(path) : NULL;
    free(l->path);
    l->path = copy;
    free(l->prompt);
    l->prompt = NULL;
    l->o = o;
    l->switching = switching;
    l->began_ns = clock_ns();
    l->models = (load_pair){0};
    l->machine = NULL;
    l->used = used;
    l->lacks_plain_http = false;
    l->err = (tdm_error){0};
    atomic_store(&l->step, TDM_STEP_READING);
    atomic_store(&l->done_bytes, 0);
    atomic_store(&l->total_bytes, 0);
    if ((path && !copy) || !task_begin(&l->task, run, l, wake)) {
        tui_load_fail(l, "no memory, or no thread, for loading");
        return error_set(err, TDM_E_NOMEM, "%s", l->failure);
    }
    l->state = TUI_LOAD_RUNNING;
    return TDM_OK;
}

/* Less than a hundredth of a second says little. */
static void measure_rate(tui_load *l)
{
    tdm_model_info info;
    double seconds = 1e-9 * (double)(clock_ns() - l->began_ns);
    tdm_model_describe(l->models.model, &info);
    if (seconds >= 0.01) l->rate = (double)info.file_bytes / seconds;
}

bool tui_load_take(tui_load *l)
{
    if (!task_take(&l->task)) return false;
    l->state = TUI_LOAD_DONE;
    l->plain_http = false;
    if (l->models.model) measure_rate(l);
    return true;
}

void tui_load_cancel(tui_load *l)
{
    if (l->state != TUI_LOAD_RUNNING) return;
    task_end(&l->task);
    drop(l);
    l->state = TUI_LOAD_NONE;
}

char *tui_load_take_prompt(tui_load *l)
{
    char *prompt = l->prompt;
    l->prompt = NULL;
    return prompt;
}

void tui_load_fail(tui_load *l, const char *why)
{
    l->state = TUI_LOAD_FAILED;
    snprintf(l->failure, sizeof l->failure, "%s", why);
}

void tui_load_free(tui_load *l)
{
    free(l->path);
    free(l->prompt);
    l->path = l->prompt = NULL;
}
