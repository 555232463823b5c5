/* The model, and what the prefill unit needs of its own, loaded on a thread of its own so that the first frame comes at once and keys are taken meanwhile.
 *
 * The thread writes `models` and `err` before it sets `done`; the front end reads them after it has seen `done` and
 * joined. Progress and the wish to stop are atomics. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "src/chat/load.h"
#include "src/tui/tui_private.h"

static int on_progress(void *ctx, const char *what, uint64_t done, uint64_t total)
{
    tui_load *l = ctx;
    atomic_store(&l->packing, !strncmp(what, "packing", 7));
    atomic_store(&l->done_bytes, done);
    atomic_store(&l->total_bytes, total);
    return atomic_load(&l->cancel);
}

static void *run(void *arg)
{
    tui_load *l = arg;
    load_pair_open(&l->models, l->o, l->path, &(load_how){.progress = on_progress, .progress_ctx = l}, &l->err);
    atomic_store(&l->done, true);
    ssize_t told = write(l->wake, "l", 1);
    (void)told;
    return NULL;
}

bool tui_load_begin(tui *t, const char *path, bool switching)
{
    tui_load *l = &t->load;
    if (l->state == TUI_LOAD_RUNNING) {
        tui_notice_add(t, VIEW_NOTICE_WARN, "a model is being loaded; Ctrl-C stops it");
        return false;
    }
    char *copy = path ? strdup(path) : NULL;
    free(l->path);
    l->path = copy;
    l->o = t->o;
    l->wake = t->wake[1];
    l->switching = switching;
    l->models = (load_pair){0};
    l->err = (tdm_error){0};
    atomic_store(&l->cancel, false);
    atomic_store(&l->packing, false);
    atomic_store(&l->done, false);
    atomic_store(&l->done_bytes, 0);
    atomic_store(&l->total_bytes, 0);
    if (pthread_create(&l->thread, NULL, run, l)) {
        snprintf(t->failure, sizeof t->failure, "no thread for loading");
        l->state = TUI_LOAD_FAILED;
        return false;
    }
    l->state = TUI_LOAD_RUNNING;
    return true;
}

/* The first model: the conversation begins. */
static void start(tui *t)
{
    char notice[400];
    tdm_error err = {0};
    load_pair models = t->load.models;
    t->load.models = (load_pair){0};
    if (app_start(&t->app, &models, notice, &err)) {
        bool usable = t->app.chat != NULL; /* a session that can't be resumed leaves an empty conversation */
        tui_notice_add(t, VIEW_NOTICE_ERROR, "%s", err.text);
        if (!usable) {
            app_close(&t->app);
            app_init(&t->app, t->o);
            t->load.state = TUI_LOAD_FAILED;
            snprintf(t->failure, sizeof t->failure, "%s", err.text);
            return;
        }
    }
    t->load.state = TUI_LOAD_DONE;
    t->failure[0] = 0;
    if (notice[0]) tui_notice_add(t, VIEW_NOTICE_INFO, "%s", notice);
    if (load_machine_note(t->app.o, t->app.machine, notice, sizeof notice)) tui_notice_add(t, VIEW_NOTICE_WARN, "%s", notice);
    if (t->app.info.template_replaced)
        tui_notice_add(t, VIEW_NOTICE_WARN, "the model's own chat template is not known; the Qwen3.5 form is used");
    char disk[160];
    if (load_disk_note(&t->app.info, disk, sizeof disk)) tui_notice_add(t, VIEW_NOTICE_INFO, "%s", disk);
    tui_view_name_model(t);
    tui_turns_fresh(t);
    tui_take_draft(t);
    tui_draft_tell(t);
    if (!t->waiting) return;
    char *text = t->waiting;
    t->waiting = NULL;
    if (!tui_draft_send(t, text, strlen(text), t->waiting_ns)) input_set_text(t->input, text);
    free(text);
}

void tui_load_end(tui *t)
{
    tui_load *l = &t->load;
    if (l->state != TUI_LOAD_RUNNING || !atomic_load(&l->done)) return;
    pthread_join(l->thread, NULL);
    l->state = TUI_LOAD_DONE;
    t->dirty = t->urgent = true;
    if (l->models.model && l->switching) {
        tui_command_model(t, l->path);
    } else if (l->models.model) {
        start(t);
    } else if (l->switching) {
        tui_notice_add(t, VIEW_NOTICE_ERROR, "%s", l->err.text);
    } else {
        l->state = TUI_LOAD_FAILED;
        snprintf(t->failure, sizeof t->failure, "%s",
                 l->err.code == TDM_E_CANCELLED ? "loading was stopped" : l->err.text);
    }
}

void tui_load_cancel(tui *t)
{
    tui_load *l = &t->load;
    if (l->state != TUI_LOAD_RUNNING) return;
    atomic_store(&l->cancel, true);
    pthread_join(l->thread, NULL);
    load_pair_close(&l->models);
    l->state = TUI_LOAD_NONE;
}
