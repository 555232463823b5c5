/* A list to choose from: the owner's rows that pass a filter, their order, and the selected one. The keys for moving
 * are the same in every list; the owner handles keys that act on a row. */
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
    size_t *shown, n_shown; /* rows that pass the filter */
    size_t selected;        /* of those */
    char filter[TUI_LIST_FILTER];
    bool filtering;         /* the filter is being typed */
} tui_list;

/* The owner's rows. `text`: the text that is filtered. `before`: whether row a comes before row b; NULL: their own
 * order. */
typedef struct {
    size_t n;
    const char *(*text)(const void *owner, size_t row);
    bool (*before)(const void *owner, size_t a, size_t b);
    const void *owner;
} tui_list_rows;

typedef enum {
    TUI_LIST_NOT_MINE, /* the owner's key */
    TUI_LIST_MOVED,
    TUI_LIST_FILTERS,  /* the filter has changed: call tui_list_choose() */
    TUI_LIST_CLOSES,
} tui_list_result;

/* Chooses the rows that are shown and selects `row` if it is one of them, else the first. Without memory nothing
 * changes. */
void tui_list_choose(tui_list *l, const tui_list_rows *rows, size_t row);

/* j k ^N ^P Space b g G, arrows, pages, Home and End move; / begins a filter, Enter ends its input, Esc removes it; q,
 * F1, and Esc without a filter close. A mouse event selects: its row is that of the list, from 0. rows: how many are
 * seen at once. */
tui_list_result tui_list_event(tui_list *l, int rows, const struct decoder_event *e);

/* Shows the filter's input line while it is being typed. */
void tui_list_ask(const tui_list *l, struct view_popup *v);

/* The functions of a list that is open in a popup (popup.h); each list's file exports one of these, and says what the
 * owner is. */
typedef struct {
    /* rows: how many are seen at once. Sets *closes, false before, to close the list. */
    tui_action (*event)(void *owner, int rows, const struct decoder_event *e, bool *closes);
    /* cols: of the popup's rows. Memory that v points to is valid until the next call. */
    void (*fill)(void *owner, int cols, struct view_popup *v);
    bool (*asks)(const void *owner); /* whether a question is open that `y` confirms; NULL: it never asks */
} tui_list_kind;

/* Puts a text into a column of `width`; of a long one the end is left out. Returns the bytes. */
size_t tui_list_cell(char *out, size_t room, const char *text, int width, bool right);
/* For untrusted names and contents of files: control characters become '?', line ends a blank. */
void tui_list_harmless(char *text);

/* The owner's row that is selected; SIZE_MAX: none. */
size_t tui_list_row(const tui_list *l);

/* Applies an event to a line of text in a panel (a search, a filter, a name) of `room` bytes, zero-terminated:
 * characters are appended, Backspace removes the last one, Ctrl-U all; other control characters of a paste are left
 * out. True: Enter was pressed. */
bool tui_line_edit(char *text, size_t room, const struct decoder_event *e);

void tui_list_free(tui_list *l);

#endif
