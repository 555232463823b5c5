/* The view holds pointers into the program's data, no copies. */
#include "src/tui/frame/view.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "src/tui/choose.h"
#include "src/tui/frame/demo.h"
#include "src/tui/private.h"
#include "ui/popup.h"
#include "ui/edit/draft.h"
#include "ui/edit/slash.h"

enum { READING_SHOWN_MS = 300 }; /* a shorter reading isn't shown */

/* The size in a model's name ("Qwen3.5-0.8B": "0.8b"), by which it is usually called; false: there is none. */
static bool size_in_name(const char *name, char out[16])
{
    for (const char *at = name; *at; at++) {
        size_t n = strspn(at, "0123456789.");
        bool begins = at == name || !isalnum((unsigned char)at[-1]);
        bool ends = n && n < 8 && strchr("mMbB", at[n]) && at[n] && !isalnum((unsigned char)at[n + 1]);
        if (begins && ends && isdigit((unsigned char)*at)) {
            snprintf(out, 16, "%.*s%c", (int)n, at, tolower((unsigned char)at[n]));
            return true;
        }
        if (n) at += n - 1;
    }
    return false;
}

/* "51m q6_k" */
void tui_view_name_model(tui *t)
{
    const tdm_model_info *info = &t->app.info;
    if (!app_talks(&t->app)) return;
    if (info->on_server) {
        snprintf(t->known.model_name, sizeof t->known.model_name, "%s", info->name);
        return;
    }
    double n = (double)info->parameters;
    char size[16], type[24];
    if (!size_in_name(info->name, size))
        snprintf(size, sizeof size, n < 1e9 ? "%.0fm" : n < 9.95e9 ? "%.1fb" : "%.0fb", n < 1e9 ? n / 1e6 : n / 1e9);
    snprintf(type, sizeof type, "%.*s", (int)strcspn(info->weight_types, " "), info->weight_types);
    for (char *c = type; *c; c++) *c = (char)tolower((unsigned char)*c);
    snprintf(t->known.model_name, sizeof t->known.model_name, "%s %s", size, type);
}

/* ---- State ----------------------------------------------------------------------------------------------------- */

static enum view_state loading_state(const tui *t)
{
    static const enum view_state steps[TDM_STEPS] = {
        [TDM_STEP_READING] = VIEW_LOADING,           [TDM_STEP_PACKING] = VIEW_PACKING,
        [TDM_STEP_PACKING_EXPERTS] = VIEW_PACKING,   [TDM_STEP_CONVERTING] = VIEW_LOADING,
        [TDM_STEP_TESTING_GPU] = VIEW_TESTING,       [TDM_STEP_COPYING_GPU] = VIEW_COPYING,
        [TDM_STEP_MEASURING_GPU] = VIEW_MEASURING,   [TDM_STEP_COMPILING_GPU] = VIEW_COMPILING,
        [TDM_STEP_LIMITS] = VIEW_LOADING,            [TDM_STEP_SERVER] = VIEW_WAITING,
    };
    switch (t->jobs.load.state) {
    case TUI_LOAD_RUNNING:
        return steps[atomic_load(&t->jobs.load.step)];
    case TUI_LOAD_FAILED:
        return t->jobs.load.err.code == TDM_E_NOT_FOUND && !t->jobs.load.path ? VIEW_NO_MODEL : VIEW_FAILED;
    default: return VIEW_NO_MODEL;
    }
}

static enum view_state chat_state(tui *t, int64_t now)
{
    const tdm_chat_status *s = &t->known.status;
    if (s->phase != TDM_PHASE_IDLE && app_queued(&t->app)) return VIEW_QUEUED;
    if (s->phase == TDM_PHASE_READING)
        return now - t->turns.enter_ns > READING_SHOWN_MS * TUI_MS ? VIEW_READING : VIEW_ANSWERING;
    if (s->phase == TDM_PHASE_THINKING) return VIEW_THINKING;
    if (s->phase == TDM_PHASE_ANSWERING) return VIEW_ANSWERING;
    if (t->turns.ended != VIEW_IDLE) return t->turns.ended;
    if (s->context_size && s->context_used >= s->context_size) return VIEW_FULL; /* a session of a larger context */
    if (s->context_size && 5 * s->context_used >= 4 * s->context_size) {
        if (!t->known.context_told) t->known.context_until_ns = now + 8 * TUI_S;
        t->known.context_told = true;
        if (now < t->known.context_until_ns) return VIEW_CONTEXT;
    } else {
        t->known.context_told = false;
    }
    return VIEW_IDLE;
}

static void fill_chat_status(tui *t, struct view_status *v, int64_t now)
{
    const tdm_chat_status *s = &t->known.status;
    tdm_chat_options c;
    app_chat_options(&t->app, &c);
    v->state = chat_state(t, now);
    v->drops_oldest = c.on_full == TDM_FULL_DROP_OLDEST;
    v->done_tokens = (int)s->reading_done;
    v->total_tokens = (int)s->reading_total;
    double seconds = 1e-9 * (double)(now - t->turns.enter_ns);
    v->seconds_left = -1;
    if (s->prefill_tps > 0)
        v->seconds_left = (s->reading_total - s->reading_done) / s->prefill_tps;
    else if (s->reading_done && seconds > 0)
        v->seconds_left = seconds * (s->reading_total - s->reading_done) / s->reading_done;
    v->draft_tokens = (int)s->draft_tokens;
    v->room_tokens = (int)(s->context_size > s->context_used ? s->context_size - s->context_used : 0);
    if (!t->turns.waits_for_glyph) v->ttft = t->turns.ttft;
    v->read_after_enter = t->turns.after_enter;
    v->answered = now < t->turns.answered_until_ns;
    v->tok_s = tui_figures_tok_s(t);
    v->pace = c.pace_tps;
    v->ctx_used = (int)s->context_used;
    v->ctx_size = (int)s->context_size;
    v->speculation = s->on_server                  ? tdm_speculation_name(s->level)
                     : c.reading == TDM_READ_NEVER ? "off"
                     : c.reading == TDM_READ_AT_PAUSES && c.speculation != TDM_SPEC_OFF
                         ? "at pauses"
                         : tdm_speculation_name(c.speculation);
    v->pipeline = tdm_pipeline_name(c.pipeline);
    v->model = t->known.model_name;
    v->host = t->app.info.on_server ? t->app.info.path : NULL;
    v->session = t->app.open.name;
    background_status(&t->app, t->known.background);
    v->background = t->known.background[0] ? t->known.background : NULL;
    if (t->app.open.unsaved[0]) v->warnings |= VIEW_WARN_NOT_SAVED;
    if (t->app.info.synthetic) v->warnings |= VIEW_WARN_SYNTHETIC;
    const tdm_unit_info *a = &t->figures.unit[TDM_PREFILL_UNIT], *b = &t->figures.unit[TDM_DECODE_UNIT];
    bool on_cores = a->name && !a->device[0] && !b->device[0];
    if (on_cores && tdm_machine_cores(t->app.machine) < 2) v->warnings |= VIEW_WARN_ONE_CORE;
    if (s->no_checkpoints) v->warnings |= VIEW_WARN_NO_CHECKPOINTS;
    if (s->prefill_failed) v->warnings |= VIEW_WARN_UNIT_FAILED;
    v->unsaved = t->app.open.unsaved;
    v->consequence = s->on_server ? "the server does not read ahead; Enter asks it all the same"
                                  : "a unit failed: PREFILL rests, Enter waits for what is unread";
}

static void fill_status(tui *t, int64_t now)
{
    struct view_status *v = &t->face.view.status;
    *v = (struct view_status){.private_session = t->app.open.private};
    if (app_talks(&t->app)) fill_chat_status(t, v, now);
    if (!app_talks(&t->app) || t->jobs.load.state == TUI_LOAD_RUNNING) {
        v->state = loading_state(t);
        v->done_bytes = atomic_load(&t->jobs.load.done_bytes);
        v->total_bytes = atomic_load(&t->jobs.load.total_bytes);
        if (!app_talks(&t->app)) v->detail = t->jobs.load.failure;
    }
}

/* ---- Draft ----------------------------------------------------------------------------------------------------- */

/* A summary that Enter puts in place of older turns. */
static bool compacts(const struct input_view *in)
{
    static const char command[] = "/compact ", forced[] = "--force";
    const char *text = in->text + sizeof command - 1;
    if (!in->is_draft || in->pasted || strncmp(in->text, command, sizeof command - 1)) return false;
    return text[strspn(text, " \n")] && strncmp(text, forced, sizeof forced - 1);
}

/* Fills in what the chat knows of the draft. */
static void fill_told(tui *t, struct view_draft *d, bool known)
{
    const struct input_view *in = &t->face.in;
    if (!in->is_draft || !t->draft.told || strlen(t->draft.told) != in->length ||
        memcmp(t->draft.told, in->text, in->length))
        return;
    d->command = t->draft.told_held && in->length;
    if (d->command && !d->streaming) d->mark = VIEW_MARK_OFF;
    /* The attachments come before what is typed. */
    size_t before = attach_length(&t->app.attach.files), read = known ? t->known.status.draft_read_bytes : 0;
    d->read_bytes = t->draft.told_held || t->draft.refused || read < before ? 0 : read - before;
    if (t->draft.refused && !d->command) d->mark = VIEW_MARK_NOT_READ;
}

/* Sets the draft's mark where it shows something else than the reading. */
static void fill_mark(tui *t, struct view_draft *d)
{
    const struct input_view *in = &t->face.in;
    bool reads = d->mark == VIEW_MARK_FOLLOWING || d->mark == VIEW_MARK_TO_READ;
    if (!in->length || d->read_bytes >= in->length) t->attach.again = false;
    if (!in->length) t->attach.read_of_draft = 0;
    else if (d->read_bytes > t->attach.read_of_draft) t->attach.read_of_draft = d->read_bytes;
    if (t->attach.again && reads) d->mark = VIEW_MARK_AGAIN;
    if (attach_job_command(t->app.attach.job)) d->mark = VIEW_MARK_RUNNING;
    if (t->draft.sends) d->mark = VIEW_MARK_SENDS;
    bool runs = in->is_draft && slash_runs(in->text, in->length, in->pasted);
    if (runs) d->mark = VIEW_MARK_RUNS;
    tui_attach_announce(t, runs ? in->text : NULL);
}

static void fill_draft(tui *t, int64_t now)
{
    static const enum view_mark marks[] = {
        [TDM_MARK_OFF] = VIEW_MARK_OFF,
        [TDM_MARK_AFTER_REPLY] = VIEW_MARK_AFTER_REPLY,
        [TDM_MARK_FOLLOWING] = VIEW_MARK_FOLLOWING,
        [TDM_MARK_TO_READ] = VIEW_MARK_TO_READ,
        [TDM_MARK_READY] = VIEW_MARK_READY,
        [TDM_MARK_QUEUED] = VIEW_MARK_QUEUED,
        [TDM_MARK_TOO_LONG] = VIEW_MARK_TOO_LONG,
        [TDM_MARK_NOT_READ] = VIEW_MARK_NOT_READ,
    };
    const struct input_view *in = &t->face.in;
    struct view_draft *d = &t->face.view.draft;
    input_view(t->keys.input, now, &t->face.in);
    *d = (struct view_draft){
        .text = in->text,
        .len = in->length,
        .cursor = in->cursor,
        .prompt = in->prompt,
        .editing = t->draft.editing,
        .compacts = compacts(&t->face.in),
        .queued = app_queued(&t->app) ? app_queued(&t->app) : t->draft.waiting,
        .mode = in->vi_mode == 'i'   ? "vi insert"
                : in->vi_mode == 'c' ? "vi command"
                : in->vi_mode == 'r' ? "vi replace"
                : in->recording      ? "recording"
                : in->overwrite      ? "overwrite"
                                     : NULL,
    };
    if (!app_talks(&t->app)) return;
    d->streaming = t->known.status.phase != TDM_PHASE_IDLE;
    d->mark = marks[t->known.status.mark];
    d->to_read = (int)t->known.status.behind;
    if (!in->length && !t->known.status.behind && d->mark == VIEW_MARK_FOLLOWING)
        d->mark = VIEW_MARK_NONE; /* all is read */
    bool known = t->draft.told && t->draft.told_revision == t->app.attach.files.revision;
    tui_attach_fill(t, d, known ? t->known.status.draft_read_bytes : 0);
    fill_told(t, d, known);
    fill_mark(t, d);
}

/* ---- The rest -------------------------------------------------------------------------------------------------- */

static void fill_turns(tui *t, int64_t now)
{
    tui_turns *s = &t->turns;
    for (size_t i = 0; i < s->n; i++) {
        tui_turn *turn = &s->turns[i];
        if (turn->v.state == VIEW_TURN_THINKING) turn->v.thought_s = 1e-9 * (double)(now - turn->thought_ns);
        turn->v.text = turn->text.bytes ? turn->text.bytes : "";
        turn->v.text_len = turn->text.n;
        turn->v.thinking = turn->thinking.n ? turn->thinking.bytes : NULL;
        turn->v.thinking_len = turn->thinking.n;
        s->shown[i] = turn->v;
    }
    t->face.view.turns = s->shown;
    t->face.view.n_turns = s->n;
}

/* Several answers take the conversation's place, unless the user goes through it. */
static void fill_answers(tui *t)
{
    tui_turns *s = &t->turns;
    struct view_answers *a = &t->face.view.answers;
    *a = (struct view_answers){0};
    if (s->n_answers < 2 || s->looked == s->n_answers || t->lists.browse.on) return;
    *a = (struct view_answers){.turns = s->shown_answers, .tokens = s->answer_tokens, .n = s->n_answers,
                               .looked = s->looked};
    for (size_t i = 0; i < s->n_answers; i++) {
        tui_turn *answer = &s->answers[i];
        struct view_turn *shown = &s->shown_answers[i];
        *shown = answer->v;
        a->writing += shown->state == VIEW_TURN_ANSWERING || shown->state == VIEW_TURN_THINKING;
        shown->text = answer->text.bytes ? answer->text.bytes : "";
        shown->text_len = answer->text.n;
        shown->thinking = answer->thinking.n ? answer->thinking.bytes : NULL;
        shown->thinking_len = answer->thinking.n;
        shown->branches = 0; /* its number is shown above it */
        shown->stats.valid = false;
    }
}

/* Beside several answers there is room for one line of the monitor. */
static enum view_form form_of(const tui *t)
{
    bool wide = t->monitor.form != VIEW_FORM_OFF && t->monitor.form != VIEW_FORM_STRIP;
    return t->face.view.answers.n && wide ? VIEW_FORM_LINE : t->monitor.form;
}

struct view *tui_view_turns(tui *t)
{
    fill_turns(t, t->face.view.now_ns);
    fill_answers(t);
    return &t->face.view;
}

const char *const tui_tips[TUI_TIPS] = {"Why is the sky blue?", "Tell me a story.", "/monitor full"};

static void fill_card(tui *t)
{
    struct view_card *c = &t->face.view.card;
    c->show = t->app.left ? t->app.left->n == 0 : app_nodes(&t->app) == 0;
    bool none = !app_talks(&t->app) && t->jobs.load.state != TUI_LOAD_RUNNING;
    const char *loading = app_talks(&t->app) ? NULL : t->jobs.load.path, *asked = options_text(t->o, OPTION_MODEL);
    bool builtin = app_talks(&t->app) ? load_is_builtin(t->app.model_path) || load_is_small(&t->app.info)
                                      : !none && load_is_builtin(loading ? loading : asked);
    c->first_run = t->lists.sessions.n == 0 || none;
    c->model = builtin ? "built-in 51M demo" : app_talks(&t->app) ? t->app.info.name : none ? NULL : loading;
    c->host = app_talks(&t->app) && t->app.info.on_server ? t->app.info.path : NULL;
    c->missing = t->jobs.load.failure[0] ? t->jobs.load.failure : NULL;
    c->good_for = builtin ? "for trying, not for facts" : NULL;
    c->suggestion = builtin && t->known.suggestion[0] ? t->known.suggestion : NULL;
    c->tips = tui_tips;
    c->n_tips = TUI_TIPS;
    c->tip = 0;
    for (size_t i = 0; i < TUI_TIPS; i++)
        if (t->face.in.is_draft && !strcmp(t->face.in.text, tui_tips[i])) c->tip = i + 1;
    tui_sessions_fill(&t->lists.sessions, c);
}

enum view_form tui_view_form(const tui *t)
{
    return screen_layout(t->face.screen)->form;
}

static void fill_popup(tui *t)
{
    const struct canvas *c = t->face.canvas;
    int cols = layout_left_cols(c->rows, c->cols, form_of(t), t->face.look.width);
    tui_choose_fit(t, cols);
    tui_popup_fit(&t->lists.popup, cols - 4);
    tui_popup_fill(&t->lists.popup, &t->face.in, &t->face.view.popup);
    if (!t->lists.popup.kind && !t->face.in.menu && !t->face.in.ask)
        tui_palette_fill(&t->lists.palette, popup_table_cols(cols), &t->face.view.popup);
}

void tui_view_fill(tui *t, int64_t now)
{
    t->face.view.now_ns = now;
    t->face.view.options = t->face.look;
    if (app_talks(&t->app)) {
        tdm_chat_status s;
        app_status(&t->app, &s);
        if (s.phase != t->known.status.phase || s.mark != t->known.status.mark || s.read != t->known.status.read ||
            s.target != t->known.status.target)
            t->known.status_changed_ns = now;
        t->known.status = s;
    }
    fill_turns(t, now);
    fill_answers(t);
    fill_draft(t, now);
    if (t->face.in.is_draft) tui_monitor_drafted(&t->monitor, t->face.in.length);
    fill_status(t, now);
    tui_figures_fill(t, now);
    t->face.view.monitor.form = form_of(t);
    t->face.view.n_notices = tui_notices_fill(&t->notices, now, t->face.in.message, &t->face.view.notices);
    fill_card(t);
    t->face.view.browse = t->lists.browse.on;
    t->face.view.hit = t->lists.browse.hit;
    t->face.view.hits = t->lists.browse.hits;
    t->face.view.search = t->lists.search[0] ? t->lists.search : NULL;
    fill_popup(t);
}

void tui_view_draw(tui *t)
{
    if (t->face.away) return;
    int rows, cols;
    term_size(t->face.term, &rows, &cols);
    if (rows > LAYOUT_MAX_ROWS) rows = LAYOUT_MAX_ROWS;
    if (cols > LAYOUT_MAX_COLS) cols = LAYOUT_MAX_COLS;
    if ((rows != t->face.canvas->rows || cols != t->face.canvas->cols) && !canvas_resize(t->face.canvas, rows, cols))
        return;
    int64_t now = clock_ns();
    tui_pictures_choose(t, rows, cols);
    input_set_columns(t->keys.input, draft_columns(layout_text_cols(rows, cols, form_of(t), t->face.look.width)));
    if (t->demo) {
        tui_demo_draw(t, now);
    } else {
        tui_view_fill(t, now);
        screen_draw(t->face.screen, &t->face.view, t->face.canvas);
    }
    term_present(t->face.term, t->face.canvas, t->face.look.theme);
    t->face.frame_ns = now;
    t->face.dirty = t->face.urgent = false;
    if (!t->demo && !screen_layout(t->face.screen)->too_small) t->lists.popup.seen = true;
}
