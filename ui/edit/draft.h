/* The input area: the draft with its cursor, and how much of it is read.
 *
 * The part that the prefill unit has evaluated is tinted (underlined without colour). It grows by whole words, at most
 * ten times a second, and shrinks only where the text was edited: draft_state keeps what was shown. Rows are cut at the
 * right edge, not at words, so that a line never jumps while one types in it.
 */
#ifndef TANDEM_UI_DRAFT_H
#define TANDEM_UI_DRAFT_H

#include "ui/draw/canvas.h"
#include "ui/draw/view.h"

struct draft_state {
    char *text; /* as shown last, to see how far an edit reaches */
    size_t len, cap;
    size_t shown; /* bytes that are shown as read */
    int64_t grown_ns;
    int top; /* first row shown of a draft taller than its area */
};

void draft_free(struct draft_state *state);

/* Rows that the draft takes at this width. */
int draft_rows(const struct view *view, int cols);

/* Draws the draft and puts the canvas's cursor at the insertion point. */
void draft_draw(struct draft_state *state, const struct view *view, struct canvas *canvas, struct rect area);

/* The rule above it: key hints at the left, the mark at the right. */
void draft_draw_rule(const struct view *view, struct canvas *canvas, struct rect area);

/* When a tint that is held back by its pace wants to be drawn; INT64_MAX for none. */
int64_t draft_next_ns(const struct draft_state *state, const struct view *view);

#endif
