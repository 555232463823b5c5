/* The monitor's full form: what stands in each of its blocks (ui/monitor/blocks.h says where). A line holds as many of
 * its pieces as fit, the most telling first; no piece is cut. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ui/monitor/blocks.h"
#include "ui/monitor/chart.h"
#include "ui/monitor/graph.h"
#include "ui/monitor/inspect.h"
#include "ui/monitor/legend.h"
#include "ui/monitor/monitor.h"
#include "ui/text/state.h"

enum { HEAD = 9, CHART_MINUTES = 10 };

struct painter {
    struct monitor_state *state;
    const struct view *view;
    const struct view_monitor *m;
    struct canvas *canvas;
    int cols;  /* of the whole form */
    int lanes; /* columns before the lanes */
};

/* ---- A line of pieces ------------------------------------------------------------------------------------------ */

struct line {
    struct canvas *canvas;
    int row, from, col, end;
};

static struct line line_at(const struct painter *p, struct rect at, int row)
{
    return (struct line){p->canvas, at.row + row, at.col, at.col, at.col + at.cols};
}

/* Adds a piece where it fits whole; the first one always goes there. */
static bool add(struct line *l, style_t style, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool add(struct line *l, style_t style, const char *format, ...)
{
    char text[STATE_SIZE];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    int gap = l->col > l->from ? 2 : 0, width = width_text(text, strlen(text));
    if (!width || (gap && l->col + gap + width > l->end)) return false;
    l->col = canvas_puts(l->canvas, l->row, l->col + gap, l->end, text, style);
    return true;
}

/* What is behind it begins at a column of its own. */
static void add_head(struct line *l, const char *name)
{
    canvas_puts(l->canvas, l->row, l->col, l->end, name, STYLE_HEADING);
    l->from = l->col += HEAD;
}

/* ---- Title ----------------------------------------------------------------------------------------------------- */

static void draw_measured(const struct view_monitor *m, struct line *l)
{
    char when[32];
    struct tm tm;
    time_t s = (time_t)m->measured_s;
    if (m->memory_gb_s <= 0) return;
    if (!localtime_r(&s, &tm) || !strftime(when, sizeof when, "%d %b %H:%M", &tm)) when[0] = 0;
    add(l, STYLE_STATUS, "memory %.0f GB/s (%s)", m->memory_gb_s, when);
}

static void draw_title(const struct painter *p, struct rect at)
{
    const struct view_monitor *m = p->m;
    struct line l = line_at(p, at, 0);
    char text[STATE_SIZE];
    if (m->silent_s > 0) {
        add(&l, STYLE_WARN, "no news for %.0f s", m->silent_s);
        add(&l, STYLE_QUIET, "tandem %d", m->pid);
        return;
    }
    if (m->alone) add(&l, STYLE_STATE, "%s", state_word(text, p->view));
    add(&l, m->alone ? STYLE_STATUS : STYLE_STATE, "tandem %d", m->pid);
    if (p->view->status.model) add(&l, STYLE_STATUS, "%s", p->view->status.model);
    const char *pipeline = p->view->status.pipeline;
    if (pipeline && strcmp(pipeline, "tandem")) add(&l, STYLE_WARN, "pipeline %s", pipeline);
    if (m->n_cores) add(&l, STYLE_STATUS, "%zu core%s", m->n_cores, m->n_cores == 1 ? "" : "s");
    draw_measured(m, &l);
    if (m->steal.valid) add(&l, m->steal.value >= 5 ? STYLE_WARN : STYLE_STATUS, "host took %.0f %%", m->steal.value);
    if (m->battery.valid) add(&l, STYLE_STATUS, "battery %.0f %%", m->battery.value);
    if (m->temperature_c.valid) add(&l, STYLE_STATUS, "%.0f C", m->temperature_c.value);
}

static void draw_sentence(const struct painter *p, struct rect at)
{
    char text[STATE_SIZE];
    canvas_puts(p->canvas, at.row, at.col, at.col + at.cols, state_sentence(text, p->view), STYLE_TEXT);
}

/* ---- Lanes ----------------------------------------------------------------------------------------------------- */

static bool is_wide(const struct painter *p) { return p->cols >= BLOCKS_WIDE; } /* the speeds stand beside the lanes */
static bool is_narrow(const struct painter *p) { return p->cols < BLOCKS_NARROW; }

static const struct lanes *lanes_of(const struct painter *p)
{
    return monitor_lanes(p->state, p->view, blocks_lane_cols(p->cols));
}

static bool is_blank(const struct canvas *canvas, int row, int from, int to)
{
    for (int col = from; col < to; col++) {
        const struct canvas_cell *cell = &canvas->cells[row * canvas->cols + col];
        if (cell->n != 1 || cell->point[0] != ' ') return false;
    }
    return true;
}

/* Seconds between two labels of the time axis, which want room. */
static double axis_step(double seconds, int cols)
{
    static const double steps[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60};
    enum { ROOM = 9, STEPS = sizeof steps / sizeof *steps };
    int i = 0;
    while (i < STEPS - 1 && steps[i] * cols < ROOM * seconds) i++;
    return steps[i];
}

/* Marks of Enter first; labels only where these leave room. A turn counts from its beginning, the live window back from
 * now. */
static void draw_axis(const struct painter *p, struct rect at)
{
    const struct lanes *lanes = lanes_of(p);
    bool turn = p->m->turn_view && p->m->turn_start_ns > 0;
    int left = at.col + p->lanes, end = left + lanes->cols, row = at.row;
    double seconds = (double)(lanes->to_ns - lanes->from_ns) / 1e9, step = axis_step(seconds, lanes->cols);
    char name[32], text[16];
    monitor_span_name(name, lanes, p->m);
    if (is_wide(p)) canvas_puts(p->canvas, row, at.col, left, name, STYLE_QUIET);
    else if (!is_narrow(p)) canvas_puts(p->canvas, row, at.col, left, turn ? "turn" : "live", STYLE_QUIET);
    if (!turn) canvas_puts(p->canvas, row, end - 3, end, "now", STYLE_QUIET);
    monitor_marks(lanes, turn, p->canvas, row, left, turn ? end : end - 4, is_wide(p) ? "Enter" : "");
    for (double s = step; s < seconds; s += step) {
        int col = left + (int)lround((turn ? s : seconds - s) / seconds * lanes->cols);
        int n = snprintf(text, sizeof text, "%+.*f", step < 0.1 ? 2 : step < 1, turn ? s : -s);
        if (col - n / 2 > left && col + n < end && is_blank(p->canvas, row, col - n / 2 - 1, col - n / 2 + n + 1))
            canvas_puts(p->canvas, row, col - n / 2, end, text, STYLE_QUIET);
    }
}

/* "302 GFLOP/s = 66% of peak". More than there can be (weights that lie in caches, and noise) is all of it. */
static void add_speed(struct line *l, const struct view_figure *f, const struct view_figure *share, const char *unit,
                      const char *of)
{
    char percent[FORMAT_SIZE];
    if (!f->valid) return;
    if (share->valid && share->value > 100)
        add(l, STYLE_STATUS, "%.*f %s = all of %s", f->value < 9.95, f->value, unit, of);
    else if (share->valid)
        add(l, STYLE_STATUS, "%.*f %s = %s of %s", f->value < 9.95, f->value, unit,
            format_percent(percent, share->value), of);
    else
        add(l, STYLE_STATUS, "%.*f %s", f->value < 9.95, f->value, unit);
}

/* The figures that a server reports of its work, in place of those that are measured here. */
static void add_server(struct line *l, const struct view_server *s, bool prefill)
{
    char a[FORMAT_SIZE], b[FORMAT_SIZE];
    if (prefill && s->cached >= 0 && s->evaluated >= 0)
        add(l, STYLE_STATUS, "%s kept, %s read", format_count(a, s->cached), format_count(b, s->evaluated));
    if (!prefill && s->tok_s > 0) add(l, STYLE_STATUS, "%.0f tok/s by its clock", s->tok_s);
    if (prefill) add(l, STYLE_STATUS, "round trip %s", format_ms(a, s->round_trip_ms));
    add(l, STYLE_QUIET, "%s", s->host);
}

static void draw_lane_figures(const struct painter *p, struct rect at, bool prefill)
{
    const struct view_unit *u = prefill ? &p->m->prefill : &p->m->decode;
    const struct lanes_share *share = prefill ? &p->state->prefill : &p->state->decode;
    struct line l = line_at(p, at, 1);
    char a[FORMAT_SIZE], rate[32];
    l.from = l.col = at.col + p->lanes;
    if (!is_wide(p)) add(&l, STYLE_STATUS, "%s", monitor_rate(rate, u, prefill ? 0 : p->view->status.pace));
    add(&l, STYLE_STATUS, "busy %s", format_percent(a, share->busy));
    if (is_narrow(p)) return;
    if (prefill) add_speed(&l, &u->gflop_s, &u->gflop_share, "GFLOP/s", "peak");
    else add_speed(&l, &u->gb_s, &u->gb_share, "GB/s", "memory speed");
    if (!u->gpu.device && !p->m->server.host) /* they lend nothing */
        add(&l, STYLE_STATUS, "helps %s", format_percent(a, share->lent));
    add(&l, STYLE_STATUS, "idle %s", format_percent(a, share->idle));
    char background[MONITOR_BACKGROUND];
    if (!prefill && p->m->background.writing)
        add(&l, STYLE_STATUS, "%s", monitor_background(background, sizeof background, &p->m->background));
    else if (!prefill && u->kept.valid)
        add(&l, STYLE_STATUS, "%s of its speed kept beside PREFILL", format_percent(a, u->kept.value));
    if (u->gpu.device) add(&l, u->gpu.lost_ns ? STYLE_ERROR : STYLE_QUIET, "%s%s", u->name,
                           u->gpu.lost_ns ? " lost" : "");
    else if (p->m->server.host) add_server(&l, &p->m->server, prefill);
    else if (u->name && u->kind) add(&l, STYLE_QUIET, "%s %s", u->name, u->kind);
}

static void draw_lane(const struct painter *p, struct rect at, bool prefill)
{
    static const char *const names[2][3] = {{"DECODE  writes", "DECODE", "dec"}, {"PREFILL reads", "PREFILL", "pre"}};
    const struct lanes *lanes = lanes_of(p);
    const struct view_unit *u = prefill ? &p->m->prefill : &p->m->decode;
    int left = at.col + p->lanes, form = is_wide(p) ? 0 : is_narrow(p) ? 2 : 1;
    char rate[32];
    canvas_puts(p->canvas, at.row, at.col, left, names[prefill][form], STYLE_STATUS);
    monitor_lane(lanes, prefill ? lanes->prefill : lanes->decode, u, p->canvas, at.row, left);
    if (is_wide(p))
        canvas_printf(p->canvas, at.row, left + lanes->cols, at.col + at.cols, STYLE_STATUS, "%*s", BLOCKS_RATE_COLS,
                      monitor_rate(rate, u, prefill ? 0 : p->view->status.pace));
    if (at.rows > 1) draw_lane_figures(p, at, prefill);
    if (p->m->inspect) {
        int col = left + inspect_column(p->m, lanes);
        canvas_attribute(p->canvas, at.row, col, col + 1, STYLE_REVERSE);
    }
}

static void draw_inspect(const struct painter *p, struct rect at)
{
    static const char *const names[2][3] = {{"INSPECT PREFILL", "PREFILL", "pre"}, {"INSPECT DECODE", "DECODE", "dec"}};
    const struct lanes *lanes = lanes_of(p);
    for (int i = 0; i < 2; i++) {
        char text[INSPECT_SIZE];
        inspect_text(text, p->m, i, lanes, inspect_column(p->m, lanes), at.cols - p->lanes);
        canvas_puts(p->canvas, at.row + i, at.col, at.col + p->lanes, names[i][is_wide(p) ? 0 : is_narrow(p) ? 2 : 1],
                    STYLE_HEADING);
        canvas_puts(p->canvas, at.row + i, at.col + p->lanes, at.col + at.cols, text, STYLE_TEXT);
    }
}

/* ---- Cores ----------------------------------------------------------------------------------------------------- */

static void draw_core(const struct painter *p, const struct view_core *core, int row, int col)
{
    static const char *const units[] = {"", "PREFILL", "DECODE"};
    enum { BAR = 16 };
    style_t style = core->unit == VIEW_CORE_PREFILL  ? STYLE_HISTORY
                    : core->unit == VIEW_CORE_DECODE ? STYLE_DECODE
                                                     : STYLE_STATUS;
    int full = (int)lround(core->busy * BAR / 100), end = col + BLOCKS_CORE_COLS;
    full = full < 0 ? 0 : full > BAR ? BAR : full;
    col = canvas_printf(p->canvas, row, col, end, STYLE_STATUS, "%3d %-8s", core->cpu, units[core->unit]);
    graph_bar(p->canvas, row, col, full, BAR - full, p->view->options.ascii, style);
    col = canvas_printf(p->canvas, row, col + BAR, end, STYLE_STATUS, " %3.0f %%", core->busy);
    if (core->ghz > 0) canvas_printf(p->canvas, row, col, end, STYLE_STATUS, "  %.1f", core->ghz);
}

/* "DECODE 6 cores at 90%, 3.9 GHz": the mean of each unit's. */
static void add_core_means(const struct view_monitor *m, struct line *l)
{
    static const struct {
        enum view_core_unit unit;
        const char *name;
    } kinds[] = {{VIEW_CORE_PREFILL, "PREFILL"}, {VIEW_CORE_DECODE, "DECODE"}, {VIEW_CORE_FREE, "others"}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        double busy = 0, ghz = 0;
        int n = 0;
        char percent[FORMAT_SIZE], frequency[32] = "";
        for (size_t i = 0; i < m->n_cores; i++) {
            if (m->cores[i].unit != kinds[k].unit) continue;
            busy += m->cores[i].busy;
            ghz += m->cores[i].ghz;
            n++;
        }
        if (!n) continue;
        if (ghz > 0) snprintf(frequency, sizeof frequency, ", %.1f GHz", ghz / n);
        add(l, STYLE_STATUS, "%s %d at %s%s", kinds[k].name, n, format_percent(percent, busy / n), frequency);
    }
}

static void draw_cores(const struct painter *p, struct rect at)
{
    int n = (int)p->m->n_cores, side = blocks_side_by_side(at.cols, BLOCKS_CORE_COLS), room = (at.rows - 1) * side;
    int shown = n < room ? n : room, high = (shown + side - 1) / side;
    struct line l = line_at(p, at, 0);
    add_head(&l, "CORES");
    add_core_means(p->m, &l);
    if (shown < n && shown) add(&l, STYLE_QUIET, "%d of %d shown", shown, n);
    for (int i = 0; i < shown; i++)
        draw_core(p, &p->m->cores[i], at.row + 1 + i % high, at.col + i / high * (BLOCKS_CORE_COLS + BLOCKS_GAP));
}

/* ---- GPUs ------------------------------------------------------------------------------------------------------ */

/* The units that have a row: one of two that share a GPU. Returns how many. */
static int gpu_rows(const struct view_monitor *m, const struct view_unit *rows[2])
{
    int n = 0;
    if (m->prefill.gpu.device) rows[n++] = &m->prefill;
    if (m->decode.gpu.device && !m->decode.gpu.shared) rows[n++] = &m->decode;
    return n;
}

static void draw_gpu(const struct painter *p, struct rect at, int row, const struct view_unit *u)
{
    const struct view_gpu *g = &u->gpu;
    struct line l = line_at(p, at, row);
    char text[FORMAT_SIZE];
    bool narrow = is_narrow(p);
    if (!narrow && !row) add_head(&l, "GPU");
    else if (!narrow) l.from = l.col += HEAD;
    if (g->lost_ns) add(&l, STYLE_ERROR, narrow ? "%s lost" : "%s was lost: the cores do its work", u->name);
    else if (narrow) add(&l, STYLE_STATUS, "%s", u->name);
    else if (g->shared) add(&l, STYLE_STATUS, "both share one GPU (%s)", u->name);
    else add(&l, STYLE_STATUS, "%s is %s", u == &p->m->prefill ? "PREFILL" : "DECODE", u->name);
    for (int i = 0; i < FORMAT_GPU_PIECES && !g->lost_ns; i++) add(&l, STYLE_STATUS, "%s", format_gpu(text, g, i));
    if (g->why && !narrow && !g->lost_ns) add(&l, STYLE_QUIET, "no sensors: %s", g->why);
    if (!narrow) add(&l, STYLE_QUIET, "%s", g->device);
}

static void draw_gpus(const struct painter *p, struct rect at)
{
    const struct view_unit *rows[2];
    int n = gpu_rows(p->m, rows);
    for (int i = 0; i < n && i < at.rows; i++) draw_gpu(p, at, i, rows[i]);
}

/* ---- Charts ---------------------------------------------------------------------------------------------------- */

static void draw_speed(const struct painter *p, struct rect at, bool prefill)
{
    const struct view_unit *u = prefill ? &p->m->prefill : &p->m->decode;
    struct chart_series s = {.name = prefill ? "PREFILL tok/s" : "DECODE tok/s",
                             .values = u->speeds,
                             .n = u->n_points,
                             .style = prefill ? STYLE_HISTORY : STYLE_DECODE};
    chart_speed(p->canvas, at, &s, VIEW_CHART_POINTS, CHART_MINUTES);
}

static void draw_shares(const struct painter *p, struct rect at)
{
    const struct view_monitor *m = p->m;
    const struct chart_series s[2] = {
        {"DECODE of memory speed", m->decode.shares, m->decode.n_points, STYLE_DECODE},
        {"PREFILL of peak", m->prefill.shares, m->prefill.n_points, STYLE_HISTORY},
    };
    const char *title = m->memory_gb_s > 0 ? "SHARE of what was measured, 10 min"
                                           : "SHARE: not measured yet";
    chart_shares(p->canvas, at, title, s, VIEW_CHART_POINTS, CHART_MINUTES);
}

static void draw_ttft(const struct painter *p, struct rect at)
{
    const struct view_monitor *m = p->m;
    char warm[FORMAT_SIZE], cold[FORMAT_SIZE], note[128];
    size_t n = 0;
    note[0] = 0;
    if (m->warm.n)
        n = (size_t)snprintf(note, sizeof note, "warm %s (%d)", monitor_median(warm, m->warm.ms), m->warm.n);
    if (m->cold.n)
        snprintf(note + n, sizeof note - n, "%scold %s (%d)", n ? "  " : "", monitor_median(cold, m->cold.ms),
                 m->cold.n);
    chart_turns(p->canvas, at, "TTFT ms by turn, log", note, m->turns, m->n_turns);
}

/* ---- Bars ------------------------------------------------------------------------------------------------------ */

/* A part of a bar, which has a character and a colour of its own. */
struct part {
    const char *name;
    char letter;
    style_t style;
    double size;
    char text[FORMAT_SIZE]; /* the size, as the line below shows it */
};

/* "CONTEXT  [####==......]  1,530 of 32,768"; in the second row what the letters are. */
static void draw_bar(const struct painter *p, struct rect at, const char *name, struct part *parts, int n,
                     const char *sum)
{
    struct line l = line_at(p, at, 0), below = line_at(p, at, 1);
    double all = 0;
    int width = (int)strlen(sum), from = at.col + HEAD + 1, to = at.col + at.cols - width - 3, col = from;
    if (is_narrow(p)) { /* the figures alone */
        add(&l, STYLE_STATUS, "%.3s %s", name, sum);
        return;
    }
    add_head(&l, name);
    canvas_puts(p->canvas, at.row, l.col, l.end, "[", STYLE_RULE);
    for (int i = 0; i < n; i++) {
        if (!(parts[i].size > 0)) parts[i].size = 0; /* the figures may come through a socket: anything is possible */
        all += parts[i].size;
    }
    for (double before = 0; all > 0 && n > 0; before += parts->size, parts++, n--) {
        int end = from + (int)lround((before + parts->size) / all * (to - from));
        for (; col < end && col < to; col++) {
            struct width_glyph glyph = {{(unsigned char)parts->letter}, 1, 1};
            canvas_glyph(p->canvas, at.row, col, to, &glyph, parts->style);
        }
        if (at.rows < 2) continue;
        if (below.col == at.col) below.from = below.col = at.col + HEAD;
        add(&below, parts->style, "%c %s %s", parts->letter, parts->name, parts->text);
    }
    canvas_printf(p->canvas, at.row, to, at.col + at.cols, STYLE_RULE, "]");
    canvas_puts(p->canvas, at.row, to + 3, at.col + at.cols, sum, STYLE_STATUS);
}

static void draw_context(const struct painter *p, struct rect at)
{
    const struct view_monitor *m = p->m;
    const struct view_status *s = &p->view->status;
    int used = s->ctx_used < s->ctx_size ? s->ctx_used : s->ctx_size;
    int kept = m->checkpointed < used ? m->checkpointed : used;
    char a[FORMAT_SIZE], b[FORMAT_SIZE], sum[2 * FORMAT_SIZE];
    struct part parts[] = {{"checkpointed", '#', STYLE_HISTORY, kept, ""},
                           {"this turn", '=', STYLE_DRAFT, used - kept, ""},
                           {"free", '.', STYLE_IDLE, s->ctx_size - used, ""}};
    for (int i = 0; i < 3; i++) format_count(parts[i].text, (int64_t)parts[i].size);
    bool narrow = is_narrow(p);
    snprintf(sum, sizeof sum, narrow ? "%s/%s" : "%s of %s", format_count(a, s->ctx_used),
             format_count(b, s->ctx_size));
    draw_bar(p, at, narrow ? "ctx" : "CONTEXT", parts, 3, sum);
}

static void draw_memory(const struct painter *p, struct rect at)
{
    const struct view_monitor *m = p->m;
    double checkpoints = (double)m->follower.checkpoint_bytes / (1 << 30), states = m->states_gib - checkpoints;
    char sum[96], gone[FORMAT_SIZE];
    if (states < 0) states = 0;
    double others = m->total_gib - m->free_gib - m->weights_gib - states - checkpoints;
    struct part parts[] = {{"weights", '#', STYLE_HISTORY, m->weights_gib, ""},
                           {"states", '=', STYLE_SUFFIX, states, ""},
                           {"checkpoints", '+', STYLE_DRAFT, checkpoints, ""},
                           {"others", '-', STYLE_LENT, others > 0 ? others : 0, ""},
                           {"free", '.', STYLE_IDLE, m->free_gib, ""}};
    for (int i = 0; i < 5; i++)
        snprintf(parts[i].text, FORMAT_SIZE, parts[i].size < 0.095 ? "%.2f" : "%.1f", parts[i].size);
    if (is_narrow(p)) snprintf(sum, sizeof sum, "%.1f free", m->free_gib);
    else if (m->total_gib > 0) snprintf(sum, sizeof sum, "%.1f of %.1f GiB free", m->free_gib, m->total_gib);
    else snprintf(sum, sizeof sum, "%.1f GiB free", m->free_gib);
    size_t n = strlen(sum);
    if (m->given_back && !is_narrow(p))
        snprintf(sum + n, sizeof sum - n, ", short: %s given back", format_bytes(gone, m->given_back));
    draw_bar(p, at, is_narrow(p) ? "mem" : "MEMORY", parts, 5, sum);
}

/* ---- Figures --------------------------------------------------------------------------------------------------- */

static void draw_power(const struct painter *p, struct rect at)
{
    const struct view_monitor *m = p->m;
    struct line l = line_at(p, at, 0), below = line_at(p, at, 1);
    bool narrow = is_narrow(p);
    if (!narrow) add_head(&l, "POWER");
    if (m->power_w.valid) {
        add(&l, STYLE_STATUS, "%.1f W", m->power_w.value);
        if (m->energy_j.valid) add(&l, STYLE_STATUS, "%.2f J a token", m->energy_j.value);
        return;
    }
    char text[160];
    const char *why = m->power_w.why && !narrow ? m->power_w.why : "";
    snprintf(text, sizeof text, "%s%s%s", narrow ? "power n/a" : "n/a", why[0] ? ": " : "", why);
    size_t cut = monitor_broken(text, l.end - l.col);
    add(&l, STYLE_STATUS, "%.*s", (int)cut, text);
    if (at.rows < 2) return;
    below.from = below.col = at.col + HEAD;
    if (m->power_remedy) add(&below, STYLE_QUIET, "%s", m->power_remedy);
    else add(&below, STYLE_STATUS, "%s", text + cut + (text[cut] == ' '));
}

static void draw_read(const struct painter *p, struct rect at)
{
    const struct view_follower *f = &p->m->follower;
    struct line l = line_at(p, at, 0), below = line_at(p, at, 1);
    char a[FORMAT_SIZE], b[FORMAT_SIZE];
    if (is_narrow(p)) {
        add(&l, STYLE_STATUS, "read %s/%s", format_count(a, f->read), format_count(b, f->target));
        return;
    }
    add(&l, STYLE_HEADING, "READ AHEAD");
    add(&l, STYLE_STATUS, "%s of %s", format_count(a, f->read), format_count(b, f->target));
    add(&l, STYLE_STATUS, "%s since Enter", format_count(a, f->ahead));
    add(&l, STYLE_STATUS, "behind %s", format_count(a, f->behind));
    add(&l, STYLE_STATUS, "discarded %s", format_count(a, f->wasted));
    if (at.rows < 2) return;
    add(&below, STYLE_HEADING, "CHECKPOINTS");
    add(&below, STYLE_STATUS, "%s, %s of %s", format_count(a, f->checkpoints), format_bytes(b, f->checkpoint_bytes),
        format_bytes((char[FORMAT_SIZE]){0}, f->checkpoint_budget));
    if (f->replica_bytes) add(&below, STYLE_STATUS, "replica %s", format_bytes(a, f->replica_bytes));
    if (f->handover_ms.valid) add(&below, STYLE_STATUS, "to DECODE %.2f ms", f->handover_ms.value);
}

static void draw_turn(const struct view_monitor_turn *t, struct line *l)
{
    char a[FORMAT_SIZE], text[FORMAT_SIZE];
    add(l, STYLE_STATUS, "%d %s", t->number, format_ttft(text, &t->ttft));
    if (t->in) add(l, STYLE_STATUS, "%s in", format_count(a, t->in));
    if (t->in) add(l, STYLE_STATUS, "%s after Enter", format_count(a, t->after_enter));
    if (t->out) add(l, STYLE_STATUS, "%s out at %s", format_count(a, t->out), format_rate(text, t->tok_s));
    if (t->per_pass > 0) add(l, STYLE_STATUS, "%.1f a pass", t->per_pass);
}

/* The newest first. */
static void draw_turns(const struct painter *p, struct rect at)
{
    const struct view_monitor *m = p->m;
    bool narrow = is_narrow(p);
    int head = narrow ? 0 : HEAD, side = blocks_side_by_side(at.cols, BLOCKS_TURN_COLS), room = at.rows * side;
    int width = (at.cols - head + BLOCKS_GAP) / side - BLOCKS_GAP;
    int shown = (int)m->n_turns < room ? (int)m->n_turns : room;
    if (!narrow) canvas_puts(p->canvas, at.row, at.col, at.col + at.cols, "TURNS", STYLE_HEADING);
    if (!shown) canvas_puts(p->canvas, at.row, at.col + head, at.col + at.cols, narrow ? "" : "none yet", STYLE_QUIET);
    for (int i = 0; i < shown; i++) {
        struct line l = line_at(p, at, i % at.rows);
        l.from = l.col = at.col + head + i / at.rows * (width + BLOCKS_GAP);
        l.end = l.col + width;
        draw_turn(&m->turns[m->n_turns - 1 - (size_t)i], &l);
    }
}

static void draw_keys(const struct painter *p, struct rect at)
{
    struct line l = line_at(p, at, 0);
    static const char *const keys[] = {"q leave", "? keys", "v live/turn", "f hold", "i inspect", "+ - zoom",
                                       "1-6 panels"};
    if (p->m->inspect) {
        add(&l, STYLE_STATE, "inspect");
        add(&l, STYLE_QUIET, "Left Right move");
        add(&l, STYLE_QUIET, "i ends");
        return;
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) add(&l, STYLE_QUIET, "%s", keys[i]);
}

/* ---- All ------------------------------------------------------------------------------------------------------- */

static void draw_block(const struct painter *p, enum block block, struct rect at)
{
    switch (block) {
    case BLOCK_TITLE: draw_title(p, at); break;
    case BLOCK_SENTENCE: draw_sentence(p, at); break;
    case BLOCK_AXIS: draw_axis(p, at); break;
    case BLOCK_PREFILL: draw_lane(p, at, true); break;
    case BLOCK_DECODE: draw_lane(p, at, false); break;
    case BLOCK_INSPECT: draw_inspect(p, at); break;
    case BLOCK_LEGEND: legend_draw(p->canvas, at, legend_lost(p->m), p->m->alone ? NULL : LEGEND_HIDE); break;
    case BLOCK_GPUS: draw_gpus(p, at); break;
    case BLOCK_CORES: draw_cores(p, at); break;
    case BLOCK_PREFILL_SPEED: draw_speed(p, at, true); break;
    case BLOCK_DECODE_SPEED: draw_speed(p, at, false); break;
    case BLOCK_TTFT: draw_ttft(p, at); break;
    case BLOCK_SHARE: draw_shares(p, at); break;
    case BLOCK_CONTEXT: draw_context(p, at); break;
    case BLOCK_MEMORY: draw_memory(p, at); break;
    case BLOCK_POWER: draw_power(p, at); break;
    case BLOCK_READ: draw_read(p, at); break;
    case BLOCK_TURNS: draw_turns(p, at); break;
    case BLOCK_KEYS: draw_keys(p, at); break;
    case BLOCKS: break;
    }
}

void full_draw(struct monitor_state *state, const struct view *view, const struct view_monitor *m,
               struct canvas *canvas, struct rect area, bool beside)
{
    struct rect place[BLOCKS];
    struct painter p = {state, view, m, canvas, area.cols, blocks_lane_left(area.cols)};
    struct blocks_request request = {
        .rows = area.rows,
        .cols = area.cols,
        .cores = (int)m->n_cores,
        .gpus = gpu_rows(m, (const struct view_unit *[2]){0}),
        .turns = (int)m->n_turns,
        .alone = m->alone,
        .beside = beside,
        .inspect = m->inspect,
        .legend = m->legend || m->alone,
        .lost = legend_lost(m),
        .remedy = m->power_remedy && !m->power_w.valid && !m->alone,
        .hidden = m->alone ? m->hidden : 0,
    };
    blocks_place(&request, place);
    lanes_of(&p); /* their window is that of all shares, also where the lanes are hidden */
    for (int b = 0; b < BLOCKS; b++) {
        if (rect_empty(place[b])) continue;
        place[b].row += area.row;
        place[b].col += area.col;
        draw_block(&p, (enum block)b, place[b]);
    }
}
