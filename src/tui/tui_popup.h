/* What opens over the transcript: pages, the lists of sessions and models, the search prompt. An open
 * one owns the keys; what it can't do itself it returns as an action. The menu behind Ctrl-X and completion lists
 * belong to the input and are only shown from here. */
#ifndef TANDEM_SRC_TUI_POPUP_H
#define TANDEM_SRC_TUI_POPUP_H

#include "src/tui/tui_action.h"
#include "src/tui/tui_attached.h"
#include "src/tui/tui_branches.h"
#include "src/tui/tui_hits.h"
#include "src/tui/tui_models.h"
#include "src/tui/tui_prompts.h"
#include "src/tui/tui_saved.h"
#include "ui/draw/view.h"
#include "ui/edit/input.h"
#include "ui/terminal/decoder.h"

typedef enum {
    TUI_POPUP_NONE, TUI_POPUP_PAGE, TUI_POPUP_FIND, TUI_POPUP_CONSENT,
    /* lists */
    TUI_POPUP_MODELS, TUI_POPUP_SAVED, TUI_POPUP_HITS, TUI_POPUP_ATTACHED, TUI_POPUP_BRANCHES, TUI_POPUP_PROMPTS
} tui_popup_kind;

/* Zeroed: closed. */
typedef struct {
    tui_popup_kind kind; /* NONE: closed */
    char *title;
    struct view_item *items; /* their strings are owned */
    size_t n, room, selected;
    char *page;              /* a page's text, laid out in items for `laid_out` columns; NULL: the table of keys */
    int laid_out;
    char input[256];
    size_t input_n;
    int direction;           /* of a search */
    int64_t other_key_ns;    /* when a key came to the question that does not answer it; 0: none did */
    tui_models *models;      /* the list, which outlives the popup */
    tui_saved *saved;        /* the same */
    tui_hits *hits;          /* the same */
    tui_attached *attached;  /* the same */
    tui_branches *branches;  /* the same */
    tui_prompts *prompts;    /* the same */
    int table_cols;          /* of its rows */
    int cols;                /* of a page's text; it outlives what is open */
} tui_popup;

void tui_popup_close(tui_popup *p);
/* Opens a page of lines; long ones are broken. */
void tui_popup_page(tui_popup *p, const char *title, const char *text);
/* Opens the table of keys. */
void tui_popup_keys(tui_popup *p);
/* Shows the list of sessions, which has the keys then. */
void tui_popup_saved(tui_popup *p, tui_saved *saved);
/* Shows what /search found. */
void tui_popup_hits(tui_popup *p, tui_hits *hits);
/* Shows what is attached. */
void tui_popup_attached(tui_popup *p, tui_attached *attached);
/* Shows the conversation's branches. */
void tui_popup_branches(tui_popup *p, tui_branches *branches);
/* Shows the prompt library. */
void tui_popup_prompts(tui_popup *p, tui_prompts *prompts);
/* Shows the list of models, which has the keys then. */
void tui_popup_models(tui_popup *p, tui_models *models);
/* Opens the search prompt; a negative direction searches up. */
void tui_popup_find(tui_popup *p, int direction);
/* Asks whether this may be sent to a server; what is answered is TUI_ACTION_CONSENT. */
void tui_popup_consent(tui_popup *p, const char *title, const char *question, const char *yes, const char *no);
/* rows: how many of a page are seen at once. */
tui_action tui_popup_event(tui_popup *p, int rows, const struct decoder_event *e);
/* Fits an open page to a width. */
void tui_popup_fit(tui_popup *p, int cols);
void tui_popup_fill(const tui_popup *p, const struct input_view *in, struct view_popup *v);

#endif
