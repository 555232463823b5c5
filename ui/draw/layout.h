/* The layout of the screen: a pure function from the size of the terminal to rectangles.
 *
 * Ten rows of transcript come before any row of the monitor, six beside its full form, which stands above them; while
 * its lanes are inspected it has the transcript's place; a choice of the user that does not fit falls back to the
 * automatic form. The rectangles never overlap and lie inside the screen; absent parts are empty.
 */
#ifndef TANDEM_UI_LAYOUT_H
#define TANDEM_UI_LAYOUT_H

#include <stdbool.h>

#include "ui/draw/rect.h"
#include "ui/draw/view.h"

enum {
    LAYOUT_MIN_ROWS = 5,
    LAYOUT_MIN_COLS = 20,
    LAYOUT_MAX_ROWS = 120, /* beyond, the screen stays this large at the top left */
    LAYOUT_MAX_COLS = 400,
    LAYOUT_PANEL_COLS = 47, /* at least */
    LAYOUT_TRANSCRIPT_ROWS = 10,
    LAYOUT_FULL_TRANSCRIPT = 6, /* at least, below the full form ... */
    LAYOUT_FULL_ROWS = 12,      /* ... which has at least this many */
};

struct layout_request {
    int rows, cols;
    int width;            /* most columns of text: a panel takes what is left; 0: all columns are for text */
    int input_rows;       /* rows of the wrapped draft at text_cols columns */
    int notice_rows;      /* rows of notices above the input */
    bool chips;           /* there are attachments */
    int preview_rows;     /* rows for their pictures; 0: no pictures are shown */
    bool sentence;        /* the state's sentence is needed even where no form of the monitor shows it */
    enum view_form form;  /* the user's choice */
    bool inspect;         /* the full form takes the transcript's place */
    bool alone;           /* there is no chat: the monitor has the whole screen, whatever its size */
};

struct layout {
    bool too_small;
    enum view_form form;  /* the form that is drawn, never AUTO */
    int text_cols;         /* columns of transcript, notices and input that hold text; the others stay empty */
    struct rect transcript;
    struct rect monitor;
    struct rect separator; /* the column between transcript and panel, or the row below the full form */
    struct rect notices;   /* the last row is the sentence, if the form has no place of its own for it */
    struct rect previews;  /* of pictures, above the chips; empty where the transcript would have too few rows */
    struct rect chips;     /* above the rule, or empty */
    struct rect rule;      /* above the input: key hints and the draft's mark */
    struct rect input;
    struct rect status;
};

struct layout layout_compute(const struct layout_request *request);

/* Columns of the rule above the input, and of popups above it: those beside the panel, or all. They don't depend on the
 * rows of the input. */
int layout_left_cols(int rows, int cols, enum view_form form, int width);

/* The text_cols of such a layout. */
int layout_text_cols(int rows, int cols, enum view_form form, int width);

/* Whether this form can be drawn in that size. */
bool layout_form_fits(int rows, int cols, enum view_form form);

/* The form after `form` on Ctrl-X m: off, line, strip, panel, full, and off again; forms that don't fit are skipped. */
enum view_form layout_next_form(int rows, int cols, enum view_form drawn);

#endif
