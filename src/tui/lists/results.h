/* The results of /search in all saved sessions, a row for each message: Enter opens the session there. It opens over
 * the transcript as a popup and gets the keys. Messages have no names, and none is deleted here. */
#ifndef TANDEM_SRC_TUI_RESULTS_H
#define TANDEM_SRC_TUI_RESULTS_H

#include "src/session/store.h"
#include "src/tui/action.h"
#include "src/tui/lists/list.h"
#include "ui/draw/view.h"
#include "ui/keys/decoder.h"

enum { TUI_RESULTS_ROW = 400, TUI_RESULTS_MAX = 1000 };

typedef struct {
    char id[40];  /* of the session */
    int node;     /* of the message in it */
    char session[80], text[TUI_RESULTS_ROW];
} tui_hit;

/* Zeroed: nothing was searched for. */
typedef struct {
    tui_list choice;
    char words[256], title[280];
    tui_hit *all;
    size_t n, found; /* rows in `all`, and all matches */
    char note[80];
} tui_results;

/* Searches. TDM_E_NOT_FOUND: no message holds the words. */
tdm_status tui_results_open(tui_results *h, const char *words, tdm_error *err);
extern const tui_list_kind tui_results_list; /* the owner is a tui_results */
void tui_results_close(tui_results *h);

#endif
