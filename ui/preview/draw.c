#include "ui/preview/draw.h"

#include <stdlib.h>

#include "ui/preview/preview.h"

void preview_cells_of(const struct view_picture *p, const struct view_options *o, int most_cols, int most_rows,
                      int *cols, int *rows)
{
    *cols = *rows = 0;
    if (o->pictures == VIEW_PICTURES_OFF || most_cols < 1 || most_rows < 1 || !p->view_width || !p->view_height) return;
    const struct preview_picture whole = {p->view_width, p->view_height, p->rgb};
    preview_fit(&whole, most_cols, most_rows, o->cell_width, o->cell_height, cols, rows);
}

/* The nearest colour of xterm's cube or of its grey ramp. */
static uint8_t nearest(const uint8_t rgb[3])
{
    static const int steps[] = {0, 95, 135, 175, 215, 255};
    int cube = 16, best = 0, parts[3], grey = (rgb[0] + rgb[1] + rgb[2]) / 3;
    for (int c = 0; c < 3; c++) {
        int i = 0;
        while (i < 5 && rgb[c] > (steps[i] + steps[i + 1]) / 2) i++;
        cube += i * (c == 0 ? 36 : c == 1 ? 6 : 1);
        parts[c] = rgb[c] - steps[i];
        best += parts[c] * parts[c];
    }
    int ramp = (grey - 3) / 10, off = 0;
    ramp = ramp < 0 ? 0 : ramp > 23 ? 23 : ramp;
    for (int c = 0; c < 3; c++) off += (rgb[c] - (8 + 10 * ramp)) * (rgb[c] - (8 + 10 * ramp));
    return (uint8_t)(off < best ? 232 + ramp : cube);
}

static void draw_blocks(struct canvas *canvas, const struct preview_picture *p, int row, int col, int rows, int cols,
                        int from, int to)
{
    struct preview_cell *cells = malloc((size_t)rows * (size_t)cols * sizeof *cells);
    if (cells && preview_cells(p, cols, rows, cells))
        for (int y = from; y < to; y++)
            for (int x = 0; x < cols; x++) {
                const struct preview_cell *cell = &cells[y * cols + x];
                canvas_blocks(canvas, row + y, col + x, nearest(cell->upper), nearest(cell->lower));
            }
    free(cells);
}

void preview_draw(struct canvas *canvas, const struct view_picture *p, const struct view_options *o, int row, int col,
                  int rows, int cols, struct rect area)
{
    int from = row < area.row ? area.row - row : 0, end = area.row + area.rows;
    int to = row + rows > end ? end - row : rows;
    if (from >= to || !cols || col + cols > area.col + area.cols) return;
    const struct preview_picture view = {p->view_width, p->view_height, p->rgb};
    if (o->pictures == VIEW_PICTURES_BLOCKS)
        draw_blocks(canvas, &view, row, col, rows, cols, from, to);
    else
        canvas_picture(canvas, &(struct canvas_picture){.id = p->id,
                                                        .row = row,
                                                        .col = col,
                                                        .rows = rows,
                                                        .cols = cols,
                                                        .from = from,
                                                        .to = to,
                                                        .width = p->view_width,
                                                        .height = p->view_height,
                                                        .rgb = p->rgb});
}
