/* The monitor: line, strip, panel and full screen.
 *
 * Drawing uses the view alone and never samples. The lanes are renewed at most ten times a second and the figures twice
 * (both once a second without motion), so the monitor_state keeps what was shown between frames.
 */
#ifndef TANDEM_UI_MONITOR_H
#define TANDEM_UI_MONITOR_H

#include "ui/draw/canvas.h"
#include "ui/monitor/lanes.h"
#include "ui/text/format.h"

enum { MONITOR_FIGURES = 48 };

struct monitor_state {
    struct lanes lanes;
    int64_t lanes_ns, figures_ns; /* when they were renewed; 0: never */
    double figures[MONITOR_FIGURES];
    uint32_t shape; /* a bit for each figure that is present */
    bool figures_due; /* they were renewed with this frame */
    struct lanes_share prefill, decode; /* of the stretch that the lanes show */
    bool turn_view;
    double live_s;
    int64_t turn_start_ns;
    bool held;
    int64_t held_from, held_to;
    struct canvas *kept;   /* the full form as it was drawn last; NULL: not drawn yet */
    uint64_t kept_of;      /* a hash of everything else that it depends on, without lanes and figures */
};

/* Frees what a state keeps. */
void monitor_free(struct monitor_state *state);

/* Draws a form into its rectangle, which is blank. */
void monitor_draw(struct monitor_state *state, const struct view *view, enum view_form form, struct canvas *canvas,
                  struct rect area);

/* When the monitor needs to be drawn next, by the view's clock; INT64_MAX: never, since both units are idle. */
int64_t monitor_next_ns(const struct monitor_state *state, const struct view *view, enum view_form form);

/* ---- Used by the forms ---- */

/* The lanes for this many columns, renewed when due; also renews state->prefill and decode. */
const struct lanes *monitor_lanes(struct monitor_state *state, const struct view *view, int cols);

/* Marks of the Enter key at the columns of the lanes that begin at `col`; up to column `end`. stands: the lanes don't
 * move. */
void monitor_marks(const struct lanes *lanes, bool stands, struct canvas *canvas, int row, int col, int end,
                   const char *word);

/* One lane; a failed unit's reason in its place. */
void monitor_lane(const struct lanes *lanes, const char *lane, const struct view_unit *unit, struct canvas *canvas,
                  int row, int col);

/* "last 20 s" or "turn 4.2 s": the stretch of the lanes, to which percentages refer */
void monitor_span_name(char out[32], const struct lanes *lanes, const struct view_monitor *monitor);

/* "31 tok/s" while the unit works, "last 31 tok/s" when it rests, "-" before; pace: limit of the reply's speed, 0:
 * none */
const char *monitor_rate(char out[32], const struct view_unit *unit, double pace);
/* "elsewhere  12 tok/s, 88 tokens, with every pass" */
enum { MONITOR_BACKGROUND = 96 };
const char *monitor_background(char *out, size_t room, const struct view_background *e);

/* Where to break a text of more than `cols` bytes: after the last blank that fits. */
size_t monitor_broken(const char *line, int cols);

/* A rule over the whole width: left text, a line, right text. */
void monitor_rule(const struct view *view, struct canvas *canvas, struct rect row, const char *left, style_t left_style,
                  const char *right);

/* "8.5 ms", "412 ms" */
const char *monitor_median(char out[FORMAT_SIZE], double milliseconds);

/* Panel and full form (ui/monitor/panel.c, full.c). beside: the conversation is shown too, beside or below it. */
void panel_draw(struct monitor_state *state, const struct view *view, const struct view_monitor *monitor,
                struct canvas *canvas, struct rect area);
void full_draw(struct monitor_state *state, const struct view *view, const struct view_monitor *monitor,
               struct canvas *canvas, struct rect area, bool beside);

#endif
