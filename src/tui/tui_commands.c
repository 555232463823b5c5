#include "src/tui/tui_commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/atomic_file.h"
#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/chat/commands.h"
#include "src/cli/files.h"
#include "src/tui/tui_choose.h"
#include "src/tui/tui_demo.h"
#include "src/tui/tui_outside.h"
#include "src/tui/tui_private.h"
#include "src/tui/tui_view.h"

enum { TEXT_WIDTH = 100 }; /* longer lines are hard to read; the option's default in words */

/* ---- Settings of the screen ------------------------------------------------------------------------------------ */

void tui_commands_look(tui *t)
{
    t->look.ascii = options_flag(t->o, OPTION_ASCII) || MB_CUR_MAX == 1;
    t->look.theme = ground_theme(options_text(t->o, OPTION_THEME), t->ground);
    t->look.follow = (enum view_follow)options_int(t->o, OPTION_FOLLOW, VIEW_FOLLOW_AUTO);
    t->look.draft_marks = (enum view_draft_marks)options_int(t->o, OPTION_DRAFT_MARKS, VIEW_DRAFT_FULL);
    t->look.width = (int)options_int(t->o, OPTION_WIDTH, TEXT_WIDTH);
    t->look.no_motion = !options_int(t->o, OPTION_MOTION, 1);
    input_set_esc_stops(t->input, options_flag(t->o, OPTION_ESC_STOPS));
    decoder_set_esc(t->decoder, options_int(t->o, OPTION_ESC_DELAY, 0) * TUI_MS);
}

/* After dark, light and mono come the user's own. */
static const char *next_theme_name(const tui *t)
{
    static const char *const next[] = {[VIEW_THEME_DARK] = "light", [VIEW_THEME_LIGHT] = "mono"};
    if (t->look.theme < VIEW_THEME_MONO) return next[t->look.theme];
    const struct theme_own *own = theme_own_of(t->look.theme);
    int i = own ? (int)(own - t->o->themes) + 1 : 0;
    return i < t->o->n_themes ? t->o->themes[i].name : "dark";
}

/* /theme without a word: the next one. */
static tdm_status next_theme(tui *t, const char *argument, tdm_error *err)
{
    const char *name = argument ? argument : next_theme_name(t);
    if (!option_set(t->o, OPTION_THEME, name, FROM_CONVERSATION, err)) return TDM_E_ARG;
    tui_commands_look(t);
    if (!argument) tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "theme: %s", name);
    return TDM_OK;
}

void tui_commands_contrast(tui *t)
{
    const struct theme_own *own = theme_own_of(t->look.theme);
    const char *ground = theme_is_light(t->look.theme) ? "light" : "dark";
    double contrast;
    int below;
    if (t->look.theme == t->contrast_told) return;
    t->contrast_told = t->look.theme;
    if (!own || t->look.colours < 256) return;
    int role = theme_own_poorest(own, theme_is_light(t->look.theme), &contrast, &below);
    if (role < 0) return;
    char others[60] = "";
    if (below > 1) snprintf(others, sizeof others, "; so has %d other role%s", below - 1, below > 2 ? "s" : "");
    tui_notices_add(&t->notices, VIEW_NOTICE_WARN,
                    "theme %s: %s has a contrast of %.1f with a %s background, text needs 4.5%s", own->name,
                    theme_style_name((enum style)role), contrast, ground, others);
}

/* ---- Commands of the screen ------------------------------------------------------------------------------------ */

/* A command while it runs. */
typedef struct {
    tui *t;
    struct buffer said; /* what it prints */
    tui_action next; /* what follows from it */
} running;

static tdm_status stats_form(tui *t, const char *argument)
{
    const char *form = argument + strlen("turn ");
    t->look.stats = !strcmp(form, "off") ? VIEW_STATS_OFF : !strcmp(form, "card") ? VIEW_STATS_CARD : VIEW_STATS_LINE;
    return TDM_OK;
}

static tdm_status monitor(running *r, const char *argument)
{
    tui *t = r->t;
    static const struct {
        const char *name;
        enum view_form form;
    } forms[] = {{"off", VIEW_FORM_OFF},     {"line", VIEW_FORM_LINE}, {"strip", VIEW_FORM_STRIP},
                 {"panel", VIEW_FORM_PANEL}, {"full", VIEW_FORM_FULL}, {"auto", VIEW_FORM_AUTO}};
    for (size_t i = 0; argument && i < sizeof forms / sizeof *forms; i++)
        if (!strcmp(argument, forms[i].name)) t->monitor.form = forms[i].form;
    if (!argument) r->next = tui_action_key(ACTION_MONITOR, 1);
    else if (!strcmp(argument, "legend")) r->next = tui_action_key(ACTION_LEGEND, 1);
    else if (!layout_form_fits(t->canvas->rows, t->canvas->cols, t->monitor.form))
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN,
                        "%s doesn't fit into %dx%d; it comes when the terminal is larger", argument, t->canvas->cols,
                        t->canvas->rows);
    return TDM_OK;
}

static tdm_status on_screen(void *ctx, const slash_call *call, tdm_error *err)
{
    running *r = ctx;
    tui *t = r->t;
    const char *argument = call->argument;
    switch (call->id) {
    case SLASH_MONITOR: return monitor(r, argument);
    case SLASH_STATS: return stats_form(t, argument);
    case SLASH_THEME: return next_theme(t, argument, err);
    case SLASH_MOUSE:
        t->mouse = argument ? !strcmp(argument, "on") : !t->mouse;
        term_set_mouse(t->term, t->mouse, t->browse.on);
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO,
                        t->mouse ? "wheel and clicks are on" : "the mouse belongs to the terminal");
        return TDM_OK;
    case SLASH_VIEW:
        t->monitor.turn_view = argument ? !strcmp(argument, "turn") : !t->monitor.turn_view;
        t->monitor.view_chosen = true;
        return TDM_OK;
    case SLASH_ZOOM:
        r->next = tui_action_key(argument && !strcmp(argument, "out") ? ACTION_ZOOM_OUT : ACTION_ZOOM_IN, 1);
        return TDM_OK;
    case SLASH_KEYS: r->next = tui_action_key(ACTION_KEYS, 1); return TDM_OK;
    case SLASH_BROWSE: r->next = tui_action_key(ACTION_BROWSE, 1); return TDM_OK;
    case SLASH_HOLD: r->next = tui_action_key(ACTION_HOLD, 1); return TDM_OK;
    case SLASH_FOLD: r->next = tui_action_key(ACTION_FOLD, 1); return TDM_OK;
    case SLASH_RAW: r->next = tui_action_key(ACTION_RAW, 1); return TDM_OK;
    case SLASH_SEND: r->next = tui_action_key(ACTION_SEND_NOW, 1); return TDM_OK;
    case SLASH_DEMO: tui_demo_begin(t, NULL, false); return TDM_OK;
    default: return error_set(err, TDM_E_UNSUPPORTED, "/%s is not there", slash_table[call->id].name);
    }
}

/* ---- Running --------------------------------------------------------------------------------------------------- */

static void say(void *ctx, const char *text, size_t n)
{
    running *r = ctx;
    buffer_append(&r->said, text, n, NULL);
}

/* What fits into a row is a notice, more is a page. */
static void show_said(tui *t, const slash_call *call, char *text, size_t n)
{
    if (!text) return;
    if (memchr(text, '\n', n) == text + n - 1 && width_text(text, n - 1) <= screen_layout(t->screen)->rule.cols) {
        text[n - 1] = 0;
        if (call->id != SLASH_EDIT)
            tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", text); /* the rule says that one */
    } else {
        char title[40];
        snprintf(title, sizeof title, "/%s", slash_table[call->id].name);
        tui_popup_page(&t->popup, title, text);
    }
}

/* /model's second half: the model that has been loaded is handed over. */
static tdm_status give_loaded(void *ctx, const char *path, load_pair *out, tdm_error *err)
{
    tui *t = ((running *)ctx)->t;
    (void)path;
    if (!t->load.models.model) return error_set(err, TDM_E_IO, "no model was loaded");
    *out = t->load.models;
    t->load.models = (load_pair){0};
    return TDM_OK;
}

static void on_look(void *ctx)
{
    tui_commands_look(((running *)ctx)->t);
}

static tdm_status copy(void *ctx, const char *text, size_t n, tdm_error *err)
{
    (void)err;
    tui_outside_copy(((running *)ctx)->t, "", text, n);
    return TDM_OK;
}

static tdm_status copy_view(void *ctx, tdm_error *err)
{
    tui *t = ((running *)ctx)->t;
    if (!t->turns.n) return error_set(err, TDM_E_NOT_FOUND, "there is nothing to copy yet");
    tui_outside_copy_view(t);
    return TDM_OK;
}

static int turn_number(const tui *t, long wanted)
{
    return wanted ? (int)wanted : t->turns.n ? t->turns.turns[t->turns.n - 1].v.number : 0;
}

static tui_action run_call(tui *t, const slash_call *call, int64_t enter_ns)
{
    running r = {.t = t};
    const int page = screen_layout(t->screen)->rule.cols - 4;
    const commands_front front = {.ctx = &r, .cols = page, .say = say, .screen = on_screen, .look = on_look,
                                   .load = give_loaded, .copy = copy, .copy_view = copy_view};
    commands_result result;
    tdm_error err = {0};
    int turn = turn_number(t, call->number);
    tdm_status status = commands_run(&t->app, &front, call, &result, &err);
    if (result.early) tui_leave_begin(&t->leave, call, &t->notices);
    else if (status) tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
    if (result.anew) tui_leave_end(&t->leave, &t->notices); /* what waited to be done there */
    if (result.visits) tui_notices_end(&t->notices); /* of the one in front till now, or that this one was answered */
    if (call->id != SLASH_FIND) show_said(t, call, r.said.bytes, r.said.n); /* that one goes to the place itself */
    free(r.said.bytes);
    bool replies = call->id == SLASH_REGEN || call->id == SLASH_ANSWERS || call->id == SLASH_CONTINUE ||
                   call->id == SLASH_COMPACT;
    if (replies && result.waits) { /* its clock runs before its events are taken */
        tui_turns_sent(t, enter_ns);
        transcript_sent(screen_transcript(t->screen));
    }
    if (result.visits) tui_turns_fresh(t);
    tui_turns_events(t);
    if (result.anew) {
        tui_draft_forget(t);
        tui_draft_take_back(t);
        if (!result.visits) tui_turns_fresh(t);
        tui_draft_take_kept(t);
    } else {
        tui_turns_sync(t);
    }
    bool attaches = call->id == SLASH_ATTACH || call->id == SLASH_DETACH || call->id == SLASH_P;
    if (attaches) tui_draft_forget(t);
    if (result.draft && result.message) input_insert_paste(t->input, result.draft, strlen(result.draft));
    else if (result.draft) tui_draft_begin_editing(t, turn, result.draft);
    free(result.draft);
    if (call->id == SLASH_FIND && !err.code) r.next = tui_action_find(call->argument, 1);
    if (call->id == SLASH_RENAME && t->popup.kind == TUI_POPUP_SAVED) tui_sessions_show(t, false); /* from the list */
    if (result.quit) tui_commands_quit(t);
    tui_view_name_model(t);
    return r.next;
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

/* The screen as it is, for documents. */
static void export_screen(tui *t, const char *argument)
{
    tdm_error err = {0};
    char *path = files_to_write(argument, &err);
    if (!path) {
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
        return;
    }
    tui_view_draw(t);
    char *picture = canvas_svg(t->canvas, t->look.theme, t->look.colours);
    if (!picture) tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "out of memory");
    else if (atomic_file_replace(path, picture, strlen(picture), &err))
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
    else tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s: %zu bytes", path, strlen(picture));
    free(path);
    free(picture);
}

void tui_commands_quit(tui *t)
{
    enum { ASKED_S = 10 };
    int64_t now = clock_ns();
    bool asked = t->leave_asked_ns && now - t->leave_asked_ns < ASKED_S * TUI_S;
    if (!t->app.elsewhere.writing || asked) {
        t->quit = true;
        return;
    }
    t->leave_asked_ns = now;
    tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "'%.40s' is being answered; once more leaves, its text is kept",
                    elsewhere_name(&t->app));
}

/* prompt: the argument of /p, which goes on with this model; NULL: /model does. */
static void switch_model(tui *t, const char *path, const char *prompt)
{
    tdm_error err = {0};
    if (t->app.elsewhere.writing) {
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "'%.40s' is being answered with this model: wait, or stop it",
                        elsewhere_name(&t->app));
        tui_draft_return_prompt(t, prompt ? strdup(prompt) : NULL);
        return;
    }
    if (tui_consent_model(t, path, prompt)) return;
    job_end(&t->choosing.job); /* it uses the model that is left */
    if (!tui_load_begin(&t->load, t->o, path, t->app.chat != NULL, t->app.machine, t->wake[1], &err))
        t->load.prompt = prompt ? strdup(prompt) : NULL;
    else {
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", err.text);
        tui_draft_return_prompt(t, prompt ? strdup(prompt) : NULL);
    }
}

/* The list that a command without its argument opens. */
static void show_choices(tui *t, slash_id command)
{
    tdm_error err = {0};
    tdm_status status = command == SLASH_P ? tui_prompts_open(&t->prompts, &err)
                                           : tui_branches_open(&t->branches, t->app.chat, &err);
    if (status) tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", err.text);
    else if (command == SLASH_P) tui_popup_prompts(&t->popup, &t->prompts);
    else tui_popup_branches(&t->popup, &t->branches);
}

tui_action tui_commands_run(tui *t, const slash_call *call, int64_t enter_ns)
{
    bool screen = slash_table[call->id].owner == BY_SCREEN || call->id == SLASH_QUIT || call->id == SLASH_HELP;
    const char *answered = call->id == SLASH_VISIT ? elsewhere_answered(&t->app) : NULL;
    if (answered) return tui_action_command(SLASH_RESUME, answered); /* which asks where it would be sent to a server */
    job_end(&t->measuring.job); /* two at a time can't measure */
    job_cancel(&t->choosing.job);
    if (call->id == SLASH_MODEL) {
        if (call->argument) switch_model(t, call->argument, NULL);
        else tui_choose_open(t);
        return (tui_action){0};
    }
    if (call->id == SLASH_SESSIONS || (call->id == SLASH_RESUME && !call->argument)) {
        tui_sessions_show(t, false);
        return (tui_action){0};
    }
    if (call->id == SLASH_RESUME && tui_consent_resume(t, call->argument)) return (tui_action){0};
    if (call->id == SLASH_SEARCH) {
        tdm_error err = {0};
        app_settle(&t->app);
        if (!tui_hits_open(&t->hits, call->argument, &err)) tui_popup_hits(&t->popup, &t->hits);
        else tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", err.text);
        return (tui_action){0};
    }
    if ((call->id == SLASH_P && !call->argument) || (call->id == SLASH_BRANCH && !call->number)) {
        show_choices(t, call->id);
        return (tui_action){0};
    }
    if (call->id == SLASH_UNDELETE && !call->argument) {
        tui_sessions_show(t, true);
        return (tui_action){0};
    }
    bool writes = call->id == SLASH_EXPORT || call->id == SLASH_TRACE;
    if (writes && tui_consent_overwrite(t, call->id, call->argument)) return (tui_action){0};
    if (call->id == SLASH_EXPORT && ends_in(call->argument, ".svg")) {
        export_screen(t, call->argument);
        return (tui_action){0};
    }
    if (!t->app.chat && !screen) {
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "/%s has to wait for the model", slash_table[call->id].name);
        return (tui_action){0};
    }
    char *model = call->id == SLASH_P ? commands_prompt_model(&t->app, call->argument) : NULL;
    if (model) {
        switch_model(t, model, call->argument);
        free(model);
        return (tui_action){0};
    }
    if (call->id == SLASH_UNITS && call->argument) { /* the cores are not to be disturbed: keys wait as well */
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "measuring for two seconds");
        tui_view_draw(t);
        tui_notices_limit_last(&t->notices, 0);
    }
    return run_call(t, call, enter_ns);
}

tui_action tui_commands_consent(tui *t, bool agreed)
{
    tui_consent *c = &t->consent;
    char *prompt = c->prompt;
    tui_action next = {0};
    c->prompt = NULL;
    tui_consent_answer(t, agreed);
    if (agreed && c->kind == TUI_CONSENT_RESUME)
        next = tui_action_command(SLASH_RESUME, c->name);
    else if (c->kind == TUI_CONSENT_OVERWRITE)
        next = agreed ? tui_action_command(c->command, c->name) : next;
    else if (agreed)
        switch_model(t, c->name, prompt);
    else
        tui_draft_return_prompt(t, prompt ? strdup(prompt) : NULL);
    free(prompt);
    return next;
}

void tui_commands_model(tui *t, const char *path)
{
    char *prompt = t->load.prompt, *argument = prompt ? prompt : strdup(path);
    t->load.prompt = NULL;
    if (argument) run_call(t, &(slash_call){.id = prompt ? SLASH_P : SLASH_MODEL, .argument = argument}, clock_ns());
    free(argument);
    load_pair_close(&t->load.models);
}

void tui_commands_delete(tui *t, char *id)
{
    const slash_call call = {.id = SLASH_DELETE, .argument = id};
    t->app.deleting[0] = 0;
    tui_commands_run(t, &call, clock_ns()); /* the first call asks; the user has been asked */
    tui_notices_end(&t->notices);
    tui_commands_run(t, &call, clock_ns());
    tui_sessions_show(t, false);
}

/* The turn of a message of the file, which has the same number in the chat; on another branch it becomes current. */
static uint64_t turn_of(tui *t, int node)
{
    for (int tries = 0; tries < 2; tries++) {
        for (size_t i = 0; i < t->turns.n; i++)
            if (t->turns.turns[i].node == node) return t->turns.turns[i].v.id;
        if (!t->app.chat || tdm_chat_select(t->app.chat, node, NULL)) return 0;
        tui_turns_events(t);
        tui_turns_sync(t);
    }
    return 0;
}

tui_action tui_commands_visit(tui *t, const char *id, int node)
{
    char words[sizeof t->hits.words], before[sizeof t->app.place.id];
    snprintf(words, sizeof words, "%s", t->hits.words);
    snprintf(before, sizeof before, "%s", t->app.place.id);
    if (t->app.place.lock < 0 || strcmp(t->app.place.id, id)) {
        char *name = strdup(id);
        if (name) tui_commands_run(t, &(slash_call){.id = SLASH_RESUME, .argument = name}, clock_ns());
        free(name);
        if (!strcmp(t->app.place.id, before)) return (tui_action){0}; /* it has been said why */
    }
    struct transcript *transcript = screen_transcript(t->screen);
    uint64_t turn = turn_of(t, node);
    if (!turn) return (tui_action){0};
    transcript_find_from(transcript, turn);
    /* A message holds all the words, but not always one after the other. */
    if (!transcript_find(transcript, tui_view_turns(t), words, 1)) words[strcspn(words, " \t")] = 0;
    transcript_find_from(transcript, turn);
    return tui_action_find(words, 1);
}
