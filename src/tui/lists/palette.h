/* The palette: what the beginning of a line can become. It opens above the input by itself while the name of a command
 * is typed, and behind a name whose arguments are known (sessions, themes, prompts); for files it opens with Tab. It is
 * filtered with every key. The line stays the input's: the palette only says what it becomes. */
#ifndef TANDEM_SRC_TUI_PALETTE_H
#define TANDEM_SRC_TUI_PALETTE_H

#include "src/tui/lists/list.h"
#include "ui/draw/view.h"
#include "ui/edit/input.h"

typedef enum { PALETTE_CLOSED, PALETTE_COMMANDS, PALETTE_ARGUMENT, PALETTE_FILES } tui_palette_kind;

/* Zeroed: closed. */
typedef struct {
    tui_palette_kind kind;
    char *line;       /* as it was followed last, with the cursor there, and whether Tab had listed something */
    size_t cursor;
    bool listed;
    bool dismissed;   /* by Esc, until the line is another command or none */
    bool chosen;      /* a row was moved to: Enter takes it */
    struct completion found;
    char **rows;      /* as shown, [found.count] */
    int rows_cols;    /* they were laid out for this many columns; 0: they have to be */
    char *before;     /* ARGUMENT: the line up to the candidates, for which they were found */
    tui_list choice;  /* which of them the word leaves, in the order of how well they fit */
    struct view_item *items;
    char aside[48]; /* "12 of 52" */
} tui_palette;

typedef enum {
    TUI_PALETTE_NOT_MINE, /* the input's key */
    TUI_PALETTE_MOVED,
    TUI_PALETTE_TAKES,    /* the line becomes another one (tui_palette_take) */
    TUI_PALETTE_RUNS,     /* the same, and Enter follows */
} tui_palette_result;

/* The line is this one now. */
void tui_palette_follow(tui_palette *p, const struct input_view *in, const struct completer *completer,
                        const char *home);
/* A key; of BYTES one byte. rows: how many are seen at once. */
tui_palette_result tui_palette_event(tui_palette *p, int rows, const struct input_view *in,
                                     const struct decoder_event *e);
/* Chooses the row that was clicked. False: it has none there. */
bool tui_palette_click(tui_palette *p, int row);
/* The line with the marked row in it, malloc'ed, and where the cursor stands then; NULL: no row, or no memory. */
char *tui_palette_take(const tui_palette *p, const struct input_view *in, size_t *cursor);
/* cols: of the popup's rows. What v points to lives until the next call. */
void tui_palette_fill(tui_palette *p, int cols, struct view_popup *v);
void tui_palette_close(tui_palette *p);

#endif
