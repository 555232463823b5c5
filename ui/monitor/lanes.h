/* The lanes of the monitor: the work of each unit during a stretch of time, one letter per column.
 *
 *     h reply and history  d draft  s end of prompt  p prompt
 *     = writes  > to DECODE  ~ helps  . idle  x GPU lost
 *
 * The work with most time in a column wins; a hand-over always shows, and so does the moment in which a unit's GPU was
 * lost; checkpoint and restore are drawn as the dispatch that follows them. A dispatch is often shorter than its
 * column: it shows at least where it begins, and elsewhere work counts threefold against lent and idle time.
 */
#ifndef TANDEM_UI_LANES_H
#define TANDEM_UI_LANES_H

#include "ui/draw/theme.h"
#include "ui/draw/view.h"

enum { LANES_MAX = 400, LANES_ENTERS = 32, LANES_LIVE_S = 20 /* unless zoomed */, LANES_LOST = 'x' };

struct lanes {
    int cols;
    int64_t from_ns, to_ns;
    char prefill[LANES_MAX], decode[LANES_MAX];
    struct lanes_enter {
        int col;
        double ttft_ms; /* negative: awaited */
    } enters[LANES_ENTERS];
    int n_enters;
};

/* The stretch that the monitor shows at now_ns: the last turn, or the live window, whose right edge moves by whole
 * columns, and stops two seconds (rounded up to a column) after the last work. */
void lanes_window(const struct view_monitor *monitor, int64_t now_ns, int cols, int64_t *from_ns, int64_t *to_ns);

/* How a unit spent [from_ns, to_ns), in percent: busy with its own work, with its cores lent, idle. */
struct lanes_share {
    double busy, lent, idle;
};
struct lanes_share lanes_share(const struct view_unit *unit, int64_t from_ns, int64_t to_ns);

/* Fills lanes with cols columns (at most LANES_MAX) of [from_ns, to_ns). */
void lanes_compute(struct lanes *lanes, const struct view_monitor *monitor, int64_t from_ns, int64_t to_ns, int cols);

/* The style of a letter. */
style_t lanes_style(char letter);

#endif
