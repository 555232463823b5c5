/* The list of the conversation's branches, a row for each of its ends: Enter goes there. It opens over the transcript
 * as a popup and has the keys then. A session keeps all its branches, and they have no names, so none is deleted or
 * renamed here; the list says so. */
#ifndef TANDEM_SRC_TUI_BRANCHES_H
#define TANDEM_SRC_TUI_BRANCHES_H

#include "src/tui/tui_action.h"
#include "src/tui/tui_page.h"
#include "ui/terminal/decoder.h"

typedef struct {
    int end;       /* the node at its end */
    bool current;
    int fork;      /* the turn, from 1, at which it last leaves another one */
    int turns;     /* of the user, from the beginning on */
    int64_t time_s; /* of its end */
    char *words;   /* its first words there, one line */
    char *preview[2]; /* the last message and the last reply, a line each; NULL: there is none */
} tui_branch;

/* Zeroed: never opened. */
typedef struct {
    tui_branch *all;
    size_t n;
    tui_list choice;
    int order;
    tui_page page;
} tui_branches;

/* Looks at the conversation. TDM_E_NOT_FOUND: it has one branch alone. */
tdm_status tui_branches_open(tui_branches *b, const tdm_chat *chat, tdm_error *err);
/* rows: how many are seen at once. *closes: the list is to be closed. */
tui_action tui_branches_event(tui_branches *b, int rows, const struct decoder_event *e, bool *closes);
/* cols: of the popup's rows. What v points to lives until the next call. */
void tui_branches_fill(tui_branches *b, int cols, struct view_popup *v);
void tui_branches_close(tui_branches *b);

#endif
