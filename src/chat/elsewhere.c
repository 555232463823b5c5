#include "src/chat/elsewhere.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/error.h"
#include "engine/base/exchange.h"
#include "engine/base/utf8.h"
#include "src/chat/app.h"
#include "src/chat/settings.h"
#include "src/chat/snapshot.h"

void elsewhere_init(elsewhere *e)
{
    *e = (elsewhere){.place = {.lock = -1}, .keeper = keeper_new()};
}

const char *elsewhere_name(const app *a)
{
    const elsewhere *e = &a->elsewhere;
    return e->private ? "a private session" : e->name ? e->name : "a session";
}

bool elsewhere_is(const app *a, const char *id)
{
    const elsewhere *e = &a->elsewhere;
    return e->there && e->place.lock >= 0 && !strcmp(e->place.id, id);
}

/* ---- What its session is known by ------------------------------------------------------------------------------ */

static void drop_settings(char **settings)
{
    for (option_id id = 0; id < OPTION_COUNT; id++) {
        free(settings[id]);
        settings[id] = NULL;
    }
}

/* Of no conversation; the keeper stays. */
static void drop(elsewhere *e)
{
    keeper_wait(e->keeper);
    keeper_rest(e->keeper);
    store_close(&e->place);
    drop_settings(e->settings);
    sent_free(&e->sent);
    free(e->system);
    free(e->name);
    e->system = e->name = NULL;
    e->system_length = 0;
    e->there = e->writing = e->private = false;
    e->kept_nodes = 0;
    e->unsaved[0] = 0;
}

/* The session in front and the one elsewhere change places. A message on its way stays with the one who typed it. */
static void exchange(app *a)
{
    elsewhere *e = &a->elsewhere;
    EXCHANGE(a->system, e->system);
    EXCHANGE(a->system_length, e->system_length);
    EXCHANGE(a->name, e->name);
    EXCHANGE(a->created_s, e->created_s);
    EXCHANGE(a->private, e->private);
    a->looked_at = 0;
    EXCHANGE(a->kept_nodes, e->kept_nodes);
    EXCHANGE(a->place, e->place);
    EXCHANGE(a->keeper, e->keeper);
    EXCHANGE(a->sent.attached, e->sent.attached);
    EXCHANGE(a->sent.n, e->sent.n);
    char kept[sizeof a->unsaved];
    memcpy(kept, a->unsaved, sizeof kept);
    memcpy(a->unsaved, e->unsaved, sizeof kept);
    memcpy(e->unsaved, kept, sizeof kept);
    sent_strand(&a->sent);
    free(a->draft);
    a->draft = NULL;
}

/* ---- Saving ---------------------------------------------------------------------------------------------------- */

static void tell_saved(elsewhere *e, tdm_status status, const tdm_error *err)
{
    snprintf(e->unsaved, sizeof e->unsaved, "%s", status ? err->text : "");
}

static tdm_status hand_over(app *a, tdm_error *err)
{
    elsewhere *e = &a->elsewhere;
    session s;
    const snapshot_source from = {.chat = a->chat, .elsewhere = true, .sent = &e->sent, .name = e->name,
                                  .system = e->system, .system_length = e->system_length, .model_path = a->model_path,
                                  .info = &a->info, .created_s = e->created_s, .settings = e->settings};
    tdm_status status = e->keeper ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status && e->place.lock < 0) status = store_create(&e->place, err);
    if (!status) status = snapshot_take(&from, &s, err);
    if (status) return status;
    if (!e->name && s.name) e->name = strdup(s.name);
    keeper_put(e->keeper, &e->place, &s);
    return TDM_OK;
}

void elsewhere_save(app *a)
{
    elsewhere *e = &a->elsewhere;
    tdm_error err;
    if (!e->there) return;
    tdm_status status = e->private ? TDM_OK : hand_over(a, &err);
    keeper_rest(e->keeper);
    if (status) tell_saved(e, status, &err);
}

bool elsewhere_saved(app *a)
{
    elsewhere *e = &a->elsewhere;
    tdm_status status;
    tdm_error err;
    bool ended = keeper_take(e->keeper, &status, &err);
    if (ended) tell_saved(e, status, &err);
    return ended;
}

void elsewhere_keep(app *a, int64_t now_ns)
{
    elsewhere *e = &a->elsewhere;
    tdm_error err;
    elsewhere_saved(a);
    if (!e->there || e->private || !keeper_ready(e->keeper, now_ns)) return;
    tdm_status status = hand_over(a, &err);
    if (status) tell_saved(e, status, &err);
}

/* As far as it goes: what could not be saved, unsaved says. */
static void save_and_wait(app *a)
{
    elsewhere_save(a);
    keeper_wait(a->elsewhere.keeper);
    elsewhere_saved(a);
}

/* ---- Ending ---------------------------------------------------------------------------------------------------- */

static void look(app *a)
{
    elsewhere *e = &a->elsewhere;
    tdm_elsewhere now;
    tdm_chat_elsewhere_of(a->chat, &now);
    e->writing = now.writing > 0;
    e->finish = now.finish;
}

void elsewhere_event(app *a, const tdm_event *event)
{
    if (event->kind == TDM_EV_TEXT) keeper_text_came(a->elsewhere.keeper);
    if (event->kind != TDM_EV_END) return;
    look(a);
    elsewhere_save(a);
}

void elsewhere_stop(app *a)
{
    elsewhere *e = &a->elsewhere;
    if (!e->there) return;
    tdm_chat_stop_elsewhere(a->chat);
    look(a);
    keeper_wait(e->keeper);
    keeper_rest(e->keeper);
}

void elsewhere_forget(app *a)
{
    if (!a->elsewhere.there) return;
    tdm_chat_forget_elsewhere(a->chat);
    drop(&a->elsewhere);
}

void elsewhere_end(app *a)
{
    if (!a->elsewhere.there) return;
    tdm_chat_stop_elsewhere(a->chat);
    save_and_wait(a);
}

static void close_session(app *a)
{
    if (!a->elsewhere.there) return;
    elsewhere_end(a);
    tdm_chat_forget_elsewhere(a->chat);
    drop(&a->elsewhere);
}

void elsewhere_close(app *a)
{
    close_session(a);
    drop(&a->elsewhere);
    keeper_free(a->elsewhere.keeper);
}

/* It can be closed without a loss: its text is in its file. */
static tdm_status check_saved(app *a, tdm_error *err)
{
    elsewhere *e = &a->elsewhere;
    if (e->private)
        return error_set(err, TDM_E_BUSY, "a private session was answered, and only memory has it: /visit it first");
    save_and_wait(a);
    if (!e->unsaved[0]) return TDM_OK;
    return error_set(err, TDM_E_BUSY, "'%.60s' is not saved: /visit it first; %.120s", elsewhere_name(a), e->unsaved);
}

/* Its name stays, until it is visited. */
static void remember(app *a)
{
    elsewhere *e = &a->elsewhere;
    elsewhere_visited(a, e->place.id);
    if (e->n_answered == ELSEWHERE_NAMES) elsewhere_visited(a, e->answered[0].id);
    memcpy(e->answered[e->n_answered].id, e->place.id, sizeof e->place.id);
    snprintf(e->answered[e->n_answered].name, sizeof e->answered[0].name, "%s", elsewhere_name(a));
    e->n_answered++;
}

tdm_status elsewhere_make_way(app *a, tdm_error *err)
{
    elsewhere *e = &a->elsewhere;
    if (!e->there) return TDM_OK;
    tdm_chat_stop_elsewhere(a->chat);
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
    return (now.phase == TDM_THINKING || now.phase == TDM_ANSWERING) && !a->compacting;
}

void elsewhere_visited(app *a, const char *id)
{
    elsewhere *e = &a->elsewhere;
    int n = 0;
    for (int i = 0; i < e->n_answered; i++)
        if (strcmp(e->answered[i].id, id)) e->answered[n++] = e->answered[i];
    e->n_answered = n;
}

/* The one that is there has been answered, and makes way for another one; its name stays. */
static tdm_status make_room(app *a, tdm_error *err)
{
    elsewhere *e = &a->elsewhere;
    if (!e->there) return TDM_OK;
    look(a);
    if (e->writing)
        return error_set(err, TDM_E_BUSY, "'%.30s' is answered elsewhere; only one can be: Ctrl-C stops this",
                         elsewhere_name(a));
    tdm_status status = check_saved(a, err);
    if (status) return status;
    remember(a);
    close_session(a);
    return TDM_OK;
}

static tdm_status refuse_early(elsewhere *e, tdm_error *err)
{
    e->refusals++;
    return error_set(err, TDM_E_BUSY, "your message is still being read; leave once it is answered, or Ctrl-C");
}

tdm_status elsewhere_leave(app *a, bool *left, tdm_error *err)
{
    elsewhere *e = &a->elsewhere;
    tdm_chat_status now;
    tdm_elsewhere other;
    tdm_chat_status_of(a->chat, &now);
    tdm_chat_elsewhere_of(a->chat, &other);
    *left = false;
    bool stays = options_int(a->o, OPTION_BACKGROUND, 0) || a->compacting || !other.possible;
    if (stays || now.phase == TDM_IDLE) return TDM_OK;
    if (now.phase == TDM_READING) return refuse_early(e, err);
    tdm_status status = make_room(a, err);
    if (!status) status = snapshot_settings(a->chat, e->settings, err);
    if (status) {
        drop_settings(e->settings);
        return status;
    }
    sent_settle(&a->sent, a->chat);
    char *system = a->system ? strdup(a->system) : NULL;
    if ((a->system && !system) || tdm_chat_leave(a->chat, NULL)) {
        free(system);
        drop_settings(e->settings); /* it has just ended, or there is no memory: it is left like any other */
        return TDM_OK;
    }
    e->created_s = time(NULL);
    e->private = a->private;
    e->system_length = a->system_length;
    e->system = system; /* the empty conversation has it too */
    exchange(a);
    e->there = *left = true;
    e->leaves++;
    look(a);
    elsewhere_save(a);
    return TDM_OK;
}

/* What it was left with holds again, but for what the command line says. */
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
    static const char *const ends[] = {
        [TDM_LENGTH] = "to its limit: /continue", [TDM_CONTEXT] = "the context is full",
        [TDM_STOPPED] = "it was stopped: /continue", [TDM_FAILED] = "a unit failed: /continue",
        [TDM_REPEATS] = "it only repeated itself: /continue"};
    const elsewhere *e = &a->elsewhere;
    size_t n = sizeof ends / sizeof *ends;
    const char *end = (size_t)e->finish < n ? ends[e->finish] : NULL;
    snprintf(notice, 400, "'%.30s' %s%s%s", elsewhere_name(a), e->writing ? "is being answered" : "was answered",
             !e->writing && end ? "; " : "", !e->writing && end ? end : "");
}

const char *elsewhere_answered(const app *a)
{
    const elsewhere *e = &a->elsewhere;
    return !e->there && e->n_answered ? e->answered[e->n_answered - 1].id : NULL;
}

tdm_status elsewhere_visit(app *a, char *notice, tdm_error *err)
{
    elsewhere *e = &a->elsewhere;
    char *settings[OPTION_COUNT] = {0};
    tdm_chat_status now;
    if (elsewhere_answered(a)) return app_resume(a, elsewhere_answered(a), notice, err);
    if (!e->there) return error_set(err, TDM_E_NOT_FOUND, "no conversation is answered elsewhere");
    tdm_chat_status_of(a->chat, &now);
    if (now.phase == TDM_READING) return refuse_early(e, err);
    tdm_elsewhere other;
    tdm_chat_elsewhere_of(a->chat, &other);
    if (other.prompts) return error_set(err, TDM_E_BUSY, "a cold prompt is being read; visit once that is over");
    bool both = is_answered(a) && !options_int(a->o, OPTION_BACKGROUND, 0);
    tdm_status status = both ? snapshot_settings(a->chat, settings, err) : TDM_OK;
    sent_settle(&a->sent, a->chat);
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
    a->state_old = true;
    e->visits++;
    e->there = both;
    if (both) look(a);
    if (both) elsewhere_save(a);
    else drop(e);
    return TDM_OK;
}

/* ---- What is said ---------------------------------------------------------------------------------------------- */

/* What there is to say of the one that is there and is not being answered. */
static const char *ending(const elsewhere *e)
{
    if (e->there && e->unsaved[0]) return "not saved";
    if (!e->there) return "answered";
    switch (e->finish) {
    case TDM_CONTEXT: return "context full";
    case TDM_STOPPED: return "stopped";
    case TDM_FAILED: return "failed";
    case TDM_REPEATS: return "repeated itself";
    default: return "answered";
    }
}

void elsewhere_status(const app *a, char out[ELSEWHERE_STATUS])
{
    enum { NAME = 24 };
    const elsewhere *e = &a->elsewhere;
    const char *name = e->there ? elsewhere_name(a) : e->n_answered ? e->answered[e->n_answered - 1].name : NULL;
    out[0] = 0;
    if (e->there && e->writing) {
        snprintf(out, ELSEWHERE_STATUS, "1 answering elsewhere%s", e->unsaved[0] ? ", not saved" : "");
    } else if (name) {
        bool cut = strlen(name) > NAME;
        size_t length = cut ? NAME : strlen(name);
        length -= utf8_incomplete(name, length);
        while (cut && length > NAME / 2 && name[length - 1] != ' ') length--;
        while (cut && name[length - 1] == ' ') length--;
        snprintf(out, ELSEWHERE_STATUS, "%.*s%s: %s", (int)length, name, cut ? "..." : "", ending(e));
    }
}
