#include "src/tui/frame/monitor.h"

#include "ui/monitor/blocks.h"

static void zoom(tui_monitor *m, double factor)
{
    double s = (m->live_s > 0 ? m->live_s : 20) * factor;
    m->live_s = s < 1 ? 1 : s > 60 ? 60 : s;
}

static void inspect(tui_monitor *m, enum view_form drawn)
{
    m->inspect = !m->inspect;
    if (m->inspect) {
        m->form_before = drawn == VIEW_FORM_FULL ? VIEW_FORM_FULL : m->form;
        m->held_before = m->hold;
        m->form = VIEW_FORM_FULL;
        m->hold = true;
        m->inspect_back = 0;
    } else {
        m->form = m->form_before;
        m->hold = m->held_before;
    }
}

bool tui_monitor_act(tui_monitor *m, enum key_action action, int count, enum view_form drawn, int cols)
{
    int left = blocks_lane_cols(cols) - 1 - m->inspect_back;
    switch (action) {
    case ACTION_VIEW:
        m->turn_view = !m->turn_view;
        m->view_chosen = true;
        return true;
    case ACTION_HOLD: m->hold = !m->hold; return true;
    case ACTION_LEGEND: m->no_legend = !m->no_legend; return true;
    case ACTION_ZOOM_IN: zoom(m, 0.5); return true;
    case ACTION_ZOOM_OUT: zoom(m, 2); return true;
    case ACTION_INSPECT: inspect(m, drawn); return true;
    case ACTION_INSPECT_LEFT:
        m->inspect_back += left < count ? left : count;
        return true;
    case ACTION_INSPECT_RIGHT:
        m->inspect_back -= m->inspect_back < count ? m->inspect_back : count;
        return true;
    default: return false;
    }
}

void tui_monitor_drafted(tui_monitor *m, size_t length)
{
    if (m->inspect && length != m->draft_length) inspect(m, VIEW_FORM_FULL);
    m->draft_length = length;
}

tui_action tui_monitor_event(const tui_monitor *m, const struct decoder_event *e)
{
    const struct key_row *row = NULL;
    if (!m->inspect) return (tui_action){0};
    if (e->kind == DECODER_KEY) row = keys_find_code(KEYS_INSPECT, e->code, e->mods);
    else if (e->kind == DECODER_ESC) row = keys_find_byte(KEYS_INSPECT, 0x1b);
    return row ? tui_action_key(row->action, 1) : (tui_action){0};
}
