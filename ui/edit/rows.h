/* Where the lines of the draft are cut into the rows that the screen shows: for drawing, and for Up and Down.
 *
 * A row ends after a blank, or beside a wide character; a word that is longer than a row is cut at the row's end. Every
 * character has a cell of its own, blanks too, so that the cursor has a place before each: a word stays in a row only
 * together with one blank that follows it.
 */
#ifndef TANDEM_UI_ROWS_H
#define TANDEM_UI_ROWS_H

#include "ui/draw/width.h"

/* width_next() at byte `at`, and in *width the columns that the glyph takes when it begins in `column` of a row: a tab
 * reaches to its stop, at most to the end of the row. columns 0: rows are endless. */
size_t rows_next(const char *text, size_t len, size_t at, int column, int columns, struct width_glyph *glyph,
                 int *width);

/* The end of the row that begins at byte `start`: `len`, a newline, or the first byte of the next row. `used` columns
 * of this row are taken already (by a prompt); the row is then empty if not even one word fits beside them. */
size_t rows_end(const char *text, size_t len, size_t start, int columns, int used);

#endif
