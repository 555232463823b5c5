/* The list of what goes before the next message: to look at, to take back, to read again. It opens over the transcript
 * as a popup and has the keys then; what it can't do itself it returns as an action. */
#ifndef TANDEM_SRC_TUI_ATTACHED_H
#define TANDEM_SRC_TUI_ATTACHED_H

#include "src/chat/mentions.h"
#include "src/tui/tui_action.h"
#include "src/tui/tui_list.h"
#include "ui/draw/view.h"
#include "ui/terminal/decoder.h"

enum { TUI_ATTACHED_ROW = 400 };

/* Zeroed: never opened. */
typedef struct {
    attachments *of; /* the app's, as are these */
    mentions *mentions;
    unsigned revision; /* of the rows */
    tui_list choice;
    attachment *deleted; /* what u brings back, the last one first */
    int *places;         /* where each of them stood */
    int n_deleted;
    char said[200], title[TUI_LIST_FILTER + 40];
    char (*rows)[TUI_ATTACHED_ROW];
    struct view_item *items;
    const char *notes[2];
    char path[TUI_ATTACHED_ROW];
} tui_attached;

/* TDM_E_NOT_FOUND: nothing is attached. */
tdm_status tui_attached_open(tui_attached *l, attachments *of, mentions *m, tdm_error *err);
/* rows: how many are seen at once. *closes: the list is to be closed. */
tui_action tui_attached_event(tui_attached *l, int rows, const struct decoder_event *e, bool *closes);
/* cols: of the popup's rows. What v points to lives until the next call. */
void tui_attached_fill(tui_attached *l, int cols, struct view_popup *v);
/* What was deleted is gone then. */
void tui_attached_close(tui_attached *l);

#endif
