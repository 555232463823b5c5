/* The one place that carries out actions (action.h). */
#ifndef TANDEM_SRC_TUI_DISPATCH_H
#define TANDEM_SRC_TUI_DISPATCH_H

#include "src/tui/action.h"

typedef struct tui tui;

/* Does an action and what follows from it, and frees it. */
void tui_dispatch(tui *t, tui_action a);

#endif
