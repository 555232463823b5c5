#include "ui/preview/preview.h"

#include <stdlib.h>

void preview_fit(const struct preview_picture *p, int most_cols, int most_rows, int cell_width, int cell_height,
                 int *cols, int *rows)
{
    double cell = cell_width > 0 && cell_height > 0 ? (double)cell_height / cell_width : 2;
    double wide = (double)p->width / p->height * cell; /* columns for each row */
    double high = most_rows;
    if (high * wide > most_cols) high = most_cols / wide;
    *rows = (int)(high + 0.5);
    *cols = (int)(high * wide + 0.5);
    *rows = *rows < 1 ? 1 : *rows > most_rows ? most_rows : *rows;
    *cols = *cols < 1 ? 1 : *cols > most_cols ? most_cols : *cols;
}

/* The first of the old pixels that new pixel i covers a part of, in 1/to of a pixel. */
static uint64_t edge(uint32_t i, uint32_t from)
{
    return (uint64_t)i * from;
}

/* The mean of the old pixels that lie under a new one, each by the part that does. */
static void mean(const struct preview_picture *p, uint32_t x, uint32_t y, uint32_t width, uint32_t height,
                 uint8_t out[3])
{
    uint64_t left = edge(x, p->width), right = edge(x + 1, p->width), top = edge(y, p->height);
    uint64_t bottom = edge(y + 1, p->height);
    double sum[3] = {0};
    for (uint64_t v = top / height; v * height < bottom; v++) {
        uint64_t from = v * height > top ? v * height : top, to = (v + 1) * height < bottom ? (v + 1) * height : bottom;
        for (uint64_t u = left / width; u * width < right; u++) {
            uint64_t begin = u * width > left ? u * width : left,
                     end = (u + 1) * width < right ? (u + 1) * width : right;
            double part = (double)(to - from) * (double)(end - begin);
            for (int c = 0; c < 3; c++) sum[c] += part * p->rgb[3 * (v * p->width + u) + (uint64_t)c];
        }
    }
    for (int c = 0; c < 3; c++) out[c] = (uint8_t)(sum[c] / ((double)p->width * p->height) + 0.5);
}

void preview_resize(const struct preview_picture *p, uint32_t width, uint32_t height, uint8_t *out)
{
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++, out += 3) mean(p, x, y, width, height, out);
}

bool preview_cells(const struct preview_picture *p, int cols, int rows, struct preview_cell *out)
{
    uint8_t *small = malloc((size_t)3 * 2 * (size_t)rows * (size_t)cols);
    if (!small) return false;
    preview_resize(p, (uint32_t)cols, 2 * (uint32_t)rows, small);
    for (int row = 0; row < rows; row++)
        for (int col = 0; col < cols; col++) {
            struct preview_cell *cell = &out[row * cols + col];
            for (int c = 0; c < 3; c++) {
                cell->upper[c] = small[3 * (2 * row * cols + col) + c];
                cell->lower[c] = small[3 * ((2 * row + 1) * cols + col) + c];
            }
        }
    free(small);
    return true;
}
