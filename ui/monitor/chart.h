/* Charts of the monitor's full form: a title, a plot with labelled axes, in braille dots or in ASCII. A chart fills its
 * area, which is at least CHART_ROWS x CHART_COLS. */
#ifndef TANDEM_UI_CHART_H
#define TANDEM_UI_CHART_H

#include "ui/draw/canvas.h"
#include "ui/draw/view.h"

enum { CHART_ROWS = 6, CHART_COLS = 24 };

/* A series, of which the last `span` values are drawn; missing ones and those that are not finite count as 0. */
struct chart_series {
    const char *name;
    const float *values; /* newest last */
    size_t n;
    style_t style;
};

/* "PREFILL tok/s" over time; the upper end of the axis is the next round number above the largest value.
 * minutes: the time of the whole width. */
void chart_speed(struct canvas *canvas, struct rect area, const struct chart_series *series, size_t span, int minutes);

/* Two series of percentages above each other, each with an axis from 0 to 100. */
void chart_shares(struct canvas *canvas, struct rect area, const char *title, const struct chart_series series[2],
                  size_t span, int minutes);

/* A bar for each of the last turns, on a logarithmic axis of milliseconds; below it number and first letter of the
 * kind ("4w"). note: at the right of the title if there is room. */
void chart_turns(struct canvas *canvas, struct rect area, const char *title, const char *note,
                 const struct view_monitor_turn *turns, size_t n);

/* The smallest of 1, 2, 3, 4, 5, 6, 8, 10, 20, 30 ... that is not below the value. */
double chart_top(double value);

#endif
