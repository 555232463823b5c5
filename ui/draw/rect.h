/* A rectangle of character cells: rows [row, row + rows), columns [col, col + cols). */
#ifndef TANDEM_UI_RECT_H
#define TANDEM_UI_RECT_H

#include <stdbool.h>

struct rect {
    int row, col, rows, cols;
};

static inline bool rect_empty(struct rect r) { return r.rows <= 0 || r.cols <= 0; }

static inline bool rect_inside(struct rect r, int rows, int cols)
{
    return rect_empty(r) || (r.row >= 0 && r.col >= 0 && r.row + r.rows <= rows && r.col + r.cols <= cols);
}

static inline bool rect_overlap(struct rect a, struct rect b)
{
    return !rect_empty(a) && !rect_empty(b) && a.row < b.row + b.rows && b.row < a.row + a.rows &&
           a.col < b.col + b.cols && b.col < a.col + a.cols;
}

#endif
