/* What the letters of the lanes mean, each in its letter's colour. */
#ifndef TANDEM_UI_LEGEND_H
#define TANDEM_UI_LEGEND_H

#include "ui/draw/canvas.h"
#include "ui/draw/view.h"

/* lost: with the letter of a GPU that was lost, which is explained only where there may be one. hint: one more word at
 * its end; NULL: none. */

/* The rows that it takes in `cols` columns. */
int legend_rows(int cols, bool lost, const char *hint);

/* Draws as much of it as the area holds. */
void legend_draw(struct canvas *canvas, struct rect area, bool lost, const char *hint);

/* Was a unit's GPU lost? */
bool legend_lost(const struct view_monitor *m);

/* How it is hidden, as a hint. */
#define LEGEND_HIDE "^X l hides this"

#endif
