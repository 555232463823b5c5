/* The input area: the draft with its cursor, and how much of it is read.
 *
 * The part that the prefill unit has evaluated is tinted (underlined without colour). It grows by whole words, at most
 * ten times a second, and shrinks only back to an edit of the text: draft_state keeps what was shown. Lines are wrapped
 * at words (ui/edit/rows.h); if there are more rows than the area has, the rule says which ones are shown.
 */
#ifndef TANDEM_UI_DRAFT_H
#define TANDEM_UI_DRAFT_H

#include "ui/draw/canvas.h"
#include "ui/draw/view.h"

struct draft_state {
    char *text; /* as shown last, to find where an edit begins */
    size_t len, cap;
    size_t shown; /* bytes that are shown as read */
    int64_t grown_ns;
    int top; /* first row shown of a draft taller than its area */
    int rows, shown_rows; /* as drawn last: all of them, and those of the area */
};

void draft_free(struct draft_state *state);

/* Columns of a row of the draft in an area of this width. */
int draft_columns(int cols);

/* Rows that the draft takes at this width. */
int draft_rows(const struct view *view, int cols);

/* Draws the draft and sets the canvas's cursor to the insertion point. */
void draft_draw(struct draft_state *state, const struct view *view, struct canvas *canvas, struct rect area);

/* The rule above it: key hints at the left, the mark at the right. Call it after draft_draw(), whose rows it shows. */
void draft_draw_rule(const struct draft_state *state, const struct view *view, struct canvas *canvas,
                     struct rect area);

/* The byte of the draft at a position of the area in which it was drawn last: the end of the line if the position is
 * after it, the end of the draft below its last row. */
size_t draft_byte_at(const struct draft_state *state, const struct view *view, struct rect area, int row, int col);

/* When to draw again, since the tint's limited pace holds a part of it back; INT64_MAX: nothing is held back. */
int64_t draft_next_ns(const struct draft_state *state, const struct view *view);

#endif
