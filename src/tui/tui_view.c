/* Pointers into what the program holds, no copies. */
#include "src/tui/tui_view.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "src/tui/tui_choose.h"
#include "src/tui/tui_demo.h"
#include "src/tui/tui_private.h"
#include "ui/edit/draft.h"
#include "ui/edit/slash.h"

enum { READING_SHOWN_MS = 300 }; /* a shorter reading isn't worth a word */

/* The size that a model's name tells ("Qwen3.5-0.8B": "0.8b"), which is what people call it; false: none. */
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
    if (!t->app.chat) return;
    if (info->on_server) {
        snprintf(t->model_name, sizeof t->model_name, "%s", info->name);
        return;
    }
    double n = (double)info->parameters;
    char size[16], type[24];
    if (!size_in_name(info->name, size))
        snprintf(size, sizeof size, n < 1e9 ? "%.0fm" : n < 9.95e9 ? "%.1fb" : "%.0fb", n < 1e9 ? n / 1e6 : n / 1e9);
    snprintf(type, sizeof type, "%.*s", (int)strcspn(info->weight_types, " "), info->weight_types);
    for (char *c = type; *c; c++) *c = (char)tolower((unsigned char)*c);
    snprintf(t->model_name, sizeof t->model_name, "%s %s", size, type);
}

/* ---- State ----------------------------------------------------------------------------------------------------- */

static enum view_state loading_state(const tui *t)
{
    static const enum view_state steps[TDM_STEPS] = {
        [TDM_STEP_READING] = VIEW_LOADING,           [TDM_STEP_PACKING] = VIEW_PACKING,
        [TDM_STEP_PACKING_EXPERTS] = VIEW_PACKING,   [TDM_STEP_CONVERTING] = VIEW_LOADING,
        [TDM_STEP_TESTING_GPU] = VIEW_TESTING,       [TDM_STEP_COPYING_GPU] = VIEW_COPYING,
        [TDM_STEP_MEASURING_GPU] = VIEW_MEASURING,   [TDM_STEP_COMPILING_GPU] = VIEW_COMPILING,
        [TDM_STEP_LIMITS] = VIEW_LOADING,
    };
    switch (t->load.state) {
    case TUI_LOAD_RUNNING: return steps[atomic_load(&t->load.step)];
    case TUI_LOAD_FAILED: return t->load.err.code == TDM_E_NOT_FOUND && !t->load.path ? VIEW_NO_MODEL : VIEW_FAILED;
    default: return VIEW_NO_MODEL;
    }
}

static enum view_state chat_state(tui *t, int64_t now)
{
    const tdm_chat_status *s = &t->status;
    if (s->phase != TDM_IDLE && app_queued(&t->app)) return VIEW_QUEUED;
    if (s->phase == TDM_READING)
        return now - t->turns.enter_ns > READING_SHOWN_MS * TUI_MS ? VIEW_READING : VIEW_ANSWERING;
    if (s->phase == TDM_THINKING) return VIEW_THINKING;
    if (s->phase == TDM_ANSWERING) return VIEW_ANSWERING;
    if (t->turns.ended != VIEW_IDLE) return t->turns.ended;
    if (s->context_size && s->context_used >= s->context_size) return VIEW_FULL; /* a session of a larger context */
    if (s->context_size && 5 * s->context_used >= 4 * s->context_size) {
        if (!t->context_told) t->context_until_ns = now + 8 * TUI_S;
        t->context_told = true;
        if (now < t->context_until_ns) return VIEW_CONTEXT;
    } else {
        t->context_told = false;
    }
    return VIEW_IDLE;
}

static void fill_chat_status(tui *t, struct view_status *v, int64_t now)
{
    const tdm_chat_status *s = &t->status;
    tdm_chat_options c;
    tdm_chat_options_of(t->app.chat, &c);
    v->state = chat_state(t, now);
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
    v->speculation = s->on_server                ? tdm_speculation_name(s->level)
                     : c.reading == TDM_READ_NEVER ? "off"
                     : c.reading == TDM_READ_AT_PAUSES && c.speculation ? "at pauses"
                                                                       : tdm_speculation_name(c.speculation);
    v->pipeline = tdm_pipeline_name(c.pipeline);
    v->model = t->model_name;
    v->host = t->app.info.on_server ? t->app.info.path : NULL;
    v->session = t->app.name;
    elsewhere_status(&t->app, t->elsewhere);
    v->elsewhere = t->elsewhere[0] ? t->elsewhere : NULL;
    if (t->app.unsaved[0]) v->warnings |= VIEW_WARN_NOT_SAVED;
    if (t->app.info.synthetic) v->warnings |= VIEW_WARN_SYNTHETIC;
    const tdm_unit_info *a = &t->figures.unit[TDM_PREFILL_UNIT], *b = &t->figures.unit[TDM_DECODE_UNIT];
    bool on_cores = a->name && !a->device[0] && !b->device[0];
    if (on_cores && tdm_machine_cores(t->app.machine) < 2) v->warnings |= VIEW_WARN_ONE_CORE;
    if (s->no_checkpoints) v->warnings |= VIEW_WARN_NO_CHECKPOINTS;
    if (s->prefill_failed) v->warnings |= VIEW_WARN_UNIT_FAILED;
    v->unsaved = t->app.unsaved;
    v->consequence = s->on_server ? "the server does not read ahead; Enter asks it all the same"
                                  : "a unit failed: PREFILL rests, Enter waits for what is unread";
}

static void fill_status(tui *t, int64_t now)
{
    struct view_status *v = &t->view.status;
    *v = (struct view_status){.private_session = t->app.private};
    if (t->app.chat) fill_chat_status(t, v, now);
    if (!t->app.chat || t->load.state == TUI_LOAD_RUNNING) {
        v->state = loading_state(t);
        v->done_bytes = atomic_load(&t->load.done_bytes);
        v->total_bytes = atomic_load(&t->load.total_bytes);
        if (!t->app.chat) v->detail = t->load.failure;
    }
}

/* ---- Draft ----------------------------------------------------------------------------------------------------- */

/* What the chat knows of the draft. */
static void fill_told(tui *t, struct view_draft *d, bool known)
{
    const struct input_view *in = &t->in;
    if (!in->is_draft || !t->draft.told || strlen(t->draft.told) != in->length ||
        memcmp(t->draft.told, in->text, in->length))
        return;
    d->command = t->draft.told_held && in->length;
    if (d->command && !d->streaming) d->mark = VIEW_MARK_OFF;
    /* The attachments come before what is typed. */
    size_t before = attach_length(&t->app.attached), read = known ? t->status.draft_read_bytes : 0;
    d->read_bytes = t->draft.told_held || read < before ? 0 : read - before;
}

/* What the draft's mark says before anything of the reading. */
static void fill_mark(tui *t, struct view_draft *d)
{
    const struct input_view *in = &t->in;
    bool reads = d->mark == VIEW_MARK_FOLLOWING || d->mark == VIEW_MARK_TO_READ;
    if (!in->length || d->read_bytes >= in->length) t->attach.again = false;
    if (!in->length) t->attach.read_of_draft = 0;
    else if (d->read_bytes > t->attach.read_of_draft) t->attach.read_of_draft = d->read_bytes;
    if (t->attach.again && reads) d->mark = VIEW_MARK_AGAIN;
    if (attach_job_command(t->app.attaching)) d->mark = VIEW_MARK_RUNNING;
    if (t->draft.sends) d->mark = VIEW_MARK_SENDS;
    bool runs = in->is_draft && slash_runs(in->text, in->length, in->pasted);
    if (runs) d->mark = VIEW_MARK_RUNS;
    tui_attach_announce(t, runs ? in->text : NULL);
}

static void fill_draft(tui *t, int64_t now)
{
    static const enum view_mark marks[] = {
        [TDM_MARK_OFF] = VIEW_MARK_OFF,         [TDM_MARK_AFTER_REPLY] = VIEW_MARK_AFTER_REPLY,
        [TDM_MARK_FOLLOWING] = VIEW_MARK_FOLLOWING, [TDM_MARK_TO_READ] = VIEW_MARK_TO_READ,
        [TDM_MARK_READY] = VIEW_MARK_READY,     [TDM_MARK_QUEUED] = VIEW_MARK_QUEUED,
        [TDM_MARK_TOO_LONG] = VIEW_MARK_TOO_LONG,
    };
    const struct input_view *in = &t->in;
    struct view_draft *d = &t->view.draft;
    input_view(t->input, now, &t->in);
    *d = (struct view_draft){
        .text = in->text,
        .len = in->length,
        .cursor = in->cursor,
        .prompt = in->prompt,
        .editing = t->draft.editing,
        .queued = app_queued(&t->app) ? app_queued(&t->app) : t->draft.waiting,
        .mode = in->vi_mode == 'i' ? "vi insert" : in->vi_mode == 'c' ? "vi command" : in->vi_mode == 'r' ? "vi replace"
                : in->recording ? "recording" : in->overwrite ? "overwrite" : NULL,
    };
    if (!t->app.chat) return;
    d->streaming = t->status.phase != TDM_IDLE;
    d->mark = marks[t->status.mark];
    d->to_read = (int)t->status.behind;
    if (!in->length && !t->status.behind && d->mark == VIEW_MARK_FOLLOWING) d->mark = VIEW_MARK_NONE; /* all is read */
    bool known = t->draft.told && t->draft.told_revision == t->app.attached.revision;
    tui_attach_fill(t, d, known ? t->status.draft_read_bytes : 0);
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
    t->view.turns = s->shown;
    t->view.n_turns = s->n;
}

/* Several answers take the conversation's place, but for somebody who goes through it. */
static void fill_answers(tui *t)
{
    tui_turns *s = &t->turns;
    struct view_answers *a = &t->view.answers;
    *a = (struct view_answers){0};
    if (s->n_answers < 2 || s->looked == s->n_answers || t->browse.on) return;
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
        shown->branches = 0; /* its number stands above it */
        shown->stats.valid = false;
    }
}

/* Beside several answers there is room for one line of the monitor. */
static enum view_form form_of(const tui *t)
{
    bool wide = t->monitor.form != VIEW_FORM_OFF && t->monitor.form != VIEW_FORM_STRIP;
    return t->view.answers.n && wide ? VIEW_FORM_LINE : t->monitor.form;
}

struct view *tui_view_turns(tui *t)
{
    fill_turns(t, t->view.now_ns);
    fill_answers(t);
    return &t->view;
}

const char *const tui_tips[TUI_TIPS] = {"Why is the sky blue?", "Tell me a story.", "/monitor full"};

static void fill_card(tui *t)
{
    struct view_card *c = &t->view.card;
    c->show = t->app.left ? t->app.left->n == 0 : !t->app.chat || tdm_chat_nodes(t->app.chat) == 0;
    bool none = !t->app.chat && t->load.state != TUI_LOAD_RUNNING;
    const char *loading = t->app.chat ? NULL : t->load.path, *asked = options_text(t->o, OPTION_MODEL);
    bool builtin = !none && load_is_builtin(t->app.chat ? t->app.model_path : loading ? loading : asked);
    c->first_run = t->sessions.n == 0 || none;
    c->model = builtin ? "built-in 51M demo" : t->app.chat ? t->app.info.name : none ? NULL : loading;
    c->host = t->app.chat && t->app.info.on_server ? t->app.info.path : NULL;
    c->missing = t->load.failure[0] ? t->load.failure : NULL;
    c->good_for = builtin ? "for trying, not for facts" : NULL;
    c->suggestion = builtin && t->suggestion[0] ? t->suggestion : NULL;
    c->tips = tui_tips;
    c->n_tips = TUI_TIPS;
    c->tip = 0;
    for (size_t i = 0; i < TUI_TIPS; i++)
        if (t->in.is_draft && !strcmp(t->in.text, tui_tips[i])) c->tip = i + 1;
    tui_sessions_fill(&t->sessions, c);
}

enum view_form tui_view_form(const tui *t)
{
    return screen_layout(t->screen)->form;
}

static void fill_popup(tui *t)
{
    const struct canvas *c = t->canvas;
    int cols = layout_left_cols(c->rows, c->cols, form_of(t), t->look.width);
    tui_choose_fit(t, cols);
    tui_popup_fit(&t->popup, cols - 4);
    tui_popup_fill(&t->popup, &t->in, &t->view.popup);
}

void tui_view_fill(tui *t, int64_t now)
{
    t->view.now_ns = now;
    t->view.options = t->look;
    if (t->app.chat) {
        tdm_chat_status s;
        tdm_chat_status_of(t->app.chat, &s);
        if (s.phase != t->status.phase || s.mark != t->status.mark || s.read != t->status.read ||
            s.target != t->status.target)
            t->status_changed_ns = now;
        t->status = s;
    }
    fill_turns(t, now);
    fill_answers(t);
    fill_draft(t, now);
    if (t->in.is_draft) tui_monitor_drafted(&t->monitor, t->in.length);
    fill_status(t, now);
    tui_figures_fill(t, now);
    t->view.monitor.form = form_of(t);
    t->view.n_notices = tui_notices_fill(&t->notices, now, t->in.message, &t->view.notices);
    fill_card(t);
    t->view.browse = t->browse.on;
    t->view.hit = t->browse.hit;
    t->view.hits = t->browse.hits;
    t->view.search = t->search[0] ? t->search : NULL;
    fill_popup(t);
}

void tui_view_draw(tui *t)
{
    if (t->away) return;
    int rows, cols;
    term_size(t->term, &rows, &cols);
    if (rows > LAYOUT_MAX_ROWS) rows = LAYOUT_MAX_ROWS;
    if (cols > LAYOUT_MAX_COLS) cols = LAYOUT_MAX_COLS;
    if ((rows != t->canvas->rows || cols != t->canvas->cols) && !canvas_resize(t->canvas, rows, cols)) return;
    int64_t now = clock_ns();
    input_set_columns(t->input, draft_columns(layout_text_cols(rows, cols, form_of(t), t->look.width)));
    if (t->demo) {
        tui_demo_draw(t, now);
    } else {
        tui_view_fill(t, now);
        screen_draw(t->screen, &t->view, t->canvas);
    }
    term_present(t->term, t->canvas, t->look.theme);
    t->frame_ns = now;
    t->dirty = t->urgent = false;
}
