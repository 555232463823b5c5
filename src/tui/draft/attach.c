#include "src/tui/draft/attach.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "src/models/vision.h"
#include "src/slash/commands.h"
#include "src/tui/private.h"

enum { PAUSE_MS = 300, LOOK_MS = 2000 };

void tui_attach_open(tui *t)
{
    t->app.attach.job = attach_job_open(t->wake[1]);
}

void tui_attach_free(tui_attach *a)
{
    free(a->shown);
    free(a->names);
    free(a->pictures);
    free(a->announced);
    *a = (tui_attach){0};
}

/* ---- What comes and goes --------------------------------------------------------------------------------------- */

void tui_attach_follow(tui *t, const struct input_view *in, bool over)
{
    app *a = &t->app;
    if (!app_talks(a) || !a->attach.job || !in->is_draft) return;
    t->attach.followed_ns = clock_ns();
    bool paused = t->attach.followed_ns - t->keys.typed_ns >= PAUSE_MS * TUI_MS;
    mentions_state state = over ? MENTIONS_OVER : paused ? MENTIONS_PAUSED : MENTIONS_TYPING;
    mentions_follow(&a->attach.mentions, &a->attach.files, a->attach.job, in->text, in->length, in->cursor, state);
}

/* Puts an attachment that has been read before the message. */
static tdm_status put(tui *t, attach_result *r)
{
    app *a = &t->app;
    int place;
    bool counts = r->one.tokens < 0 && app_talks(a);
    tdm_status status =
        counts ? attach_count(&r->one, a->models.model, a->attach.files.picture_tokens, &r->err) : TDM_OK;
    if (status == TDM_E_UNSUPPORTED) vision_explain(a->o, a->models.model, r->one.name, &r->err);
    if (status && status != TDM_E_NOMEM) return status; /* a chip would stand there that no Enter can send */
    status = attach_add(&a->attach.files, &r->one, &place, &r->err);
    if (status) return status;
    if (t->attach.read_of_draft) t->attach.again = true;
    if (!app_talks(a) || r->of_draft) return TDM_OK; /* its chip shows everything */
    char line[400];
    commands_attached(a, place, r->note, line, sizeof line);
    bool fits = !attach_fits(&a->attach.files, place, app_room(&t->known.status), &r->err);
    if (!fits) tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", r->err.text);
    else tui_notices_add(&t->notices, r->note[0] ? VIEW_NOTICE_WARN : VIEW_NOTICE_INFO, "%s", line);
    return TDM_OK;
}

bool tui_attach_take(tui *t, bool *failed)
{
    attach_result r;
    bool any = false;
    while (!t->demo && attach_job_take(t->app.attach.job, &r)) {
        any = true;
        if (!r.status && !(r.of_draft && !mentions_wants(&t->app.attach.mentions, r.what))) r.status = put(t, &r);
        if (r.status) {
            *failed = true;
            if (r.of_draft) mentions_as_text(&t->app.attach.mentions, r.what, true); /* or it would be tried again */
            tui_notices_add(&t->notices, r.status == TDM_E_CANCELLED ? VIEW_NOTICE_INFO : VIEW_NOTICE_ERROR, "%s",
                            r.err.text);
        }
        attach_result_free(&r);
    }
    if (any) t->face.dirty = t->face.urgent = true;
    return any;
}

bool tui_attach_waits(const tui *t)
{
    return attach_job_busy(t->app.attach.job) || mentions_wait(&t->app.attach.mentions, &t->app.attach.files);
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
    if (attach_job_ask(t->app.attach.job, ATTACH_COMMAND, command, false, &err))
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
}

bool tui_attach_dropped(tui *t, const char *text, size_t n)
{
    struct input_view in;
    input_view(t->keys.input, clock_ns(), &in);
    if (!app_talks(&t->app) || !t->app.attach.job || !in.is_draft) return false;
    char **paths = attach_dropped(text, n);
    tdm_error err;
    for (char **path = paths; path && *path; path++)
        if (attach_job_ask(t->app.attach.job, ATTACH_FILE, *path, false, &err))
            tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
    attach_words_free(paths);
    return paths;
}

void tui_attach_rub(tui *t)
{
    attachments *a = &t->app.attach.files;
    if (!a->n) return;
    mentions_as_text(&t->app.attach.mentions, a->all[a->n - 1].path, true);
    attach_remove(a, a->n - 1);
}

void tui_attach_sent(tui *t)
{
    t->attach.again = false;
    t->attach.read_of_draft = 0;
    if (t->attach.told_saved || t->app.open.private) return;
    t->attach.told_saved = true;
    tui_notices_add(&t->notices, VIEW_NOTICE_INFO,
                    "what is attached is saved with the session (/private on: nothing is)");
}

/* ---- Showing --------------------------------------------------------------------------------------------------- */

int64_t tui_attach_deadline(const tui *t)
{
    int64_t at = t->app.attach.files.n ? t->attach.look_ns : INT64_MAX;
    bool names = t->draft.told && strchr(t->draft.told, '@');
    int64_t paused = t->keys.typed_ns + PAUSE_MS * TUI_MS;
    return names && paused > t->attach.followed_ns && paused < at ? paused : at;
}

bool tui_attach_due(tui *t, int64_t now)
{
    if (now < tui_attach_deadline(t)) return false;
    t->attach.followed_ns = now;
    if (now < t->attach.look_ns) return true;
    t->attach.look_ns = now + LOOK_MS * TUI_MS;
    if (attach_look(&t->app.attach.files)) t->face.dirty = true;
    return true;
}

static void fill_waiting(tui *t, size_t i, int number)
{
    attach_kind kind;
    const char *what;
    if (!attach_job_waiting(t->app.attach.job, number, &kind, &what)) return;
    const char *part = kind == ATTACH_FILE ? strrchr(what, '/') : NULL;
    char shown[70];
    attach_name(shown, sizeof shown, part && part[1] ? part + 1 : what);
    snprintf(t->attach.names[number], sizeof *t->attach.names, "%s%s", kind == ATTACH_COMMAND ? "$ " : "", shown);
    t->attach.shown[i] = (struct view_attachment){.name = t->attach.names[number], .tokens = -1};
}

static bool make_room(tui *t, int n, int waiting)
{
    size_t pictures = attach_pictures_n(&t->app.attach.files);
    if (!n && !waiting) return false;
    void *views = pictures ? realloc(t->attach.pictures, pictures * sizeof *t->attach.pictures) : NULL;
    if (views) t->attach.pictures = views;
    if (pictures && !views) return false;
    void *shown = realloc(t->attach.shown, (size_t)(n + waiting) * sizeof *t->attach.shown);
    if (shown) t->attach.shown = shown;
    void *names = waiting ? realloc(t->attach.names, (size_t)waiting * sizeof *t->attach.names) : NULL;
    if (names) t->attach.names = names;
    return shown && (names || !waiting);
}

/* What the chip shows of its first picture that isn't read yet. */
static void fill_progress(tui *t, struct view_attachment *v, const attachment *one)
{
    tdm_picture_status s = {.stage = TDM_PICTURE_READ};
    for (int i = 0; i < one->n_pictures && s.stage == TDM_PICTURE_READ; i++) {
        app_picture(&t->app, one->pictures[i].seen, &s);
        v->read &= s.stage == TDM_PICTURE_READ;
        bool encodes = s.stage == TDM_PICTURE_ENCODING, reads = s.stage == TDM_PICTURE_READING;
        if (encodes && s.steps) v->doing = "encoded", v->percent = (int)(100 * (uint64_t)s.done / s.steps);
        if (reads && s.tokens) v->doing = "read", v->percent = (int)(100 * (uint64_t)s.read / s.tokens);
        if (s.stage == TDM_PICTURE_FAILED) {
            snprintf(t->attach.why, sizeof t->attach.why, "%s", s.why);
            v->failed = t->attach.why;
        }
        t->attach.works |= encodes || reads;
    }
}

/* Its pictures as the view has them, behind the n that there are. */
static size_t fill_pictures(tui *t, struct view_attachment *v, const attachment *one, size_t n)
{
    v->pictures = one->n_pictures ? t->attach.pictures + n : NULL;
    v->n_pictures = (size_t)one->n_pictures;
    for (int i = 0; i < one->n_pictures; i++) t->attach.pictures[n++] = tui_picture_view(one->pictures[i].picture);
    return n;
}

void tui_attach_fill(tui *t, struct view_draft *d, size_t read)
{
    const attachments *a = &t->app.attach.files;
    attach_kind kind;
    const char *what;
    int room = app_room(&t->known.status), waiting = 0, tokens = 0;
    size_t bytes = 0, pictures = 0;
    t->attach.works = false;
    while (!t->demo && attach_job_waiting(t->app.attach.job, waiting, &kind, &what)) waiting++;
    if (!make_room(t, a->n, waiting)) return;
    for (int i = 0; i < a->n; i++) {
        const attachment *one = &a->all[i];
        bytes += one->length;
        tokens += one->tokens > 0 ? one->tokens : 0;
        t->attach.shown[i] = (struct view_attachment){.name = one->name, .tokens = one->tokens, .read = bytes <= read,
                                                      .changed = one->changed, .too_long = tokens >= room};
        if (!one->n_pictures) continue;
        pictures = fill_pictures(t, &t->attach.shown[i], one, pictures);
        fill_progress(t, &t->attach.shown[i], one);
        if (one->tokens < 0) t->attach.shown[i].failed = "the model doesn't see it";
    }
    if (a->n) t->attach.shown[a->n - 1].marked = t->face.in.chip_marked;
    for (int i = 0; i < waiting; i++) fill_waiting(t, (size_t)(a->n + i), i);
    d->attached = t->attach.shown;
    d->n_attached = (size_t)(a->n + waiting);
    d->attached_left = room > tokens ? room - tokens : 0;
}
