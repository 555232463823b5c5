/* How the monitor is shown, and the keys that it has when it fills the screen. */
#ifndef TANDEM_SRC_TUI_MONITOR_H
#define TANDEM_SRC_TUI_MONITOR_H

#include <stdbool.h>

#include "src/tui/tui_action.h"
#include "ui/draw/view.h"
#include "ui/terminal/decoder.h"

/* Zeroed: as it is at first. */
typedef struct {
    enum view_form form; /* that is wanted; what fits is drawn */
    unsigned hidden;     /* panels, a bit each */
    bool hold;
    double live_s;       /* seconds that the lanes show; 0: as many as fit */
    bool turn_view;      /* the lanes show the last turn */
    bool view_chosen;    /* by the user */
} tui_monitor;

/* Of the full-screen form. */
tui_action tui_monitor_event(const struct decoder_event *e);
/* Does what ACTION_VIEW, _HOLD, _ZOOM_IN, _ZOOM_OUT, _PANEL (count: its number) and _QUIT do to it. false: an action of
 * another panel. */
bool tui_monitor_act(tui_monitor *m, enum key_action action, int count);

#endif
