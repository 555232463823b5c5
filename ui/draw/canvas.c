#include "ui/draw/canvas.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct canvas_cell blank = {{' '}, 1, 1, STYLE_TEXT};

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
        if (glyph.width == 0 && glyph.n == 1 && glyph.point[0] == '\n') break;
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

void canvas_attribute(struct canvas *canvas, int row, int col, int end, style_t attributes)
{
    if (row < 0 || row >= canvas->rows) return;
    for (int c = col < 0 ? 0 : col; c < end && c < canvas->cols; c++)
        canvas->cells[(size_t)row * (size_t)canvas->cols + c].style |= attributes & 0xFF00;
}

/* ---- Dumps ---- */

static size_t put_row(const struct canvas *canvas, int row, char *out)
{
    size_t len = 0, text_end = 0;
    for (int col = 0; col < canvas->cols; col++) {
        const struct canvas_cell *cell = canvas->cells + (size_t)row * (size_t)canvas->cols + col;
        for (int i = 0; i < cell->n; i++) len += (size_t)width_put(cell->point[i], out + len);
        if (cell->n > 1 || (cell->n == 1 && cell->point[0] != ' ')) text_end = len;
    }
    return text_end;
}

char *canvas_dump(const struct canvas *canvas)
{
    char *out = malloc((size_t)canvas->rows * ((size_t)canvas->cols * WIDTH_POINTS * 4 + 1) + 1), *at = out;
    if (!out) return NULL;
    for (int row = 0; row < canvas->rows; row++) {
        at += put_row(canvas, row, at);
        *at++ = '\n';
    }
    *at = 0;
    return out;
}

static bool same_look(struct theme_look a, struct theme_look b)
{
    return a.fg == b.fg && a.bg == b.bg && a.attributes == b.attributes;
}

char *canvas_dump_looks(const struct canvas *canvas, enum view_theme theme, int colours)
{
    char *out = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&out, &size);
    char *text = malloc((size_t)canvas->cols * WIDTH_POINTS * 4 + 1);
    if (!file || !text) {
        if (file) fclose(file);
        free(out);
        free(text);
        return NULL;
    }
    for (int row = 0; row < canvas->rows; row++) {
        size_t len = put_row(canvas, row, text);
        fprintf(file, "%.*s\n", (int)len, text);
        const struct canvas_cell *line = canvas->cells + (size_t)row * (size_t)canvas->cols;
        for (int col = 0, next; col < canvas->cols; col = next) {
            struct theme_look look = theme_look(theme, colours, line[col].style);
            bool drawn = false;
            for (next = col; next < canvas->cols; next++) {
                if (!same_look(look, theme_look(theme, colours, line[next].style))) break;
                drawn = drawn || line[next].point[0] != ' ';
            }
            bool shows_blank = look.attributes & (STYLE_REVERSE | STYLE_UNDERLINE);
            if ((look.fg < 0 && !look.attributes) || (!drawn && !shows_blank)) continue;
            fprintf(file, "  @%d+%d", col, next - col);
            if (look.fg >= 0) fprintf(file, " %d", look.fg);
            fprintf(file, "%s%s%s%s\n", look.attributes & STYLE_BOLD ? " bold" : "",
                    look.attributes & STYLE_UNDERLINE ? " underline" : "",
                    look.attributes & STYLE_ITALIC ? " italic" : "", look.attributes & STYLE_REVERSE ? " reverse" : "");
        }
    }
    free(text);
    fclose(file);
    return out;
}

char *canvas_svg(const struct canvas *canvas, enum view_theme theme, int colours)
{
    enum { CELL_W = 9, CELL_H = 19, PAD = 12 };
    char *out = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&out, &size);
    if (!file) return NULL;
    bool light = theme_is_light(theme);
    const char *ground = light ? "#ffffff" : "#16181d", *plain = light ? "#1c1c1c" : "#e4e4e4";
    int w = canvas->cols * CELL_W + 2 * PAD, h = canvas->rows * CELL_H + 2 * PAD;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n"
            "<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"%s\"/>\n"
            "<g font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"15\" "
            "xml:space=\"preserve\">\n",
            w, h, w, h, w, h, ground);
    for (int row = 0; row < canvas->rows; row++) {
        const struct canvas_cell *line = canvas->cells + (size_t)row * (size_t)canvas->cols;
        for (int col = 0, next; col < canvas->cols; col = next) {
            struct theme_look look = theme_look(theme, colours, line[col].style);
            bool drawn = false;
            for (next = col; next < canvas->cols; next++) {
                if (!same_look(look, theme_look(theme, colours, line[next].style))) break;
                bool apart = line[next].width != 1 || line[next].n > 1; /* wide ones and marks stand alone */
                if (apart && next > col) break;
                if (apart) {
                    drawn = true;
                    next += line[next].width == 2 && next + 1 < canvas->cols ? 2 : 1;
                    break;
                }
                drawn = drawn || line[next].point[0] != ' ';
            }
            uint8_t rgb[3];
            char colour[8];
            snprintf(colour, sizeof colour, "%s", plain);
            if (look.fg >= 0) {
                theme_rgb(look.fg, rgb);
                snprintf(colour, sizeof colour, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
            }
            bool reverse = look.attributes & STYLE_REVERSE;
            int x = PAD + col * CELL_W, y = PAD + row * CELL_H;
            if (reverse)
                fprintf(file, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", x, y,
                        (next - col) * CELL_W, CELL_H, colour);
            if (!drawn) continue;
            /* Beyond ASCII, fonts differ in width: each cell says where it stands. */
            bool ascii = true;
            for (int c = col; c < next; c++) ascii = ascii && line[c].n == 1 && line[c].point[0] < 0x80;
            fprintf(file, "<text y=\"%d\" x=\"%d", y + 14, x);
            for (int c = col + 1; !ascii && c < next; c++)
                if (line[c].n) fprintf(file, " %d", PAD + c * CELL_W);
            if (ascii) fprintf(file, "\" textLength=\"%d", (next - col) * CELL_W);
            fprintf(file, "\" fill=\"%s\"%s%s%s>", reverse ? ground : colour,
                    look.attributes & STYLE_BOLD ? " font-weight=\"bold\"" : "",
                    look.attributes & STYLE_ITALIC ? " font-style=\"italic\"" : "",
                    look.attributes & STYLE_UNDERLINE ? " text-decoration=\"underline\"" : "");
            for (int c = col; c < next; c++)
                for (int i = 0; i < line[c].n; i++) {
                    char bytes[4];
                    int n = width_put(line[c].point[i], bytes);
                    if (bytes[0] == '&' || bytes[0] == '<')
                        fputs(bytes[0] == '&' ? "&amp;" : "&lt;", file);
                    else
                        fwrite(bytes, 1, (size_t)n, file);
                }
            fputs("</text>\n", file);
        }
    }
    if (canvas->cursor_row >= 0)
        fprintf(file, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" opacity=\"0.6\"/>\n",
                PAD + canvas->cursor_col * CELL_W, PAD + canvas->cursor_row * CELL_H, CELL_W, CELL_H, plain);
    fputs("</g>\n</svg>\n", file);
    fclose(file);
    return out;
}
