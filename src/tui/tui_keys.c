#include "src/tui/tui_keys.h"

#include <stdint.h>
#include <string.h>

#include "src/tui/tui_commands.h"
#include "src/tui/tui_demo.h"
#include "src/tui/tui_dispatch.h"
#include "src/tui/tui_private.h"
#include "src/tui/tui_transcript.h"
#include "src/tui/tui_view.h"

enum { CTRL_Z = 26 };

static void answer(tui *t, const struct decoder_event *e)
{
    if (e->answer == DECODER_MODE && e->params[0] == 2026)
        term_set_synchronised(t->term, e->params[1] == 1 || e->params[1] == 2);
    enum ground ground = ground_from_event(e);
    if (ground == GROUND_UNKNOWN) return;
    t->ground = ground;
    t->ground_until_ns = 0;
    tui_commands_look(t);
}

static void to_popup(tui *t, const struct decoder_event *e)
{
    tui_dispatch(t, tui_popup_event(&t->popup, screen_popup_page(t->screen), e));
}

/* In a list a click selects, and a second one soon afterwards takes what it has selected; the wheel moves by lines. */
static void mouse_in_popup(tui *t, const struct decoder_event *e)
{
    enum { DOUBLE_MS = 400, LINES = 3 };
    struct decoder_event as = {.kind = DECODER_KEY, .time_ns = e->time_ns,
                               .code = e->button < 0 ? KEYCODE_UP : KEYCODE_DOWN};
    bool wheel = e->mouse == DECODER_WHEEL && (e->button == 1 || e->button == -1);
    for (int i = 0; wheel && i < LINES && t->popup.kind; i++) to_popup(t, &as);
    if (e->mouse != DECODER_PRESS || e->button != 1) return;
    int item = screen_item_at(t->screen, &t->view, e->row);
    bool again = item >= 0 && item == t->clicked && e->time_ns - t->clicked_ns < DOUBLE_MS * TUI_MS;
    as = again ? (struct decoder_event){.kind = DECODER_BYTES, .time_ns = e->time_ns, .data = "\r", .length = 1} : *e;
    as.row = item;
    t->clicked = again ? -1 : item;
    t->clicked_ns = e->time_ns;
    if (item >= 0) to_popup(t, &as);
}

static bool on_chips(const tui *t, int row)
{
    const struct rect *chips = &screen_layout(t->screen)->chips;
    return row >= chips->row && row < chips->row + chips->rows;
}

static void mouse(tui *t, const struct decoder_event *e)
{
    bool click = e->mouse == DECODER_PRESS && e->button == 1;
    t->dirty = t->urgent = true;
    tui_keys_input(t); /* what was typed before it */
    if (click) tui_view_draw(t); /* where things stand now */
    if (t->popup.kind) {
        mouse_in_popup(t, e);
        return;
    }
    if (e->mouse == DECODER_WHEEL && (e->button == 1 || e->button == -1))
        tui_transcript_act(t, e->button > 0 ? ACTION_LINE_DOWN : ACTION_LINE_UP, 3);
    struct transcript *transcript = screen_transcript(t->screen);
    if (click && t->browse.on) {
        uint64_t id = transcript_turn_at(transcript, e->row);
        if (id) transcript_mark(transcript, id);
    } else if (click && on_chips(t, e->row)) {
        tui_dispatch(t, tui_action_key(ACTION_ATTACHMENTS, 1));
    } else if (click) {
        size_t at = screen_draft_at(t->screen, &t->view, e->row, e->column);
        if (at != SIZE_MAX) input_set_cursor(t->input, at);
    }
}

/* BYTES events may hold several keys: browse mode and popups take them one by one. */
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
    if (t->popup.kind) to_popup(t, e);
    else if (t->browse.on) tui_dispatch(t, tui_browse_event(&t->browse, e));
    else input_feed_event(t->input, e);
}

/* Esc closes what is open in the input before it takes the leaving back. */
static void stay(tui *t)
{
    if (!input_close_top(t->input)) tui_leave_end(&t->leave, &t->notices);
    t->dirty = t->urgent = true;
}

void tui_keys_event(tui *t, const struct decoder_event *e)
{
    bool typed =
        e->kind == DECODER_BYTES || e->kind == DECODER_KEY || e->kind == DECODER_ESC || e->kind == DECODER_PASTE;
    if (e->kind == DECODER_ANSWER) {
        answer(t, e);
        return;
    }
    t->typed_ns = e->time_ns;
    job_cancel(&t->choosing.job);
    if (t->popup.kind != TUI_POPUP_MODELS) job_cancel(&t->measuring.job); /* the list waits for it */
    if (e->kind == DECODER_MOUSE) {
        mouse(t, e);
        return;
    }
    if (typed && t->demo) {
        if (e->kind == DECODER_BYTES && memchr(e->data, CTRL_Z, e->length))
            tui_dispatch(t, tui_action_key(ACTION_SUSPEND, 1));
        tui_demo_event(t, e);
        return;
    }
    if (e->kind == DECODER_PASTE && e->dropped)
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "the paste was too long: its last %zu bytes are left out",
                        e->dropped);
    tui_action of_cursor = tui_monitor_event(&t->monitor, e);
    if (t->popup.kind || t->browse.on) each_byte(t, e, owned_event);
    else if (of_cursor.kind) tui_dispatch(t, of_cursor);
    else if (e->kind == DECODER_ESC && t->leave.waits) stay(t);
    else input_feed_event(t->input, e);
}

static bool keys_are_elsewhere(const tui *t)
{
    return t->popup.kind || t->browse.on;
}

void tui_keys_input(tui *t)
{
    struct input_action a;
    struct decoder_event e;
    /* While an editor or the copy view has the screen, what was typed before it waits. */
    while (!t->quit && !t->away && input_next_action(t->input, &a)) {
        tui_dispatch(t, tui_draft_act(t, &a));
        t->dirty = t->urgent = true;
        /* The keys may belong to somebody else now: then what is queued still is theirs, until they give them back. */
        while (!t->quit && !t->away && keys_are_elsewhere(t) && input_unread(t->input, &e)) tui_keys_event(t, &e);
    }
    tui_draft_tell(t);
}
