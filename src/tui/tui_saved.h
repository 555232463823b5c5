/* The list of saved sessions, or of those in the trash: to resume, rename, delete and bring back. It opens over the
 * transcript as a popup and has the keys then; what it can't do itself it returns as an action. */
#ifndef TANDEM_SRC_TUI_SAVED_H
#define TANDEM_SRC_TUI_SAVED_H

#include "src/session/store.h"
#include "src/tui/tui_action.h"
#include "src/tui/tui_page.h"
#include "ui/draw/view.h"
#include "ui/terminal/decoder.h"

typedef enum { TUI_SAVED_LIST, TUI_SAVED_NAME, TUI_SAVED_DELETE } tui_saved_mode;
typedef enum { TUI_SAVED_BY_DATE, TUI_SAVED_BY_NAME, TUI_SAVED_BY_TURNS, TUI_SAVED_ORDERS } tui_saved_order;

/* Zeroed: never opened. */
typedef struct {
    bool trash;           /* what is listed lies there */
    char open_id[40];     /* of the session that is open; "": none */
    char elsewhere_id[40]; /* of the one that was left while it was answered; "": none */
    bool answers;         /* which is still being answered */
    store_entry *all;
    int n;
    tui_list choice;
    tui_saved_mode mode;
    tui_saved_order order;
    char input[200];      /* a name that is being typed */
    char deleted[40];     /* the session that `u` brings back; "": none */
    char preview_id[40];  /* whose preview this is */
    char preview[2][TUI_PAGE_ROW];
    char question[300];
    tui_page page;
} tui_saved;

/* Reads what there is. TDM_E_NOT_FOUND: there is none. open_id may be NULL. */
tdm_status tui_saved_open(tui_saved *s, bool trash, const char *open_id, tdm_error *err);
/* The session of this id (NULL: none) was left while it was answered, and perhaps still is. */
void tui_saved_tell(tui_saved *s, const char *elsewhere_id, bool answers);
/* rows: how many are seen at once. *closes: the list is to be closed. */
tui_action tui_saved_event(tui_saved *s, int rows, const struct decoder_event *e, bool *closes);
/* cols: of the popup's rows. What v points to lives until the next call. */
void tui_saved_fill(tui_saved *s, int cols, struct view_popup *v);
void tui_saved_close(tui_saved *s);

#endif
