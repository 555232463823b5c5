#include "ui/monitor/graph.h"

static void put(struct canvas *canvas, int row, int col, uint32_t point, style_t style)
{
    struct width_glyph glyph = {{point}, 1, 1};
    canvas_glyph(canvas, row, col, canvas->cols, &glyph, style);
}

void graph_bar(struct canvas *canvas, int row, int col, int full, int rest, bool ascii, style_t style)
{
    for (int i = 0; i < full; i++) put(canvas, row, col + i, ascii ? '#' : 0x28FF, style);
    for (int i = 0; i < rest; i++) put(canvas, row, col + full + i, ascii ? '.' : 0x28C0, STYLE_IDLE);
}

/* The mean of step i of `steps` steps over the last `span` values. */
static int value_at(const uint8_t *values, size_t n, int span, int i, int steps)
{
    int from = i * span / steps, to = (i + 1) * span / steps, sum = 0;
    if (to <= from) to = from + 1;
    for (int k = from; k < to; k++) {
        size_t back = (size_t)(span - 1 - k); /* 0: the newest */
        sum += back < n ? values[n - 1 - back] : 0;
    }
    return sum / (to - from);
}

static int clamp(int v, int low, int high) { return v < low ? low : v > high ? high : v; }

/* One cell of a column in ASCII, `up` rows above the ground, of `rows`. */
static char ascii_cell(int percent, int up, int rows)
{
    if (rows == 1) return percent < 34 ? '_' : percent < 67 ? '-' : '=';
    int part = (percent * 3 * rows + 50) / 100 - 3 * up;
    return part >= 3 ? '#' : part == 2 ? '=' : part == 1 ? '-' : up ? ' ' : '_';
}

void graph_history(struct canvas *canvas, struct rect area, const uint8_t *values, size_t n, int span, bool ascii,
                   style_t style)
{
    static const uint8_t left[5] = {0, 0x40, 0x44, 0x46, 0x47}, right[5] = {0, 0x80, 0xA0, 0xB0, 0xB8};
    for (int c = 0; c < area.cols; c++)
        for (int up = 0; up < area.rows; up++) {
            int row = area.row + area.rows - 1 - up, height[2];
            if (ascii) {
                put(canvas, row, area.col + c,
                    (uint8_t)ascii_cell(value_at(values, n, span, c, area.cols), up, area.rows), style);
                continue;
            }
            for (int k = 0; k < 2; k++) {
                int high = (value_at(values, n, span, 2 * c + k, 2 * area.cols) * 4 * area.rows + 50) / 100;
                height[k] = clamp(clamp(high, 1, 4 * area.rows) - 4 * up, 0, 4); /* 1: the ground line */
            }
            uint32_t dots = (uint32_t)(left[height[0]] | right[height[1]]);
            put(canvas, row, area.col + c, dots ? 0x2800u | dots : ' ', style);
        }
}
