/* What becomes of the draft: read ahead while it is typed, sent, queued, taken back; and what Ctrl-C does to it all. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "src/tui/tui_private.h"
#include "ui/edit/slash.h"

/* ---- The draft ------------------------------------------------------------------------------------------------- */

void tui_draft_tell(tui *t)
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

void tui_draft_leave_editing(tui *t)
{
    if (!t->editing) return;
    t->editing = 0;
    char *before = t->before_edit;
    t->before_edit = NULL;
    input_set_text(t->input, before ? before : "");
    free(before);
}

bool tui_draft_send(tui *t, const char *text, size_t n, int64_t enter_ns)
{
    tdm_error err = {0};
    refresh_status(t);
    bool replying = t->status.phase != TDM_IDLE;
    if (app_send(&t->app, text, n, enter_ns, &err)) {
        tui_notice_add(t, VIEW_NOTICE_ERROR, "%s", err.text);
        bool can_shrink = !replying && t->turns.n; /* there are turns to leave out */
        if (err.code == TDM_E_CONTEXT && can_shrink) t->ended = VIEW_FULL;
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
    tui_notices_end_others(&t->notices, VIEW_NOTICE_WARN);
}

static tui_action submit(tui *t, const struct input_action *a)
{
    refresh_status(t);
    struct input_situation s = situation(t);
    s.draft_empty = is_blank(a->text, a->length);
    enum input_enter enter = input_rule_enter(&s, a->time_ns);
    if (enter == INPUT_ENTER_CUT) {
        t->turns.cut_ns = a->time_ns;
        tdm_chat_send_now(t->app.chat, a->time_ns);
        return (tui_action){0};
    }
    if (enter == INPUT_ENTER_NOTHING || s.draft_empty) return (tui_action){0};
    slash_call call;
    bool command;
    tdm_error err = {0};
    tdm_status parsed = slashes_parse(&call, &command, a->text, a->pasted, &err);
    if (parsed || command) end_told(t);
    if (parsed) {
        tui_notice_add(t, VIEW_NOTICE_ERROR, "%s", err.text);
        return (tui_action){0};
    }
    if (command) {
        int64_t enter_ns = a->time_ns;
        free(input_take(t->input, NULL, true, !t->app.private));
        return (tui_action){.kind = TUI_ACTION_COMMAND, .command = call.id, .text = call.argument, .number = call.number,
                            .time_ns = enter_ns};
    }
    bool sent = t->app.chat ? tui_draft_send(t, a->text, a->length, a->time_ns) : keep_waiting(t, a->text, a->time_ns);
    if (!sent) return (tui_action){0};
    free(input_take(t->input, NULL, true, !t->app.private));
    tui_draft_leave_editing(t);
    return (tui_action){0};
}

void tui_draft_send_now(tui *t, int64_t now)
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
        bool sent = text && tui_draft_send(t, text, strlen(text), now);
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
    if (!text) text = app_unqueue(&t->app);
    if (text) input_set_text(t->input, text);
    if (text) tui_set(&t->told, NULL); /* what goes before it may have come back too */
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
        tui_draft_leave_editing(t);
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
        tui_notices_limit_last(&t->notices, now + INPUT_QUIT_NS); /* as long as it is true */
        break;
    case INPUT_INTERRUPT_QUIT: tui_quit(t); break;
    default: break;
    }
}

/* ---- What the input asks for ------------------------------------------------------------------------------------- */

tui_action tui_draft_act(tui *t, const struct input_action *a)
{
    switch (a->action) {
    case ACTION_SUBMIT: return submit(t, a);
    case ACTION_SEND_NOW: tui_draft_send_now(t, a->time_ns); break;
    case ACTION_INTERRUPT: interrupt(t, a->time_ns); break;
    case ACTION_TAKE_BACK: take_back(t); break;
    case ACTION_STOP:
        if (t->app.chat) tdm_chat_stop(t->app.chat);
        break;
    default: return tui_action_key(a->action, a->count);
    }
    return (tui_action){0};
}
