/* A list to choose from: which of its owner's rows a filter leaves, in which order, and which one is selected. The keys
 * are the same in every list; those that do something to a row are the owner's. */
#ifndef TANDEM_SRC_TUI_LIST_H
#define TANDEM_SRC_TUI_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "src/tui/action.h"
#include "ui/draw/view.h"
#include "ui/keys/decoder.h"

enum { TUI_LIST_FILTER = 200 };

/* Zeroed: no rows, no filter. */
typedef struct {
    size_t *shown, n_shown; /* rows that the filter leaves */
    size_t selected;        /* of those */
    char filter[TUI_LIST_FILTER];
    bool filtering;         /* the filter is being typed */
} tui_list;

/* The owner's rows. `text`: what the filter looks in. `before` may be NULL (their own order): whether row a comes
 * before row b. */
typedef struct {
    size_t n;
    const char *(*text)(const void *owner, size_t row);
    bool (*before)(const void *owner, size_t a, size_t b);
    const void *owner;
} tui_list_rows;

typedef enum {
    TUI_LIST_NOT_MINE, /* the owner's key */
    TUI_LIST_MOVED,
    TUI_LIST_FILTERS,  /* the filter is another one: tui_list_choose() is due */
    TUI_LIST_CLOSES,
} tui_list_result;

/* Chooses the rows that are shown and selects `row`, where that is one of them, else the first. Without memory all
 * stays as it was. */
void tui_list_choose(tui_list *l, const tui_list_rows *rows, size_t row);

/* j k ^N ^P Space b g G, arrows, pages, Home and End move; / begins a filter, Enter ends it and keeps it, Esc takes it
 * away; q, F1, and Esc without a filter close. A mouse event selects: its row is that of the list, from 0. rows: how
 * many are seen at once. */
tui_list_result tui_list_event(tui_list *l, int rows, const struct decoder_event *e);

/* Shows the line of the filter, where it is being typed. */
void tui_list_ask(const tui_list *l, struct view_popup *v);

/* What a list does while it is open in a popup (popup.h); its own file exports one, and says what the owner is. */
typedef struct {
    /* rows: how many are seen at once. *closes, false before: the list is to be closed. */
    tui_action (*event)(void *owner, int rows, const struct decoder_event *e, bool *closes);
    /* cols: of the popup's rows. What v points to lives until the next call. */
    void (*fill)(void *owner, int cols, struct view_popup *v);
    bool (*asks)(const void *owner); /* whether a question is open that y agrees to; NULL: it never asks */
} tui_list_kind;

/* Puts a text into a column of `width`; of a long one the end is left out. Returns the bytes. */
size_t tui_list_cell(char *out, size_t room, const char *text, int width, bool right);
/* Names of files and what they hold are untrusted: control characters become '?', line ends a blank. */
void tui_list_harmless(char *text);

/* The owner's row that is selected; SIZE_MAX: none. */
size_t tui_list_row(const tui_list *l);

/* A line of text that is typed into a panel: what to search for, a filter, a name. What an event does to it, which has
 * `room` bytes and ends with a zero: characters come to its end, Backspace takes the last one, Ctrl-U all; other
 * control characters of a paste are left out. True: Enter was pressed. */
bool tui_line_edit(char *text, size_t room, const struct decoder_event *e);

void tui_list_free(tui_list *l);

#endif
