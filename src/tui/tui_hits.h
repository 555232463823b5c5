/* What /search found in all saved sessions, a row a message: Enter opens that session there. It opens over the
 * transcript as a popup and has the keys then. Messages have no names, and none is deleted here. */
#ifndef TANDEM_SRC_TUI_HITS_H
#define TANDEM_SRC_TUI_HITS_H

#include "src/session/store.h"
#include "src/tui/tui_action.h"
#include "src/tui/tui_page.h"
#include "ui/draw/view.h"
#include "ui/terminal/decoder.h"

enum { TUI_HITS_ROW = 400, TUI_HITS_MOST = 1000 };

typedef struct {
    char id[40];  /* of the session */
    int node;     /* of the message in it */
    char session[80], text[TUI_HITS_ROW];
} tui_hit;

/* Zeroed: nothing was searched for. */
typedef struct {
    char words[256];
    tui_hit *all;
    size_t n, found; /* those that are kept, and all */
    tui_list choice;
    bool by_session; /* the order; else as they were found */
    tui_page page;
    char note[80];
} tui_hits;

/* Searches. TDM_E_NOT_FOUND: no message holds the words. */
tdm_status tui_hits_open(tui_hits *h, const char *words, tdm_error *err);
/* rows: how many are seen at once. *closes: the list is to be closed. */
tui_action tui_hits_event(tui_hits *h, int rows, const struct decoder_event *e, bool *closes);
/* cols: of the popup's rows. What v points to lives until the next call. */
void tui_hits_fill(tui_hits *h, int cols, struct view_popup *v);
void tui_hits_close(tui_hits *h);

#endif
