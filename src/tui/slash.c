#include "src/tui/slash.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/span.h"
#include "engine/os/path.h"
#include "src/files/files.h"
#include "src/files/unfinished.h"
#include "src/slash/command.h"
#include "src/tui/choose.h"
#include "src/tui/frame/demo.h"
#include "src/tui/frame/view.h"
#include "src/tui/private.h"

static tui_slash *slash_of(const slash_running *r)
{
    return r->front->ctx;
}

static tui *tui_of(const slash_running *r)
{
    return slash_of(r)->t;
}

/* Is there a chat? If there is none yet, the command says so. */
static bool has_chat(const slash_running *r)
{
    tui *t = tui_of(r);
    if (!app_talks(&t->app))
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "/%s has to wait for the model",
                        slash_table[r->call->id].name);
    return app_talks(&t->app);
}

/* Runs the command as --plain does, once there is a model. */
static tdm_status with_chat(slash_running *r, tdm_error *err)
{
    return has_chat(r) ? slash_table[r->call->id].run(r, err) : TDM_OK;
}

/* ---- Of the screen alone --------------------------------------------------------------------------------------- */

static tdm_status press(const slash_running *r, enum key_action key)
{
    slash_of(r)->next = tui_action_key(key, 1);
    return TDM_OK;
}

static tdm_status screen_monitor(slash_running *r, tdm_error *err)
{
    static const struct {
        const char *name;
        enum view_form form;
    } forms[] = {{"off", VIEW_FORM_OFF},     {"line", VIEW_FORM_LINE}, {"strip", VIEW_FORM_STRIP},
                 {"panel", VIEW_FORM_PANEL}, {"full", VIEW_FORM_FULL}, {"auto", VIEW_FORM_AUTO}};
    tui *t = tui_of(r);
    const char *argument = r->call->argument;
    (void)err;
    if (!argument) return press(r, ACTION_MONITOR);
    if (!strcmp(argument, "legend")) return press(r, ACTION_LEGEND);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!strcmp(argument, forms[i].name)) t->monitor.form = forms[i].form;
    if (!layout_form_fits(t->face.canvas->rows, t->face.canvas->cols, t->monitor.form))
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN,
                        "%s doesn't fit into %dx%d; it comes when the terminal is larger", argument,
                        t->face.canvas->cols, t->face.canvas->rows);
    return TDM_OK;
}

/* After dark, light and mono come the user's own. */
static const char *next_theme_name(const tui *t)
{
    static const char *const next[] = {[VIEW_THEME_DARK] = "light", [VIEW_THEME_LIGHT] = "mono"};
    if (t->face.look.theme < VIEW_THEME_MONO) return next[t->face.look.theme];
    const struct theme_own *own = theme_own_of(t->face.look.theme);
    int i = own ? (int)(own - t->o->themes) + 1 : 0;
    return i < t->o->n_themes ? t->o->themes[i].name : "dark";
}

/* Without a word: the next one. */
static tdm_status screen_theme(slash_running *r, tdm_error *err)
{
    tui *t = tui_of(r);
    const char *argument = r->call->argument, *name = argument ? argument : next_theme_name(t);
    if (!option_set(t->o, OPTION_THEME, name, FROM_CONVERSATION, err)) return TDM_E_ARG;
    r->front->look(r->front->ctx);
    tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "theme: %s", name);
    return TDM_OK;
}

static tdm_status screen_mouse(slash_running *r, tdm_error *err)
{
    tui *t = tui_of(r);
    const char *value = command_means_on(r, !t->keys.mouse) ? "on" : "off";
    if (!option_set(t->o, OPTION_MOUSE, value, FROM_CONVERSATION, err)) return TDM_E_ARG;
    r->front->look(r->front->ctx);
    tui_notices_add(&t->notices, VIEW_NOTICE_INFO,
                    t->keys.mouse ? "wheel and clicks are on" : "the mouse belongs to the terminal");
    return TDM_OK;
}

static tdm_status screen_view(slash_running *r, tdm_error *err)
{
    tui_monitor *m = &tui_of(r)->monitor;
    const char *argument = r->call->argument;
    (void)err;
    m->turn_view = argument ? !strcmp(argument, "turn") : !m->turn_view;
    m->view_chosen = true;
    return TDM_OK;
}

static tdm_status screen_zoom(slash_running *r, tdm_error *err)
{
    const char *argument = r->call->argument;
    (void)err;
    return press(r, argument && !strcmp(argument, "out") ? ACTION_ZOOM_OUT : ACTION_ZOOM_IN);
}

static tdm_status screen_keys(slash_running *r, tdm_error *err)
{
    (void)err;
    return press(r, ACTION_KEYS);
}

static tdm_status screen_browse(slash_running *r, tdm_error *err)
{
    (void)err;
    return press(r, ACTION_BROWSE);
}

static tdm_status screen_hold(slash_running *r, tdm_error *err)
{
    (void)err;
    return press(r, ACTION_HOLD);
}

static tdm_status screen_fold(slash_running *r, tdm_error *err)
{
    (void)err;
    return press(r, ACTION_FOLD);
}

static tdm_status screen_raw(slash_running *r, tdm_error *err)
{
    (void)err;
    return press(r, ACTION_RAW);
}

static tdm_status screen_send(slash_running *r, tdm_error *err)
{
    (void)err;
    return press(r, ACTION_SEND_NOW);
}

static tdm_status screen_demo(slash_running *r, tdm_error *err)
{
    (void)err;
    tui_demo_begin(tui_of(r), NULL, false);
    return TDM_OK;
}

/* ---- Models and prompts ---------------------------------------------------------------------------------------- */

void tui_slash_switch_model(tui *t, const char *path, const char *prompt)
{
    tdm_error err = {0};
    if (t->app.background.writing) {
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "'%.40s' is being answered with this model: wait, or stop it",
                        background_name(&t->app));
        tui_draft_return_prompt(t, prompt ? strdup(prompt) : NULL);
        return;
    }
    if (tui_consent_model(t, path, prompt)) return;
    task_end(&t->jobs.choosing.task); /* it uses the model that is left */
    if (!tui_load_begin(&t->jobs.load, t->o, path, app_talks(&t->app), t->app.machine, t->wake[1], &err))
        t->jobs.load.prompt = prompt ? strdup(prompt) : NULL;
    else {
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", err.text);
        tui_draft_return_prompt(t, prompt ? strdup(prompt) : NULL);
    }
}

/* It is loaded beside the conversation, and handed over once it is there. */
static tdm_status screen_model(slash_running *r, tdm_error *err)
{
    tui *t = tui_of(r);
    if (slash_of(r)->loaded) return command_model(r, err);
    if (!r->call->argument) {
        tui_choose_open(t);
        return TDM_OK;
    }
    char *path = path_read(r->call->argument, strlen(r->call->argument), getenv("HOME"));
    if (!path) return error_set(err, TDM_E_NOMEM, "out of memory");
    tui_slash_switch_model(t, path, NULL);
    free(path);
    return TDM_OK;
}

static tdm_status open_prompts(tui *t)
{
    tdm_error err = {0};
    if (!tui_prompts_open(&t->lists.prompts, &err))
        tui_popup_list(&t->lists.popup, &tui_prompts_list, &t->lists.prompts);
    else tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", err.text);
    return TDM_OK;
}

static tdm_status screen_p(slash_running *r, tdm_error *err)
{
    tui *t = tui_of(r);
    if (!r->call->argument) return open_prompts(t);
    if (slash_of(r)->loaded) return command_p(r, err);
    if (!has_chat(r)) return TDM_OK;
    char *model = commands_prompt_model(&t->app, r->call->argument);
    if (!model) return command_p(r, err);
    tui_slash_switch_model(t, model, r->call->argument);
    free(model);
    return TDM_OK;
}

/* ---- Sessions -------------------------------------------------------------------------------------------------- */

static tdm_status screen_sessions(slash_running *r, tdm_error *err)
{
    (void)err;
    tui_sessions_show(tui_of(r), false);
    return TDM_OK;
}

static tdm_status screen_resume(slash_running *r, tdm_error *err)
{
    if (!r->call->argument) return screen_sessions(r, err);
    return tui_consent_resume(tui_of(r), r->call->argument) ? TDM_OK : with_chat(r, err);
}

static tdm_status screen_visit(slash_running *r, tdm_error *err)
{
    const char *answered = background_answered(r->a);
    if (!answered) return with_chat(r, err);
    /* /resume asks the user if the session would be sent to a server. */
    slash_of(r)->next = tui_action_command(SLASH_RESUME, answered);
    return TDM_OK;
}

static tdm_status screen_rename(slash_running *r, tdm_error *err)
{
    slash_of(r)->renames = true;
    return with_chat(r, err);
}

static tdm_status screen_undelete(slash_running *r, tdm_error *err)
{
    if (r->call->argument) return with_chat(r, err);
    tui_sessions_show(tui_of(r), true);
    return TDM_OK;
}

static tdm_status screen_search(slash_running *r, tdm_error *err)
{
    tui *t = tui_of(r);
    app_settle(&t->app);
    tdm_status status = tui_results_open(&t->lists.hits, r->call->argument, err);
    if (!status)
        tui_popup_list(&t->lists.popup, &tui_results_list, &t->lists.hits);
    else tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", err->text);
    return TDM_OK;
}

/* It goes to the place itself, which --plain prints. */
static tdm_status screen_find(slash_running *r, tdm_error *err)
{
    if (!has_chat(r)) return TDM_OK;
    tdm_status status = command_find(r, err);
    buffer_clear(&slash_of(r)->said);
    if (!status) slash_of(r)->next = tui_action_find(r->call->argument, 1);
    return status;
}

/* The screen as it is, for documents. */
static tdm_status export_screen(tui *t, const char *path, tdm_error *err)
{
    tui_view_draw(t);
    char *svg = canvas_svg(t->face.canvas, t->face.look.theme, t->face.look.colours);
    tdm_status status =
        svg ? unfinished_replace(path, svg, strlen(svg), err) : error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status) tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s: %zu bytes", path, strlen(svg));
    free(svg);
    return status;
}

static tdm_status screen_export(slash_running *r, tdm_error *err)
{
    if (tui_consent_overwrite(tui_of(r), r->call->id, r->call->argument)) return TDM_OK;
    char *path = files_to_write(r->call->argument, err);
    if (!path) return err->code;
    tdm_status status = span_ends(span_text(path), ".svg") ? export_screen(tui_of(r), path, err) : with_chat(r, err);
    free(path);
    return status;
}

static tdm_status screen_trace(slash_running *r, tdm_error *err)
{
    return tui_consent_overwrite(tui_of(r), r->call->id, r->call->argument) ? TDM_OK : with_chat(r, err);
}

/* ---- Turns and units ------------------------------------------------------------------------------------------- */

static tdm_status screen_edit(slash_running *r, tdm_error *err)
{
    slash_of(r)->quiet = true; /* the rule shows which message is edited */
    return with_chat(r, err);
}

static tdm_status screen_branch(slash_running *r, tdm_error *err)
{
    tui *t = tui_of(r);
    tdm_error none = {0};
    if (r->call->number) return with_chat(r, err);
    if (!tui_branches_open(&t->lists.branches, &t->app, &none))
        tui_popup_list(&t->lists.popup, &tui_branches_list, &t->lists.branches);
    else tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", none.text);
    return TDM_OK;
}

static tdm_status screen_units(slash_running *r, tdm_error *err)
{
    tui *t = tui_of(r);
    if (!has_chat(r)) return TDM_OK;
    if (r->call->argument) { /* the cores are not to be disturbed: keys wait as well */
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "measuring for two seconds");
        tui_view_draw(t);
        tui_notices_limit_last(&t->notices, 0);
    }
    return command_units(r, err);
}

slash_function *const tui_slash_own[SLASH_COUNT] = {
#define BOTH(f) with_chat
#define EACH(f, g) f
#define SCREEN(f) f
#define X(id, name, aliases, argument, arguments, completion, offer, functions, help) [SLASH_##id] = functions,
    SLASH_LIST(X)
#undef X
#undef SCREEN
#undef EACH
#undef BOTH
};
