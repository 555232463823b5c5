#include "ui/monitor/monitor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/text/format.h"
#include "ui/text/state.h"

static const int64_t ms = 1000000;

/* ---- Pace: what is renewed when ---- */

static int64_t lanes_every(const struct view *view) { return view->options.no_motion ? 1000 * ms : 100 * ms; }
static int64_t figures_every(const struct view *view) { return view->options.no_motion ? 1000 * ms : 500 * ms; }

/* The figures that are shown at a pace of their own. */
static int figures(struct view_monitor *m, double *values[MONITOR_FIGURES], bool *valid[MONITOR_FIGURES])
{
    int n = 0, known = 0;
    struct view_unit *units[2] = {&m->prefill, &m->decode};
    for (int i = 0; i < 2; i++) {
        struct view_unit *u = units[i];
        struct view_figure *rest[] = {&u->tok_s, &u->gb_s, &u->gflop_s, &u->gb_share, &u->gflop_share, &u->kept};
        for (size_t k = 0; k < sizeof rest / sizeof *rest; k++)
            values[n++] = &rest[k]->value, valid[known++] = &rest[k]->valid;
    }
    struct view_figure *rest[] = {&m->follower.handover_ms, &m->power_w, &m->temperature_c, &m->energy_j};
    for (size_t k = 0; k < sizeof rest / sizeof *rest; k++)
        values[n++] = &rest[k]->value, valid[known++] = &rest[k]->valid;
    values[n++] = &m->states_gib;
    values[n++] = &m->free_gib;
    while (known < MONITOR_FIGURES) valid[known++] = NULL;
    return n;
}

/* Which figures are there: one that comes or goes isn't kept waiting. */
static uint32_t shape_of(const struct view_monitor *m, bool *const valid[MONITOR_FIGURES])
{
    uint32_t shape = m->prefill.name != NULL;
    for (int i = 0; i < MONITOR_FIGURES && valid[i]; i++) shape = shape << 1 | *valid[i];
    return shape;
}

/* A copy of the view's monitor whose figures are those that are due. */
static struct view_monitor calmed(struct monitor_state *state, const struct view *view)
{
    struct view_monitor m = view->monitor;
    double *at[MONITOR_FIGURES];
    bool *valid[MONITOR_FIGURES];
    int n = figures(&m, at, valid);
    uint32_t shape = shape_of(&m, valid);
    const double *last = m.decode.resting ? &m.decode.tok_s.value : NULL; /* stands still, and in the status line too */
    bool due = state->figures_ns == 0 || view->now_ns - state->figures_ns >= figures_every(view) ||
               view->now_ns < state->figures_ns || shape != state->shape;
    for (int i = 0; i < n; i++) {
        if (due || state->figures[i] == 0 || at[i] == last) /* a first one needs no pace */
            state->figures[i] = *at[i];
        else
            *at[i] = state->figures[i];
    }
    if (due) state->figures_ns = view->now_ns;
    state->figures_due = due;
    state->shape = shape;
    return m;
}

const struct lanes *monitor_lanes(struct monitor_state *state, const struct view *view, int cols)
{
    const struct view_monitor *m = &view->monitor;
    if (cols > LANES_MAX) cols = LANES_MAX;
    bool other = state->lanes.cols != cols || state->turn_view != m->turn_view || state->live_s != m->live_s ||
                 state->turn_start_ns != m->turn_start_ns;
    bool due = state->lanes_ns == 0 || view->now_ns - state->lanes_ns >= lanes_every(view) ||
               view->now_ns < state->lanes_ns;
    if (m->hold && !state->held) {
        lanes_window(m, view->now_ns, cols, &state->held_from, &state->held_to);
    }
    if (other || (due && !m->hold) || state->held != m->hold) {
        int64_t from, to;
        lanes_window(m, view->now_ns, cols, &from, &to);
        if (m->hold) { /* zooming keeps the right edge */
            from += state->held_to - to;
            to = state->held_to;
        }
        lanes_compute(&state->lanes, m, from, to, cols);
        state->lanes_ns = view->now_ns;
    }
    if (other || state->held != m->hold || state->figures_due) {
        state->prefill = lanes_share(&m->prefill, state->lanes.from_ns, state->lanes.to_ns);
        state->decode = lanes_share(&m->decode, state->lanes.from_ns, state->lanes.to_ns);
    }
    state->held = m->hold;
    state->turn_view = m->turn_view;
    state->live_s = m->live_s;
    state->turn_start_ns = m->turn_start_ns;
    return &state->lanes;
}

int64_t monitor_next_ns(const struct monitor_state *state, const struct view *view, enum view_form form)
{
    const struct view_monitor *m = &view->monitor;
    if (form == VIEW_FORM_OFF) return INT64_MAX;
    int64_t last = 0;
    for (size_t i = 0; i < m->prefill.n_spans; i++)
        if (m->prefill.spans[i].kind != VIEW_K_LENT && m->prefill.spans[i].end_ns > last)
            last = m->prefill.spans[i].end_ns;
    for (size_t i = 0; i < m->decode.n_spans; i++)
        if (m->decode.spans[i].kind != VIEW_K_LENT && m->decode.spans[i].end_ns > last)
            last = m->decode.spans[i].end_ns;
    int64_t column = (state->lanes.to_ns - state->lanes.from_ns) / (state->lanes.cols > 0 ? state->lanes.cols : 1);
    if (view->now_ns > last + 2100 * ms + 2 * column) return INT64_MAX; /* the clock of the lanes stands */
    int64_t lanes = state->lanes_ns + lanes_every(view), figure = state->figures_ns + figures_every(view);
    return lanes < figure ? lanes : figure;
}

/* ---- Pieces ---- */

void monitor_rule(const struct view *view, struct canvas *canvas, struct rect row, const char *left, style_t left_style,
                  const char *right)
{
    int col = row.col, end = row.col + row.cols;
    uint32_t dash = view->options.ascii ? '-' : 0x2500;
    canvas_fill(canvas, (struct rect){row.row, row.col, 1, row.cols}, dash, STYLE_RULE);
    int tail = (int)strlen(right);
    if (left && left[0] && row.cols > 8) {
        int room = end - (tail ? tail + 3 : 3);
        if (room - col < 12) { /* too narrow for both */
            room = end;
            tail = 0;
        }
        canvas_puts(canvas, row.row, col + 2, room, " ", STYLE_RULE);
        col = canvas_puts(canvas, row.row, col + 3, room - 1, left, left_style);
        canvas_puts(canvas, row.row, col, room, " ", STYLE_RULE);
    }
    if (tail && row.cols > tail + 4) canvas_puts(canvas, row.row, end - 2 - tail, end, right, STYLE_QUIET);
}

void monitor_span_name(char out[32], const struct lanes *lanes, const struct view_monitor *monitor)
{
    double s = (double)(lanes->to_ns - lanes->from_ns) / 1e9;
    if (monitor->turn_view && monitor->turn_start_ns > 0)
        snprintf(out, 32, "turn %.1f s", s);
    else
        snprintf(out, 32, s < 9.5 ? "last %.1f s" : "last %.0f s", s);
}

const char *monitor_rate(char out[32], const struct view_unit *unit, double pace)
{
    char rate[FORMAT_SIZE];
    const char *paced = pace > 0 ? "paced " : "", *which = unit->resting ? "last " : paced;
    if (!unit->tok_s.valid)
        snprintf(out, 32, "-");
    else
        snprintf(out, 32, "%s%.20s", which, format_rate(rate, unit->tok_s.value));
    return out;
}

const char *monitor_background(char *out, size_t room, const struct view_background *e)
{
    char rate[FORMAT_SIZE], tokens[FORMAT_SIZE];
    int n = snprintf(out, room, "elsewhere  %s, %s tokens", e->tok_s > 0 ? format_rate(rate, e->tok_s) : "-",
                     format_count(tokens, e->tokens));
    if (n < 0 || (size_t)n >= room || !e->every) return out;
    if (e->every == 1) snprintf(out + n, room - (size_t)n, ", with every pass");
    else snprintf(out + n, room - (size_t)n, ", with 1 pass in %d", e->every);
    return out;
}

const char *monitor_median(char out[FORMAT_SIZE], double milliseconds)
{
    if (milliseconds >= 10) return format_ms(out, milliseconds);
    snprintf(out, FORMAT_SIZE, "%.1f ms", milliseconds);
    return out;
}

size_t monitor_broken(const char *line, int cols)
{
    size_t n = strlen(line), at = (size_t)(cols > 0 ? cols : 0);
    if (n <= at) return n;
    while (at && line[at] != ' ') at--;
    return at ? at : (size_t)cols;
}

void monitor_marks(const struct lanes *lanes, bool stands, struct canvas *canvas, int row, int col, int end,
                   const char *word)
{
    int from = col;
    for (int i = 0; i < lanes->n_enters; i++) {
        const struct lanes_enter *e = &lanes->enters[i];
        int stop = i + 1 < lanes->n_enters ? col + lanes->enters[i + 1].col : end;
        char text[64], n[FORMAT_SIZE] = "";
        if (e->ttft_ms >= 0) format_ms(n, e->ttft_ms);
        int room = stop - col - e->col;
        if (room < 1) continue;
        room -= !stands && stop == end; /* "now" comes next */
        snprintf(text, sizeof text, "|%s%s%s", word, word[0] && n[0] ? " " : "", n);
        if ((int)strlen(text) > room)
            snprintf(text, sizeof text, "|%s", n); /* without the word, then without the figure */
        bool fits = (int)strlen(text) <= room;
        /* In a picture that doesn't move there is room on the other side. */
        int before = col + e->col - (int)strlen(n);
        if (!fits && stands && before > from) canvas_puts(canvas, row, before, col + e->col, n, STYLE_ENTER);
        from = canvas_puts(canvas, row, col + e->col, stop < end ? stop : end, fits ? text : "|", STYLE_ENTER);
    }
}

void monitor_lane(const struct lanes *lanes, const char *lane, const struct view_unit *unit, struct canvas *canvas,
                  int row, int col)
{
    if (unit->failed) {
        canvas_printf(canvas, row, col, col + lanes->cols, STYLE_ERROR, "failed: %s", unit->failed);
        return;
    }
    for (int c = 0; c < lanes->cols; c++) {
        struct width_glyph glyph = {{(unsigned char)lane[c]}, 1, 1};
        canvas_glyph(canvas, row, col + c, col + lanes->cols, &glyph, lanes_style(lane[c]));
    }
}

/* ---- Line and strip ---- */

static void draw_line(struct monitor_state *state, const struct view *view, const struct view_monitor *m,
                      struct canvas *canvas, struct rect area)
{
    /* Everything but the lanes, with room for the figures to grow; what the lanes show. */
    enum { FIGURES = 54, NAME = 12 };
    int each = (area.cols - FIGURES - NAME) / 2, row = area.row, end = area.col + area.cols;
    char n[FORMAT_SIZE], a[FORMAT_SIZE], b[FORMAT_SIZE], name[32];
    if (each < 0) each = 0;
    const struct lanes *lanes = monitor_lanes(state, view, each ? each : 1);
    monitor_span_name(name, lanes, m);
    int col = canvas_printf(canvas, row, area.col, end, STYLE_QUIET, "%s: ", name);
    col = canvas_printf(canvas, row, col, end, STYLE_STATUS, "PREFILL %3s ", format_percent(a, state->prefill.busy));
    if (each) {
        monitor_lane(lanes, lanes->prefill, &m->prefill, canvas, row, col);
        col += each + 2;
    } else {
        col++;
    }
    col = canvas_printf(canvas, row, col, end, STYLE_STATUS, "DECODE %3s ", format_percent(a, state->decode.busy));
    if (each) {
        monitor_lane(lanes, lanes->decode, &m->decode, canvas, row, col);
        col += each + 2;
    } else {
        col++;
    }
    if (m->follower.phase_total > 0)
        col = canvas_printf(canvas, row, col, end, STYLE_STATUS, "read %s/%s  ",
                            format_count(a, m->follower.phase_read), format_count(b, m->follower.phase_total));
    if (view->status.ttft.kind != VIEW_TTFT_NONE)
        canvas_puts(canvas, row, col, end, format_ttft(n, &view->status.ttft), STYLE_STATUS);
}

enum { STRIP_NAME = 14, STRIP_RATE = 17 }; /* columns beside the lanes */

static void strip_lane(const struct lanes *lanes, const char *lane, const char *name,
                       const struct view_unit *unit, double busy, double pace, struct canvas *canvas, int row, int col,
                       int end)
{
    char percent[FORMAT_SIZE], rate[32];
    col = canvas_printf(canvas, row, col, end, STYLE_STATUS, "%-7s %4s  ", name, format_percent(percent, busy));
    monitor_lane(lanes, lane, unit, canvas, row, col);
    col += lanes->cols;
    canvas_printf(canvas, row, col, end, STYLE_STATUS, "%*s", STRIP_RATE, monitor_rate(rate, unit, pace));
}

static void draw_strip(struct monitor_state *state, const struct view *view, const struct view_monitor *m,
                       struct canvas *canvas, struct rect area)
{
    int end = area.col + area.cols, row = area.row, left = area.col + STRIP_NAME;
    char text[STATE_SIZE], name[32];
    const struct lanes *lanes = monitor_lanes(state, view, area.cols - STRIP_NAME - STRIP_RATE);
    monitor_rule(view, canvas, (struct rect){row, area.col, 1, area.cols}, state_sentence(text, view), STYLE_TEXT,
                 m->hold ? " held ^X f " : " ^X m ");
    monitor_span_name(name, lanes, m);
    canvas_puts(canvas, row + 1, area.col, left, name, STYLE_QUIET);
    monitor_marks(lanes, m->turn_view, canvas, row + 1, left, left + lanes->cols, "Enter");
    if (!m->turn_view) canvas_puts(canvas, row + 1, left + lanes->cols + 1, end, "now", STYLE_QUIET);
    strip_lane(lanes, lanes->prefill, "PREFILL", &m->prefill, state->prefill.busy, 0, canvas, row + 2, area.col, end);
    strip_lane(lanes, lanes->decode, "DECODE", &m->decode, state->decode.busy, view->status.pace, canvas, row + 3,
               area.col, end);
}

/* ---- The full form between two paces ---- */

static uint64_t mixed(uint64_t hash, int64_t value)
{
    return (hash ^ (uint64_t)value) * 0x9e3779b97f4a7c15u + (hash >> 29);
}

/* Changes by the user and by the conversation are shown at once. */
static uint64_t picture_of(const struct view *view, struct rect area)
{
    const struct view_monitor *m = &view->monitor;
    const struct view_status *s = &view->status;
    double rate_at_rest = m->decode.resting ? m->decode.tok_s.value : 0;
    const int64_t all[] = {area.row, area.col, area.rows, area.cols, view->options.ascii, (int64_t)view->options.theme,
                           view->options.colours, m->alone, m->hold, m->inspect, m->inspect_back, m->turn_view,
                           (int64_t)(1000 * m->live_s), m->legend, m->hidden, (int64_t)m->silent_s,
                           (int64_t)m->n_turns, (int64_t)m->n_enters, (int64_t)m->n_cores, m->turn_start_ns,
                           m->prefill.name != NULL, m->prefill.resting, m->decode.resting, m->prefill.gpu.lost_ns,
                           m->decode.gpu.lost_ns, (int64_t)(1000 * rate_at_rest), m->measured_s, s->state, s->answered,
                           s->ttft.kind, (int64_t)s->ttft.ms, s->ctx_size, view->draft.mark, view->draft.len > 0,
                           m->n_enters ? (int64_t)m->enters[m->n_enters - 1].ttft_ms : 0};
    uint64_t hash = 1;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hash = mixed(hash, all[i]);
    return hash;
}

static void copy_area(struct canvas *to, struct rect at, const struct canvas *from, int row, int col)
{
    for (int r = 0; r < at.rows; r++)
        memcpy(&to->cells[(at.row + r) * to->cols + at.col], &from->cells[(row + r) * from->cols + col],
               (size_t)at.cols * sizeof *to->cells);
}

/* A frame that came for another reason, such as a token, shows it as it was. */
static bool draw_kept(const struct monitor_state *state, const struct view *view, uint64_t picture,
                      struct canvas *canvas, struct rect area)
{
    int64_t since = view->now_ns - state->lanes_ns;
    bool fits = state->kept && state->kept->rows == area.rows && state->kept->cols == area.cols;
    if (!fits || picture != state->kept_of || since < 0 || since >= lanes_every(view) ||
        view->now_ns - state->figures_ns >= figures_every(view))
        return false;
    copy_area(canvas, area, state->kept, 0, 0);
    return true;
}

static void keep(struct monitor_state *state, uint64_t picture, const struct canvas *canvas, struct rect area)
{
    if (!state->kept) state->kept = canvas_new(area.rows, area.cols);
    struct canvas *k = state->kept;
    if (!k || ((k->rows != area.rows || k->cols != area.cols) && !canvas_resize(k, area.rows, area.cols))) return;
    copy_area(state->kept, (struct rect){0, 0, area.rows, area.cols}, canvas, area.row, area.col);
    state->kept_of = picture;
}

void monitor_free(struct monitor_state *state)
{
    canvas_free(state->kept);
    state->kept = NULL;
}

void monitor_draw(struct monitor_state *state, const struct view *view, enum view_form form, struct canvas *canvas,
                  struct rect area)
{
    enum { LARGE_COLS = 80, LARGE_ROWS = 40 };
    if (form == VIEW_FORM_OFF || rect_empty(area)) return;
    /* Beside text of a limited width: with its charts it fills what would be empty. */
    bool beside = form == VIEW_FORM_PANEL && area.cols >= LARGE_COLS && area.rows >= LARGE_ROWS;
    if (beside) form = VIEW_FORM_FULL;
    uint64_t picture = form == VIEW_FORM_FULL ? picture_of(view, area) : 0;
    if (form == VIEW_FORM_FULL && draw_kept(state, view, picture, canvas, area)) return;
    struct view_monitor m = calmed(state, view);
    switch (form) {
    case VIEW_FORM_LINE: draw_line(state, view, &m, canvas, area); break;
    case VIEW_FORM_STRIP: draw_strip(state, view, &m, canvas, area); break;
    case VIEW_FORM_PANEL: panel_draw(state, view, &m, canvas, area); break;
    default:
        full_draw(state, view, &m, canvas, area, beside);
        keep(state, picture, canvas, area);
    }
}
