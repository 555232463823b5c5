/* The full form where the panel's blocks have no room (`tandem monitor` in a small terminal): the lanes always, then as
 * many rows of figures as there are left. */
#include <stdio.h>
#include <string.h>

#include "ui/draw/layout.h"
#include "ui/monitor/monitor.h"
#include "ui/text/format.h"
#include "ui/text/state.h"

enum { LEAST_ROWS = 10, NAME = 8, SHORT_NAME = 4, WIDE = 40, MOST = 8, ROOM = 100 };

bool compact_is_needed(struct rect area)
{
    return area.cols < LAYOUT_PANEL_COLS || area.rows < LEAST_ROWS;
}

/* "prefill 302 tok/s, busy 10% of the last 20 s" */
static void say_unit(char out[ROOM], const char *name, const struct view_unit *unit, double pace, double busy,
                     const char *span)
{
    char rate[32], percent[FORMAT_SIZE];
    snprintf(out, ROOM, "%-*s%s, busy %s of %s%s", NAME, name, monitor_rate(rate, unit, pace),
             format_percent(percent, busy), strncmp(span, "last", 4) ? "" : "the ", span);
}

/* What is told, the most telling first. */
static int figures(char out[MOST][ROOM], const struct monitor_state *state, const struct view *view,
                   const struct view_monitor *m, bool wide)
{
    char a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE], text[32];
    const struct view_status *s = &view->status;
    int n = 0;
    if (wide) {
        monitor_span_name(text, &state->lanes, m);
        say_unit(out[n++], "prefill", &m->prefill, 0, state->prefill.busy, text);
        say_unit(out[n++], "decode", &m->decode, s->pace, state->decode.busy, text);
    } else {
        snprintf(out[n++], ROOM, "decode %s", monitor_rate(text, &m->decode, s->pace));
        snprintf(out[n++], ROOM, "prefill %s", monitor_rate(text, &m->prefill, 0));
    }
    if (s->ttft.kind != VIEW_TTFT_NONE)
        snprintf(out[n++], ROOM, "%s%s", wide ? "last turn " : "", format_ttft(a, &s->ttft));
    snprintf(out[n++], ROOM, wide ? "context %s of %s" : "ctx %s/%s", format_count(a, s->ctx_used),
             format_count(b, s->ctx_size));
    snprintf(out[n++], ROOM, wide ? "read %s of %s, %s behind" : "read %s/%s", format_count(a, m->follower.read),
             format_count(b, m->follower.target), format_count(c, m->follower.behind));
    if (wide)
        snprintf(out[n++], ROOM, "%d checkpoints, %s of %s", m->follower.checkpoints,
                 format_bytes(a, m->follower.checkpoint_bytes), format_bytes(b, m->follower.checkpoint_budget));
    if (m->power_w.valid) snprintf(out[n++], ROOM, "power %.1f W", m->power_w.value);
    return n;
}

static void title(const struct view *view, const struct view_monitor *m, struct canvas *canvas, int row, int col,
                  int end)
{
    char text[STATE_SIZE];
    if (m->silent_s > 0) {
        canvas_printf(canvas, row, col, end, STYLE_WARN, "no news for %.0f s", m->silent_s);
        return;
    }
    col = canvas_puts(canvas, row, col, end, state_word(text, view), STYLE_STATE);
    canvas_printf(canvas, row, col, end, STYLE_QUIET, "  tandem %d%s%s", m->pid, view->status.model ? "  " : "",
                  view->status.model ? view->status.model : "");
}

void compact_draw(struct monitor_state *state, const struct view *view, const struct view_monitor *m,
                  struct canvas *canvas, struct rect area)
{
    char rows[MOST][ROOM], text[STATE_SIZE];
    bool wide = area.cols >= WIDE;
    int row = area.row, left = area.col, end = area.col + area.cols, last = area.row + area.rows - 1;
    int lane = left + (wide ? NAME : SHORT_NAME);
    const struct lanes *lanes = monitor_lanes(state, view, end - lane);
    title(view, m, canvas, row++, left, end);
    if (area.rows >= LEAST_ROWS) canvas_puts(canvas, row++, left, end, state_sentence(text, view), STYLE_TEXT);
    if (area.rows > 6) {
        if (wide) canvas_puts(canvas, row, left, lane, m->turn_view ? "turn" : "live", STYLE_QUIET);
        monitor_marks(lanes, m->turn_view, canvas, row++, lane, end, "");
    }
    canvas_puts(canvas, row, left, lane, wide ? "prefill" : "pre", STYLE_STATUS);
    monitor_lane(lanes, lanes->prefill, &m->prefill, canvas, row++, lane);
    canvas_puts(canvas, row, left, lane, wide ? "decode" : "dec", STYLE_STATUS);
    monitor_lane(lanes, lanes->decode, &m->decode, canvas, row++, lane);
    for (int i = 0, n = figures(rows, state, view, m, wide); i < n && row < last; i++)
        canvas_puts(canvas, row++, left, end, rows[i], STYLE_STATUS);
    const char *keys = wide ? "q leave  v live/turn  f hold  ? keys" : "q leave  ? keys";
    canvas_puts(canvas, last, left, end, keys, STYLE_QUIET);
}
