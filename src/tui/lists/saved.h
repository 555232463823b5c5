/* The list of saved sessions, or of those in the trash: to resume, rename, delete and bring back. It opens over the
 * transcript as a popup and gets the keys; it returns an action for work of others. */
#ifndef TANDEM_SRC_TUI_SAVED_H
#define TANDEM_SRC_TUI_SAVED_H

#include "src/session/store.h"
#include "src/tui/action.h"
#include "src/tui/lists/list.h"
#include "ui/draw/view.h"
#include "ui/keys/decoder.h"

/* Zeroed: never opened. */
typedef struct {
    tui_list choice;
    bool trash;           /* it lists the trash */
    char open_id[40];     /* of the session that is open; "": none */
    char background_id[40]; /* of the one that was left while it was answered; "": none */
    bool answers;         /* that one is still being answered */
    store_entry *all;
    int n;
    store_listing *shown; /* gets the listed entries, whose numbers commands accept; the owner's */
    char deleted[40];     /* the session that `u` brings back; "": none */
    char preview_id[40];  /* the session of the preview */
    char preview[2][TUI_LIST_ROW];
    char question[300];
} tui_saved;

/* Reads the sessions. TDM_E_NOT_FOUND: there are none. open_id may be NULL. */
tdm_status tui_saved_open(tui_saved *s, bool trash, const char *open_id, store_listing *shown, tdm_error *err);
/* Sets the session that was left while it was answered (NULL: none), and whether it still is. */
void tui_saved_tell(tui_saved *s, const char *background_id, bool answers);
/* The owner is a tui_saved; the second one is for one that was opened with `trash`. */
extern const tui_list_kind tui_saved_list, tui_trash_list;
void tui_saved_close(tui_saved *s);

#endif
