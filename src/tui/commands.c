#include "src/tui/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/slash/commands.h"
#include "src/tui/frame/view.h"
#include "src/tui/external.h"
#include "src/tui/private.h"
#include "src/tui/slash.h"

enum { TEXT_WIDTH = 100 }; /* longer lines are hard to read; the option's default in words */

/* ---- Settings of the screen ------------------------------------------------------------------------------------ */

void tui_commands_look(tui *t)
{
    t->face.look.ascii = options_flag(t->o, OPTION_ASCII) || MB_CUR_MAX == 1;
    t->face.look.theme = ground_theme(options_text(t->o, OPTION_THEME), t->face.ground);
    t->face.look.follow = (enum view_follow)options_int(t->o, OPTION_FOLLOW, VIEW_FOLLOW_AUTO);
    t->face.look.draft_marks = (enum view_draft_marks)options_int(t->o, OPTION_DRAFT_MARKS, VIEW_DRAFT_FULL);
    t->face.look.width = (int)options_int(t->o, OPTION_WIDTH, TEXT_WIDTH);
    t->face.look.no_motion = !options_int(t->o, OPTION_MOTION, 1);
    bool mouse = options_int(t->o, OPTION_MOUSE, 0);
    if (mouse != t->keys.mouse) term_set_mouse(t->face.term, mouse, t->lists.browse.on);
    t->keys.mouse = mouse;
    input_set_esc_stops(t->keys.input, options_flag(t->o, OPTION_ESC_STOPS));
    decoder_set_esc(t->keys.decoder, options_int(t->o, OPTION_ESC_DELAY, 0) * TUI_MS);
}

void tui_commands_contrast(tui *t)
{
    const struct theme_own *own = theme_own_of(t->face.look.theme);
    const char *ground = theme_is_light(t->face.look.theme) ? "light" : "dark";
    double contrast;
    int below;
    if (t->face.look.theme == t->face.contrast_told) return;
    t->face.contrast_told = t->face.look.theme;
    if (!own || t->face.look.colours < 256) return;
    int role = theme_own_poorest(own, theme_is_light(t->face.look.theme), &contrast, &below);
    if (role < 0) return;
    char others[60] = "";
    if (below > 1) snprintf(others, sizeof others, "; so has %d other role%s", below - 1, below > 2 ? "s" : "");
    tui_notices_add(&t->notices, VIEW_NOTICE_WARN,
                    "theme %s: %s has a contrast of %.1f with a %s background, text needs 4.5%s", own->name,
                    theme_style_name((enum style)role), contrast, ground, others);
}

/* ---- Running --------------------------------------------------------------------------------------------------- */

static void say(void *ctx, const char *text, size_t n)
{
    tui_slash *r = ctx;
    buffer_append(&r->said, text, n, NULL);
}

enum { ROWS = 2 }; /* that notices may take of what a command says */

/* How many rows the lines of a text take, or more than ROWS. */
static int rows_of(const char *text, size_t n, int cols)
{
    int rows = cols > 0 ? 0 : ROWS + 1;
    while (n && rows <= ROWS) {
        const char *end = memchr(text, '\n', n);
        size_t line = end ? (size_t)(end - text) : n;
        int width = width_text(text, line);
        rows += width > cols ? (width + cols - 1) / cols : 1;
        text += line + (end != NULL);
        n -= line + (end != NULL);
    }
    return rows;
}

/* Lines that fit into a few rows of a narrow screen become notices, since a page would take the keys that are typed
 * next. Longer text becomes a page. */
static void show_said(tui *t, const slash_call *call, const tui_slash *r)
{
    char *text = r->said.bytes;
    size_t n = r->said.n;
    if (!n) return;
    if (text[n - 1] == '\n' && rows_of(text, n, screen_layout(t->face.screen)->rule.cols) <= ROWS) {
        for (char *at = text, *end; at < text + n && !r->quiet; at = end + 1) {
            end = memchr(at, '\n', (size_t)(text + n - at));
            *end = 0;
            if (*at) tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", at);
        }
    } else {
        char title[40];
        snprintf(title, sizeof title, "/%s", slash_table[call->id].name);
        tui_popup_page(&t->lists.popup, title, text);
    }
}

/* /model's second half: the model that has been loaded is handed over. */
static tdm_status give_loaded(void *ctx, const char *path, load_pair *out, tdm_error *err)
{
    tui *t = ((tui_slash *)ctx)->t;
    (void)path;
    if (!t->jobs.load.models.model) return error_set(err, TDM_E_IO, "no model was loaded");
    *out = t->jobs.load.models;
    t->jobs.load.models = (load_pair){0};
    return TDM_OK;
}

static void on_look(void *ctx)
{
    tui_commands_look(((tui_slash *)ctx)->t);
}

static void show_figures(void *ctx, const char *form)
{
    tui *t = ((tui_slash *)ctx)->t;
    t->face.look.stats = !strcmp(form, "off")    ? VIEW_STATS_OFF
                         : !strcmp(form, "card") ? VIEW_STATS_CARD
                                                 : VIEW_STATS_LINE;
}

static tdm_status copy(void *ctx, const char *text, size_t n, tdm_error *err)
{
    (void)err;
    tui_external_copy(((tui_slash *)ctx)->t, "", text, n);
    return TDM_OK;
}

static tdm_status copy_view(void *ctx, tdm_error *err)
{
    tui *t = ((tui_slash *)ctx)->t;
    if (!t->turns.n) return error_set(err, TDM_E_NOT_FOUND, "there is nothing to copy yet");
    tui_external_copy_view(t);
    return TDM_OK;
}

static int turn_number(const tui *t, long wanted)
{
    return wanted ? (int)wanted : t->turns.n ? t->turns.turns[t->turns.n - 1].v.number : 0;
}

static tui_action carry_out(tui *t, const slash_call *call, bool loaded, int64_t enter_ns)
{
    tui_slash r = {.t = t, .loaded = loaded};
    const commands_front front = {.ctx = &r,
                                  .own = tui_slash_own,
                                  .cols = screen_layout(t->face.screen)->rule.cols - 4, /* of a page */
                                  .say = say,
                                  .look = on_look,
                                  .figures = show_figures,
                                  .load = give_loaded,
                                  .copy = copy,
                                  .copy_view = copy_view};
    commands_result result;
    tdm_error err = {0};
    int turn = turn_number(t, call->number);
    tdm_status status = commands_run(&t->app, &front, call, &result, &err);
    if (result.early)
        tui_leave_begin(&t->jobs.leave, call, &t->notices);
    else if (status) tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
    if (result.anew) tui_leave_end(&t->jobs.leave, &t->notices); /* the command that waited to leave it */
    /* They are about the conversation that was in front, or say that this one was answered. */
    if (result.visits) tui_notices_end(&t->notices);
    show_said(t, call, &r);
    buffer_free(&r.said);
    if (result.waits && !result.cold) { /* its clock runs before its events are taken */
        tui_turns_sent(t, enter_ns);
        transcript_sent(screen_transcript(t->face.screen));
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
    if (result.attaches) tui_draft_forget(t);
    if (result.draft && result.message)
        input_insert_paste(t->keys.input, result.draft, strlen(result.draft));
    else if (result.draft) tui_draft_begin_editing(t, turn, result.draft);
    free(result.draft);
    if (r.renames && t->lists.popup.list == &t->lists.saved) tui_sessions_show(t, false); /* from the list */
    if (result.quit) tui_commands_quit(t);
    tui_view_name_model(t);
    return r.next;
}

void tui_commands_quit(tui *t)
{
    enum { ASKED_S = 10 };
    int64_t now = clock_ns();
    bool asked = t->jobs.leave_asked_ns && now - t->jobs.leave_asked_ns < ASKED_S * TUI_S;
    if (!t->app.background.writing || asked) {
        t->quit = true;
        return;
    }
    t->jobs.leave_asked_ns = now;
    tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "'%.40s' is being answered; once more leaves, its text is kept",
                    background_name(&t->app));
}

tui_action tui_commands_run(tui *t, const slash_call *call, int64_t enter_ns)
{
    task_end(&t->jobs.measuring.task); /* only one of them can measure at a time */
    task_cancel(&t->jobs.choosing.task);
    return carry_out(t, call, false, enter_ns);
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
        tui_slash_switch_model(t, c->name, prompt);
    else
        tui_draft_return_prompt(t, prompt ? strdup(prompt) : NULL);
    free(prompt);
    return next;
}

void tui_commands_model(tui *t, const char *path)
{
    char *prompt = t->jobs.load.prompt, *argument = prompt ? prompt : strdup(path);
    t->jobs.load.prompt = NULL;
    const slash_call call = {.id = prompt ? SLASH_P : SLASH_MODEL, .argument = argument};
    if (argument) carry_out(t, &call, true, clock_ns());
    free(argument);
    load_pair_close(&t->jobs.load.models);
}

void tui_commands_delete(tui *t, char *id)
{
    const slash_call call = {.id = SLASH_DELETE, .argument = id};
    t->app.deleting.id[0] = 0;
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
        if (!app_talks(&t->app) || app_select(&t->app, node, NULL)) return 0;
        tui_turns_events(t);
        tui_turns_sync(t);
    }
    return 0;
}

tui_action tui_commands_visit(tui *t, const char *id, int node)
{
    char words[sizeof t->lists.hits.words], before[sizeof t->app.open.slot.id];
    snprintf(words, sizeof words, "%s", t->lists.hits.words);
    snprintf(before, sizeof before, "%s", t->app.open.slot.id);
    if (t->app.open.slot.lock < 0 || strcmp(t->app.open.slot.id, id)) {
        char *name = strdup(id);
        if (name) tui_commands_run(t, &(slash_call){.id = SLASH_RESUME, .argument = name}, clock_ns());
        free(name);
        if (!strcmp(t->app.open.slot.id, before)) return (tui_action){0}; /* the user was told why */
    }
    struct transcript *transcript = screen_transcript(t->face.screen);
    uint64_t turn = turn_of(t, node);
    if (!turn) return (tui_action){0};
    transcript_find_from(transcript, turn);
    /* A message holds all the words, but not always one after the other. */
    if (!transcript_find(transcript, tui_view_turns(t), words, 1)) words[strcspn(words, " \t")] = 0;
    transcript_find_from(transcript, turn);
    return tui_action_find(words, 1);
}
