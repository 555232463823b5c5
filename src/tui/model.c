#include "src/tui/model.h"

#include <stdlib.h>

#include "src/tui/commands.h"
#include "src/tui/draft/attach.h"
#include "src/tui/frame/view.h"
#include "src/tui/private.h"

/* The first model: the conversation begins. */
static void start(tui *t)
{
    char notice[400];
    tdm_error err = {0};
    load_pair models = t->jobs.load.models;
    tdm_machine *machine = t->jobs.load.machine;
    t->jobs.load.models = (load_pair){0};
    t->jobs.load.machine = NULL;
    if (app_start(&t->app, &models, machine, notice, &err)) {
        bool usable = app_talks(&t->app); /* a session that can't be resumed leaves an empty conversation */
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
        if (!usable) {
            app_close(&t->app);
            app_init(&t->app, t->o);
            app_set_wake(&t->app, t->wake[1]);
            tui_attach_open(t);
            tui_load_fail(&t->jobs.load, err.text);
            return;
        }
    }
    t->jobs.load.failure[0] = 0;
    if (notice[0]) tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", notice);
    if (load_machine_note(t->app.o, t->app.machine, notice, sizeof notice))
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", notice);
    if (load_cost_note(&t->app.models, notice, sizeof notice))
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", notice);
    for (const char *const *at = t->app.info.notices; *at; at++)
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", *at);
    if (t->app.info.template_note) tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", t->app.info.template_note);
    char disk[160];
    if (load_disk_note(&t->app.info, disk, sizeof disk)) tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", disk);
    tui_view_name_model(t);
    tui_turns_fresh(t);
    tui_draft_take_kept(t);
    tui_draft_tell(t);
    tui_draft_send_waiting(t);
}

/* There is no room for both models: the one in use is closed, and the other one loaded into its place. */
static bool make_way(tui *t)
{
    char name[APP_MODEL_NAME];
    tdm_error err;
    if (t->jobs.load.err.code != TDM_E_NOMEM || app_leave_model(&t->app, name, &err)) return false;
    tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "no room for both models: %s is closed first", name);
    char *prompt = tui_load_take_prompt(&t->jobs.load); /* the prompt goes on with this model all the same */
    bool begun = !tui_load_begin(&t->jobs.load, t->o, t->jobs.load.path, false, t->app.machine, t->wake[1], &err);
    t->jobs.load.prompt = prompt;
    return begun;
}

/* The model that was closed for another one is loaded again; false: it is the one that has just failed. */
static bool go_back(tui *t)
{
    tdm_error err;
    const char *old = t->app.model_path, *failed = t->jobs.load.path;
    bool same = load_is_builtin(old) ? load_is_builtin(failed) : failed && !strcmp(old, failed);
    if (!t->app.left || same) return false;
    tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", t->jobs.load.err.text);
    tui_draft_return_prompt(t, tui_load_take_prompt(&t->jobs.load));
    return !tui_load_begin(&t->jobs.load, t->o, old, false, t->app.machine, t->wake[1], &err);
}

/* The conversation that was left without a model goes on. */
static void go_on(tui *t)
{
    tui_load *l = &t->jobs.load;
    tui_commands_model(t, l->path ? l->path : LOAD_BUILTIN);
    if (!app_talks(&t->app)) {
        tui_load_fail(l, "the model could not be used");
        return;
    }
    l->failure[0] = 0;
    tui_draft_tell(t);
    tui_draft_send_waiting(t);
}

/* There is no model at all. */
static void first_failed(tui *t)
{
    tui_load_fail(&t->jobs.load,
                  t->jobs.load.err.code == TDM_E_CANCELLED ? "loading was stopped" : t->jobs.load.err.text);
    tui_draft_return_prompt(t, tui_load_take_prompt(&t->jobs.load));
}

static void switch_failed(tui *t)
{
    tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", t->jobs.load.err.text);
    tui_draft_return_prompt(t, tui_load_take_prompt(&t->jobs.load));
}

/* The server's name has led to an overlay network. */
static void ask_for_plain_http(tui *t)
{
    char *prompt = tui_load_take_prompt(&t->jobs.load);
    tui_consent_plain_http(t, t->jobs.load.path, prompt);
    free(prompt);
}

void tui_model_take(tui *t)
{
    tui_load *l = &t->jobs.load;
    if (!tui_load_take(l)) return;
    t->face.dirty = t->face.urgent = true;
    bool switching = l->switching;
    if (l->models.model && t->app.left) go_on(t);
    else if (l->models.model && switching) tui_commands_model(t, l->path);
    else if (l->models.model) start(t);
    else if (l->lacks_plain_http) ask_for_plain_http(t);
    else if (switching ? make_way(t) : go_back(t)) return;
    else if (switching) switch_failed(t);
    else first_failed(t);
}
