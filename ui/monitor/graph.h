/* Small graphs of characters: bars and histories, in braille dots or in ASCII. */
#ifndef TANDEM_UI_GRAPH_H
#define TANDEM_UI_GRAPH_H

#include "ui/draw/canvas.h"

/* A bar of `full` columns and `rest` empty ones at (row, col). */
void graph_bar(struct canvas *canvas, int row, int col, int full, int rest, bool ascii, style_t style);

/* Percentages, the newest at the right, over `area`, whose columns stand for `span` values (missing ones are 0).
 * Braille has two values a column in four heights a row, ASCII one in three: _ - =, in several rows with # below the
 * top. */
void graph_history(struct canvas *canvas, struct rect area, const uint8_t *values, size_t n, int span, bool ascii,
                   style_t style);

#endif
