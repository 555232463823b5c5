#include "src/tui/leave.h"

#include <stdlib.h>
#include <string.h>

static const char promise[] = "leaves once the reply begins; Esc keeps you here";

void tui_leave_begin(tui_leave *l, const slash_call *call, tui_notices *notices)
{
    char *argument = call->argument ? strdup(call->argument) : NULL;
    tui_leave_end(l, notices);
    if (call->argument && !argument) {
        tui_notices_add(notices, VIEW_NOTICE_ERROR, "out of memory");
        return;
    }
    *l = (tui_leave){.waits = true, .command = call->id, .argument = argument};
    tui_notices_add(notices, VIEW_NOTICE_INFO, "%s", promise);
    tui_notices_limit_last(notices, INT64_MAX);
}

bool tui_leave_end(tui_leave *l, tui_notices *notices)
{
    bool waited = l->waits;
    if (waited) tui_notices_end_text(notices, promise);
    tui_leave_free(l);
    return waited;
}

tui_action tui_leave_take(tui_leave *l, tdm_phase phase, tui_notices *notices)
{
    if (!l->waits || phase == TDM_PHASE_READING) return (tui_action){0};
    tui_action action = tui_action_command(l->command, l->argument);
    tui_leave_end(l, notices);
    return action;
}

void tui_leave_free(tui_leave *l)
{
    free(l->argument);
    *l = (tui_leave){0};
}
