#include "src/tui/tui_dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "src/tui/tui_commands.h"
#include "src/tui/tui_outside.h"
#include "src/tui/tui_private.h"
#include "src/tui/tui_transcript.h"
#include "src/tui/tui_view.h"

static tui_action toggle_speculation(const tui *t)
{
    tdm_chat_options c;
    if (!t->app.chat) return (tui_action){0};
    tdm_chat_options_of(t->app.chat, &c);
    return tui_action_command(SLASH_SPECULATION, c.speculation == TDM_SPEC_OFF ? "full" : "off");
}

/* What moves in the conversation makes it seen. */
static void show_conversation(tui *t)
{
    if (t->monitor.inspect) tui_monitor_act(&t->monitor, ACTION_INSPECT, 1, tui_view_form(t), t->canvas->cols);
    if (t->monitor.form == VIEW_FORM_FULL) t->monitor.form = VIEW_FORM_AUTO;
}

static void open_attachments(tui *t)
{
    tdm_error err;
    if (!tui_attached_open(&t->attached, &t->app.attached, &t->app.mentions, &err))
        tui_popup_attached(&t->popup, &t->attached);
    else tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", err.text);
}

/* The text of an attachment as a page, without the blank lines that end it. */
static void look_at(tui *t, long place)
{
    if (place >= t->app.attached.n) return;
    const attachment *one = &t->app.attached.all[place];
    size_t n = one->length;
    while (n && one->text[n - 1] == '\n') n--;
    char *text = strndup(one->text, n);
    if (text) tui_popup_page(&t->popup, one->name, text);
    free(text);
}

static void read_again(tui *t, long place)
{
    tdm_error err;
    if (place >= t->app.attached.n || !t->app.attaching) return;
    const attachment *one = &t->app.attached.all[place];
    if (attach_job_ask(t->app.attaching, one->kind, one->path, one->of_draft, &err))
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
}

/* What a key does once there, wherever the keys are; what follows from it comes back. */
static tui_action do_key(tui *t, enum key_action key, int count)
{
    switch (key) {
    case ACTION_REDRAW: term_redraw(t->term); break;
    case ACTION_LEAVE: tui_commands_quit(t); break;
    case ACTION_SUSPEND: tui_outside_suspend(t); break;
    case ACTION_EDITOR: tui_outside_edit(t); break;
    case ACTION_SEND_NOW: tui_draft_send_now(t, clock_ns()); break;
    case ACTION_MONITOR:
        if (t->monitor.inspect) tui_monitor_act(&t->monitor, ACTION_INSPECT, 1, tui_view_form(t), t->canvas->cols);
        t->monitor.form = layout_next_form(t->canvas->rows, t->canvas->cols, tui_view_form(t));
        break;
    case ACTION_COPY: return tui_action_command(SLASH_COPY, NULL);
    case ACTION_COPY_VIEW: return tui_action_command(SLASH_COPY, "view");
    case ACTION_SPECULATION: return toggle_speculation(t);
    case ACTION_SESSIONS: tui_sessions_show(t, false); break;
    case ACTION_ATTACHMENTS: open_attachments(t); break;
    case ACTION_RUB_CHIP: tui_attach_rub(t); break;
    case ACTION_VISIT: return tui_action_command(SLASH_VISIT, NULL);
    case ACTION_PROMPTS: return tui_action_command(SLASH_P, NULL);
    case ACTION_SENSORS: return tui_action_command(SLASH_SENSORS, NULL);
    case ACTION_KEYS: tui_popup_keys(&t->popup); break;
    case ACTION_BROWSE:
    case ACTION_PAGE_UP:
    case ACTION_TOP:
        show_conversation(t);
        return tui_transcript_act(t, key, count);
    case ACTION_LOOK: tui_turns_look(t, count); break;
    case ACTION_STOP_ANSWER:
        if (t->app.chat && t->turns.n) tdm_chat_stop_answer(t->app.chat, t->turns.turns[t->turns.n - 1].node);
        break;
    case ACTION_FIND: tui_popup_find(&t->popup, 1); break;
    case ACTION_FIND_BACK: tui_popup_find(&t->popup, -1); break;
    case ACTION_FIND_NEXT: return tui_action_find(NULL, 1);
    case ACTION_FIND_PREVIOUS: return tui_action_find(NULL, -1);
    default:
        if (!tui_monitor_act(&t->monitor, key, count, tui_view_form(t), t->canvas->cols))
            return tui_transcript_act(t, key, count);
        if (key == ACTION_VIEW || key == ACTION_ZOOM_IN || key == ACTION_ZOOM_OUT)
            t->figures.sampled_ns = 0; /* another window */
        break;
    }
    return (tui_action){0};
}

static tui_action do_one(tui *t, const tui_action *a)
{
    switch (a->kind) {
    case TUI_ACTION_NONE: break;
    case TUI_ACTION_KEY: return do_key(t, a->key, a->count < 1 ? 1 : a->count);
    case TUI_ACTION_COMMAND: {
        const slash_call call = {.id = a->command, .argument = a->text, .number = a->number};
        return tui_commands_run(t, &call, a->time_ns ? a->time_ns : clock_ns());
    }
    case TUI_ACTION_VISIT: return tui_commands_visit(t, a->text, (int)a->number);
    case TUI_ACTION_DELETE: tui_commands_delete(t, a->text); break;
    case TUI_ACTION_BRANCH:
        show_conversation(t);
        tui_transcript_branch(t, (int)a->number);
        break;
    case TUI_ACTION_PROMPT: tui_outside_edit_prompt(t, a->text); break;
    case TUI_ACTION_FIND:
        show_conversation(t);
        tui_transcript_find(t, a->text, a->count);
        break;
    case TUI_ACTION_LOOK_AT: look_at(t, a->number); break;
    case TUI_ACTION_CONSENT: return tui_commands_consent(t, a->number);
    case TUI_ACTION_READ_AGAIN: read_again(t, a->number); break;
    }
    return (tui_action){0};
}

void tui_dispatch(tui *t, tui_action a)
{
    if (a.kind == TUI_ACTION_NONE) return;
    while (a.kind != TUI_ACTION_NONE) {
        tui_action next = do_one(t, &a);
        free(a.text);
        a = next;
    }
    t->dirty = t->urgent = true;
}
