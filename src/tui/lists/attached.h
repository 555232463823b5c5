/* The list of attachments, which go before the next message: to view them, to remove them, to read them again. It opens
 * over the transcript as a popup and gets the keys; it returns an action for work of others. */
#ifndef TANDEM_SRC_TUI_ATTACHED_H
#define TANDEM_SRC_TUI_ATTACHED_H

#include "src/attach/mentions.h"
#include "src/tui/action.h"
#include "src/tui/lists/list.h"
#include "ui/draw/view.h"
#include "ui/keys/decoder.h"

/* Zeroed: never opened. */
typedef struct {
    tui_list choice;
    attachments *of; /* the app's, as is the next */
    mentions *mentions;
    unsigned revision; /* of the attachments that the rows show */
    attachment *deleted; /* those that `u` restores, the last one first */
    int *places;         /* the number of each before */
    int n_deleted;
    char path[TUI_LIST_ROW];
} tui_attached;

/* TDM_E_NOT_FOUND: nothing is attached. */
tdm_status tui_attached_open(tui_attached *l, attachments *of, mentions *m, tdm_error *err);
extern const tui_list_kind tui_attached_list; /* the owner is a tui_attached */
/* Closes it; deleted attachments can't be restored any more. */
void tui_attached_close(tui_attached *l);

#endif
