#include "src/chat/background.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/exchange.h"
#include "engine/base/utf8.h"
#include "src/chat/app.h"
#include "src/chat/snapshot.h"
#include "src/models/settings.h"

void background_init(background *e)
{
    *e = (background){0};
    open_session_init(&e->open, false);
}

const char *background_name(const app *a)
{
    const background *e = &a->background;
    return e->open.private ? "a private session" : e->open.name ? e->open.name : "a session";
}

bool background_is(const app *a, const char *id)
{
    const background *e = &a->background;
    return e->there && e->open.slot.lock >= 0 && !strcmp(e->open.slot.id, id);
}

/* ---- What its session is known by ------------------------------------------------------------------------------ */

static void drop_settings(char **settings)
{
    for (option_id id = 0; id < OPTION_COUNT; id++) {
        free(settings[id]);
        settings[id] = NULL;
    }
}

/* Forgets the conversation; the session_writer stays. */
static void drop(background *e)
{
    open_session_clear(&e->open);
    drop_settings(e->settings);
    e->there = e->writing = false;
}

/* The session in front and the one in the background change places. A message on its way stays in front, with the user
 * who typed it. */
static void exchange(app *a)
{
    background *e = &a->background;
    EXCHANGE(a->open, e->open);
    EXCHANGE(a->open.sent, e->open.sent);
    EXCHANGE(a->open.sent.attached, e->open.sent.attached);
    EXCHANGE(a->open.sent.n, e->open.sent.n);
    app_mind_privacy(a);
    a->open.looked_at = 0;
    sent_strand(&a->open.sent);
    free(a->draft);
    a->draft = NULL;
}

/* ---- Saving ---------------------------------------------------------------------------------------------------- */

static void tell_saved(background *e, tdm_status status, const tdm_error *err)
{
    snprintf(e->open.unsaved, sizeof e->open.unsaved, "%s", status ? err->text : "");
}

static tdm_status hand_over(app *a, tdm_error *err)
{
    background *e = &a->background;
    session s;
    const snapshot_source from = {.chat = a->chat,
                                  .dialogue = TDM_BACK,
                                  .sent = &e->open.sent,
                                  .name = e->open.name,
                                  .system = e->open.system,
                                  .system_length = e->open.system_length,
                                  .model_path = a->model_path,
                                  .info = &a->info,
                                  .settings = e->settings};
    tdm_status status = e->open.session_writer ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status) status = store_keep(&e->open.slot, err);
    if (!status) status = snapshot_take(&from, &s, err);
    if (status) return status;
    if (!e->open.name && s.name) e->open.name = strdup(s.name);
    session_writer_put(e->open.session_writer, &e->open.slot, &s);
    return TDM_OK;
}

void background_save(app *a)
{
    background *e = &a->background;
    tdm_error err;
    if (!e->there) return;
    tdm_status status = e->open.private ? TDM_OK : hand_over(a, &err);
    session_writer_rest(e->open.session_writer);
    if (status) tell_saved(e, status, &err);
}

bool background_saved(app *a)
{
    background *e = &a->background;
    tdm_status status;
    tdm_error err;
    bool ended = session_writer_take(e->open.session_writer, &status, &err);
    if (ended) tell_saved(e, status, &err);
    return ended;
}

void background_keep(app *a, int64_t now_ns)
{
    background *e = &a->background;
    tdm_error err;
    background_saved(a);
    if (!e->there || e->open.private || !session_writer_ready(e->open.session_writer, now_ns)) return;
    tdm_status status = hand_over(a, &err);
    if (status) tell_saved(e, status, &err);
}

/* Saves what can be saved; `unsaved` says what could not. */
static void save_and_wait(app *a)
{
    background_save(a);
    session_writer_wait(a->background.open.session_writer);
    background_saved(a);
}

/* ---- Ending ---------------------------------------------------------------------------------------------------- */

static void look(app *a)
{
    background *e = &a->background;
    tdm_back_status now;
    tdm_chat_back_of(a->chat, &now);
    e->writing = now.writing > 0;
    e->finish = now.finish;
}

void background_event(app *a, const tdm_event *event)
{
    if (event->kind == TDM_EV_TEXT) session_writer_text_came(a->background.open.session_writer);
    if (event->kind != TDM_EV_END) return;
    look(a);
    background_save(a);
}

void background_stop(app *a)
{
    background *e = &a->background;
    if (!e->there) return;
    tdm_chat_stop(a->chat, TDM_BACK);
    look(a);
    session_writer_wait(e->open.session_writer);
    session_writer_rest(e->open.session_writer);
}

void background_forget(app *a)
{
    if (!a->background.there) return;
    tdm_chat_forget(a->chat);
    drop(&a->background);
}

void background_end(app *a)
{
    if (!a->background.there) return;
    tdm_chat_stop(a->chat, TDM_BACK);
    save_and_wait(a);
}

static void close_session(app *a)
{
    if (!a->background.there) return;
    background_end(a);
    tdm_chat_forget(a->chat);
    drop(&a->background);
}

void background_close(app *a)
{
    close_session(a);
    drop(&a->background);
    open_session_close(&a->background.open);
}

/* Can it be closed without a loss? Its text must be in its file. */
static tdm_status check_saved(app *a, tdm_error *err)
{
    background *e = &a->background;
    if (e->open.private)
        return error_set(err, TDM_E_BUSY, "a private session was answered, and only memory has it: /visit it first");
    save_and_wait(a);
    if (!e->open.unsaved[0]) return TDM_OK;
    return error_set(err, TDM_E_BUSY, "'%.60s' is not saved: /visit it first; %.120s", background_name(a),
                     e->open.unsaved);
}

/* Its name stays, until it is visited. */
static void remember(app *a)
{
    background *e = &a->background;
    background_visited(a, e->open.slot.id);
    if (e->n_answered == BACKGROUND_NAMES) background_visited(a, e->answered[0].id);
    memcpy(e->answered[e->n_answered].id, e->open.slot.id, sizeof e->open.slot.id);
    snprintf(e->answered[e->n_answered].name, sizeof e->answered[0].name, "%s", background_name(a));
    e->n_answered++;
}

tdm_status background_make_way(app *a, tdm_error *err)
{
    background *e = &a->background;
    if (!e->there) return TDM_OK;
    tdm_chat_stop(a->chat, TDM_BACK);
    tdm_status status = check_saved(a, err);
    if (status) return status;
    remember(a);
    close_session(a);
    return TDM_OK;
}

/* ---- Leaving and visiting -------------------------------------------------------------------------------------- */

static bool is_answered(const app *a)
{
    tdm_chat_status now;
    tdm_chat_status_of(a->chat, &now);
    return (now.phase == TDM_PHASE_THINKING || now.phase == TDM_PHASE_ANSWERING) && !a->compact.running;
}

void background_visited(app *a, const char *id)
{
    background *e = &a->background;
    int n = 0;
    for (int i = 0; i < e->n_answered; i++)
        if (strcmp(e->answered[i].id, id)) e->answered[n++] = e->answered[i];
    e->n_answered = n;
}

/* The conversation in the background has been answered, and makes way for another one; its name stays. */
static tdm_status make_room(app *a, tdm_error *err)
{
    background *e = &a->background;
    if (!e->there) return TDM_OK;
    look(a);
    if (e->writing)
        return error_set(err, TDM_E_BUSY, "'%.30s' is answered elsewhere; only one can be: Ctrl-C stops this",
                         background_name(a));
    tdm_status status = check_saved(a, err);
    if (status) return status;
    remember(a);
    close_session(a);
    return TDM_OK;
}

static tdm_status refuse_early(background *e, tdm_error *err)
{
    e->refusals++;
    return error_set(err, TDM_E_BUSY, "your message is still being read; leave once it is answered, or Ctrl-C");
}

tdm_status background_leave(app *a, bool *left, tdm_error *err)
{
    background *e = &a->background;
    tdm_chat_status now;
    tdm_back_status other;
    tdm_chat_status_of(a->chat, &now);
    tdm_chat_back_of(a->chat, &other);
    *left = false;
    bool stays = options_int(a->o, OPTION_BACKGROUND, 0) || a->compact.running || !other.possible;
    if (stays || now.phase == TDM_PHASE_IDLE) return TDM_OK;
    if (now.phase == TDM_PHASE_READING) return refuse_early(e, err);
    tdm_status status = make_room(a, err);
    if (!status) status = snapshot_settings(a->chat, e->settings, err);
    if (status) {
        drop_settings(e->settings);
        return status;
    }
    sent_settle(&a->open.sent, a->chat);
    char *system = a->open.system ? strdup(a->open.system) : NULL;
    if ((a->open.system && !system) || tdm_chat_leave(a->chat, NULL)) {
        free(system);
        drop_settings(e->settings); /* the reply has just ended, or there is no memory: the conversation is left like
                                       any other */
        return TDM_OK;
    }
    e->open.private = a->open.private;
    e->open.system_length = a->open.system_length;
    e->open.system = system; /* the empty conversation has it too */
    exchange(a);
    e->there = *left = true;
    e->leaves++;
    look(a);
    background_save(a);
    return TDM_OK;
}

/* The settings with which it was left hold again, except those of the command line. */
static void restore_settings(app *a, char **settings)
{
    for (option_id id = 0; id < OPTION_COUNT; id++) {
        bool given = a->o->values[id].origin >= FROM_COMMAND_LINE;
        if (!settings[id] || given || !settings_fit(&a->info, id, settings[id])) continue;
        option_set(a->o, id, settings[id], FROM_FILE, NULL);
    }
    app_configure(a, NULL);
}

static void tell_visited(const app *a, char *notice)
{
    static const char *const ends[] = {[TDM_FINISH_LENGTH] = "to its limit: /continue",
                                       [TDM_FINISH_CONTEXT] = "the context is full",
                                       [TDM_FINISH_STOPPED] = "it was stopped: /continue",
                                       [TDM_FINISH_FAILED] = "a unit failed: /continue",
                                       [TDM_FINISH_REPEATS] = "it only repeated itself: /continue"};
    const background *e = &a->background;
    size_t n = sizeof ends / sizeof *ends;
    const char *end = (size_t)e->finish < n ? ends[e->finish] : NULL;
    snprintf(notice, 400, "'%.30s' %s%s%s", background_name(a), e->writing ? "is being answered" : "was answered",
             !e->writing && end ? "; " : "", !e->writing && end ? end : "");
}

const char *background_answered(const app *a)
{
    const background *e = &a->background;
    return !e->there && e->n_answered ? e->answered[e->n_answered - 1].id : NULL;
}

tdm_status background_visit(app *a, char *notice, tdm_error *err)
{
    background *e = &a->background;
    char *settings[OPTION_COUNT] = {0};
    tdm_chat_status now;
    if (background_answered(a)) return app_resume(a, background_answered(a), notice, err);
    if (!e->there) return error_set(err, TDM_E_NOT_FOUND, "no conversation is answered elsewhere");
    tdm_chat_status_of(a->chat, &now);
    if (now.phase == TDM_PHASE_READING) return refuse_early(e, err);
    tdm_back_status other;
    tdm_chat_back_of(a->chat, &other);
    if (other.prompts) return error_set(err, TDM_E_BUSY, "a cold prompt is being read; visit once that is over");
    bool both = is_answered(a) && !options_int(a->o, OPTION_BACKGROUND, 0);
    tdm_status status = both ? snapshot_settings(a->chat, settings, err) : TDM_OK;
    sent_settle(&a->open.sent, a->chat);
    if (!status && !both) status = app_close_session(a, err);
    look(a);
    if (!status) status = tdm_chat_visit(a->chat, both, err);
    if (status) {
        drop_settings(settings);
        return status;
    }
    tell_visited(a, notice);
    restore_settings(a, e->settings);
    drop_settings(e->settings);
    memcpy(e->settings, settings, sizeof settings);
    exchange(a);
    a->open.state_old = true;
    e->visits++;
    e->there = both;
    if (both) look(a);
    if (both)
        background_save(a);
    else drop(e);
    return TDM_OK;
}

/* ---- What is said ---------------------------------------------------------------------------------------------- */

/* The line about a conversation in the background that is not being answered. */
static const char *ending(const background *e)
{
    if (e->there && e->open.unsaved[0]) return "not saved";
    if (!e->there) return "answered";
    switch (e->finish) {
    case TDM_FINISH_CONTEXT:
        return "context full";
    case TDM_FINISH_STOPPED:
        return "stopped";
    case TDM_FINISH_FAILED:
        return "failed";
    case TDM_FINISH_REPEATS:
        return "repeated itself";
    default: return "answered";
    }
}

void background_status(const app *a, char out[BACKGROUND_STATUS])
{
    enum { NAME = 24 };
    const background *e = &a->background;
    const char *name = e->there ? background_name(a) : e->n_answered ? e->answered[e->n_answered - 1].name : NULL;
    out[0] = 0;
    if (e->there && e->writing) {
        snprintf(out, BACKGROUND_STATUS, "1 answering elsewhere%s", e->open.unsaved[0] ? ", not saved" : "");
    } else if (name) {
        bool cut = strlen(name) > NAME;
        size_t length = cut ? NAME : strlen(name);
        length -= utf8_incomplete(name, length);
        while (cut && length > NAME / 2 && name[length - 1] != ' ') length--;
        while (cut && name[length - 1] == ' ') length--;
        snprintf(out, BACKGROUND_STATUS, "%.*s%s: %s", (int)length, name, cut ? "..." : "", ending(e));
    }
}
