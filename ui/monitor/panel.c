/* The panel: its blocks below each other. A block is drawn whole or not at all. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/draw/layout.h"
#include "ui/monitor/legend.h"
#include "ui/monitor/graph.h"
#include "ui/monitor/monitor.h"
#include "ui/text/format.h"
#include "ui/text/state.h"

enum { LANE_NAME = 8, BAR = 10, HISTORY = 11, POWER = 9, SPAN = 60, PARTS = 8, GAP = 3 };

/* Where a block writes: rows are added as it goes. */
struct pen {
    struct monitor_state *state;
    const struct view *view;
    const struct view_monitor *m;
    struct canvas *canvas;
    int row, col, end; /* columns [col, end) */
    int rows;          /* that are left */
};

static void text(struct pen *p, style_t style, const char *line)
{
    canvas_puts(p->canvas, p->row++, p->col, p->end, line, style);
}

static void header(struct pen *p, const char *title)
{
    int col = canvas_puts(p->canvas, p->row, p->col, p->end, title, STYLE_HEADING);
    canvas_fill(p->canvas, (struct rect){p->row, col + 1, 1, p->end - col - 1}, p->view->options.ascii ? '-' : 0x2500,
                STYLE_RULE);
    p->row++;
}

static void units(struct pen *p)
{
    const struct lanes *lanes = monitor_lanes(p->state, p->view, p->end - p->col - LANE_NAME - GAP);
    char name[32];
    int left = p->col + LANE_NAME, right = left + lanes->cols;
    char hints[40];
    int width = snprintf(hints, sizeof hints, "^X v %s  ^X f %s", p->m->turn_view ? "live" : "turn",
                         p->m->hold ? "go on" : "hold");
    monitor_span_name(name, lanes, p->m);
    int col = canvas_puts(p->canvas, p->row, p->col, p->end, "UNITS", STYLE_HEADING);
    canvas_puts(p->canvas, p->row, col + 2, p->end, name, STYLE_QUIET);
    canvas_puts(p->canvas, p->row++, p->end - width, p->end, hints, STYLE_QUIET);
    monitor_marks(lanes, p->m->turn_view, p->canvas, p->row, left, p->m->turn_view ? right : right - 1, "");
    if (!p->m->turn_view) canvas_puts(p->canvas, p->row, right - 1, p->end, "now", STYLE_QUIET);
    p->row++;
    canvas_puts(p->canvas, p->row, p->col, left, "PREFILL", STYLE_STATUS);
    monitor_lane(lanes, lanes->prefill, &p->m->prefill, p->canvas, p->row++, left);
    canvas_puts(p->canvas, p->row, p->col, left, "DECODE", STYLE_STATUS);
    monitor_lane(lanes, lanes->decode, &p->m->decode, p->canvas, p->row++, left);
    if (!p->m->legend) return;
    struct rect at = {p->row, p->col, legend_rows(p->end - p->col, legend_lost(p->m), LEGEND_HIDE),
                      p->end - p->col};
    legend_draw(p->canvas, at, legend_lost(p->m), LEGEND_HIDE);
    p->row += at.rows;
}

/* "302 GFLOP/s = 66% of peak"; as in full.c. */
static void speed(struct pen *p, const struct view_figure *f, const struct view_figure *share, const char *unit,
                  const char *of, int col)
{
    const char *why = share->why ? share->why : "no ceiling";
    char percent[FORMAT_SIZE];
    if (!f->valid) {
        canvas_printf(p->canvas, p->row, col, p->end, STYLE_STATUS, "%s n/a%s%s", unit, f->why ? ": " : "",
                      f->why ? f->why : "");
        return;
    }
    col = canvas_printf(p->canvas, p->row, col, p->end, STYLE_STATUS, f->value < 9.95 ? "%.1f %s" : "%.0f %s", f->value,
                        unit);
    if (share->valid && share->value > 100)
        canvas_printf(p->canvas, p->row, col, p->end, STYLE_STATUS, " = all of %s", of);
    else if (share->valid)
        canvas_printf(p->canvas, p->row, col, p->end, STYLE_STATUS, " = %s of %s",
                      format_percent(percent, share->value), of);
    else
        canvas_printf(p->canvas, p->row, col + 1, p->end, STYLE_QUIET, "%s%s",
                      col + (int)strlen(why) + 8 <= p->end ? "share: " : "", why);
}

/* Of two units that share a GPU the first one has its figures. */
static int gpu_rows(const struct view_unit *u, bool prefill)
{
    return u->gpu.device && !u->gpu.lost_ns && (prefill || !u->gpu.shared) ? 2 : 0;
}

static void gpu(struct pen *p, const struct view_unit *u)
{
    const struct view_gpu *g = &u->gpu;
    char text[FORMAT_SIZE];
    int all = 0, col = p->col, end = p->end, row = p->row + 1, n = 0;
    for (int i = 0; i < FORMAT_GPU_PIECES; i++) all += (int)strlen(format_gpu(text, g, i)) + 2;
    int gap = all - 2 <= end - col ? 2 : 1;
    canvas_printf(p->canvas, p->row, col, end, STYLE_STATUS, "%s%s", g->shared ? "both share one GPU: " : "",
                  g->device);
    for (int i = 0; i < FORMAT_GPU_PIECES; i++) {
        int width = (int)strlen(format_gpu(text, g, i)), at = col + (n ? gap : 0);
        if (!width || at + width > end) continue;
        col = canvas_puts(p->canvas, row, at, end, text, STYLE_STATUS);
        n++;
    }
    if (g->why) canvas_printf(p->canvas, row, col + (n ? 2 : 0), end, STYLE_QUIET, "no sensors: %s", g->why);
    p->row += 2;
}

/* The figures that a server reports, in place of those that are measured here. */
static void server(struct pen *p, bool prefill, int col)
{
    const struct view_server *s = &p->m->server;
    char a[FORMAT_SIZE], b[FORMAT_SIZE];
    if (!prefill && s->tok_s > 0)
        canvas_printf(p->canvas, p->row, col, p->end, STYLE_STATUS, "%.0f tok/s by its clock", s->tok_s);
    else if (prefill && s->evaluated >= 0 && s->cached >= 0)
        canvas_printf(p->canvas, p->row, col, p->end, STYLE_STATUS, "%s kept, %s read", format_count(a, s->cached),
                      format_count(b, s->evaluated));
    else
        canvas_puts(p->canvas, p->row, col, p->end, "it tells no counts", STYLE_QUIET);
    p->row++;
    if (!prefill) return;
    col = canvas_printf(p->canvas, p->row, p->col, p->end, STYLE_STATUS, "%s, round trip %s", s->host,
                        format_ms(a, s->round_trip_ms));
    if (s->rereads) canvas_puts(p->canvas, p->row, col, p->end, ", it reads all again", STYLE_STATUS);
    p->row++;
}

static void unit(struct pen *p, const char *role, const struct view_unit *u, bool prefill)
{
    char line[160], rate[32], window[32], a[FORMAT_SIZE], b[FORMAT_SIZE];
    bool ascii = p->view->options.ascii;
    style_t style = prefill ? STYLE_HISTORY : STYLE_DECODE;
    int cols = p->state->lanes.cols ? p->state->lanes.cols : LANES_MAX; /* their block may be hidden */
    monitor_span_name(window, monitor_lanes(p->state, p->view, cols), p->m);
    const struct lanes_share *share = prefill ? &p->state->prefill : &p->state->decode;
    const char *kind = u->kind && !u->gpu.device && !p->m->server.host ? u->kind : ""; /* else the name says it */
    const char *state = u->failed ? "failed" : u->gpu.lost_ns ? "lost, on the cores" : kind;
    snprintf(line, sizeof line, "%s %s%s%s, %s", role, u->name ? u->name : "", state[0] ? " " : "", state, window);
    header(p, line);
    int full = (int)(share->busy * BAR / 100 + 0.5);
    int col =
        canvas_printf(p->canvas, p->row, p->col, p->end, STYLE_STATUS, "busy %4s  ", format_percent(a, share->busy));
    graph_bar(p->canvas, p->row, col, full, BAR - full, ascii, style);
    col += BAR;
    if (!u->gpu.device && !p->m->server.host) /* they lend nothing */
        col = canvas_printf(p->canvas, p->row, col, p->end, STYLE_STATUS, "  helps %3s",
                            format_percent(a, share->lent));
    canvas_printf(p->canvas, p->row++, col, p->end, STYLE_STATUS, "  idle %3s", format_percent(b, share->idle));
    col = canvas_puts(p->canvas, p->row, p->col, p->end, monitor_rate(rate, u, prefill ? 0 : p->view->status.pace),
                      STYLE_STATUS) + 2;
    if (col < p->col + HISTORY) col = p->col + HISTORY;
    if (p->m->server.host)
        server(p, prefill, col);
    else if (prefill)
        speed(p, &u->gflop_s, &u->gflop_share, "GFLOP/s", "peak", col);
    else
        speed(p, &u->gb_s, &u->gb_share, "GB/s", "limit", col);
    if (!p->m->server.host) p->row++;
    if (!prefill && p->m->background.writing) {
        text(p, STYLE_STATUS, monitor_background(line, sizeof line, &p->m->background));
    } else if (!prefill && !p->m->server.host) {
        if (u->kept.valid)
            snprintf(line, sizeof line, "speed kept beside PREFILL  %s, last 32 tokens",
                     format_percent(a, u->kept.value));
        else
            snprintf(line, sizeof line, "speed kept beside PREFILL  n/a%s%s", u->kept.why ? ": " : "",
                     u->kept.why ? u->kept.why : "");
        text(p, STYLE_STATUS, line);
    }
    canvas_puts(p->canvas, p->row, p->col, p->end, "busy 60s", STYLE_STATUS);
    graph_history(p->canvas, (struct rect){p->row, p->col + HISTORY, 1, p->end - p->col - HISTORY}, u->history,
                  u->n_history, SPAN, ascii, style);
    p->row++;
    if (gpu_rows(u, prefill)) gpu(p, u);
}

static void follower(struct pen *p)
{
    const struct view_follower *f = &p->m->follower;
    char line[160], a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE], d[FORMAT_SIZE], handover[FORMAT_SIZE] = "n/a";
    header(p, "READ AHEAD");
    int n = snprintf(line, sizeof line, "target %s   read %s   %s behind", format_count(a, f->target),
                     format_count(b, f->read - f->adopted), format_count(c, f->behind));
    if (f->adopted) snprintf(line + n, sizeof line - (size_t)n, "   taken over %s", format_count(d, f->adopted));
    text(p, STYLE_STATUS, line);
    if (f->handover_ms.valid) snprintf(handover, sizeof handover, "%.2f ms", f->handover_ms.value);
    snprintf(line, sizeof line, "read ahead %s  discarded %s  hand-over %s", format_count(a, f->ahead),
             format_count(b, f->wasted), handover);
    text(p, STYLE_STATUS, line);
    n = snprintf(line, sizeof line, "checkpoints %s, %s of %s", format_count(a, f->checkpoints),
                 format_bytes(b, f->checkpoint_bytes), format_bytes(c, f->checkpoint_budget));
    if (f->replica_bytes)
        snprintf(line + n, sizeof line - (size_t)n, ", replica %s", format_bytes(d, f->replica_bytes));
    text(p, STYLE_STATUS, line);
}

/* How many turns the block shows in the rows that are left: what comes after it keeps its place where it can. */
static int turns_shown(const struct pen *p)
{
    enum { OTHER = 2, AFTER = 4, FEW = 4 };
    int n = p->rows - OTHER - AFTER;
    if (n < 1) n = p->rows - OTHER < FEW ? p->rows - OTHER : FEW;
    return n < (int)p->m->n_turns ? n : (int)p->m->n_turns;
}

static void turns(struct pen *p)
{
    enum { FIGURES = 19 };
    int n = turns_shown(p);
    char a[FORMAT_SIZE], line[128];
    header(p, "TURNS  Enter to first glyph, log scale");
    for (size_t i = p->m->n_turns - (size_t)(n > 0 ? n : 0); i < p->m->n_turns; i++) {
        const struct view_monitor_turn *t = &p->m->turns[i];
        const char *mark = format_ttft_mark(t->ttft.mark); /* behind the bar */
        /* A decade is 6.6 columns: 1 ms to 15 s fill the panel. */
        int bar = t->ttft.ms > 1 ? (int)lround(0.34 + 6.6 * log10(t->ttft.ms)) : 1;
        int room = p->end - p->col - FIGURES - (mark[0] ? (int)strlen(mark) + 1 : 0);
        if (bar < 1) bar = 1;
        if (bar > room) bar = room;
        canvas_printf(p->canvas, p->row, p->col, p->end, STYLE_STATUS, "%2d %-7s%8s", t->number,
                      format_ttft_kind(t->ttft.kind), format_ms(a, t->ttft.ms));
        style_t style = mark[0] ? STYLE_LENT : t->ttft.kind == VIEW_TTFT_WARM ? STYLE_HISTORY : STYLE_DRAFT;
        canvas_puts(p->canvas, p->row, p->col + FIGURES + bar + 1, p->end, mark, STYLE_QUIET);
        graph_bar(p->canvas, p->row++, p->col + FIGURES, bar, 0, p->view->options.ascii, style);
    }
    size_t at = (size_t)snprintf(line, sizeof line, "median:");
    if (p->m->warm.n)
        at += (size_t)snprintf(line + at, sizeof line - at, " warm %s (%d)", monitor_median(a, p->m->warm.ms),
                               p->m->warm.n);
    if (p->m->cold.n)
        at += (size_t)snprintf(line + at, sizeof line - at, "%s cold %s (%d)", p->m->warm.n ? "  " : "",
                               monitor_median(a, p->m->cold.ms), p->m->cold.n);
    if (!p->m->warm.n && !p->m->cold.n) snprintf(line + at, sizeof line - at, " no warm turn yet");
    text(p, STYLE_STATUS, line);
}

static void context(struct pen *p)
{
    char line[96], a[FORMAT_SIZE], b[FORMAT_SIZE];
    snprintf(line, sizeof line, "CONTEXT  %s of %s", format_count(a, p->view->status.ctx_used),
             format_count(b, p->view->status.ctx_size));
    header(p, line);
}

/* "0.8", "0.04": a small model's weights are not nothing. */
static const char *gib(char out[FORMAT_SIZE], double value)
{
    snprintf(out, FORMAT_SIZE, value >= 0.095 || value < 0.005 ? "%.1f" : "%.2f", value);
    return out;
}

static void memory(struct pen *p)
{
    char line[200], a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE];
    canvas_puts(p->canvas, p->row, p->col, p->end, "MEMORY", STYLE_HEADING);
    gib(a, p->m->weights_gib);
    gib(b, p->m->states_gib);
    gib(c, p->m->free_gib);
    if (p->m->free_gib >= 9.95 && strlen(a) + strlen(b) > 6)
        snprintf(c, sizeof c, "%.0f", p->m->free_gib); /* or it is cut */
    /* While it is short, that comes first: the row may be cut. */
    const char *is_short = p->m->given_back ? "short  " : "";
    snprintf(line, sizeof line, "%sweights %s  states %s  free %s GiB", is_short, a, b, c);
    canvas_puts(p->canvas, p->row++, p->col + POWER, p->end, line, STYLE_STATUS);
}

/* Why there is no power, and what can be done: two rows, the first of which may run over into the second. */
static void no_power(struct pen *p)
{
    const struct view_monitor *m = p->m;
    char line[256];
    int col = p->col + POWER;
    snprintf(line, sizeof line, "n/a%s%s", m->power_w.why ? ": " : "", m->power_w.why ? m->power_w.why : "");
    size_t cut = monitor_broken(line, p->end - col);
    col = canvas_printf(p->canvas, p->row, col, p->end, STYLE_STATUS, "%.*s", (int)cut, line);
    if (m->temperature_c.valid && !line[cut])
        canvas_printf(p->canvas, p->row, col, p->end, STYLE_STATUS, "  %.0f C", m->temperature_c.value);
    p->row++;
    if (m->power_remedy)
        canvas_puts(p->canvas, p->row, p->col + POWER, p->end, m->power_remedy, STYLE_QUIET);
    else
        canvas_puts(p->canvas, p->row, p->col + POWER, p->end, line + cut + (line[cut] == ' '), STYLE_STATUS);
    p->row++;
}

static void power(struct pen *p)
{
    const struct view_monitor *m = p->m;
    int col = p->col + POWER;
    canvas_puts(p->canvas, p->row, p->col, p->end, "POWER", STYLE_HEADING);
    if (!m->power_w.valid) {
        no_power(p);
        return;
    }
    col = canvas_printf(p->canvas, p->row, col, p->end, STYLE_STATUS, "%.1f W", m->power_w.value);
    if (m->temperature_c.valid)
        col = canvas_printf(p->canvas, p->row, col, p->end, STYLE_STATUS, "  %.0f C", m->temperature_c.value);
    if (m->energy_j.valid)
        canvas_printf(p->canvas, p->row, col, p->end, STYLE_STATUS, "  %.2f J per token", m->energy_j.value);
    p->row++;
}

/* Rows of block b, 0 where there is no room even in parts. */
static int block_rows(const struct pen *p, int b)
{
    static const int rows[PARTS] = {4, 4, 5, 4, 0, 1, 1, 2};
    if (b == 0 && p->m->legend) return rows[b] + legend_rows(p->end - p->col, legend_lost(p->m), LEGEND_HIDE);
    if (b == 1) return rows[b] + gpu_rows(&p->m->prefill, true);
    if (b == 2) return rows[b] + gpu_rows(&p->m->decode, false);
    if (b == 4) return p->rows >= 3 || p->m->n_turns == 0 ? 2 + turns_shown(p) : p->rows + 1;
    if (b == 7 && p->m->power_w.valid) return 1;
    return rows[b];
}

static void draw_block(struct pen *p, int b)
{
    switch (b) {
    case 0: units(p); break;
    case 1: unit(p, "PREFILL", &p->m->prefill, true); break;
    case 2: unit(p, "DECODE", &p->m->decode, false); break;
    case 3: follower(p); break;
    case 4: turns(p); break;
    case 5: context(p); break;
    case 6: memory(p); break;
    default: power(p);
    }
}

void panel_draw(struct monitor_state *state, const struct view *view, const struct view_monitor *monitor,
                struct canvas *canvas, struct rect area)
{
    struct pen p = {state, view, monitor, canvas, area.row, area.col, area.col + area.cols, area.rows};
    for (int b = 0; b < PARTS; b++) {
        int rows = block_rows(&p, b);
        if (rows > p.rows) break;
        draw_block(&p, b);
        p.rows -= rows;
    }
}
