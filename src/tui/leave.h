/* A command that leaves the conversation (/new, /resume, /visit) while its message is still being read: it is carried
 * out once the reply begins, or the turn ends without one, unless the user takes it back before. */
#ifndef TANDEM_SRC_TUI_LEAVE_H
#define TANDEM_SRC_TUI_LEAVE_H

#include "src/tui/action.h"
#include "src/tui/frame/notices.h"

/* Zeroed: no command waits. Only leave.c changes it. */
typedef struct {
    bool waits;
    slash_id command;
    char *argument; /* NULL: none */
} tui_leave;

/* Makes the command wait, in place of one that waits already; a notice is shown as long as it waits. */
void tui_leave_begin(tui_leave *l, const slash_call *call, tui_notices *notices);
/* Takes the waiting command back, so the conversation stays. False: none waits. */
bool tui_leave_end(tui_leave *l, tui_notices *notices);
/* Returns the waiting command once it need not wait any longer; phase: of the conversation in front. */
tui_action tui_leave_take(tui_leave *l, tdm_phase phase, tui_notices *notices);
void tui_leave_free(tui_leave *l);

#endif
