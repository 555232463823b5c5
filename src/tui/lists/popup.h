/* Popups over the transcript: pages, the lists of sessions and models, the search prompt. An open one gets the keys; it
 * returns an action for work of others. The menu of Ctrl-X and completion lists belong to the input and are only drawn
 * from here. */
#ifndef TANDEM_SRC_TUI_POPUP_H
#define TANDEM_SRC_TUI_POPUP_H

#include "src/tui/lists/list.h"
#include "ui/draw/view.h"
#include "ui/edit/input.h"
#include "ui/keys/decoder.h"

typedef enum { TUI_POPUP_NONE, TUI_POPUP_PAGE, TUI_POPUP_FIND, TUI_POPUP_CONSENT, TUI_POPUP_LIST } tui_popup_kind;

/* Zeroed: closed. */
typedef struct {
    tui_popup_kind kind; /* NONE: closed */
    char *title;
    struct view_item *items; /* their strings are owned */
    size_t n, room, selected;
    char *page;              /* a page's text, laid out in items for `laid_out` columns; NULL: the table of keys */
    int laid_out;
    char input[256]; /* a search's words, a page's filter */
    size_t input_n;
    bool filtering;          /* the filter of a page is being typed */
    int direction;           /* of a search */
    int64_t other_key_ns;    /* when a key came that does not answer the question; 0: none did */
    bool seen;               /* the question, also a list's, has been on the screen; keys before that don't count */
    const tui_list_kind *list_kind; /* of a list */
    void *list;                     /* which outlives the popup; NULL: none is open */
    int table_cols;          /* of its rows */
    int cols;                /* of a page's text; kept when the popup closes */
} tui_popup;

void tui_popup_close(tui_popup *p);
/* Opens a page of lines; long ones are broken. */
void tui_popup_page(tui_popup *p, const char *title, const char *text);
/* Opens the table of keys. Pages can be filtered by a text after /. */
void tui_popup_keys(tui_popup *p);
/* Shows a list of this kind, a struct that begins with a tui_list; it then gets the keys. */
void tui_popup_list(tui_popup *p, const tui_list_kind *kind, void *list);
/* Opens the search prompt; a negative direction searches up. */
void tui_popup_find(tui_popup *p, int direction);
/* Asks for consent to send data to a server; the answer is TUI_ACTION_CONSENT. */
void tui_popup_consent(tui_popup *p, const char *title, const char *question, const char *yes, const char *no);
/* rows: how many of a page are seen at once. */
tui_action tui_popup_event(tui_popup *p, int rows, const struct decoder_event *e);
/* Fits an open page to a width. */
void tui_popup_fit(tui_popup *p, int cols);
void tui_popup_fill(const tui_popup *p, const struct input_view *in, struct view_popup *v);

#endif
