/* The palette: completions of the beginning of a line. It opens above the input by itself while the name of a command
 * is typed, and after a name with known arguments (sessions, themes, prompts); for files it opens with Tab. Every key
 * filters it. The input owns the line: the palette only returns the completed line. */
#ifndef TANDEM_SRC_TUI_PALETTE_H
#define TANDEM_SRC_TUI_PALETTE_H

#include "src/tui/lists/list.h"
#include "ui/draw/view.h"
#include "ui/edit/input.h"

typedef enum { PALETTE_CLOSED, PALETTE_COMMANDS, PALETTE_ARGUMENT, PALETTE_FILES } tui_palette_kind;

/* Zeroed: closed. */
typedef struct {
    tui_palette_kind kind;
    char *line;       /* the line at the last tui_palette_follow, its cursor, and whether Tab had listed candidates */
    size_t cursor;
    bool listed;
    bool dismissed;   /* closed by Esc, until the line is another command or none */
    bool chosen;      /* the user moved to a row: Enter takes it */
    struct completion found;
    char **rows;      /* as shown, [found.count] */
    int rows_cols;    /* the columns of their layout; 0: not laid out */
    char *before;     /* ARGUMENT: the line up to the candidates, for which they were found */
    struct {
        size_t *shown, n_shown, selected; /* selected SIZE_MAX: none */
    } choice; /* those that match the word, best matches first */
    struct view_item *items;
    char aside[48]; /* "12 of 52" */
} tui_palette;

typedef enum {
    TUI_PALETTE_NOT_MINE, /* the input's key */
    TUI_PALETTE_MOVED,
    TUI_PALETTE_TAKES,    /* the line becomes another one (tui_palette_take) */
    TUI_PALETTE_RUNS,     /* the same, then Enter */
} tui_palette_result;

/* Updates the palette to the present line. */
void tui_palette_follow(tui_palette *p, const struct input_view *in, const struct completer *completer,
                        const char *home);
/* A key; of BYTES one byte. rows: how many are seen at once. */
tui_palette_result tui_palette_event(tui_palette *p, int rows, const struct input_view *in,
                                     const struct decoder_event *e);
/* Chooses the row that was clicked. False: it has none there. */
bool tui_palette_click(tui_palette *p, int row);
/* The line completed with the marked row, malloc'ed, and its cursor; NULL: no row, or no memory. */
char *tui_palette_take(const tui_palette *p, const struct input_view *in, size_t *cursor);
/* cols: of the popup's rows. Memory that v points to is valid until the next call. */
void tui_palette_fill(tui_palette *p, int cols, struct view_popup *v);
void tui_palette_close(tui_palette *p);

#endif
