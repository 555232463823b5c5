/* The meanings of the letters of the lanes, each in its letter's colour. */
#ifndef TANDEM_UI_LEGEND_H
#define TANDEM_UI_LEGEND_H

#include "ui/draw/canvas.h"
#include "ui/draw/view.h"

/* lost: include the letter of a lost GPU. hint: one more text at the end; NULL: none. */

/* The rows that it takes in `cols` columns. */
int legend_rows(int cols, bool lost, const char *hint);

/* Draws as much of it as the area holds. */
void legend_draw(struct canvas *canvas, struct rect area, bool lost, const char *hint);

/* Was a unit's GPU lost? */
bool legend_lost(const struct view_monitor *m);

/* The hint that says how to hide it. */
#define LEGEND_HIDE "^X l hides this"

#endif
