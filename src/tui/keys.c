#include "src/tui/keys.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "src/slash/commands.h"
#include "src/tui/commands.h"
#include "src/tui/dispatch.h"
#include "src/tui/draft/transcript.h"
#include "src/tui/frame/demo.h"
#include "src/tui/frame/view.h"
#include "src/tui/private.h"

enum { CTRL_Z = 26 };

static void answer(tui *t, const struct decoder_event *e)
{
    if (e->answer == DECODER_MODE && e->params[0] == 2026)
        term_set_synchronised(t->face.term, e->params[1] == 1 || e->params[1] == 2);
    if (e->answer == DECODER_BROKEN)
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "the terminal's answer broke off: what came of it is left out");
    if (e->answer == DECODER_DA1) t->face.ground_until_ns = 0; /* the last of all answers */
    enum ground ground = ground_from_event(e);
    if (ground == GROUND_UNKNOWN) return;
    t->face.ground = ground;
    t->face.ground_until_ns = 0;
    tui_commands_look(t);
}

static void to_popup(tui *t, const struct decoder_event *e)
{
    tui_dispatch(t, tui_popup_event(&t->lists.popup, screen_popup_page(t->face.screen), e));
}

/* In a list a click selects, and a second one soon afterwards takes what it has selected; the wheel moves by lines. */
static void mouse_in_popup(tui *t, const struct decoder_event *e)
{
    enum { DOUBLE_MS = 400, LINES = 3 };
    struct decoder_event as = {.kind = DECODER_KEY, .time_ns = e->time_ns,
                               .code = e->button < 0 ? KEYCODE_UP : KEYCODE_DOWN};
    bool wheel = e->mouse == DECODER_WHEEL && (e->button == 1 || e->button == -1);
    for (int i = 0; wheel && i < LINES && t->lists.popup.kind; i++) to_popup(t, &as);
    if (e->mouse != DECODER_PRESS || e->button != 1) return;
    int item = screen_item_at(t->face.screen, &t->face.view, e->row);
    bool again = item >= 0 && item == t->keys.clicked && e->time_ns - t->keys.clicked_ns < DOUBLE_MS * TUI_MS;
    as = again ? (struct decoder_event){.kind = DECODER_BYTES, .time_ns = e->time_ns, .data = "\r", .length = 1} : *e;
    as.row = item;
    t->keys.clicked = again ? -1 : item;
    t->keys.clicked_ns = e->time_ns;
    if (item >= 0) to_popup(t, &as);
}

static bool on_chips(const tui *t, int row)
{
    const struct rect *chips = &screen_layout(t->face.screen)->chips;
    return row >= chips->row && row < chips->row + chips->rows;
}

static void feed(tui *t, const struct decoder_event *e)
{
    if (input_feed_event(t->keys.input, e)) return;
    t->keys.lost = true;
    tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "out of memory: keys, or a paste, were lost");
}

static void to_line(tui *t, const struct decoder_event *e);

static void mouse(tui *t, const struct decoder_event *e)
{
    bool click = e->mouse == DECODER_PRESS && e->button == 1;
    t->face.dirty = t->face.urgent = true;
    tui_keys_input(t); /* what was typed before it */
    if (click) tui_view_draw(t); /* so that items stand where they are drawn */
    if (t->lists.popup.kind) {
        mouse_in_popup(t, e);
        return;
    }
    if (click && tui_palette_click(&t->lists.palette, screen_item_at(t->face.screen, &t->face.view, e->row))) {
        const struct decoder_event enter = {.kind = DECODER_BYTES, .time_ns = e->time_ns, .data = "\r", .length = 1};
        to_line(t, &enter);
        return;
    }
    if (e->mouse == DECODER_WHEEL && (e->button == 1 || e->button == -1))
        tui_transcript_act(t, e->button > 0 ? ACTION_LINE_DOWN : ACTION_LINE_UP, 3);
    struct transcript *transcript = screen_transcript(t->face.screen);
    if (click && t->lists.browse.on) {
        uint64_t id = transcript_turn_at(transcript, e->row);
        if (id) transcript_mark(transcript, id);
    } else if (click && on_chips(t, e->row)) {
        tui_dispatch(t, tui_action_key(ACTION_ATTACHMENTS, 1));
    } else if (click) {
        size_t at = screen_draft_at(t->face.screen, &t->face.view, e->row, e->column);
        if (at != SIZE_MAX) input_set_cursor(t->keys.input, at);
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

/* The line is the input's; while it begins a command the palette has some of the keys. */
static void follow_line(tui *t)
{
    struct input_view in;
    input_view(t->keys.input, clock_ns(), &in);
    tui_palette_follow(&t->lists.palette, &in, &commands_completer, getenv("HOME"));
}

static void take_from_palette(tui *t, bool runs, int64_t now)
{
    struct input_view in;
    size_t cursor;
    input_view(t->keys.input, now, &in);
    char *line = tui_palette_take(&t->lists.palette, &in, &cursor);
    if (!line) return;
    input_close_top(t->keys.input);
    input_replace(t->keys.input, line);
    input_set_cursor(t->keys.input, cursor);
    free(line);
    const struct decoder_event enter = {.kind = DECODER_BYTES, .time_ns = now, .data = "\r", .length = 1};
    if (runs) tui_palette_close(&t->lists.palette);
    if (runs) feed(t, &enter);
}

static void owned_event(tui *t, const struct decoder_event *e)
{
    if (t->lists.popup.kind)
        to_popup(t, e);
    else if (t->lists.browse.on)
        tui_dispatch(t, tui_browse_event(&t->lists.browse, e));
    else
        feed(t, e);
}

static void to_line(tui *t, const struct decoder_event *e)
{
    struct input_view in;
    tui_keys_input(t);
    if (t->lists.popup.kind || t->lists.browse.on) {
        owned_event(t, e);
        return;
    }
    input_view(t->keys.input, e->time_ns, &in);
    tui_palette_result r = tui_palette_event(&t->lists.palette, screen_popup_page(t->face.screen), &in, e);
    if (r == TUI_PALETTE_NOT_MINE)
        feed(t, e);
    else if (r != TUI_PALETTE_MOVED)
        take_from_palette(t, r == TUI_PALETTE_RUNS, e->time_ns);
    t->face.dirty = t->face.urgent = true;
    if (t->lists.palette.dismissed) input_close_top(t->keys.input);
    tui_keys_input(t);
}

/* Keys of a line that is, or may now become, a command go one by one: each changes what the next one means. */
static bool has_palette(const tui *t, const struct decoder_event *e)
{
    struct input_view in;
    enum { TYPED_MAX = 64 }; /* more at once is a paste */
    if (e->kind == DECODER_PASTE || (e->kind == DECODER_BYTES && e->length > TYPED_MAX)) return false;
    input_view(t->keys.input, e->time_ns, &in);
    bool begins = !in.length && e->kind == DECODER_BYTES && e->data[0] == '/';
    return t->lists.palette.kind || begins || (in.is_draft && !in.pasted && in.text[0] == '/');
}

/* Esc first closes what is open in the input, and then takes back a command that waits to leave. */
static void stay(tui *t)
{
    if (!input_close_top(t->keys.input)) tui_leave_end(&t->jobs.leave, &t->notices);
    t->face.dirty = t->face.urgent = true;
}

/* Esc on the empty draft leaves a view that has taken the conversation's place: several answers, the monitor's full
 * form. */
static bool leaves_view(tui *t, const struct decoder_event *e)
{
    struct input_view in;
    if (e->kind != DECODER_ESC) return false;
    input_view(t->keys.input, e->time_ns, &in);
    if (in.length || !in.is_draft || in.prefix || in.list || in.ask || t->face.view.draft.queued) return false;
    bool full = t->monitor.form == VIEW_FORM_FULL && !t->monitor.inspect;
    bool taken = tui_turns_take(t);
    if (!taken && !full) return false;
    if (!taken) t->monitor.form = VIEW_FORM_AUTO;
    t->face.dirty = t->face.urgent = true;
    return true;
}

void tui_keys_event(tui *t, const struct decoder_event *e)
{
    bool typed =
        e->kind == DECODER_BYTES || e->kind == DECODER_KEY || e->kind == DECODER_ESC || e->kind == DECODER_PASTE;
    if (e->kind == DECODER_ANSWER) {
        answer(t, e);
        return;
    }
    t->keys.typed_ns = e->time_ns;
    task_cancel(&t->jobs.choosing.task);
    if (t->lists.popup.list != &t->lists.models) task_cancel(&t->jobs.measuring.task); /* the list waits for it */
    if (e->kind == DECODER_MOUSE) {
        if (!t->demo) mouse(t, e); /* what stands behind the demo isn't seen */
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
    if (e->kind == DECODER_PASTE && e->more)
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "paste: its end didn't come; what came of it is kept");
    tui_action of_cursor = tui_monitor_event(&t->monitor, e);
    if (t->lists.popup.kind || t->lists.browse.on)
        each_byte(t, e, owned_event);
    else if (of_cursor.kind) tui_dispatch(t, of_cursor);
    else if (e->kind == DECODER_ESC && t->jobs.leave.waits)
        stay(t);
    else if (leaves_view(t, e))
        return;
    else if (e->kind == DECODER_PASTE && tui_attach_dropped(t, e->data, e->length))
        return;
    else if (has_palette(t, e))
        each_byte(t, e, to_line);
    else
        feed(t, e);
}

static bool keys_go_to_a_list(const tui *t)
{
    return t->lists.popup.kind || t->lists.browse.on;
}

void tui_keys_input(tui *t)
{
    struct input_action a;
    struct decoder_event e;
    /* While an editor or the copy view has the screen, what was typed before it waits. */
    while (!t->quit && !t->face.away && input_next_action(t->keys.input, &a)) {
        tui_dispatch(t, tui_draft_act(t, &a));
        t->face.dirty = t->face.urgent = true;
        /* The keys may belong to another part now: then what is queued still is for that part, until it gives them
         * back. */
        while (!t->quit && !t->face.away && keys_go_to_a_list(t) && input_unread(t->keys.input, &e))
            tui_keys_event(t, &e);
    }
    follow_line(t);
    tui_draft_tell(t);
}
