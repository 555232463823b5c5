#include "src/tui/tui_demo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "src/demo/demo_run.h"
#include "src/tui/tui_private.h"

enum { FRAME_MS = 50, SLOW_MS = 250 };

struct tui_demo {
    script s;
    bool own; /* the script that comes along */
    bool alone;
    bool begun; /* the runs */
    bool shows;
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

static const demo_show *shown(const struct tui_demo *d)
{
    return &d->run.shows[d->timing];
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

static bool read_script(struct tui_demo *d, const char *path, tdm_error *err)
{
    char *found = path ? strdup(path) : demo_run_script();
    if (!found) snprintf(err->text, sizeof err->text, "the demo is not installed");
    bool read = found && !script_read(&d->s, found, err) && !demo_run_check(&d->s, found, err);
    free(found);
    return read;
}

void tui_demo_begin(tui *t, const char *path, bool alone)
{
    tdm_error err = {0};
    struct tui_demo *d = t->demo ? NULL : calloc(1, sizeof *d);
    if (!d) return;
    if (!read_script(d, path, &err)) {
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
        script_free(&d->s);
        free(d);
        if (alone) t->quit = true;
        return;
    }
    d->own = !path;
    d->alone = alone;
    if (d->s.n_history)
        snprintf(d->before, sizeof d->before, "(after an earlier conversation of %zu messages)", d->s.n_history);
    t->demo = d;
    tui_popup_close(&t->popup);
    t->dirty = t->urgent = true;
}

void tui_demo_end(tui *t)
{
    struct tui_demo *d = t->demo;
    if (!d) return;
    t->demo = NULL;
    if (d->begun) demo_run_end(&d->run);
    script_free(&d->s);
    if (d->alone) t->quit = true;
    free(d);
    t->typed_ns = clock_ns(); /* a rest begins */
    t->dirty = t->urgent = true;
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
    const demo_wants wants = {
        .o = t->o,
        .script = &d->s,
        .model = t->app.models.model,
        .prefill = t->app.models.prefill,
        .machine = t->app.machine,
        .builtin = load_is_builtin(t->app.model_path),
        .adapts = d->own,
        .private = t->app.private && !d->alone,
        .ceilings = t->app.ceilings,
        .wake = t->wake[1],
    };
    job_end(&t->measuring.job);
    job_end(&t->choosing.job);
    if (demo_run_begin(&d->run, &wants, &err)) fail(d, err.text);
    else d->begun = true;
    d->since_ns = clock_ns();
}

static void take_runs(tui *t, int64_t now)
{
    struct tui_demo *d = t->demo;
    if (!demo_run_take(&d->run)) return;
    if (!t->app.ceilings.known) t->app.ceilings = d->run.ceilings;
    t->dirty = t->urgent = true;
    if (d->run.err.code) {
        fail(d, d->run.err.text);
        return;
    }
    d->shows = true;
    d->timing = d->run.shows[DEMO_SCALED].n ? DEMO_SCALED : DEMO_MEASURED;
    go_to(d, 0, now);
}

void tui_demo_step(tui *t, int64_t now)
{
    struct tui_demo *d = t->demo;
    if (!d || d->failure[0] || d->shows) return;
    if (d->begun) {
        take_runs(t, now);
    } else if (t->load.state == TUI_LOAD_FAILED) {
        fail(d, t->load.failure);
    } else if (t->app.chat && t->load.state != TUI_LOAD_RUNNING) {
        tdm_chat_status_of(t->app.chat, &t->status);
        bool free = !t->models.looks && !t->measuring.job.running;
        bool here = t->app.machine && t->app.models.model && !t->app.info.on_server;
        if (!here) fail(d, "the demo needs a model on this computer");
        else if (t->status.phase == TDM_IDLE && !t->status.queued && free) begin_runs(t);
    }
    if (d->failure[0] && d->alone) t->quit = true;
}

int64_t tui_demo_deadline(const tui *t)
{
    const struct tui_demo *d = t->demo;
    if (d->failure[0] || (d->shows && (d->paused || d->view.over))) return INT64_MAX;
    return t->frame_ns + (t->look.no_motion ? SLOW_MS : FRAME_MS) * TUI_MS;
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
    if (action == ACTION_REDRAW) term_redraw(t->term);
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
        if (!d->run.shows[other].n) break;
        go_to(d, demo_show_same(shown(d), at, &d->run.shows[other]), now);
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
    uint64_t done = atomic_load(&t->load.done_bytes), total = atomic_load(&t->load.total_bytes);
    int turn = done_of * d->s.n / 1000 + 1, seconds = (int)((clock_ns() - d->since_ns) / TUI_S);
    if (t->load.state == TUI_LOAD_RUNNING)
        snprintf(d->doing, sizeof d->doing, "the model is being loaded: %.0f%%",
                 total ? 100.0 * (double)done / (double)total : 0.0);
    else if (!d->begun)
        snprintf(d->doing, sizeof d->doing, "waits for the reply that is being written");
    else if (!run)
        snprintf(d->doing, sizeof d->doing, "the machine is being measured");
    else
        snprintf(d->doing, sizeof d->doing, "turn %d of %d, %d s", turn < d->s.n ? turn : d->s.n, d->s.n, seconds);
}

static void fill_preparing(tui *t)
{
    struct tui_demo *d = t->demo;
    struct demo_view *v = &d->view;
    int run = d->begun ? atomic_load(&d->run.run) : 0, done_of = d->begun ? atomic_load(&d->run.done_of) : 0;
    name_doing(t, run, done_of);
    v->preparing = true;
    v->run = run;
    for (int i = 0; i < DEMO_SIDES; i++) v->share[i] = run > i + 1 ? 1 : run == i + 1 ? 1e-3 * done_of : 0;
    v->doing = d->doing;
    v->failure = d->failure[0] ? d->failure : NULL;
}

void tui_demo_draw(tui *t, int64_t now)
{
    struct tui_demo *d = t->demo;
    struct demo_view *v = &d->view;
    v->options = t->look;
    v->alone = d->alone;
    v->preparing = false;
    if (d->shows) {
        v->scaled = d->timing == DEMO_SCALED;
        v->can_switch = d->run.shows[DEMO_SCALED].n > 0;
        v->paused = d->paused;
        v->origin = d->run.origins[d->timing];
        v->before = d->before[0] ? d->before : NULL;
        demo_show_at(shown(d), place(d, now), v);
    } else {
        fill_preparing(t);
    }
    demo_draw(v, t->canvas);
}
