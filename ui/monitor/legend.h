/* What the letters of the lanes mean, each in its letter's colour. */
#ifndef TANDEM_UI_LEGEND_H
#define TANDEM_UI_LEGEND_H

#include "ui/draw/canvas.h"

/* The rows that it takes in so many columns. hint: one more word at its end; NULL: none. */
int legend_rows(int cols, const char *hint);

/* Draws as much of it as the area holds. */
void legend_draw(struct canvas *canvas, struct rect area, const char *hint);

/* How it is hidden, as a hint. */
#define LEGEND_HIDE "^X l hides this"

#endif
