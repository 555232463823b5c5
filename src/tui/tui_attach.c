#include "src/tui/tui_attach.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "src/chat/attach_read.h"
#include "src/chat/commands.h"
#include "src/tui/tui_private.h"

enum { PAUSE_MS = 300, LOOK_MS = 2000 };

void tui_attach_open(tui *t)
{
    t->app.attaching = attach_job_open(t->wake[1]);
}

void tui_attach_free(tui_attach *a)
{
    free(a->shown);
    free(a->names);
    free(a->announced);
    *a = (tui_attach){0};
}

/* ---- What comes and goes --------------------------------------------------------------------------------------- */

void tui_attach_follow(tui *t, const struct input_view *in, bool over)
{
    app *a = &t->app;
    if (!a->chat || !a->attaching || !in->is_draft) return;
    t->attach.followed_ns = clock_ns();
    bool paused = t->attach.followed_ns - t->typed_ns >= PAUSE_MS * TUI_MS;
    mentions_state state = over ? MENTIONS_OVER : paused ? MENTIONS_PAUSED : MENTIONS_TYPING;
    mentions_follow(&a->mentions, &a->attached, a->attaching, in->text, in->length, in->cursor, state);
}

/* One that has been read goes before the message. */
static tdm_status put(tui *t, attach_result *r)
{
    app *a = &t->app;
    int place;
    tdm_error unheard;
    if (r->one.tokens < 0 && a->chat) attach_count(&r->one, a->models.model, &unheard);
    tdm_status status = attach_add(&a->attached, &r->one, &place, &r->err);
    if (status) return status;
    if (t->attach.read_of_draft) t->attach.again = true;
    if (!a->chat || r->of_draft) return TDM_OK; /* its chip says it all */
    char line[400];
    commands_attached(a, place, r->note, line, sizeof line);
    bool fits = !attach_fits(&a->attached, place, app_room(&t->status), &r->err);
    if (!fits) tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", r->err.text);
    else tui_notices_add(&t->notices, r->note[0] ? VIEW_NOTICE_WARN : VIEW_NOTICE_INFO, "%s", line);
    return TDM_OK;
}

bool tui_attach_take(tui *t, bool *failed)
{
    attach_result r;
    bool any = false;
    while (!t->demo && attach_job_take(t->app.attaching, &r)) {
        any = true;
        if (!r.status && !(r.of_draft && !mentions_wants(&t->app.mentions, r.what))) r.status = put(t, &r);
        if (r.status) {
            *failed = true;
            if (r.of_draft) mentions_as_text(&t->app.mentions, r.what, true); /* or it would be tried again */
            tui_notices_add(&t->notices, r.status == TDM_E_CANCELLED ? VIEW_NOTICE_INFO : VIEW_NOTICE_ERROR, "%s",
                            r.err.text);
        }
        attach_result_free(&r);
    }
    if (any) t->dirty = t->urgent = true;
    return any;
}

bool tui_attach_waits(const tui *t)
{
    return attach_job_busy(t->app.attaching) || mentions_wait(&t->app.mentions, &t->app.attached);
}

void tui_attach_announce(tui *t, const char *line)
{
    char **at = &t->attach.announced;
    if (line && *at && !strcmp(line, *at)) return;
    free(*at);
    *at = line ? strdup(line) : NULL;
}

bool tui_attach_announced(const tui *t, const char *line)
{
    return t->attach.announced && !strcmp(t->attach.announced, line);
}

void tui_attach_run(tui *t, const char *command)
{
    tdm_error err;
    if (attach_job_ask(t->app.attaching, ATTACH_COMMAND, command, false, &err))
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
}

void tui_attach_stop(tui *t)
{
    attach_job_stop(t->app.attaching);
}

void tui_attach_rub(tui *t)
{
    attachments *a = &t->app.attached;
    if (!a->n) return;
    mentions_as_text(&t->app.mentions, a->all[a->n - 1].path, true);
    attach_remove(a, a->n - 1);
}

void tui_attach_sent(tui *t)
{
    t->attach.again = false;
    t->attach.read_of_draft = 0;
    if (t->attach.told_saved || t->app.private) return;
    t->attach.told_saved = true;
    tui_notices_add(&t->notices, VIEW_NOTICE_INFO,
                    "what is attached is saved with the session (/private on: nothing is)");
}

/* ---- Showing --------------------------------------------------------------------------------------------------- */

int64_t tui_attach_deadline(const tui *t)
{
    int64_t at = t->app.attached.n ? t->attach.look_ns : INT64_MAX;
    bool names = t->draft.told && strchr(t->draft.told, '@');
    int64_t paused = t->typed_ns + PAUSE_MS * TUI_MS;
    return names && paused > t->attach.followed_ns && paused < at ? paused : at;
}

bool tui_attach_due(tui *t, int64_t now)
{
    if (now < tui_attach_deadline(t)) return false;
    t->attach.followed_ns = now;
    if (now < t->attach.look_ns) return true;
    t->attach.look_ns = now + LOOK_MS * TUI_MS;
    if (attach_look(&t->app.attached)) t->dirty = true;
    return true;
}

static void fill_waiting(tui *t, size_t i, int number)
{
    attach_kind kind;
    const char *what;
    if (!attach_job_waiting(t->app.attaching, number, &kind, &what)) return;
    const char *part = kind == ATTACH_FILE ? strrchr(what, '/') : NULL;
    char shown[70];
    attach_name(shown, sizeof shown, part && part[1] ? part + 1 : what);
    snprintf(t->attach.names[number], sizeof *t->attach.names, "%s%s", kind == ATTACH_COMMAND ? "$ " : "", shown);
    t->attach.shown[i] = (struct view_attachment){.name = t->attach.names[number], .tokens = -1};
}

static bool make_room(tui *t, int n, int waiting)
{
    if (!n && !waiting) return false;
    void *shown = realloc(t->attach.shown, (size_t)(n + waiting) * sizeof *t->attach.shown);
    if (shown) t->attach.shown = shown;
    void *names = waiting ? realloc(t->attach.names, (size_t)waiting * sizeof *t->attach.names) : NULL;
    if (names) t->attach.names = names;
    return shown && (names || !waiting);
}

void tui_attach_fill(tui *t, struct view_draft *d, size_t read)
{
    const attachments *a = &t->app.attached;
    attach_kind kind;
    const char *what;
    int room = app_room(&t->status), waiting = 0, tokens = 0;
    size_t bytes = 0;
    while (!t->demo && attach_job_waiting(t->app.attaching, waiting, &kind, &what)) waiting++;
    if (!make_room(t, a->n, waiting)) return;
    for (int i = 0; i < a->n; i++) {
        const attachment *one = &a->all[i];
        bytes += one->length;
        tokens += one->tokens > 0 ? one->tokens : 0;
        t->attach.shown[i] = (struct view_attachment){.name = one->name, .tokens = one->tokens, .read = bytes <= read,
                                                      .changed = one->changed, .too_long = tokens >= room};
    }
    if (a->n) t->attach.shown[a->n - 1].marked = t->in.chip_marked;
    for (int i = 0; i < waiting; i++) fill_waiting(t, (size_t)(a->n + i), i);
    d->attached = t->attach.shown;
    d->n_attached = (size_t)(a->n + waiting);
    d->attached_left = room > tokens ? room - tokens : 0;
}
