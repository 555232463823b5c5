#include "src/tui/tui_model.h"

#include "src/tui/tui_commands.h"
#include "src/tui/tui_private.h"
#include "src/tui/tui_view.h"

/* The first model: the conversation begins. */
static void start(tui *t)
{
    char notice[400];
    tdm_error err = {0};
    load_pair models = t->load.models;
    t->load.models = (load_pair){0};
    if (app_start(&t->app, &models, notice, &err)) {
        bool usable = t->app.chat != NULL; /* a session that can't be resumed leaves an empty conversation */
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
        if (!usable) {
            app_close(&t->app);
            app_init(&t->app, t->o);
            tui_load_fail(&t->load, err.text);
            return;
        }
    }
    t->load.failure[0] = 0;
    if (notice[0]) tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", notice);
    if (load_machine_note(t->app.o, t->app.machine, notice, sizeof notice))
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", notice);
    if (t->app.info.template_replaced)
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

void tui_model_take(tui *t)
{
    tui_load *l = &t->load;
    if (!tui_load_take(l)) return;
    t->dirty = t->urgent = true;
    if (l->models.model && l->switching) tui_commands_model(t, l->path);
    else if (l->models.model) start(t);
    else if (l->switching) tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", l->err.text);
    else tui_load_fail(l, l->err.code == TDM_E_CANCELLED ? "loading was stopped" : l->err.text);
}
