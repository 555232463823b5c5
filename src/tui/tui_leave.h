/* A command that leaves the conversation (/new, /resume, /visit) while its message is still being read: it is done once
 * the reply begins, or the turn ends without one, unless it is taken back before. */
#ifndef TANDEM_SRC_TUI_LEAVE_H
#define TANDEM_SRC_TUI_LEAVE_H

#include "src/tui/tui_action.h"
#include "src/tui/tui_notices.h"

/* Zeroed: none waits. Only tui_leave.c changes it. */
typedef struct {
    bool waits;
    slash_id command;
    char *argument; /* NULL: none */
} tui_leave;

/* The command waits, in place of one that does already; a notice says so as long as it does. */
void tui_leave_begin(tui_leave *l, const slash_call *call, tui_notices *notices);
/* It is taken back: one stays. False: none waits. */
bool tui_leave_end(tui_leave *l, tui_notices *notices);
/* The command that has waited, if it need not any longer: phase is that of the conversation in front. */
tui_action tui_leave_take(tui_leave *l, tdm_phase phase, tui_notices *notices);
void tui_leave_free(tui_leave *l);

#endif
