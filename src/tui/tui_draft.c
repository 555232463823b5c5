#include "src/tui/tui_draft.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "src/tui/tui_private.h"
#include "ui/edit/slash.h"
#include "ui/text/paste.h"

static void assign(char **at, const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    free(*at);
    *at = copy;
}

/* What comes back into the input is a message, whatever it begins with: a command runs only where it was typed. */
static void set_text(tui *t, const char *text)
{
    char *as_text;
    if (asprintf(&as_text, "%s%s", *text == '!' ? " " : "", text) < 0) return;
    input_set_text(t->input, as_text);
    free(as_text);
}

/* ---- The draft ------------------------------------------------------------------------------------------------- */

void tui_draft_tell(tui *t)
{
    struct input_view in;
    input_view(t->input, clock_ns(), &in);
    if (!in.is_draft) return;
    tui_attach_follow(t, &in, false);
    input_set_chips(t->input, t->app.attached.n > 0);
    bool held = slash_may_be_command(in.text, in.length, in.pasted) || slash_runs(in.text, in.length, in.pasted);
    bool was_empty = !t->draft.told || !t->draft.told[0];
    bool same = t->draft.told && strlen(t->draft.told) == in.length && !memcmp(t->draft.told, in.text, in.length);
    if (same && t->draft.told_held == held && t->draft.told_revision == t->app.attached.revision) return;
    if (was_empty && in.length) t->figures.first_key_ns = clock_ns();
    if (!in.length) t->figures.first_key_ns = 0;
    if (!t->app.chat) return;
    /* A draft that can't be followed is refused when it is sent. */
    app_set_draft(&t->app, in.text, in.length, held, NULL);
    assign(&t->draft.told, in.text);
    t->draft.told_held = held;
    t->draft.told_revision = t->app.attached.revision;
    t->status_changed_ns = clock_ns();
    /* It was the draft that is no more that didn't fit. */
    if (t->turns.ended == VIEW_FULL && (in.length || !was_empty)) t->turns.ended = VIEW_IDLE;
}

void tui_draft_forget(tui *t)
{
    assign(&t->draft.told, NULL);
}

/* The draft has left the input; the chat has emptied its own. */
static void note_sent(tui *t)
{
    assign(&t->draft.told, "");
    t->draft.told_held = false;
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
        .top_open = t->popup.kind || t->draft.editing,
        .replying = t->status.phase != TDM_IDLE,
        .queued = app_queued(&t->app) || t->draft.waiting,
        .draft_empty = in.length == 0,
        .queued_ns = t->draft.queued_ns,
    };
}

static void refresh_status(tui *t)
{
    if (t->app.chat) tdm_chat_status_of(t->app.chat, &t->status);
}

/* ---- Sending --------------------------------------------------------------------------------------------------- */

/* The draft of before comes back. */
static void leave_editing(tui *t)
{
    if (!t->draft.editing) return;
    t->draft.editing = 0;
    char *before = t->draft.before_edit;
    t->draft.before_edit = NULL;
    set_text(t, before ? before : "");
    free(before);
}

void tui_draft_begin_editing(tui *t, int turn, const char *text)
{
    struct input_view in;
    if (!t->draft.editing) {
        input_view(t->input, clock_ns(), &in);
        free(t->draft.before_edit);
        t->draft.before_edit = strndup(in.text, in.length);
    }
    t->draft.editing = turn;
    set_text(t, text);
    input_view(t->input, clock_ns(), &in); /* what its words name stands in it already */
    mentions_leave(&t->app.mentions, &t->app.attached, in.text, in.length);
}

void tui_draft_end_editing(tui *t)
{
    if (!t->draft.editing) return;
    leave_editing(t);
    tdm_chat_edit(t->app.chat, 0, NULL); /* the path ended before the message that was edited */
}

static bool send_message(tui *t, const char *text, size_t n, int64_t enter_ns)
{
    tdm_error err = {0};
    refresh_status(t);
    bool replying = t->status.phase != TDM_IDLE, attached = t->app.attached.n > 0;
    if (app_send(&t->app, text, n, enter_ns, &err)) {
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
        /* Leaving out turns helps, unless the message is too long by itself. */
        uint32_t tokens = t->status.draft_tokens;
        bool can_shrink = !replying && t->turns.n && tokens && tokens < t->status.context_size;
        if (err.code == TDM_E_CONTEXT && can_shrink) t->turns.ended = VIEW_FULL;
        return false;
    }
    note_sent(t);
    t->draft.told_revision = t->app.attached.revision;
    input_set_queued(t->input, app_queued(&t->app) != NULL);
    if (!replying) {
        tui_turns_sent(t, enter_ns);
        transcript_sent(screen_transcript(t->screen));
    } else {
        t->draft.queued_ns = clock_ns();
    }
    if (attached) tui_attach_sent(t);
    return true;
}

/* The message leaves the input. In the history one that was no command stays none. */
static void take_sent(tui *t, const char *text)
{
    if (*text != '!') {
        free(input_take(t->input, NULL, true, !t->app.private));
        return;
    }
    char *as_text;
    bool made = asprintf(&as_text, " %s", text) >= 0;
    free(input_take(t->input, NULL, false, false));
    if (made) input_add_history(t->input, as_text, !t->app.private);
    if (made) free(as_text);
}

/* Before the model is there: the message waits for it. */
static bool keep_waiting(tui *t, const char *text, int64_t enter_ns)
{
    if (t->load.state != TUI_LOAD_RUNNING) {
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "there is no model: /model NAME loads one; the draft is kept");
        return false;
    }
    char *joined;
    if (asprintf(&joined, "%s%s%s", t->draft.waiting ? t->draft.waiting : "", t->draft.waiting ? "\n" : "", text) < 0)
        return false;
    if (!t->draft.waiting) t->draft.waiting_ns = enter_ns;
    free(t->draft.waiting);
    t->draft.waiting = joined;
    input_set_queued(t->input, true);
    return true;
}

/* What earlier commands told is done with when the next one is there, or the draft that it was about is gone. */
static void end_told(tui *t)
{
    tui_notices_end_others(&t->notices, VIEW_NOTICE_WARN);
}

static void send_no_more(tui *t)
{
    assign(&t->draft.sends, NULL);
    assign(&t->draft.sends_draft, NULL);
}

/* Where the message's attachments are still being read, it is sent once they are; true: so it is. */
static bool waits_for_attachments(tui *t, const struct input_action *a)
{
    struct input_view in;
    input_view(t->input, a->time_ns, &in);
    send_no_more(t);
    tui_attach_follow(t, &in, true);
    if (!tui_attach_waits(t)) return false;
    assign(&t->draft.sends, a->text);
    assign(&t->draft.sends_draft, in.text);
    t->draft.sends_ns = a->time_ns;
    return true;
}

/* Enter on a command of the shell: it is run where the screen has said so before. */
static void run_line(tui *t, const struct input_action *a)
{
    if (!t->app.chat || !t->app.attaching) {
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "a command has to wait for the model");
    } else if (tui_attach_announced(t, a->text)) {
        end_told(t);
        tui_attach_run(t, a->text + 1);
        free(input_take(t->input, NULL, true, !t->app.private));
    } else {
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "Enter once more runs it; a blank before it sends it as text");
    }
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
    if (slash_runs(a->text, a->length, a->pasted)) {
        run_line(t, a);
        return (tui_action){0};
    }
    slash_call call;
    bool command;
    tdm_error err = {0};
    tdm_status parsed = slashes_parse(&call, &command, a->text, a->pasted, &err);
    if (parsed || command) end_told(t);
    if (parsed) {
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
        return (tui_action){0};
    }
    if (command) {
        int64_t enter_ns = a->time_ns;
        free(input_take(t->input, NULL, true, !t->app.private));
        return (tui_action){.kind = TUI_ACTION_COMMAND,
                            .command = call.id,
                            .text = call.argument,
                            .number = call.number,
                            .time_ns = enter_ns};
    }
    if (t->app.chat && waits_for_attachments(t, a)) return (tui_action){0};
    bool sent = t->app.chat ? send_message(t, a->text, a->length, a->time_ns) : keep_waiting(t, a->text, a->time_ns);
    if (!sent) return (tui_action){0};
    take_sent(t, a->text);
    leave_editing(t);
    return (tui_action){0};
}

void tui_draft_take_attached(tui *t)
{
    struct input_view in;
    bool failed = false;
    if (tui_attach_due(t, clock_ns())) tui_draft_tell(t);
    if (!tui_attach_take(t, &failed) && !t->draft.sends) return;
    tui_draft_tell(t);
    input_view(t->input, clock_ns(), &in);
    bool sends = t->draft.sends && !failed && in.is_draft && !strcmp(in.text, t->draft.sends_draft);
    if (!sends) send_no_more(t);
    if (!sends || tui_attach_waits(t)) return;
    char *text = t->draft.sends;
    t->draft.sends = NULL;
    struct input_action a = {.action = ACTION_SUBMIT, .time_ns = t->draft.sends_ns, .text = text,
                             .length = strlen(text), .pasted = true}; /* it has been found to be text */
    submit(t, &a);
    free(text);
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
        tui_attach_follow(t, &in, true);
        if (tui_attach_waits(t)) {
            tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "the attachments are still being read");
            return;
        }
        char *text = strndup(in.text, in.length);
        bool sent = text && send_message(t, text, strlen(text), now);
        free(text);
        if (!sent) return;
        take_sent(t, in.text);
    }
    if (what != INPUT_ENTER_CUT) return;
    t->turns.cut_ns = now;
    tdm_chat_send_now(t->app.chat, now);
}

/* Both with an empty line between, where there are both; malloc'ed. */
static char *joined(const char *a, const char *b)
{
    char *text;
    bool both = a && *a && b && *b;
    return asprintf(&text, "%s%s%s", a ? a : "", both ? "\n\n" : "", b ? b : "") < 0 ? NULL : text;
}

static char *typed(tui *t)
{
    struct input_view in;
    input_close_top(t->input); /* a search shows something else */
    input_view(t->input, clock_ns(), &in);
    return strndup(in.text, in.length);
}

/* In front of what was typed meanwhile. */
static void bring_back(tui *t, const char *text)
{
    char *now = typed(t), *both = joined(text, now);
    if (both) set_text(t, both);
    free(both);
    free(now);
}

/* What a message that has waited for the model names is read at once: there is nothing else to wait for. */
static bool read_named(tui *t, const char *text)
{
    tdm_error err;
    app *a = &t->app;
    refresh_status(t);
    int room = app_room(&t->status);
    if (!mentions_read(&a->mentions, &a->attached, a->models.model, room, text, strlen(text), &err)) return true;
    tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
    return false;
}

void tui_draft_send_waiting(tui *t)
{
    char *text = t->draft.waiting;
    if (!text) return;
    t->draft.waiting = NULL;
    input_set_queued(t->input, false);
    if (!read_named(t, text) || !send_message(t, text, strlen(text), t->draft.waiting_ns)) bring_back(t, text);
    free(text);
}

void tui_draft_take_back(tui *t)
{
    char *text = t->draft.waiting;
    t->draft.waiting = NULL;
    if (!text) text = app_unqueue(&t->app);
    if (text) {
        bring_back(t, text);
        tui_draft_forget(t); /* files that go before it may have come back too */
    }
    free(text);
    input_set_queued(t->input, false);
    tui_turns_events(t);
}

/* ---- Kept with the session ------------------------------------------------------------------------------------- */

void tui_draft_take_kept(tui *t)
{
    char *kept = app_take_draft(&t->app), *clean = kept ? paste_clean(kept, strlen(kept), NULL) : NULL;
    if (clean) {
        bring_back(t, clean);
        tui_draft_tell(t);
    }
    free(clean);
    free(kept);
}

void tui_draft_keep(tui *t)
{
    const tui_draft *d = &t->draft;
    const char *queued = app_queued(&t->app);
    char *now = typed(t), *before = joined(queued ? queued : d->waiting, d->editing ? d->before_edit : NULL);
    char *all = joined(before, now);
    if (all) app_keep_draft(&t->app, all);
    free(all);
    free(before);
    free(now);
}

void tui_draft_free(tui_draft *d)
{
    free(d->waiting);
    free(d->sends);
    free(d->sends_draft);
    free(d->told);
    free(d->before_edit);
    *d = (tui_draft){0};
}

/* ---- Ctrl-C ---------------------------------------------------------------------------------------------------- */

static tui_action close_top(tui *t)
{
    if (t->popup.kind) {
        tui_popup_close(&t->popup);
    } else if (t->draft.editing) {
        tui_draft_end_editing(t);
        tui_turns_sync(t);
    }
    return (tui_action){0};
}

void tui_draft_return_prompt(tui *t, char *prompt)
{
    struct input_view in;
    char *line;
    if (!prompt) return;
    input_view(t->input, clock_ns(), &in);
    bool back = !in.length && asprintf(&line, "/p %s", prompt) >= 0;
    if (back) {
        input_set_text(t->input, line);
        free(line);
    }
    tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "/p %s is not done: its model is not there%s", prompt,
                    back ? "; the line is kept" : "");
    free(prompt);
}

static void stop_loading(tui *t)
{
    bool switching = t->load.switching;
    tui_load_cancel(&t->load);
    if (switching) {
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "loading was stopped");
        t->load.state = TUI_LOAD_DONE;
        tui_draft_return_prompt(t, tui_load_take_prompt(&t->load));
    } else {
        tui_load_fail(&t->load, "loading was stopped"); /* the sentence says it */
    }
    t->load.err = (tdm_error){.code = TDM_E_CANCELLED};
    if (t->draft.waiting) tui_draft_take_back(t);
}

/* The draft goes into the history: text that was pasted as text. */
static void clear(tui *t)
{
    struct input_view in;
    input_view(t->input, clock_ns(), &in);
    if (in.pasted) take_sent(t, in.text);
    else free(input_take(t->input, NULL, true, !t->app.private));
}

static tui_action interrupt(tui *t, int64_t now)
{
    refresh_status(t);
    if (t->load.state == TUI_LOAD_RUNNING && !t->popup.kind) {
        stop_loading(t);
        return (tui_action){0};
    }
    struct input_situation s = situation(t);
    if (!s.top_open && (attach_job_command(t->app.attaching) || t->draft.sends)) {
        send_no_more(t);
        tui_attach_stop(t);
        return (tui_action){0};
    }
    if (!s.top_open && tui_leave_end(&t->leave, &t->notices)) {
        t->draft.presses.stopped_ns = now; /* a bounce of the key stops no reply */
        return (tui_action){0};
    }
    switch (input_rule_interrupt(&s, &t->draft.presses, now)) {
    case INPUT_INTERRUPT_CLOSE: return close_top(t);
    case INPUT_INTERRUPT_STOP:
        tdm_chat_stop(t->app.chat);
        tui_turns_events(t);
        break;
    case INPUT_INTERRUPT_TAKE_BACK: tui_draft_take_back(t); break;
    case INPUT_INTERRUPT_CLEAR:
        end_told(t);
        clear(t);
        break;
    case INPUT_INTERRUPT_ASK:
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "Ctrl-C again quits");
        tui_notices_limit_last(&t->notices, now + INPUT_QUIT_NS); /* as long as it is true */
        break;
    case INPUT_INTERRUPT_QUIT: return tui_action_key(ACTION_LEAVE, 1);
    default: break;
    }
    return (tui_action){0};
}

/* ---- What the input asks for ------------------------------------------------------------------------------------- */

tui_action tui_draft_act(tui *t, const struct input_action *a)
{
    switch (a->action) {
    case ACTION_SUBMIT: return submit(t, a);
    case ACTION_SEND_NOW: tui_draft_send_now(t, a->time_ns); break;
    case ACTION_INTERRUPT: return interrupt(t, a->time_ns);
    case ACTION_TAKE_BACK: tui_draft_take_back(t); break;
    case ACTION_STOP:
        if (t->app.chat) tdm_chat_stop(t->app.chat);
        break;
    default: return tui_action_key(a->action, a->count);
    }
    return (tui_action){0};
}
