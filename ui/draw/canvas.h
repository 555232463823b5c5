/* A screen in memory: rows of cells into which all drawing goes, and which the terminal or a test reads.
 *
 * It does not depend on a terminal, so golden screens are tested without one. Text put here is untrusted: it passes
 * ui/draw/width.h, and with `ascii` set cells hold ASCII alone. Writing outside the canvas is clipped, never an error.
 * A wide character whose second half does not fit is replaced by a blank; overwriting one half of it blanks the other.
 */
#ifndef TANDEM_UI_CANVAS_H
#define TANDEM_UI_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/draw/rect.h"
#include "ui/draw/theme.h"
#include "ui/draw/width.h"

struct canvas_cell {
    uint32_t point[WIDTH_POINTS];
    uint8_t n;     /* code points; 0 only in the second half of a wide character */
    uint8_t width; /* 1 or 2; 0 in the second half */
    style_t style;
    uint8_t picture; /* 1 + the number of the picture that the terminal shows here; 0: none */
    bool blocks;     /* two pixels: U+2580 in these colours of xterm's palette */
    uint8_t upper, lower;
};

/* A picture that the terminal shows on cells (ui/terminal/graphics.h). */
struct canvas_picture {
    uint64_t id;
    int row, col, rows, cols; /* of all of it; it may begin above the canvas, or end below it */
    int from, to;             /* the shown rows of it, [from, to) */
    uint32_t width, height;
    const uint8_t *rgb; /* valid until the canvas is cleared */
};

enum { CANVAS_PICTURES = 16 };

struct canvas {
    int rows, cols;
    struct canvas_cell *cells; /* rows x cols */
    bool ascii;
    int cursor_row, cursor_col; /* -1: hidden */
    struct canvas_picture pictures[CANVAS_PICTURES];
    int n_pictures;
    int lasting; /* rows from the top that may stay on a terminal without alternate screen when the program leaves */
};

/* A blank canvas. NULL: out of memory. */
struct canvas *canvas_new(int rows, int cols);
void canvas_free(struct canvas *canvas);

/* Sets another size, and blanks all cells. false: out of memory, the canvas is unchanged. */
bool canvas_resize(struct canvas *canvas, int rows, int cols);

/* Blanks everything, hides the cursor and sets `lasting` to 0. */
void canvas_clear(struct canvas *canvas);

/* Fills a rectangle with one character of width 1. */
void canvas_fill(struct canvas *canvas, struct rect area, uint32_t point, style_t style);

/* Writes text at (row, col) up to column `end` (exclusive; clipped to the canvas) and returns the column after it. Tabs
 * go to the next multiple of 8 columns from `col`; a newline is shown as U+240A. */
int canvas_put(struct canvas *canvas, int row, int col, int end, const char *text, size_t len, style_t style);
int canvas_puts(struct canvas *canvas, int row, int col, int end, const char *text, style_t style);
int canvas_printf(struct canvas *canvas, int row, int col, int end, style_t style, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* One glyph; returns the column after it. */
int canvas_glyph(struct canvas *canvas, int row, int col, int end, const struct width_glyph *glyph, style_t style);

/* Reserves cells for a picture; text that is written there later covers it. Pictures beyond CANVAS_PICTURES stay
 * blank. */
void canvas_picture(struct canvas *canvas, const struct canvas_picture *picture);
/* Whether nothing covers the shown part of picture i. */
bool canvas_picture_whole(const struct canvas *canvas, int i);
/* Two pixels in a cell, one above the other, in colours of xterm's palette. */
void canvas_blocks(struct canvas *canvas, int row, int col, uint8_t upper, uint8_t lower);

/* Adds attributes (STYLE_REVERSE ...) to a stretch of a row. */
void canvas_attribute(struct canvas *canvas, int row, int col, int end, style_t attributes);

/* The screen as an SVG picture on a dark or light ground; pictures that the terminal shows are drawn there with 2 x 4
 * colours a cell (canvas_svg.c). */
char *canvas_svg(const struct canvas *canvas, enum view_theme theme, int colours);

#endif
