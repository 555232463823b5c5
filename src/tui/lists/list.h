/* A list to choose from, in a popup: the owner's rows that pass a filter, in an order, one of them selected. What is
 * particular to the owner stands in a table (tui_list_kind): its columns, keys, orders and questions. */
#ifndef TANDEM_SRC_TUI_LIST_H
#define TANDEM_SRC_TUI_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "src/tui/action.h"
#include "ui/draw/view.h"
#include "ui/keys/decoder.h"

enum { TUI_LIST_FILTER = 200, TUI_LIST_ROW = 700, TUI_LIST_NOTES = 4, TUI_LIST_COLUMNS = 8, TUI_LIST_INPUT = 200 };

/* The functions of a kind get the owner, which begins with a tui_list, and a row's number, SIZE_MAX for none.
 *
 * A text of a row: its own, or one that is written to room[TUI_LIST_ROW]. */
typedef const char *(*tui_list_text)(const void *owner, size_t row, char *room);

typedef struct {
    tui_list_text text; /* NULL: it is behind the last one */
    int width;          /* without the gap before it; 0: as wide as its heading and its widest text */
    int gap;
    int rank;      /* 0: it is always there; the others join by rank, up to the first that has no room */
    bool right;    /* at the right of its width */
    bool third;    /* at most a third of the row */
    bool stretches; /* the last one of these that is there gets the columns that are left, or lacks those that miss */
    int shortest, widest; /* of one that stretches, which then is never wider than its widest text; widest 0: any */
    const char *heading;  /* NULL: none */
} tui_list_column;

typedef struct {
    char key;         /* 0: it is behind the last one */
    const char *says; /* what it tells; NULL: nothing */
    tui_action (*act)(void *owner, size_t row);
    bool needs_row;   /* without one it does nothing */
} tui_list_key;

/* `s` goes through them. before: whether row a comes before row b; NULL: the rows' own order. */
typedef struct {
    const char *name; /* NULL: it is behind the last one */
    bool (*before)(const void *owner, size_t a, size_t b);
} tui_list_order;

/* It gets all keys while it is open; Esc, Ctrl-C and Ctrl-G close it. */
typedef struct {
    const char *asks; /* the words before a line that is typed, which Enter ends; NULL: a key answers */
    size_t room;      /* for that line, which is in `input` */
    char yes;         /* the key that answers */
    const char *no;   /* those that mean no; NULL: any other one */
    const char *footer;
    tui_action (*done)(void *owner, size_t row);     /* after Enter or yes; the question is closed */
    void (*back)(void *owner);                       /* after no, which only closes it; NULL: nothing to do */
    void (*fill)(void *owner, struct view_popup *v); /* shows it in place of the list; NULL: below its rows */
} tui_list_question;

/* Zeroed: no rows, no filter. */
typedef struct {
    size_t *shown, n_shown; /* rows that pass the filter */
    size_t selected;        /* of those */
    char filter[TUI_LIST_FILTER];
    bool filtering;         /* the filter is being typed */
    size_t order;           /* of the kind's */
    const tui_list_question *question; /* that is open; NULL: none */
    char input[TUI_LIST_INPUT];
    bool closes;    /* set by a key's function to close the list */
    char said[500]; /* a line about the last key's effect, or "" */
    char (*rows)[TUI_LIST_ROW];
    struct view_item *items;
    size_t room; /* of rows and items */
    int cols;    /* of the rows */
    char header[TUI_LIST_ROW]; /* the headings */
    char title[300];
    const char *notes[TUI_LIST_NOTES];
    size_t n_notes;
} tui_list;

/* What a list is; each list's file exports one. */
typedef struct {
    const char *title;
    const char *(*titled)(const void *owner); /* in place of it; NULL: none */
    const char *footer;
    const char *none, *empty; /* what is said where no row passes the filter, and where there is none; NULL: nothing */
    size_t (*count)(const void *owner);
    tui_list_text filtered; /* the text in which the filter looks */
    tui_list_column columns[TUI_LIST_COLUMNS];
    tui_list_key keys[9];
    tui_list_order orders[4];   /* none: `s` is no key */
    void (*update)(void *owner);            /* before a key and a frame; NULL: nothing to do */
    void (*note)(void *owner, size_t row);  /* adds lines below the rows, after that of `said`; NULL: none */
    void (*adapt)(void *owner, struct view_popup *v); /* changes what is shown; NULL: nothing to do */
    size_t (*home)(const void *owner); /* the row that is selected where none was; NULL: the first */
    bool (*interrupts)(void *owner);   /* Ctrl-C: true: it stopped something, and the list stays; NULL: it closes */
    bool filter_keeps_said, key_keeps_said; /* `said` stays while the filter changes, with a key of no effect */
} tui_list_kind;

/* Handles a key: j k ^N ^P Space b g G, arrows, pages, Home and End move; / begins a filter, Enter ends its input, Esc
 * removes it; s sorts; q, F1, and Esc without a filter close; others are the kind's. A mouse event selects: its row is
 * that of the list, from 0. rows: how many are seen at once. Sets *closes to close the list. */
tui_action tui_list_handle(const tui_list_kind *k, void *owner, int rows, const struct decoder_event *e, bool *closes);
/* cols: of the popup's rows. Memory that v points to is valid until the next call. */
void tui_list_show(const tui_list_kind *k, void *owner, int cols, struct view_popup *v);
/* Whether a question is open that `y` confirms. */
bool tui_list_asks(const void *owner);
/* Chooses the rows that are shown anew and selects `row` (SIZE_MAX: the home row) if it is one of them, else the first.
 * Without memory none is shown. */
void tui_list_renew(const tui_list_kind *k, void *owner, size_t row);
/* Sets the line about the last key's effect; there is no action. */
tui_action tui_list_tell(tui_list *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a line below the rows. The text is not copied; NULL and "" are left out. */
void tui_list_note(tui_list *l, const char *text);
/* By how many rows a key moves in rows of which `rows` are seen at once; 0: it doesn't move. */
long tui_list_motion(const struct decoder_event *e, long rows);

/* Puts a text into a column of `width`; of a long one the end is left out. Returns the bytes. */
size_t tui_list_cell(char *out, size_t room, const char *text, int width, bool right);
/* The row's number, from 1. */
const char *tui_list_number(const void *owner, size_t row, char *room);
/* "2026-11-22 09:12"; 0: "". */
const char *tui_list_date(char room[TUI_LIST_ROW], int64_t time_s);
/* "1 turn ", "12 turns", for a column at the right. */
const char *tui_list_turns(char room[TUI_LIST_ROW], int turns);
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
