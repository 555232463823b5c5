/* The figures of the monitor: sampled from the units' rings and the sensors before a frame, so that drawing never
 * samples. */
#ifndef TANDEM_SRC_TUI_FIGURES_H
#define TANDEM_SRC_TUI_FIGURES_H

#include "engine/tandem.h"
#include "src/watch/sensing.h"
#include "ui/draw/view.h"

typedef struct tui tui;

enum {
    TUI_SPANS = 8192, /* of a unit, as many as the engine keeps */
    TUI_HISTORY_S = 60,
    TUI_ENTERS = 32,
    TUI_MONITOR_TURNS = 64,
};

/* The last turns of the conversation. */
typedef struct {
    struct view_monitor_turn all[TUI_MONITOR_TURNS];
    size_t n;
    int seen; /* since the program began */
} tui_turn_log;

typedef struct {
    struct view_span spans[TDM_UNITS][TUI_SPANS];
    tdm_span raw[TDM_UNITS][TUI_SPANS]; /* of the engine, in the same order */
    size_t n_spans[TDM_UNITS];
    tdm_unit_info unit[TDM_UNITS];
    uint8_t history[TDM_UNITS][TUI_HISTORY_S];
    uint64_t busy_ns[TDM_UNITS]; /* totals at the last second */
    int64_t second_ns;           /* when the last value of the histories was taken */
    float speeds[TDM_UNITS][VIEW_CHART_POINTS], shares[TDM_UNITS][VIEW_CHART_POINTS];
    tdm_unit_info charted[TDM_UNITS]; /* as of the last points of the charts */
    int64_t charted_ns;
    int64_t sampled_ns;
    struct view_enter enters[TUI_ENTERS];
    size_t n_enters;
    tui_turn_log log;
    sensing sensing;
    uint32_t base;       /* the follower's target when the reply began */
    int64_t first_key_ns, turn_start_ns, turn_end_ns;
} tui_figures;

/* Called when a message was sent; when its first character was on the terminal; when its turn has ended. */
void tui_figures_enter(tui *t, int64_t enter_ns);
void tui_figures_glyph(tui *t, double ttft_ms);
void tui_figures_turn(tui *t, const struct view_ttft *ttft, const tdm_turn_stats *stats);
/* Tokens a second of the reply that is being written, else of the last one of this conversation; 0: none. */
double tui_figures_tok_s(const tui *t);
void tui_figures_fill(tui *t, int64_t now_ns);
/* When the sensors are to be read again. */
int64_t tui_figures_deadline(const tui *t, int64_t now_ns);
void tui_figures_free(tui_figures *f);

#endif
