#include "src/tui/tui_monitor.h"

static void zoom(tui_monitor *m, double factor)
{
    double s = (m->live_s > 0 ? m->live_s : 20) * factor;
    m->live_s = s < 1 ? 1 : s > 60 ? 60 : s;
}

bool tui_monitor_act(tui_monitor *m, enum key_action action, int count)
{
    switch (action) {
    case ACTION_VIEW:
        m->turn_view = !m->turn_view;
        m->view_chosen = true;
        return true;
    case ACTION_HOLD: m->hold = !m->hold; return true;
    case ACTION_ZOOM_IN: zoom(m, 0.5); return true;
    case ACTION_ZOOM_OUT: zoom(m, 2); return true;
    case ACTION_PANEL: m->hidden ^= 1u << (count - 1); return true;
    case ACTION_QUIT: m->form = VIEW_FORM_AUTO; return true;
    default: return false;
    }
}

tui_action tui_monitor_event(const struct decoder_event *e)
{
    enum { CTRL_X = 0x18 }; /* before one of the letters, as the input has it */
    const struct key_row *row = NULL;
    unsigned char byte = e->kind == DECODER_ESC ? 0x1b : e->kind == DECODER_BYTES ? (unsigned char)e->data[0] : 0;
    if (e->kind == DECODER_KEY) row = keys_find_code(KEYS_MONITOR, e->code, e->mods);
    else if (byte) row = keys_find_byte(KEYS_MONITOR, byte);
    if (e->kind == DECODER_KEY && e->code == KEYCODE_F1 + 3) return tui_action_key(ACTION_QUIT, 1);
    if (row) return tui_action_key(row->action, row->action == ACTION_PANEL ? byte - '0' : 1);
    return (tui_action){.kind = byte == CTRL_X ? TUI_ACTION_NONE : TUI_ACTION_STRAY};
}
