/* A picture on the canvas: cells that the terminal fills by kitty's protocol or sixel, or half blocks. */
#ifndef TANDEM_UI_PREVIEW_DRAW_H
#define TANDEM_UI_PREVIEW_DRAW_H

#include "ui/draw/canvas.h"
#include "ui/draw/view.h"

enum { PREVIEW_ROWS = 6 };

/* The cells that it takes, at most this many; 0 and 0 if pictures are not shown. */
void preview_cells_of(const struct view_picture *p, const struct view_options *o, int most_cols, int most_rows,
                      int *cols, int *rows);

/* Draws it at (row, col) in rows x cols cells, clipped to the rows of the area. */
void preview_draw(struct canvas *canvas, const struct view_picture *p, const struct view_options *o, int row, int col,
                  int rows, int cols, struct rect area);

#endif
