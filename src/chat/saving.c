#include "src/chat/app_parts.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "src/attach/pending.h"
#include "src/chat/snapshot.h"

/* What would be written, as one number that isn't 0; 0: no memory. */
static uint64_t contents_of(const app *a)
{
    session s;
    size_t n = 0;
    if (app_snapshot(a, &s, NULL)) return 0;
    s.changed_s = 0;
    char *text = session_format(&s, &n);
    uint64_t contents = text ? fnv_bytes(FNV_START, text, n) | 1 : 0;
    free(text);
    session_free(&s);
    return contents;
}

void app_look_at(app *a)
{
    bool keeps = a->attach.kept;
    a->attach.kept = pending_any(&a->attach.files);
    a->open.looked_at = contents_of(a);
    a->attach.kept = keeps;
}

/* Nothing of the session that was resumed has changed. Compared until the first change alone. */
static bool only_looked_at(app *a)
{
    if (a->open.looked_at && contents_of(a) != a->open.looked_at) a->open.looked_at = 0;
    return a->open.looked_at;
}

void app_begin_save_state(app *a)
{
    bool old = a->open.state_old;
    a->open.state_old = false; /* also if nothing is written, or the front end would ask again at once */
    if (a->open.private || a->open.slot.lock < 0 || !old || !a->chat || only_looked_at(a)) return;
    uint64_t limit = options_whole(a->o, OPTION_STATE_DISK, (uint64_t)4 << 30);
    char *path = limit ? store_state_path(a->open.slot.id) : NULL;
    if (path) state_writer_begin(&a->state_writer, a->chat, path, limit);
}

/* The files of a message that will not be answered come before those of the next one, as its words do. */
static tdm_status snapshot_pending(const app *a, session *s, tdm_error *err)
{
    if (!a->attach.kept) return TDM_OK;
    tdm_status status = a->open.sent.on_its_way ? pending_keep(s, &a->open.sent.files, err) : TDM_OK;
    return status ? status : pending_keep(s, &a->attach.files, err);
}

tdm_status app_snapshot(const app *a, session *out, tdm_error *err)
{
    const snapshot_source from = {.chat = a->chat,
                                  .sent = &a->open.sent,
                                  .name = a->open.name,
                                  .draft = a->draft,
                                  .system = a->open.system,
                                  .system_length = a->open.system_length,
                                  .model_path = a->model_path,
                                  .info = &a->info,
                                  .most = a->compact.running ? a->compact.nodes : 0,
                                  .leaf = a->compact.leaf};
    tdm_status status = snapshot_take(&from, out, err);
    if (status) return status;
    status = snapshot_pending(a, out, err);
    if (status) session_free(out);
    return status;
}

/* The conversation as it is to be written, and a place for it. */
static tdm_status prepare_save(app *a, session *s, tdm_error *err)
{
    tdm_status status = store_keep(&a->open.slot, err);
    if (!status) status = app_snapshot(a, s, err);
    if (!status && !a->open.name && s->name) a->open.name = strdup(s->name);
    return status;
}

/* Without the file's long name, or the reason would not fit into the row that says it. */
static void tell_saved(app *a, tdm_status status, const tdm_error *err)
{
    const char *text = status && err ? err->text : "", *why = *text == '/' ? strstr(text, ": ") : NULL;
    snprintf(a->open.unsaved, sizeof a->open.unsaved, "%s", why ? why + 2 : text);
}

bool app_saved(app *a)
{
    tdm_status status;
    tdm_error err;
    bool ended = session_writer_take(a->open.session_writer, &status, &err);
    if (ended) tell_saved(a, status, &err);
    return background_saved(a) || ended;
}

void app_set_wake(app *a, int fd)
{
    session_writer_set_wake(a->open.session_writer, fd);
    session_writer_set_wake(a->background.open.session_writer, fd);
}

bool app_saving(const app *a)
{
    return session_writer_busy(a->open.session_writer) || session_writer_busy(a->background.open.session_writer);
}

void app_settle(app *a)
{
    session_writer_wait(a->open.session_writer);
    session_writer_wait(a->background.open.session_writer);
    app_saved(a);
}

void app_end_keeping(app *a)
{
    app_settle(a);
    session_writer_rest(a->open.session_writer);
}

/* Without a model only the draft, and what is attached, may be another one. */
static tdm_status save_left(app *a, tdm_error *err)
{
    if (a->open.private || !(a->draft || a->attach.kept) || a->open.slot.lock < 0) return TDM_OK;
    char *draft = a->draft ? strdup(a->draft) : NULL;
    if (a->draft && !draft) return error_set(err, TDM_E_NOMEM, "out of memory");
    free(a->left->draft);
    a->left->draft = draft;
    tdm_status status = store_keep(&a->open.slot, err);
    if (!status) status = snapshot_pending(a, a->left, err);
    return status ? status : store_save(&a->open.slot, a->left, err);
}

static bool nothing_to_save(const app *a)
{
    return a->open.private || (!a->draft && !a->attach.kept && (!a->chat || !tdm_chat_nodes(a->chat, TDM_FRONT)));
}

/* A failure is about the newest text: the result of an older save does not come after it. */
static tdm_status hand_over(app *a, tdm_error *err)
{
    session s;
    if (only_looked_at(a)) return TDM_OK;
    tdm_status status =
        a->open.session_writer ? prepare_save(a, &s, err) : error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status) {
        session_writer_put(a->open.session_writer, &a->open.slot, &s);
        return TDM_OK;
    }
    app_settle(a);
    tell_saved(a, status, err);
    return status;
}

void app_begin_save(app *a)
{
    tdm_error told;
    if (!nothing_to_save(a)) hand_over(a, &told);
    session_writer_rest(a->open.session_writer);
}

tdm_status app_save(app *a, tdm_error *err)
{
    if (a->left) return save_left(a, err);
    tdm_status status = nothing_to_save(a) ? TDM_OK : hand_over(a, err), saved;
    tdm_error told;
    session_writer_wait(a->open.session_writer);
    session_writer_rest(a->open.session_writer);
    if (!session_writer_take(a->open.session_writer, &saved, &told)) return status;
    tell_saved(a, saved, &told);
    if (saved && err) *err = told;
    return saved;
}

void app_keep(app *a, int64_t now_ns)
{
    app_saved(a);
    background_keep(a, now_ns);
    if (!session_writer_ready(a->open.session_writer, now_ns)) return;
    tdm_error told;
    if (!nothing_to_save(a)) hand_over(a, &told);
}

int64_t app_keep_deadline(const app *a)
{
    int64_t front = session_writer_deadline(a->open.session_writer),
            other = session_writer_deadline(a->background.open.session_writer);
    return front < other ? front : other;
}

void app_idle(app *a)
{
    app_begin_save_state(a);
}

bool app_keep_draft(app *a, const char *text)
{
    tdm_error unheard;
    bool blank = !text[strspn(text, " \t\r\n")];
    bool queued = a->open.sent.on_its_way && pending_any(&a->open.sent.files);
    a->attach.kept = !a->open.private && (queued || pending_any(&a->attach.files));
    if (a->open.private || (blank && !a->attach.kept)) return true;
    char *draft = blank ? NULL : strdup(text);
    free(a->draft);
    a->draft = draft;
    app_save(a, &unheard);
    return blank || draft;
}

char *app_take_draft(app *a)
{
    char *draft = a->draft;
    a->draft = NULL;
    return draft;
}
