#include "src/tui/dispatch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "src/io/number.h"
#include "src/tui/commands.h"
#include "src/tui/draft/transcript.h"
#include "src/tui/frame/view.h"
#include "src/tui/external.h"
#include "src/tui/private.h"

static tui_action toggle_speculation(const tui *t)
{
    tdm_chat_options c;
    if (!app_talks(&t->app)) return (tui_action){0};
    app_chat_options(&t->app, &c);
    return tui_action_command(SLASH_SPECULATION, c.speculation == TDM_SPEC_OFF ? "full" : "off");
}

/* Keys that move in the conversation show it. */
static void show_conversation(tui *t)
{
    if (t->monitor.inspect) tui_monitor_act(&t->monitor, ACTION_INSPECT, 1, tui_view_form(t), t->face.canvas->cols);
}

static void open_attachments(tui *t)
{
    tdm_error err;
    if (!tui_attached_open(&t->lists.attached, &t->app.attach.files, &t->app.attach.mentions, &err))
        tui_popup_list(&t->lists.popup, &tui_attached_list, &t->lists.attached);
    else tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", err.text);
}

/* A picture in a text: a line about it. */
static tdm_status tell_picture(struct buffer *out, const picture *p)
{
    char line[PICTURE_NAME + 100], size[BYTES_ROOM];
    int n = snprintf(line, sizeof line, "%s: %s, %u x %u pixels, %s\n", p->name, p->type, p->width, p->height,
                     bytes_words(size, p->n));
    return buffer_append(out, line, (size_t)n, NULL);
}

/* An attachment as a page, without the blank lines that end it. */
static void look_at(tui *t, long place)
{
    if (place >= t->app.attach.files.n) return;
    const attachment *one = &t->app.attach.files.all[place];
    struct buffer page = {0};
    tdm_status status = TDM_OK;
    size_t at = 0;
    for (int i = 0; i < one->n_pictures && !status; at = one->pictures[i++].at) {
        status = buffer_append(&page, one->text + at, one->pictures[i].at - at, NULL);
        if (!status) status = tell_picture(&page, one->pictures[i].picture);
    }
    if (!status) status = buffer_append(&page, one->text + at, one->length - at, NULL);
    while (page.n && page.bytes[page.n - 1] == '\n') page.n--;
    char *text = status ? NULL : strndup(page.n ? page.bytes : "", page.n);
    if (text) tui_popup_page(&t->lists.popup, one->name, text);
    free(text);
    buffer_free(&page);
}

static void read_again(tui *t, long place)
{
    tdm_error err;
    if (place >= t->app.attach.files.n || !t->app.attach.job) return;
    const attachment *one = &t->app.attach.files.all[place];
    if (attach_job_ask(t->app.attach.job, one->kind, one->path, one->of_draft, &err))
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
}

/* Does what the key stands for, wherever it was pressed; returns the action that follows. */
static tui_action do_key(tui *t, enum key_action key, int count)
{
    switch (key) {
    case ACTION_REDRAW:
        term_redraw(t->face.term);
        break;
    case ACTION_LEAVE: tui_commands_quit(t); break;
    case ACTION_SUSPEND: tui_external_suspend(t); break;
    case ACTION_EDITOR: tui_external_edit(t); break;
    case ACTION_SEND_NOW: tui_draft_send_now(t, clock_ns()); break;
    case ACTION_MONITOR:
        if (t->monitor.inspect) tui_monitor_act(&t->monitor, ACTION_INSPECT, 1, tui_view_form(t), t->face.canvas->cols);
        t->monitor.form = layout_next_form(t->face.canvas->rows, t->face.canvas->cols, tui_view_form(t));
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
    case ACTION_KEYS:
        tui_popup_keys(&t->lists.popup);
        break;
    case ACTION_BROWSE:
    case ACTION_PAGE_UP:
    case ACTION_TOP:
        show_conversation(t);
        return tui_transcript_act(t, key, count);
    case ACTION_LOOK: tui_turns_look(t, count); break;
    case ACTION_STOP_ANSWER:
        if (app_talks(&t->app) && t->turns.n) app_stop_answer(&t->app, t->turns.turns[t->turns.n - 1].node);
        break;
    case ACTION_FIND:
        tui_popup_find(&t->lists.popup, 1);
        break;
    case ACTION_FIND_BACK:
        tui_popup_find(&t->lists.popup, -1);
        break;
    case ACTION_FIND_NEXT: return tui_action_find(NULL, 1);
    case ACTION_FIND_PREVIOUS: return tui_action_find(NULL, -1);
    default:
        if (!tui_monitor_act(&t->monitor, key, count, tui_view_form(t), t->face.canvas->cols))
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
    case TUI_ACTION_PROMPT: tui_external_edit_prompt(t, a->text); break;
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
    t->face.dirty = t->face.urgent = true;
}
