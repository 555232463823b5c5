/* How the monitor is shown, and the keys of its cursor while that is over the lanes. Typed characters always go to the
 * draft: the monitor's other keys follow Ctrl-X. */
#ifndef TANDEM_SRC_TUI_MONITOR_H
#define TANDEM_SRC_TUI_MONITOR_H

#include <stdbool.h>
#include <stddef.h>

#include "src/tui/action.h"
#include "ui/draw/view.h"
#include "ui/keys/decoder.h"

/* Zeroed: the state at the start. */
typedef struct {
    enum view_form form; /* the wanted form; the one that fits is drawn */
    bool hold;
    bool no_legend;      /* the user knows what the letters of the lanes mean */
    double live_s;       /* seconds that the lanes show; 0: as many as fit */
    bool turn_view;      /* the lanes show the last turn */
    bool view_chosen;    /* by the user */
    bool inspect;        /* the cursor is shown, in the full form, and the lanes are held */
    int inspect_back;    /* its column, counted from the right */
    enum view_form form_before; /* the form to return to when the cursor goes */
    bool held_before;
    size_t draft_length; /* of the draft when the cursor came: typing ends the cursor */
    char recalled[8];    /* the state that was read from disk at the start */
} tui_monitor;

/* The cursor's action for an event; TUI_ACTION_NONE: the event is for the input. */
tui_action tui_monitor_event(const tui_monitor *m, const struct decoder_event *e);
/* Carries out ACTION_VIEW, _HOLD, _LEGEND, _ZOOM_IN, _ZOOM_OUT, _INSPECT, _INSPECT_LEFT and _INSPECT_RIGHT. drawn: the
 * form on the screen, which is `cols` wide. false: an action of another panel. */
bool tui_monitor_act(tui_monitor *m, enum key_action action, int count, enum view_form drawn, int cols);
/* Called with the draft's length: the cursor goes if the draft was typed in. */
void tui_monitor_drafted(tui_monitor *m, size_t length);

#endif
