/* The contents of a list in its popup: its rows as text, a title, lines about the selected one. */
#ifndef TANDEM_SRC_TUI_PAGE_H
#define TANDEM_SRC_TUI_PAGE_H

#include "src/tui/lists/list.h"
#include "ui/draw/view.h"

enum { TUI_PAGE_ROW = 600, TUI_PAGE_NOTES = 4 };

/* Zeroed: empty. */
typedef struct {
    char (*rows)[TUI_PAGE_ROW];
    struct view_item *items;
    size_t n, room;
    char title[300];
    char said[500]; /* a line about the last key's effect, or "" */
    const char *notes[TUI_PAGE_NOTES];
    size_t n_notes;
} tui_page;

/* Begins to fill it, with at most this many rows. false: there is no memory for them. */
bool tui_page_begin(tui_page *p, size_t most);
/* The buffer of the next row's text; NULL: there is no room for one more. */
char *tui_page_row(tui_page *p);
/* Adds a line about the selected row; `said` comes first. The text is not copied; NULL and "" are left out. */
void tui_page_note(tui_page *p, const char *text);
/* Shows it with the list's filter; title: without the filter. Memory that v points to is valid until the next call. */
void tui_page_show(tui_page *p, const tui_list *l, const char *title, const char *footer, struct view_popup *v);
/* Asks for a line of text below the rows. */
void tui_page_ask(struct view_popup *v, const char *ask, const char *input);
void tui_page_free(tui_page *p);

/* "2026-11-22 09:12"; 0: "". */
enum { TUI_PAGE_DATE = 40 };
const char *tui_page_date(char out[TUI_PAGE_DATE], int64_t time_s);

#endif
