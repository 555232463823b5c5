/* Boxes above the input: the menu of Ctrl-X, completion, lists, help, a question, a prompt. */
#ifndef TANDEM_UI_POPUP_H
#define TANDEM_UI_POPUP_H

#include "ui/draw/canvas.h"
#include "ui/draw/view.h"

/* Draws view->popup at the lower left of the area; a prompt takes the cursor. Nothing is drawn if there is none. */
void popup_draw(const struct view *view, struct canvas *canvas, struct rect area);

/* The item of the table in that row of the screen, for the area in which it was drawn; -1: none. */
int popup_item_at(const struct view_popup *popup, struct rect area, int row);

/* Columns that the rows of a table get in an area of this width. */
int popup_table_cols(int cols);

/* The lines of an empty conversation: a first run, or the last sessions. */
void popup_draw_card(const struct view *view, struct canvas *canvas, struct rect area);

#endif
