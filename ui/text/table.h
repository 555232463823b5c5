/* Tables of markdown: cells of styled text laid out in columns for one width.
 *
 * Columns have their natural width if all fit; otherwise the widest ones become narrower and their cells wrap. If fewer
 * than four columns of text would be left for each, the rows are written one below the other as `head: value`.
 */
#ifndef TANDEM_UI_TABLE_H
#define TANDEM_UI_TABLE_H

#include "ui/text/lines.h"

enum table_align { TABLE_LEFT, TABLE_CENTER, TABLE_RIGHT };

struct table_cell {
    size_t from, to; /* bytes of `text` */
    enum table_align align;
};

struct table {
    struct lines text;        /* the text of the cells, one after the other */
    struct table_cell *cells; /* row by row, the head first */
    size_t n_cells, cap_cells;
    size_t cols;
};

void table_free(struct table *table);

/* Begins a cell whose text is then appended to table->text; the next cell or table_draw() ends it. */
void table_cell_start(struct table *table, enum table_align align);

/* Appends the lines of the table to out: at most width columns with the prefix at each line's start. */
void table_draw(struct table *table, struct lines *out, int width, struct lines_prefix prefix, bool ascii);

#endif
