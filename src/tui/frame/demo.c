#include "src/tui/frame/demo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "src/demo/given.h"
#include "src/demo/run.h"
#include "src/models/vision.h"
#include "src/tui/private.h"

enum { FRAME_MS = 50, SLOW_MS = 250 };

struct tui_demo {
    script s;
    const picture *its; /* goes before the first message; NULL: none does */
    tdm_picture *picture;
    bool own; /* the script that comes along */
    bool alone;
    bool begun; /* the runs */
    bool shows; /* the first turn, or all */
    bool whole;
    demo_run run;
    demo_timing timing;
    bool paused;
    int64_t at_ns;    /* of the show that is shown, at since_ns */
    int64_t since_ns; /* before there is one: when the runs began */
    char before[80];
    char doing[120];
    char failure[sizeof((tdm_error *)0)->text];
    struct demo_view view;
};

static const demo_shows *made(const struct tui_demo *d)
{
    return d->whole ? &d->run.whole : &d->run.first;
}

static const demo_show *shown(const struct tui_demo *d)
{
    return &made(d)->all[d->timing];
}

static int64_t place(const struct tui_demo *d, int64_t now)
{
    int64_t at = d->paused ? d->at_ns : d->at_ns + (now - d->since_ns), end = shown(d)->end_ns;
    return at < end ? at : end;
}

static void go_to(struct tui_demo *d, int64_t at, int64_t now)
{
    d->at_ns = at;
    d->since_ns = now;
}

/* ---- Beginning and ending -------------------------------------------------------------------------------------- */

void tui_demo_begin(tui *t, const char *path, bool alone)
{
    tdm_error err = {0};
    struct tui_demo *d = t->demo ? NULL : calloc(1, sizeof *d);
    if (!d) return;
    if ((alone && demo_given_picture(t->o, &d->its, &d->picture, &err)) ||
        demo_given_script(&d->s, path, d->picture, &err)) {
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
        script_free(&d->s);
        tdm_picture_drop(d->picture);
        free(d);
        if (alone) t->quit = true;
        return;
    }
    d->own = !path;
    d->alone = alone;
    if (d->s.n_history)
        snprintf(d->before, sizeof d->before, "(after an earlier conversation of %zu message%s)", d->s.n_history,
                 d->s.n_history == 1 ? "" : "s");
    if (d->picture)
        snprintf(d->before, sizeof d->before, "(before the first message: %.40s, %u x %u)", d->its->name, d->its->width,
                 d->its->height);
    t->demo = d;
    tui_popup_close(&t->lists.popup);
    t->face.dirty = t->face.urgent = true;
}

void tui_demo_end(tui *t)
{
    struct tui_demo *d = t->demo;
    if (!d) return;
    t->demo = NULL;
    char *text = d->begun ? demo_run_end(&d->run) : NULL;
    script_free(&d->s);
    tdm_picture_drop(d->picture);
    if (d->alone) t->quit = true;
    if (d->alone)
        t->demo_waits = text;
    else
        free(text);
    free(d);
    t->keys.typed_ns = clock_ns(); /* a rest begins */
    t->face.dirty = t->face.urgent = true;
}

/* ---- The runs -------------------------------------------------------------------------------------------------- */

static void fail(struct tui_demo *d, const char *why)
{
    snprintf(d->failure, sizeof d->failure, "%s", why);
}

static void begin_runs(tui *t)
{
    struct tui_demo *d = t->demo;
    tdm_error err;
    tdm_vision vision = {0};
    if (d->picture) tdm_model_vision(t->app.models.model, &vision);
    if (d->picture && !vision.there) {
        vision_explain(t->o, t->app.models.model, d->its->name, &err);
        fail(d, err.text);
        return;
    }
    tdm_picture_fit fit;
    if (d->picture && picture_fit(t->app.models.model, d->picture, 0, &fit, &err)) {
        snprintf(d->failure, sizeof d->failure, "%s: %.250s", d->its->name, err.text);
        return;
    }
    const demo_wants wants = {
        .o = t->o,
        .script = &d->s,
        .model = t->app.models.model,
        .prefill = t->app.models.prefill,
        .machine = t->app.machine,
        .picture = d->picture,
        .pair = d->alone ? options_text(t->o, OPTION_DEMO_PAIR) : NULL,
        .builtin = load_is_builtin(t->app.model_path) || load_is_small(&t->app.info),
        .adapts = d->own,
        .private = t->app.open.private && !d->alone,
        .ceilings = t->app.ceilings,
        .wake = t->wake[1],
    };
    task_end(&t->jobs.measuring.task);
    task_end(&t->jobs.choosing.task);
    if (demo_run_begin(&d->run, &wants, &err)) fail(d, err.text);
    else d->begun = true;
    d->since_ns = clock_ns();
}

/* The first turn was shown alone, and goes on where it is; one that has ended waits for the second. Where all takes so
 * long that a smaller model is shown, it begins again. */
static void go_on_with_whole(struct tui_demo *d, int64_t now)
{
    const demo_show *first = &d->run.first.all[d->timing], *whole = &d->run.whole.all[d->timing];
    int64_t at = place(d, now);
    if (strcmp(d->run.first.origins[d->timing], d->run.whole.origins[d->timing]))
        go_to(d, 0, now);
    else
        go_to(d, at < first->end_ns ? demo_show_same(first, at, whole) : demo_show_next(whole, 0), now);
}

static void take_runs(tui *t, int64_t now)
{
    struct tui_demo *d = t->demo;
    bool ended = demo_run_take(&d->run);
    if (!ended && (d->shows || !atomic_load(&d->run.first_made))) return;
    t->face.dirty = t->face.urgent = true;
    if (ended && !t->app.ceilings.known) t->app.ceilings = d->run.ceilings;
    if (ended && d->run.err.code) {
        d->shows = false;
        fail(d, d->run.err.text);
        return;
    }
    if (!d->shows) {
        d->timing = d->run.first.all[DEMO_SCALED].n || d->run.whole.all[DEMO_SCALED].n ? DEMO_SCALED : DEMO_MEASURED;
        go_to(d, 0, now);
    } else {
        go_on_with_whole(d, now);
    }
    d->shows = true;
    d->whole = ended;
}

void tui_demo_step(tui *t, int64_t now)
{
    struct tui_demo *d = t->demo;
    if (!d || d->failure[0] || d->whole) return;
    if (d->begun) {
        take_runs(t, now);
    } else if (t->jobs.load.state == TUI_LOAD_FAILED) {
        fail(d, t->jobs.load.failure);
    } else if (app_talks(&t->app) && t->jobs.load.state != TUI_LOAD_RUNNING) {
        app_status(&t->app, &t->known.status);
        bool free = !t->lists.models.task.running && !t->jobs.measuring.task.running;
        bool here = t->app.machine && t->app.models.model && !t->app.info.on_server;
        if (!here) fail(d, "the demo needs a model on this computer");
        else if (t->known.status.phase == TDM_PHASE_IDLE && !t->known.status.queued && free)
            begin_runs(t);
    }
    if (d->failure[0] && d->alone) t->quit = true;
}

int64_t tui_demo_deadline(const tui *t)
{
    const struct tui_demo *d = t->demo;
    if (d->failure[0] || (d->whole && (d->paused || d->view.over))) return INT64_MAX;
    return t->face.frame_ns + (t->face.look.no_motion ? SLOW_MS : FRAME_MS) * TUI_MS;
}

const char *tui_demo_failure(const tui *t)
{
    return t->demo && t->demo->failure[0] ? t->demo->failure : NULL;
}

/* ---- Keys ------------------------------------------------------------------------------------------------------ */

static void act(tui *t, enum key_action action)
{
    struct tui_demo *d = t->demo;
    int64_t now = clock_ns();
    if (action == ACTION_BACK) {
        tui_demo_end(t);
        return;
    }
    if (action == ACTION_REDRAW) term_redraw(t->face.term);
    if (!d->shows) return;
    int64_t at = place(d, now);
    demo_timing other = d->timing == DEMO_SCALED ? DEMO_MEASURED : DEMO_SCALED;
    switch (action) {
    case ACTION_DEMO_PAUSE:
        go_to(d, at, now);
        d->paused = !d->paused;
        break;
    case ACTION_DEMO_NEXT: go_to(d, demo_show_next(shown(d), at), now); break;
    case ACTION_DEMO_AGAIN: go_to(d, 0, now); break;
    case ACTION_DEMO_TIMES:
        if (!made(d)->all[other].n) break;
        go_to(d, demo_show_same(shown(d), at, &made(d)->all[other]), now);
        d->timing = other;
        break;
    default: break;
    }
}

void tui_demo_event(tui *t, const struct decoder_event *e)
{
    const struct key_row *row = NULL;
    if (e->kind == DECODER_KEY) row = keys_find_code(KEYS_DEMO, e->code, e->mods);
    if (e->kind == DECODER_ESC) row = keys_find_byte(KEYS_DEMO, 0x1b);
    if (row) act(t, row->action);
    for (size_t i = 0; e->kind == DECODER_BYTES && i < e->length && t->demo; i++)
        if ((row = keys_find_byte(KEYS_DEMO, (unsigned char)e->data[i]))) act(t, row->action);
}

/* ---- A frame --------------------------------------------------------------------------------------------------- */

static void name_doing(const tui *t, int run, int done_of)
{
    struct tui_demo *d = t->demo;
    uint64_t done = atomic_load(&t->jobs.load.done_bytes), total = atomic_load(&t->jobs.load.total_bytes);
    int turn = done_of * d->s.n / 1000 + 1, seconds = (int)((clock_ns() - d->since_ns) / TUI_S);
    if (t->jobs.load.state == TUI_LOAD_RUNNING)
        snprintf(d->doing, sizeof d->doing, "the model is being loaded: %.0f%%",
                 total ? 100.0 * (double)done / (double)total : 0.0);
    else if (!d->begun)
        snprintf(d->doing, sizeof d->doing, "waits for the reply that is being written");
    else if (!run)
        snprintf(d->doing, sizeof d->doing, "the machine is being measured");
    else
        snprintf(d->doing, sizeof d->doing, "turn %d of %d, %d s", turn < d->s.n ? turn : d->s.n, d->s.n, seconds);
}

static void fill_shares(struct tui_demo *d)
{
    for (int i = 0; i < DEMO_SIDES; i++) d->view.share[i] = d->begun ? 1e-3 * atomic_load(&d->run.done_of[i]) : 0;
}

static void fill_preparing(tui *t)
{
    struct tui_demo *d = t->demo;
    struct demo_view *v = &d->view;
    int run = d->begun ? atomic_load(&d->run.run) : 0;
    fill_shares(d);
    name_doing(t, run, run ? atomic_load(&d->run.done_of[run - 1]) : 0);
    v->preparing = true;
    v->run = run;
    v->doing = d->doing;
    v->failure = d->failure[0] ? d->failure : NULL;
}

void tui_demo_draw(tui *t, int64_t now)
{
    struct tui_demo *d = t->demo;
    struct demo_view *v = &d->view;
    v->options = t->face.look;
    v->alone = d->alone;
    const char *pair = d->alone ? options_text(t->o, OPTION_DEMO_PAIR) : NULL;
    for (int i = 0; i < DEMO_SIDES && pair; i++)
        v->heads[i] = d->shows ? made(d)->heads[i] : i ? pair : "the chosen units";
    v->preparing = false;
    if (d->shows) {
        v->scaled = d->timing == DEMO_SCALED;
        v->can_switch = made(d)->all[DEMO_SCALED].n > 0;
        v->paused = d->paused;
        v->origin = made(d)->origins[d->timing];
        v->before = d->before[0] ? d->before : NULL;
        demo_show_at(shown(d), place(d, now), v);
        v->measuring = !d->whole;
        if (v->measuring) {
            fill_shares(d);
            v->turns = d->s.n;
            v->over = false;
        }
    } else {
        fill_preparing(t);
    }
    demo_draw(v, t->face.canvas);
}
