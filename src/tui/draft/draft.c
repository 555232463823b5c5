#include "src/tui/draft/draft.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clean.h"
#include "engine/base/clock.h"
#include "src/models/vision.h"
#include "src/tui/private.h"
#include "ui/edit/slash.h"

static void assign(char **at, const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    free(*at);
    *at = copy;
}

/* Text that comes back into the input is a message, whatever it begins with: a command runs only if it was typed. */
static void set_text(tui *t, const char *text)
{
    char *as_text;
    if (asprintf(&as_text, "%s%s", *text == '!' ? " " : "", text) < 0) return;
    input_set_text(t->keys.input, as_text);
    free(as_text);
}

/* ---- The draft ------------------------------------------------------------------------------------------------- */

void tui_draft_tell(tui *t)
{
    struct input_view in;
    input_view(t->keys.input, clock_ns(), &in);
    if (!in.is_draft) return;
    tui_attach_follow(t, &in, false);
    input_set_chips(t->keys.input, t->app.attach.files.n > 0);
    bool held = slash_may_be_command(in.text, in.length, in.pasted) || slash_runs(in.text, in.length, in.pasted);
    bool was_empty = !t->draft.told || !t->draft.told[0];
    bool same = t->draft.told && strlen(t->draft.told) == in.length && !memcmp(t->draft.told, in.text, in.length);
    if (same && t->draft.told_held == held && t->draft.told_revision == t->app.attach.files.revision) return;
    if (was_empty && in.length) t->figures.first_key_ns = clock_ns();
    if (!in.length) t->figures.first_key_ns = 0;
    if (!app_talks(&t->app)) return;
    /* A draft that can't be followed is refused when it is sent. */
    t->draft.refused = app_set_draft(&t->app, in.text, in.length, held, NULL) != TDM_OK;
    assign(&t->draft.told, in.text);
    t->draft.told_held = held;
    t->draft.told_revision = t->app.attach.files.revision;
    t->known.status_changed_ns = clock_ns();
    /* The draft that didn't fit is gone. */
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
    t->draft.told_held = t->draft.refused = false;
}

static bool is_blank(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isspace((unsigned char)text[i])) return false;
    return true;
}

/* Is there nothing to send? Attachments alone are a message, too. */
static bool is_empty(const tui *t, const char *text, size_t n)
{
    const attachments *files = &t->app.attach.files;
    bool attached = app_talks(&t->app) && (files->n || attach_job_busy(t->app.attach.job));
    return !attached && is_blank(text, n);
}

static struct input_situation situation(const tui *t)
{
    struct input_view in;
    input_view(t->keys.input, clock_ns(), &in);
    return (struct input_situation){
        .top_open = t->lists.popup.kind || t->draft.editing,
        .replying = t->known.status.phase != TDM_PHASE_IDLE,
        .queued = app_queued(&t->app) || t->draft.waiting,
        .draft_empty = in.length == 0 && !input_is_past(t->keys.input),
        .queued_ns = t->draft.queued_ns,
    };
}

static void refresh_status(tui *t)
{
    app_status(&t->app, &t->known.status);
}

/* ---- Sending --------------------------------------------------------------------------------------------------- */

/* The draft of before comes back. */
static void leave_editing(tui *t)
{
    if (!t->draft.editing) return;
    t->draft.editing = 0;
    app_edited(&t->app);
    char *before = t->draft.before_edit;
    t->draft.before_edit = NULL;
    set_text(t, before ? before : "");
    free(before);
}

void tui_draft_begin_editing(tui *t, int turn, const char *text)
{
    struct input_view in;
    if (!t->draft.editing) {
        input_view(t->keys.input, clock_ns(), &in);
        free(t->draft.before_edit);
        t->draft.before_edit = strndup(in.text, in.length);
    }
    t->draft.editing = turn;
    set_text(t, text);
    input_view(t->keys.input, clock_ns(), &in); /* the files that its words name are in it already */
    mentions_leave(&t->app.attach.mentions, &t->app.attach.files, in.text, in.length);
}

void tui_draft_end_editing(tui *t)
{
    if (!t->draft.editing) return;
    leave_editing(t);
    app_edit(&t->app, 0, NULL); /* the path ended before the message that was edited */
}

static bool send_message(tui *t, const char *text, size_t n, int64_t enter_ns)
{
    tdm_error err = {0};
    refresh_status(t);
    bool replying = t->known.status.phase != TDM_PHASE_IDLE, attached = t->app.attach.files.n > 0;
    if (app_send(&t->app, text, n, enter_ns, &err)) {
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
        /* Leaving out turns helps, unless the message is too long by itself. */
        uint32_t tokens = t->known.status.draft_tokens;
        bool can_shrink = !replying && t->turns.n && tokens && tokens < t->known.status.context_size;
        if (err.code == TDM_E_CONTEXT && can_shrink) t->turns.ended = VIEW_FULL;
        return false;
    }
    note_sent(t);
    t->draft.told_revision = t->app.attach.files.revision;
    input_set_queued(t->keys.input, app_queued(&t->app) != NULL);
    if (!replying) {
        tui_turns_sent(t, enter_ns);
        transcript_sent(screen_transcript(t->face.screen));
    } else {
        t->draft.queued_ns = clock_ns();
    }
    if (attached) tui_attach_sent(t);
    return true;
}

/* The message leaves the input. In the history, a message that was no command stays one. */
static void take_sent(tui *t, const char *text)
{
    if (*text != '!') {
        free(input_take(t->keys.input, NULL, true, !t->app.open.private));
        return;
    }
    char *as_text;
    bool made = asprintf(&as_text, " %s", text) >= 0;
    free(input_take(t->keys.input, NULL, false, false));
    if (made) input_add_history(t->keys.input, as_text, !t->app.open.private);
    if (made) free(as_text);
}

/* Before the model is there: the message waits for it. */
static bool keep_waiting(tui *t, const char *text, int64_t enter_ns)
{
    if (t->jobs.load.state != TUI_LOAD_RUNNING) {
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "there is no model: /model NAME loads one; the draft is kept");
        return false;
    }
    char *joined;
    if (asprintf(&joined, "%s%s%s", t->draft.waiting ? t->draft.waiting : "", t->draft.waiting ? "\n" : "", text) < 0)
        return false;
    if (!t->draft.waiting) t->draft.waiting_ns = enter_ns;
    free(t->draft.waiting);
    t->draft.waiting = joined;
    input_set_queued(t->keys.input, true);
    return true;
}

/* Ends the notices of earlier commands when the next one comes, or when the draft that they were about is gone. */
static void end_told(tui *t)
{
    tui_notices_end_others(&t->notices, VIEW_NOTICE_WARN);
}

static void send_no_more(tui *t)
{
    assign(&t->draft.sends, NULL);
    assign(&t->draft.sends_draft, NULL);
}

/* True: the message's attachments are still being read, and it is sent once they are. */
static bool waits_for_attachments(tui *t, const struct input_action *a)
{
    struct input_view in;
    input_view(t->keys.input, a->time_ns, &in);
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
    if (!app_talks(&t->app) || !t->app.attach.job) {
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "a command has to wait for the model");
    } else if (tui_attach_announced(t, a->text)) {
        end_told(t);
        tui_attach_run(t, a->text + 1);
        free(input_take(t->keys.input, NULL, true, !t->app.open.private));
    } else {
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "Enter once more runs it; a blank before it sends it as text");
    }
}

static tui_action submit(tui *t, const struct input_action *a)
{
    refresh_status(t);
    struct input_situation s = situation(t);
    s.draft_empty = is_empty(t, a->text, a->length);
    enum input_enter enter = input_rule_enter(&s, a->time_ns);
    if (enter == INPUT_ENTER_CUT) {
        t->turns.cut_ns = a->time_ns;
        app_send_now(&t->app, a->time_ns);
        return (tui_action){0};
    }
    bool leaves = is_blank(a->text, a->length) || !strcmp(a->text, "q"); /* several answers, as it leaves lists */
    if (leaves && tui_turns_take(t)) {
        free(input_take(t->keys.input, NULL, false, false));
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
        free(input_take(t->keys.input, NULL, true, !t->app.open.private));
        return (tui_action){.kind = TUI_ACTION_COMMAND,
                            .command = call.id,
                            .text = call.argument,
                            .number = call.number,
                            .time_ns = enter_ns};
    }
    if (app_talks(&t->app) && waits_for_attachments(t, a)) return (tui_action){0};
    bool sent =
        app_talks(&t->app) ? send_message(t, a->text, a->length, a->time_ns) : keep_waiting(t, a->text, a->time_ns);
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
    input_view(t->keys.input, clock_ns(), &in);
    bool sends = t->draft.sends && !failed && in.is_draft && !strcmp(in.text, t->draft.sends_draft);
    if (!sends) send_no_more(t);
    if (!sends || tui_attach_waits(t)) return;
    char *text = t->draft.sends;
    t->draft.sends = NULL;
    struct input_action a = {.action = ACTION_SUBMIT, .time_ns = t->draft.sends_ns, .text = text,
                             .length = strlen(text), .pasted = true}; /* the draft was found to be text */
    submit(t, &a);
    free(text);
}

void tui_draft_send_now(tui *t, int64_t now)
{
    refresh_status(t);
    struct input_situation s = situation(t);
    struct input_view in;
    input_view(t->keys.input, now, &in);
    s.draft_empty = is_empty(t, in.text, in.length);
    enum input_enter what = input_rule_send_now(&s);
    if (what == INPUT_ENTER_NOTHING || !app_talks(&t->app)) return;
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
    app_send_now(&t->app, now);
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
    input_close_top(t->keys.input); /* a search shows something else */
    input_view(t->keys.input, clock_ns(), &in);
    return strndup(in.text, in.length);
}

/* Puts the text in front of what was typed meanwhile. */
static void bring_back(tui *t, const char *text)
{
    char *now = typed(t), *both = now ? joined(text, now) : NULL;
    if (both) set_text(t, both);
    else
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "out of memory: '%.60s' does not come back to the draft", text);
    free(both);
    free(now);
}

/* What a message that has waited for the model names is read at once: there is nothing else to wait for. */
static bool read_named(tui *t, const char *text)
{
    tdm_error err;
    app *a = &t->app;
    refresh_status(t);
    int room = app_room(&t->known.status);
    if (!mentions_read(&a->attach.mentions, &a->attach.files, a->models.model, room, text, strlen(text), MENTIONS_ALL,
                       &err))
        return true;
    if (err.code == TDM_E_UNSUPPORTED) vision_explain(a->o, a->models.model, NULL, &err);
    tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
    return false;
}

void tui_draft_send_waiting(tui *t)
{
    char *text = t->draft.waiting;
    if (!text) return;
    t->draft.waiting = NULL;
    input_set_queued(t->keys.input, false);
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
    input_set_queued(t->keys.input, false);
    tui_turns_events(t);
}

/* ---- Kept with the session ------------------------------------------------------------------------------------- */

void tui_draft_take_kept(tui *t)
{
    char *kept = app_take_draft(&t->app), *clean = kept ? clean_text(kept, strlen(kept), NULL) : NULL;
    if (kept) {
        bring_back(t, clean ? clean : kept);
        tui_draft_tell(t);
    }
    free(clean);
    free(kept);
}

bool tui_draft_keep(tui *t)
{
    const tui_draft *d = &t->draft;
    const char *queued = app_queued(&t->app);
    char *now = typed(t), *before = joined(queued ? queued : d->waiting, d->editing ? d->before_edit : NULL);
    char *all = before && now ? joined(before, now) : NULL;
    bool kept = all && app_keep_draft(&t->app, all);
    free(all);
    free(before);
    free(now);
    return kept;
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
    if (t->lists.popup.kind) {
        tui_popup_close(&t->lists.popup);
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
    input_view(t->keys.input, clock_ns(), &in);
    bool back = !in.length && asprintf(&line, "/p %s", prompt) >= 0;
    if (back) {
        input_set_text(t->keys.input, line);
        free(line);
    }
    tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "/p %s is not done: its model is not there%s", prompt,
                    back ? "; the line is kept" : "");
    free(prompt);
}

static void stop_loading(tui *t)
{
    bool switching = t->jobs.load.switching;
    tui_load_cancel(&t->jobs.load);
    if (switching) {
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "loading was stopped");
        t->jobs.load.state = TUI_LOAD_DONE;
        tui_draft_return_prompt(t, tui_load_take_prompt(&t->jobs.load));
    } else {
        tui_load_fail(&t->jobs.load, "loading was stopped"); /* the sentence says it */
    }
    t->jobs.load.err = (tdm_error){.code = TDM_E_CANCELLED};
    if (t->draft.waiting) tui_draft_take_back(t);
}

/* The draft goes into the history: text that was pasted as text. */
static void clear(tui *t)
{
    struct input_view in;
    input_view(t->keys.input, clock_ns(), &in);
    if (in.pasted) take_sent(t, in.text);
    else
        free(input_take(t->keys.input, NULL, !input_is_entry(t->keys.input), !t->app.open.private));
    input_mend_past(t->keys.input);
}

static const char asked[] = "Ctrl-C again quits";

static tui_action interrupt(tui *t, int64_t now)
{
    refresh_status(t);
    if (t->jobs.load.state == TUI_LOAD_RUNNING && !t->lists.popup.kind) {
        stop_loading(t);
        return (tui_action){0};
    }
    struct input_situation s = situation(t);
    if (!s.top_open && (attach_job_command(t->app.attach.job) || t->draft.sends)) {
        send_no_more(t);
        attach_job_stop(t->app.attach.job);
        return (tui_action){0};
    }
    if (!s.top_open && tui_leave_end(&t->jobs.leave, &t->notices)) {
        t->draft.presses.stopped_ns = now; /* a bounce of the key stops no reply */
        return (tui_action){0};
    }
    switch (input_rule_interrupt(&s, &t->draft.presses, now)) {
    case INPUT_INTERRUPT_CLOSE: return close_top(t);
    case INPUT_INTERRUPT_STOP:
        app_stop(&t->app);
        tui_turns_events(t);
        break;
    case INPUT_INTERRUPT_TAKE_BACK: tui_draft_take_back(t); break;
    case INPUT_INTERRUPT_CLEAR:
        end_told(t);
        clear(t);
        break;
    case INPUT_INTERRUPT_ASK:
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", asked);
        tui_notices_limit_last(&t->notices, now + INPUT_QUIT_NS); /* as long as it is true */
        break;
    case INPUT_INTERRUPT_QUIT: return tui_action_key(ACTION_LEAVE, 1);
    default: break;
    }
    return (tui_action){0};
}

/* ---- What the input asks for ------------------------------------------------------------------------------------- */

/* A line that lacks some of its keys may mean something else: it is taken once it was looked at. */
static bool refuse_incomplete(tui *t)
{
    if (!t->keys.lost) return false;
    t->keys.lost = false;
    tui_notices_add(&t->notices, VIEW_NOTICE_ERROR,
                    "keys were lost for want of memory: look at the line, Enter takes it");
    return true;
}

tui_action tui_draft_act(tui *t, const struct input_action *a)
{
    if (a->action != ACTION_INTERRUPT && t->draft.presses.asked_ns) { /* a press behind it is another one */
        t->draft.presses.asked_ns = 0;
        tui_notices_end_text(&t->notices, asked);
    }
    switch (a->action) {
    case ACTION_SUBMIT:
        return refuse_incomplete(t) ? (tui_action){0} : submit(t, a);
    case ACTION_SEND_NOW: tui_draft_send_now(t, a->time_ns); break;
    case ACTION_INTERRUPT: return interrupt(t, a->time_ns);
    case ACTION_TAKE_BACK: tui_draft_take_back(t); break;
    case ACTION_STOP:
        app_stop(&t->app);
        break;
    default: return tui_action_key(a->action, a->count);
    }
    return (tui_action){0};
}
