#include "ui/draw/canvas.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct canvas_cell blank = {.point = {' '}, .n = 1, .width = 1, .style = STYLE_TEXT};

struct canvas *canvas_new(int rows, int cols)
{
    struct canvas *canvas = calloc(1, sizeof *canvas);
    if (canvas && !canvas_resize(canvas, rows, cols)) {
        free(canvas);
        return NULL;
    }
    return canvas;
}

void canvas_free(struct canvas *canvas)
{
    if (!canvas) return;
    free(canvas->cells);
    free(canvas);
}

bool canvas_resize(struct canvas *canvas, int rows, int cols)
{
    if (rows < 1) rows = 1;
    if (cols < 1) cols = 1;
    struct canvas_cell *cells = calloc((size_t)rows * (size_t)cols, sizeof *cells);
    if (!cells) return false;
    free(canvas->cells);
    canvas->cells = cells;
    canvas->rows = rows;
    canvas->cols = cols;
    canvas_clear(canvas);
    return true;
}

void canvas_clear(struct canvas *canvas)
{
    for (size_t i = 0; i < (size_t)canvas->rows * (size_t)canvas->cols; i++) canvas->cells[i] = blank;
    canvas->cursor_row = canvas->cursor_col = -1;
    canvas->lasting = 0;
    canvas->n_pictures = 0;
}

/* Blanks the other half of a wide character that is about to be overwritten at cell. */
static void split(struct canvas *canvas, int row, int col)
{
    struct canvas_cell *line = canvas->cells + (size_t)row * (size_t)canvas->cols;
    if (line[col].width == 2 && col + 1 < canvas->cols) line[col + 1] = blank;
    if (line[col].width == 0 && col > 0) line[col - 1] = blank;
}

int canvas_glyph(struct canvas *canvas, int row, int col, int end, const struct width_glyph *glyph, style_t style)
{
    if (end > canvas->cols) end = canvas->cols;
    if (glyph->n == 0 || glyph->width == 0) return col;
    if (row < 0 || row >= canvas->rows || col < 0 || col >= end) return col + glyph->width;
    struct canvas_cell *cell = canvas->cells + (size_t)row * (size_t)canvas->cols + col;
    split(canvas, row, col);
    if (glyph->width == 2 && col + 1 >= end) {
        *cell = blank;
        cell->style = style;
        return col + 2;
    }
    struct width_glyph shown = *glyph;
    if (canvas->ascii) width_ascii(&shown);
    *cell = (struct canvas_cell){.n = shown.n, .width = shown.width, .style = style};
    memcpy(cell->point, shown.point, shown.n * sizeof *shown.point);
    if (shown.width == 2) {
        split(canvas, row, col + 1);
        cell[1] = (struct canvas_cell){.n = 0, .width = 0, .style = style};
        if (canvas->ascii) { /* one ASCII character is one column */
            cell->width = 1;
            cell[1] = blank;
            cell[1].style = style;
        }
    }
    return col + glyph->width;
}

void canvas_fill(struct canvas *canvas, struct rect area, uint32_t point, style_t style)
{
    struct width_glyph glyph = {{point}, 1, 1};
    for (int row = area.row; row < area.row + area.rows; row++)
        for (int col = area.col; col < area.col + area.cols; col++)
            canvas_glyph(canvas, row, col, area.col + area.cols, &glyph, style);
}

int canvas_put(struct canvas *canvas, int row, int col, int end, const char *text, size_t len, style_t style)
{
    int start = col;
    if (end > canvas->cols) end = canvas->cols;
    for (size_t at = 0; at < len && col < end;) {
        struct width_glyph glyph;
        at += width_next(text + at, len - at, &glyph);
        if (glyph.width == 0 && glyph.n == 1 && glyph.point[0] == '\n') glyph = (struct width_glyph){{0x240A}, 1, 1};
        if (glyph.width == 0 && glyph.n == 1) {
            static const struct width_glyph space = {{' '}, 1, 1};
            int stop = start + ((col - start) / WIDTH_TAB + 1) * WIDTH_TAB;
            while (col < stop && col < end) col = canvas_glyph(canvas, row, col, end, &space, style);
            continue;
        }
        col = canvas_glyph(canvas, row, col, end, &glyph, style);
    }
    return col < end ? col : end;
}

int canvas_puts(struct canvas *canvas, int row, int col, int end, const char *text, style_t style)
{
    return text ? canvas_put(canvas, row, col, end, text, strlen(text), style) : col;
}

int canvas_printf(struct canvas *canvas, int row, int col, int end, style_t style, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return canvas_puts(canvas, row, col, end, text, style);
}

static struct canvas_cell *cell_at(const struct canvas *canvas, int row, int col)
{
    bool inside = row >= 0 && row < canvas->rows && col >= 0 && col < canvas->cols;
    return inside ? canvas->cells + (size_t)row * (size_t)canvas->cols + col : NULL;
}

void canvas_picture(struct canvas *canvas, const struct canvas_picture *p)
{
    if (canvas->n_pictures == CANVAS_PICTURES) return;
    canvas->pictures[canvas->n_pictures++] = *p;
    for (int row = p->row + p->from; row < p->row + p->to; row++)
        for (int col = p->col; col < p->col + p->cols; col++) {
            struct canvas_cell *cell = cell_at(canvas, row, col);
            if (!cell) continue;
            split(canvas, row, col);
            *cell = blank;
            cell->picture = (uint8_t)canvas->n_pictures;
        }
}

bool canvas_picture_whole(const struct canvas *canvas, int i)
{
    const struct canvas_picture *p = &canvas->pictures[i];
    for (int row = p->row + p->from; row < p->row + p->to; row++)
        for (int col = p->col; col < p->col + p->cols; col++) {
            const struct canvas_cell *cell = cell_at(canvas, row, col);
            if (!cell || cell->picture != i + 1) return false;
        }
    return p->to > p->from;
}

void canvas_blocks(struct canvas *canvas, int row, int col, uint8_t upper, uint8_t lower)
{
    struct canvas_cell *cell = cell_at(canvas, row, col);
    if (!cell) return;
    split(canvas, row, col);
    *cell = (struct canvas_cell){
        .point = {0x2580}, .n = 1, .width = 1, .style = STYLE_TEXT, .blocks = true, .upper = upper, .lower = lower};
}

void canvas_attribute(struct canvas *canvas, int row, int col, int end, style_t attributes)
{
    if (row < 0 || row >= canvas->rows) return;
    for (int c = col < 0 ? 0 : col; c < end && c < canvas->cols; c++)
        canvas->cells[(size_t)row * (size_t)canvas->cols + c].style |= attributes & 0xFF00;
}
