/* What keys and actions do while the input owns them (screens.md, section 1), and the full-screen monitor's few keys. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "src/tui/tui_private.h"
#include "ui/edit/slash.h"

/* ---- The draft ------------------------------------------------------------------------------------------------- */

void tui_keys_draft(tui *t)
{
    struct input_view in;
    input_view(t->input, clock_ns(), &in);
    if (!in.is_draft) return;
    bool held = slash_may_be_command(in.text, in.length, in.pasted);
    bool was_empty = !t->told || !t->told[0];
    bool same = t->told && strlen(t->told) == in.length && !memcmp(t->told, in.text, in.length);
    if (same && t->told_held == held) return;
    if (was_empty && in.length) t->figures.first_key_ns = clock_ns();
    if (!in.length) t->figures.first_key_ns = 0;
    if (!t->app.chat) return;
    /* A draft that can't be followed is refused when it is sent. */
    app_set_draft(&t->app, in.text, in.length, held, NULL);
    tui_set(&t->told, in.text);
    t->told_held = held;
    t->status_changed_ns = clock_ns();
    if (in.length && t->ended == VIEW_FULL) t->ended = VIEW_IDLE;
}

/* The draft has left the input; the chat has emptied its own. */
static void forget_draft(tui *t)
{
    tui_set(&t->told, "");
    t->told_held = false;
}

static bool is_blank(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isspace((unsigned char)text[i])) return false;
    return true;
}

static struct input_situation situation(const tui *t)
{
    struct input_view in;
    input_view(t->input, clock_ns(), &in);
    return (struct input_situation){
        .top_open = t->popup.kind || t->editing || t->demo,
        .replying = t->status.phase != TDM_IDLE,
        .queued = t->queued || t->waiting,
        .draft_empty = in.length == 0,
        .queued_ns = t->queued_ns,
    };
}

static void refresh_status(tui *t)
{
    if (t->app.chat) tdm_chat_status_of(t->app.chat, &t->status);
}

/* ---- Sending --------------------------------------------------------------------------------------------------- */

void tui_keys_leave_editing(tui *t)
{
    if (!t->editing) return;
    t->editing = 0;
    char *before = t->before_edit;
    t->before_edit = NULL;
    input_set_text(t->input, before ? before : "");
    free(before);
}

bool tui_keys_send(tui *t, const char *text, size_t n, int64_t enter_ns)
{
    tdm_error err = {0};
    refresh_status(t);
    bool replying = t->status.phase != TDM_IDLE;
    if (app_send(&t->app, text, n, enter_ns, &err)) {
        tui_notice_add(t, VIEW_NOTICE_ERROR, "%s", err.text);
        if (err.code == TDM_E_CONTEXT && !replying && t->turns.n) t->ended = VIEW_FULL; /* there is what can be left out */
        return false;
    }
    forget_draft(t);
    if (!replying) {
        tui_turns_sent(t, enter_ns);
        transcript_sent(screen_transcript(t->screen));
    } else {
        t->queued_ns = clock_ns();
    }
    return true;
}

/* Before the model is there: the message waits for it. */
static bool keep_waiting(tui *t, const char *text, int64_t enter_ns)
{
    if (t->load.state != TUI_LOAD_RUNNING) {
        tui_notice_add(t, VIEW_NOTICE_ERROR, "there is no model: /model NAME loads one; the draft is kept");
        return false;
    }
    char *joined;
    if (asprintf(&joined, "%s%s%s", t->waiting ? t->waiting : "", t->waiting ? "\n" : "", text) < 0) return false;
    if (!t->waiting) t->waiting_ns = enter_ns;
    free(t->waiting);
    t->waiting = joined;
    input_set_queued(t->input, true);
    return true;
}

/* What earlier commands told is done with when the next one is there, or the draft that it was about is gone. */
static void end_told(tui *t)
{
    for (size_t i = 0; i < t->n_notices; i++)
        if (t->notices[i].level != VIEW_NOTICE_WARN) t->notices[i].until_ns = 0;
}

static void submit(tui *t, const struct input_action *a)
{
    refresh_status(t);
    struct input_situation s = situation(t);
    s.draft_empty = is_blank(a->text, a->length);
    enum input_enter enter = input_rule_enter(&s, a->time_ns);
    if (enter == INPUT_ENTER_CUT) {
        t->turns.cut_ns = a->time_ns;
        tdm_chat_send_now(t->app.chat, a->time_ns);
        return;
    }
    if (enter == INPUT_ENTER_NOTHING || s.draft_empty) return;
    slash_call call;
    bool command;
    tdm_error err = {0};
    tdm_status parsed = slashes_parse(&call, &command, a->text, a->pasted, &err);
    if (parsed || command) end_told(t);
    if (parsed) {
        tui_notice_add(t, VIEW_NOTICE_ERROR, "%s", err.text);
        return;
    }
    if (command) {
        int64_t enter_ns = a->time_ns;
        free(input_take(t->input, NULL, true, !t->app.private));
        tui_command(t, &call, enter_ns);
        slashes_free(&call);
        return;
    }
    bool sent = t->app.chat ? tui_keys_send(t, a->text, a->length, a->time_ns) : keep_waiting(t, a->text, a->time_ns);
    if (!sent) return;
    free(input_take(t->input, NULL, true, !t->app.private));
    tui_keys_leave_editing(t);
}

static void send_now(tui *t, int64_t now)
{
    refresh_status(t);
    struct input_situation s = situation(t);
    struct input_view in;
    input_view(t->input, now, &in);
    s.draft_empty = is_blank(in.text, in.length);
    enum input_enter what = input_rule_send_now(&s);
    if (what == INPUT_ENTER_NOTHING || !t->app.chat) return;
    if (!s.draft_empty) {
        char *text = strndup(in.text, in.length);
        bool sent = text && tui_keys_send(t, text, strlen(text), now);
        free(text);
        if (!sent) return;
        free(input_take(t->input, NULL, true, !t->app.private));
    }
    if (what != INPUT_ENTER_CUT) return;
    t->turns.cut_ns = now;
    tdm_chat_send_now(t->app.chat, now);
}

static void take_back(tui *t)
{
    char *text = t->waiting;
    t->waiting = NULL;
    if (!text && t->app.chat) text = tdm_chat_unqueue(t->app.chat);
    if (text) input_set_text(t->input, text);
    free(text);
    tui_turns_events(t);
    input_set_queued(t->input, t->queued || t->waiting);
}

/* ---- Ctrl-C ---------------------------------------------------------------------------------------------------- */

static void close_top(tui *t)
{
    if (t->popup.kind) {
        tui_popup_close(&t->popup);
    } else if (t->demo) {
        tui_demo_end(t);
    } else if (t->editing) {
        tui_keys_leave_editing(t);
        tdm_chat_edit(t->app.chat, 0, NULL);
        tui_turns_sync(t);
    }
}

static void interrupt(tui *t, int64_t now)
{
    refresh_status(t);
    if (t->load.state == TUI_LOAD_RUNNING && !t->popup.kind) {
        bool switching = t->load.switching;
        tui_load_cancel(t);
        if (switching) tui_notice_add(t, VIEW_NOTICE_INFO, "loading was stopped"); /* else the sentence says it */
        t->load.state = switching ? TUI_LOAD_DONE : TUI_LOAD_FAILED;
        snprintf(t->failure, sizeof t->failure, "loading was stopped");
        t->load.err = (tdm_error){.code = TDM_E_CANCELLED};
        if (t->waiting) take_back(t);
        return;
    }
    struct input_situation s = situation(t);
    switch (input_rule_interrupt(&s, &t->presses, now)) {
    case INPUT_INTERRUPT_CLOSE: close_top(t); break;
    case INPUT_INTERRUPT_STOP:
        tdm_chat_stop(t->app.chat);
        tui_turns_events(t);
        break;
    case INPUT_INTERRUPT_TAKE_BACK: take_back(t); break;
    case INPUT_INTERRUPT_CLEAR:
        end_told(t);
        free(input_take(t->input, NULL, true, !t->app.private));
        break;
    case INPUT_INTERRUPT_ASK:
        tui_notice_add(t, VIEW_NOTICE_INFO, "Ctrl-C again quits");
        if (t->n_notices) t->notices[t->n_notices - 1].until_ns = now + INPUT_QUIT_NS; /* as long as it is true */
        break;
    case INPUT_INTERRUPT_QUIT: tui_quit(t); break;
    default: break;
    }
}

/* ---- The screen ------------------------------------------------------------------------------------------------ */

enum view_form tui_keys_drawn_form(const tui *t)
{
    return screen_layout(t->screen)->form;
}

bool tui_keys_in_monitor(const tui *t)
{
    return t->form == VIEW_FORM_FULL && tui_keys_drawn_form(t) == VIEW_FORM_FULL;
}

static void zoom(tui *t, double factor)
{
    double s = (t->live_s > 0 ? t->live_s : 20) * factor;
    t->live_s = s < 1 ? 1 : s > 60 ? 60 : s;
    t->figures.sampled_ns = 0;
}

static void toggle_speculation(tui *t)
{
    tdm_chat_options c;
    if (!t->app.chat) return;
    tdm_chat_options_of(t->app.chat, &c);
    tui_act(t, tui_action_command(SLASH_SPECULATION, c.speculation == TDM_SPEC_OFF ? "full" : "off"));
}

/* Actions that mean the same wherever the keys are. */
void tui_keys_screen(tui *t, enum key_action action, int count)
{
    struct transcript *transcript = screen_transcript(t->screen);
    if (count < 1) count = 1;
    switch (action) {
    case ACTION_REDRAW: term_redraw(t->term); break;
    case ACTION_PAGE_UP: transcript_page(transcript, tui_view_turns(t), -count); break;
    case ACTION_PAGE_DOWN: transcript_page(transcript, tui_view_turns(t), count); break;
    case ACTION_TOP: transcript_home(transcript, tui_view_turns(t)); break;
    case ACTION_BOTTOM: transcript_end(transcript, tui_view_turns(t)); break;
    case ACTION_MONITOR: t->form = layout_next_form(t->canvas->rows, t->canvas->cols, tui_keys_drawn_form(t)); break;
    case ACTION_VIEW:
        t->turn_view = !t->turn_view;
        t->view_chosen = true;
        t->figures.sampled_ns = 0;
        break;
    case ACTION_HOLD: t->hold = !t->hold; break;
    case ACTION_ZOOM_IN: zoom(t, 0.5); break;
    case ACTION_ZOOM_OUT: zoom(t, 2); break;
    case ACTION_FOLD: transcript_toggle_fold(transcript, tui_view_turns(t), transcript_marked(transcript)); break;
    case ACTION_RAW: transcript_toggle_raw(transcript, tui_view_turns(t), transcript_marked(transcript)); break;
    case ACTION_COPY: tui_act(t, tui_action_command(SLASH_COPY, NULL)); break;
    case ACTION_COPY_VIEW: tui_act(t, tui_action_command(SLASH_COPY, "view")); break;
    case ACTION_SPECULATION: toggle_speculation(t); break;
    case ACTION_SESSIONS: tui_sessions_show(t); break;
    case ACTION_SENSORS: tui_act(t, tui_action_command(SLASH_SENSORS, NULL)); break;
    case ACTION_KEYS: tui_popup_keys(&t->popup); break;
    case ACTION_BROWSE: tui_browse_enter(t); break;
    case ACTION_FIND: tui_popup_find(&t->popup, 1); break;
    default: break;
    }
    t->dirty = t->urgent = true;
}

void tui_keys_action(tui *t, const struct input_action *a)
{
    switch (a->action) {
    case ACTION_SUBMIT: submit(t, a); break;
    case ACTION_SEND_NOW: send_now(t, a->time_ns); break;
    case ACTION_INTERRUPT: interrupt(t, a->time_ns); break;
    case ACTION_LEAVE: tui_quit(t); break;
    case ACTION_SUSPEND: tui_outside_suspend(t); break;
    case ACTION_TAKE_BACK: take_back(t); break;
    case ACTION_STOP:
        if (t->app.chat) tdm_chat_stop(t->app.chat);
        break;
    case ACTION_EDITOR: tui_outside_edit(t); break;
    default: tui_keys_screen(t, a->action, a->count); break;
    }
    t->dirty = t->urgent = true;
}

/* ---- Events ---------------------------------------------------------------------------------------------------- */

static void answer(tui *t, const struct decoder_event *e)
{
    if (e->answer == DECODER_MODE && e->params[0] == 2026)
        term_set_synchronised(t->term, e->params[1] == 1 || e->params[1] == 2);
}

static void mouse(tui *t, const struct decoder_event *e)
{
    struct transcript *transcript = screen_transcript(t->screen);
    if (e->mouse == DECODER_WHEEL && (e->button == 1 || e->button == -1))
        transcript_scroll(transcript, tui_view_turns(t), 3 * e->button);
    if (e->mouse == DECODER_PRESS && e->button == 1 && t->browse) {
        uint64_t id = transcript_turn_at(transcript, e->row);
        if (id) transcript_mark(transcript, id);
    }
}

/* What is typed or pasted there goes nowhere: it is said how to get back, until that has happened. */
static void tell_way_back(tui *t, bool is_back)
{
    static const char way[] = "q returns to the chat";
    for (size_t i = 0; i < t->n_notices; i++)
        if (!strcmp(t->notices[i].text, way)) t->notices[i].until_ns = 0;
    if (!is_back) tui_notice_add(t, VIEW_NOTICE_INFO, "%s", way);
}

static void monitor_event(tui *t, const struct decoder_event *e)
{
    const struct key_row *row = NULL;
    unsigned char byte = e->kind == DECODER_ESC ? 0x1b : e->kind == DECODER_BYTES ? (unsigned char)e->data[0] : 0;
    if (e->kind == DECODER_KEY) row = keys_find_code(KEYS_MONITOR, e->code, e->mods);
    else if (byte) row = keys_find_byte(KEYS_MONITOR, byte);
    bool back = (row && row->action == ACTION_QUIT) || (e->kind == DECODER_KEY && e->code == KEYCODE_F1 + 3);
    if (back) {
        t->form = VIEW_FORM_AUTO;
        tell_way_back(t, true);
        return;
    }
    if (!row) {
        if (byte != 0x18) tell_way_back(t, false); /* ^X before one of the letters, as the input has it */
        return;
    }
    if (row->action == ACTION_PANEL) t->hidden ^= 1u << (byte - '1');
    else tui_keys_screen(t, row->action, 1);
}

/* BYTES events may hold several keys: browse mode, popups and the monitor take them one by one. */
static void each_byte(tui *t, const struct decoder_event *e, void (*take)(tui *t, const struct decoder_event *e))
{
    struct decoder_event one = *e;
    if (e->kind != DECODER_BYTES) {
        take(t, e);
        return;
    }
    for (size_t i = 0; i < e->length; i++) {
        one.data = e->data + i;
        one.length = 1;
        take(t, &one);
    }
}

static void owned_event(tui *t, const struct decoder_event *e)
{
    if (t->popup.kind) tui_act(t, tui_popup_event(&t->popup, screen_popup_page(t->screen), e));
    else if (t->browse) tui_browse_event(t, e);
    else if (tui_keys_in_monitor(t)) monitor_event(t, e);
    else input_feed_event(t->input, e);
}

void tui_keys_event(tui *t, const struct decoder_event *e)
{
    bool typed = e->kind == DECODER_BYTES || e->kind == DECODER_KEY || e->kind == DECODER_ESC || e->kind == DECODER_PASTE;
    if (e->kind == DECODER_ANSWER) {
        answer(t, e);
        return;
    }
    if (e->kind == DECODER_MOUSE) {
        mouse(t, e);
        return;
    }
    if (typed && t->demo && !(e->kind == DECODER_BYTES && e->length == 1 && e->data[0] == 3)) tui_demo_end(t);
    if (e->kind == DECODER_PASTE && e->dropped)
        tui_notice_add(t, VIEW_NOTICE_WARN, "the paste was too long: its last %zu bytes are left out", e->dropped);
    if (t->popup.kind || t->browse || tui_keys_in_monitor(t)) each_byte(t, e, owned_event);
    else input_feed_event(t->input, e);
}
