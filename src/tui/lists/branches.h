/* The list of the conversation's branches, a row for each of its ends: Enter goes there. It opens over the transcript
 * as a popup and gets the keys. A session keeps all its branches, and they have no names, so none is deleted or renamed
 * here; the list says so. */
#ifndef TANDEM_SRC_TUI_BRANCHES_H
#define TANDEM_SRC_TUI_BRANCHES_H

#include "src/chat/talk.h"
#include "src/tui/action.h"
#include "src/tui/lists/list.h"
#include "ui/keys/decoder.h"

typedef struct {
    int end;       /* the node at its end */
    bool current;
    int fork;      /* the turn, from 1, at which it last branches off */
    int branch, branches; /* its number there and how many there are, as in /branch N */
    int turns;     /* of the user, from the beginning on */
    int64_t time_s; /* of its end */
    char *words;   /* its first words there, one line */
    char *preview[2]; /* the last message and the last reply, a line each; NULL: there is none */
} tui_branch;

/* Zeroed: never opened. */
typedef struct {
    tui_list choice;
    tui_branch *all;
    size_t n;
} tui_branches;

/* Reads the conversation. TDM_E_NOT_FOUND: it has only one branch. */
tdm_status tui_branches_open(tui_branches *b, const app *a, tdm_error *err);
extern const tui_list_kind tui_branches_list; /* the owner is a tui_branches */
void tui_branches_close(tui_branches *b);

#endif
