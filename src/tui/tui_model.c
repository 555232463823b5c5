#include "src/tui/tui_model.h"

#include "src/tui/tui_attach.h"
#include "src/tui/tui_commands.h"
#include "src/tui/tui_private.h"
#include "src/tui/tui_view.h"

/* The first model: the conversation begins. */
static void start(tui *t)
{
    char notice[400];
    tdm_error err = {0};
    load_pair models = t->load.models;
    tdm_machine *machine = t->load.machine;
    t->load.models = (load_pair){0};
    t->load.machine = NULL;
    if (app_start(&t->app, &models, machine, notice, &err)) {
        bool usable = t->app.chat != NULL; /* a session that can't be resumed leaves an empty conversation */
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
        if (!usable) {
            app_close(&t->app);
            app_init(&t->app, t->o);
            app_set_wake(&t->app, t->wake[1]);
            tui_attach_open(t);
            tui_load_fail(&t->load, err.text);
            return;
        }
    }
    t->load.failure[0] = 0;
    if (notice[0]) tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", notice);
    if (load_machine_note(t->app.o, t->app.machine, notice, sizeof notice))
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", notice);
    if (load_cost_note(&t->app.models, notice, sizeof notice))
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", notice);
    if (t->app.info.template_replaced && !t->app.info.on_server) /* a server renders its own */
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN,
                        "the model's own chat template is not known; the Qwen3.5 form is used");
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
    tdm_error err;
    if (t->load.err.code != TDM_E_NOMEM || app_leave_model(&t->app, &err)) return false;
    tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "no room for both models: %s is closed first", t->app.info.name);
    char *prompt = tui_load_take_prompt(&t->load); /* it goes on with this model all the same */
    bool begun = !tui_load_begin(&t->load, t->o, t->load.path, false, t->app.machine, t->wake[1], &err);
    t->load.prompt = prompt;
    return begun;
}

/* The model that was closed for another one is loaded again; false: it is the one that has just failed. */
static bool go_back(tui *t)
{
    tdm_error err;
    const char *old = t->app.model_path, *failed = t->load.path;
    bool same = load_is_builtin(old) ? load_is_builtin(failed) : failed && !strcmp(old, failed);
    if (!t->app.left || same) return false;
    tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", t->load.err.text);
    tui_draft_return_prompt(t, tui_load_take_prompt(&t->load));
    return !tui_load_begin(&t->load, t->o, old, false, t->app.machine, t->wake[1], &err);
}

/* The conversation that was left without a model goes on. */
static void go_on(tui *t)
{
    tui_load *l = &t->load;
    tui_commands_model(t, l->path ? l->path : LOAD_BUILTIN);
    if (!t->app.chat) {
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
    tui_load_fail(&t->load, t->load.err.code == TDM_E_CANCELLED ? "loading was stopped" : t->load.err.text);
    tui_draft_return_prompt(t, tui_load_take_prompt(&t->load));
}

static void switch_failed(tui *t)
{
    tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", t->load.err.text);
    tui_draft_return_prompt(t, tui_load_take_prompt(&t->load));
}

void tui_model_take(tui *t)
{
    tui_load *l = &t->load;
    if (!tui_load_take(l)) return;
    t->dirty = t->urgent = true;
    bool switching = l->switching;
    if (l->models.model && t->app.left) go_on(t);
    else if (l->models.model && switching) tui_commands_model(t, l->path);
    else if (l->models.model) start(t);
    else if (switching ? make_way(t) : go_back(t)) return;
    else if (switching) switch_failed(t);
    else first_failed(t);
}
