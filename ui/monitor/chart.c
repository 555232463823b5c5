#include "ui/monitor/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/monitor/graph.h"
#include "ui/text/format.h"

enum { LABEL = 6 /* columns of the vertical axis, its line included */, POINTS = 1024 };

double chart_top(double value)
{
    static const double digits[] = {1, 2, 3, 4, 5, 6, 8};
    for (double ten = 1; ten < 1e12; ten *= 10)
        for (size_t i = 0; i < sizeof digits / sizeof *digits; i++)
            if (digits[i] * ten >= value) return digits[i] * ten;
    return 1e12;
}

static void title_row(struct canvas *canvas, struct rect area, const char *title, const char *note)
{
    int end = area.col + area.cols, col = canvas_puts(canvas, area.row, area.col, end, title, STYLE_HEADING);
    int width = (int)strlen(note);
    if (width && col + 2 + width <= end) canvas_puts(canvas, area.row, end - width, end, note, STYLE_QUIET);
}

/* "  400|" beside the plot's row. */
static void label(struct canvas *canvas, int row, int col, const char *text, char line)
{
    canvas_printf(canvas, row, col, col + LABEL, STYLE_QUIET, "%*.*s%c", LABEL - 1, LABEL - 1, text, line);
}

/* "    0+-10 ------ name ------ -5 ------ now" */
static void time_axis(struct canvas *canvas, int row, struct rect area, const char *zero, const char *name, int minutes)
{
    int left = area.col + LABEL, end = area.col + area.cols, middle = (left + end) / 2;
    char text[16];
    label(canvas, row, area.col, zero, '+');
    canvas_fill(canvas, (struct rect){row, left, 1, end - left}, canvas->ascii ? '-' : 0x2500, STYLE_RULE);
    snprintf(text, sizeof text, "-%d min ", minutes);
    int col = canvas_puts(canvas, row, left, end, text, STYLE_QUIET), width = (int)strlen(name);
    canvas_puts(canvas, row, end - 4, end, " now", STYLE_QUIET);
    if (width && end - 4 - col >= width + 4) { /* the name has the middle */
        canvas_printf(canvas, row, (col + end - 4 - width) / 2 - 1, end, STYLE_TEXT, " %s ", name);
    } else if (!width && middle - 3 > col && middle + 4 < end - 4) {
        snprintf(text, sizeof text, " -%d ", minutes / 2);
        canvas_puts(canvas, row, middle - 2, end, text, STYLE_QUIET);
    }
}

static double value_of(const struct chart_series *s, size_t i)
{
    double v = (double)s->values[i];
    return isfinite(v) && v > 0 ? v : 0;
}

/* The series in the rows [row, row + rows) of a chart. */
static void plot(struct canvas *canvas, struct rect area, int row, int rows, const struct chart_series *s, double top,
                 size_t span)
{
    uint8_t percent[POINTS];
    size_t n = s->n < span ? s->n : span, skip = s->n - n;
    char text[16];
    if (n > POINTS) skip += n - POINTS, n = POINTS;
    for (size_t i = 0; i < n; i++) {
        double v = 100 * value_of(s, skip + i) / top;
        percent[i] = (uint8_t)(v < 100 ? v + 0.5 : 100);
    }
    snprintf(text, sizeof text, "%.0f", top);
    for (int i = 0; i < rows; i++) label(canvas, row + i, area.col, i ? "" : text, '|');
    graph_history(canvas, (struct rect){row, area.col + LABEL, rows, area.cols - LABEL}, percent, n, (int)span,
                  canvas->ascii, s->style);
}

void chart_speed(struct canvas *canvas, struct rect area, const struct chart_series *series, size_t span, int minutes)
{
    double most = 0;
    char title[64];
    for (size_t i = 0; i < series->n; i++)
        if (value_of(series, i) > most) most = value_of(series, i);
    snprintf(title, sizeof title, "%s, %d min", series->name, minutes);
    title_row(canvas, area, title, "");
    plot(canvas, area, area.row + 1, area.rows - 2, series, chart_top(most), span);
    time_axis(canvas, area.row + area.rows - 1, area, "0", "", minutes);
}

void chart_shares(struct canvas *canvas, struct rect area, const char *title, const struct chart_series series[2],
                  size_t span, int minutes)
{
    int upper = (area.rows - 2) / 2, lower = area.rows - 3 - upper, row = area.row + 1;
    title_row(canvas, area, title, "");
    plot(canvas, area, row, upper, &series[0], 100, span);
    time_axis(canvas, row + upper, area, "0 %", series[0].name, minutes);
    plot(canvas, area, row + upper + 1, lower, &series[1], 100, span);
    time_axis(canvas, area.row + area.rows - 1, area, "0 %", series[1].name, minutes);
}

void chart_turns(struct canvas *canvas, struct rect area, const char *title, const char *note,
                 const struct view_monitor_turn *turns, size_t n)
{
    enum { BAR = 3, EACH = 5, LEAST_DECADES = 3 };
    int rows = area.rows - 2, left = area.col + LABEL, end = area.col + area.cols, bottom = area.row + area.rows - 1;
    size_t room = (size_t)(end - left) / EACH, first = n > room ? n - room : 0;
    double decades = LEAST_DECADES;
    char text[32];
    for (size_t i = first; i < n; i++)
        while (turns[i].ttft.ms > pow(10, decades) && decades < 9) decades++;
    title_row(canvas, area, title, note);
    for (int i = 0; i < rows; i++) label(canvas, area.row + 1 + i, area.col, "", '|');
    for (int d = (int)decades; d > 0; d--) { /* the upper end of each; a row that two would share shows the larger */
        int row = bottom - (int)lround(d * rows / decades), above = bottom - (int)lround((d + 1) * rows / decades);
        double ms = pow(10, d);
        if (ms < 1000) snprintf(text, sizeof text, "%.0f", ms);
        else snprintf(text, sizeof text, "%.0f s", ms / 1000);
        if (row != above || d == (int)decades) label(canvas, row, area.col, text, '|');
    }
    label(canvas, bottom, area.col, "1 ms", '+');
    canvas_fill(canvas, (struct rect){bottom, left, 1, end - left}, canvas->ascii ? '-' : 0x2500, STYLE_RULE);
    for (size_t i = first; i < n; i++) {
        const struct view_ttft *t = &turns[i].ttft;
        int col = left + 1 + (int)(i - first) * EACH, high = 1;
        if (t->ms > 1) high = (int)lround(rows * log10(t->ms) / decades);
        high = high < 1 ? 1 : high > rows ? rows : high;
        bool marked = t->mark != VIEW_TTFT_UNMARKED; /* it enters no median */
        style_t style = marked ? STYLE_LENT : t->kind == VIEW_TTFT_WARM ? STYLE_HISTORY : STYLE_DRAFT;
        uint32_t point = canvas->ascii ? (marked ? ':' : '#') : marked ? 0x2591 : 0x2588;
        canvas_fill(canvas, (struct rect){bottom - high, col, high, BAR}, point, style);
        canvas_printf(canvas, bottom, col, end, STYLE_STATUS, "%d%.1s", turns[i].number % 1000,
                      format_ttft_kind(t->kind));
    }
}
