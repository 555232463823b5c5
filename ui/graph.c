#include "ui/graph.h"

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

void graph_history(struct canvas *canvas, int row, int col, int cols, const uint8_t *values, size_t n, int span,
                   bool ascii, style_t style)
{
    static const uint8_t left[5] = {0, 0x40, 0x44, 0x46, 0x47}, right[5] = {0, 0x80, 0xA0, 0xB0, 0xB8};
    for (int c = 0; c < cols; c++) {
        if (ascii) {
            int v = value_at(values, n, span, c, cols);
            put(canvas, row, col + c, v < 34 ? '_' : v < 67 ? '-' : '=', style);
            continue;
        }
        int height[2];
        for (int k = 0; k < 2; k++) {
            height[k] = (value_at(values, n, span, 2 * c + k, 2 * cols) * 4 + 50) / 100;
            if (height[k] < 1) height[k] = 1; /* the ground line */
            if (height[k] > 4) height[k] = 4;
        }
        put(canvas, row, col + c, 0x2800u | left[height[0]] | right[height[1]], style);
    }
}
