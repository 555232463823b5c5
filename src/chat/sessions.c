#include "src/chat/app_parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "src/attach/pending.h"
#include "src/chat/compact.h"
#include "src/files/files.h"
#include "src/models/vision.h"
#include "src/models/settings.h"

/* What a session without a file is known by. */
static void begin_session(app *a)
{
    sent_strand(&a->open.sent);
    sent_load(&a->open.sent, NULL, 0, NULL);
    free(a->open.name);
    a->open.name = NULL;
    free(a->draft);
    a->draft = NULL;
    a->open.kept_nodes = 0;
    a->open.looked_at = 0;
    a->open.state_old = false;
    a->open.unsaved[0] = 0;
}

void app_end_session(app *a)
{
    app_begin_save_state(a);
    state_writer_wait(&a->state_writer);
    store_close(&a->open.slot);
    begin_session(a);
}

/* A conversation that could not be saved is not left. Attachments belong to the next message, in whatever conversation
 * it is sent. */
tdm_status app_close_session(app *a, tdm_error *err)
{
    tdm_error why;
    compact_give_up(a);
    if (app_save(a, &why))
        return error_set(err, TDM_E_IO, "not saved; make room, or /private on gives it up: %.120s", a->open.unsaved);
    app_end_session(a);
    return TDM_OK;
}

/* One that is being answered goes on in the background. */
static tdm_status leave_session(app *a, tdm_error *err)
{
    bool left;
    tdm_status status = background_leave(a, &left, err);
    return status || left ? status : app_close_session(a, err);
}

tdm_status app_set_private(app *a, bool on, tdm_error *err)
{
    if (on && a->open.private) return TDM_OK; /* or a session that was resumed while private would be erased */
    a->open.private = on;
    app_mind_privacy(a);
    app_end_keeping(a);
    state_writer_wait(&a->state_writer);
    a->open.kept_nodes = 0;
    a->open.looked_at = 0;
    a->open.unsaved[0] = 0;
    if (!on) {
        app_begin_save(a);
        return TDM_OK;
    }
    tdm_status status = a->open.slot.lock >= 0 ? store_erase(a->open.slot.id, &a->open.slot, err) : TDM_OK;
    store_close(&a->open.slot);
    return status;
}

tdm_status app_rename(app *a, const char *name, tdm_error *err)
{
    char *copy = strdup(name);
    if (!copy) return error_set(err, TDM_E_NOMEM, "out of memory");
    free(a->open.name);
    a->open.name = copy;
    app_begin_save(a);
    return TDM_OK;
}

int app_memory_turns(const app *a)
{
    int n = a->open.private && a->chat ? tdm_chat_nodes(a->chat, TDM_FRONT) : 0, turns = 0;
    for (int i = a->open.kept_nodes + 1; i <= n; i++) {
        tdm_node node;
        if (tdm_chat_node(a->chat, TDM_FRONT, i, &node, NULL)) continue;
        turns += node.role == TDM_USER;
        tdm_node_free(&node);
    }
    return turns;
}

tdm_status app_delete(app *a, const char *id, bool for_good, bool *open, tdm_error *err)
{
    /* A file that is being written would be renamed to its old place. */
    app_end_keeping(a);
    state_writer_wait(&a->state_writer);
    *open = a->open.slot.lock >= 0 && !strcmp(a->open.slot.id, id);
    session_slot *held = *open ? &a->open.slot : background_is(a, id) ? &a->background.open.slot : NULL;
    bool answered = held == &a->background.open.slot;
    if (answered) background_stop(a);
    tdm_status status = for_good ? app_forget_words(a, id, *open, err) : TDM_OK;
    if (!status) status = for_good ? store_erase(id, held, err) : store_delete(id, held, err);
    if (!status && for_good) files_sweep(); /* what a kill has left may be of it */
    if (!status && answered) background_forget(a);
    if (!status) background_visited(a, id);
    if (status || !*open) return status;
    tdm_chat_clear(a->chat);
    begin_session(a);
    return status;
}

tdm_status app_new(app *a, const char *name, tdm_error *err)
{
    char *copy = name ? strdup(name) : NULL;
    if (name && !copy) return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_status status = leave_session(a, err);
    if (status) {
        free(copy);
        return status;
    }
    tdm_chat_clear(a->chat);
    a->open.name = copy;
    return TDM_OK;
}

static tdm_status load_conversation(app *a, const session *s, tdm_error *err)
{
    return tdm_chat_load(a->chat, a->open.system, a->open.system_length, s->nodes, s->n, s->leaf, s->created_s, err);
}

/* Called before the conversation is loaded, so that none of it is read meanwhile. If the state is of another model or
 * damaged, the conversation is prefilled, which only takes time. */
static void load_state(app *a, const char *id)
{
    char *path = store_state_path(id);
    if (path && access(path, R_OK) == 0) tdm_chat_load_state(a->chat, path, NULL);
    free(path);
}

/* Puts a session that was read in place of the conversation. */
static tdm_status enter_session(app *a, const session *s, tdm_error *err)
{
    for (option_id id = 0; id < OPTION_COUNT; id++) {
        bool given = a->o->values[id].origin >= FROM_COMMAND_LINE;
        if (!s->settings[id] || given || !settings_fit(&a->info, id, s->settings[id])) continue;
        if (!option_set(a->o, id, s->settings[id], FROM_FILE, err)) return TDM_E_FORMAT;
    }
    tdm_status status = app_configure(a, err);
    if (!status) status = open_session_set_system(&a->open, s->system, s->system_length, err);
    if (!status) status = load_conversation(a, s, err);
    if (!status) status = sent_load(&a->open.sent, s->attached, s->n, err);
    return status;
}

static bool read_picture(void *ctx, const session_picture *p, const picture **out, tdm_picture **seen)
{
    return !store_picture(ctx, p, out, seen, NULL);
}

tdm_status app_resume(app *a, const char *wanted, char *notice, tdm_error *err)
{
    store_entry *entries;
    int n;
    notice[0] = 0;
    app_settle(a);
    tdm_status status = store_list(&entries, &n, err);
    if (status) return status;
    int picked = store_pick(entries, n, &a->listed.sessions, wanted, err);
    if (picked < 0) background_visited(a, wanted); /* another program has deleted it */
    if (picked >= 0 && a->open.slot.lock >= 0 && !strcmp(entries[picked].id, a->open.slot.id)) {
        snprintf(notice, 400, "'%.200s' is the open session", a->open.name ? a->open.name : "session");
        store_list_free(entries, n);
        return TDM_OK;
    }
    if (picked >= 0 && background_is(a, entries[picked].id)) {
        store_list_free(entries, n);
        return background_visit(a, notice, err);
    }
    session_slot slot = {.lock = -1};
    session s = {0};
    bool copied = false;
    tdm_error missing = {0};
    status = picked < 0 ? TDM_E_NOT_FOUND : store_open(&slot, entries[picked].id, &s, &copied, err);
    if (!status) status = store_load_pictures(entries[picked].id, &s, &missing, err);
    if (!status) status = leave_session(a, err);
    if (!status) {
        load_state(a, entries[picked].id);
        status = enter_session(a, &s, err);
        if (status) tdm_chat_clear(a->chat);
    }
    if (!status) {
        background_visited(a, entries[picked].id);
        a->open.slot = slot;
        a->open.name = s.name; /* taken over: they are saved with the next turn */
        a->draft = s.draft;
        s.name = s.draft = NULL;
        pending_bring(&a->attach.files, &s, a->models.model, read_picture, entries[picked].id);
        a->open.kept_nodes = s.n;
        const char *unsaved = a->open.private ? "; private: what follows is not saved"
                              : slot.lock < 0 ? "; nothing is saved: its folder can't be written"
                                              : "";
        snprintf(notice, 400, copied ? "'%.200s' is open in another program: this is a copy%s" : "resumed '%.200s'%s",
                 a->open.name ? a->open.name : "session", unsaved);
        size_t said = strlen(notice);
        char unseen[160];
        if (missing.code) snprintf(notice + said, 400 - said, "; without a picture: %.150s", missing.text);
        else if (vision_unseen(a->models.model, session_pictures(&s), unseen, sizeof unseen))
            snprintf(notice + said, 400 - said, "; %s", unseen);
        app_look_at(a);
    } else {
        store_close(&slot);
    }
    session_free(&s);
    store_list_free(entries, n);
    return status;
}
