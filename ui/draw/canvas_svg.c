/* A screen as an SVG picture: stretches of cells that look the same are one text, pixels are rectangles. */
#include <stdio.h>

#include "engine/base/buffer.h"

#include "ui/draw/canvas.h"

enum { CELL_W = 9, CELL_H = 19, PAD = 12, SUB_COLS = 2, SUB_ROWS = 4 };

struct svg {
    FILE *file;
    const struct canvas *canvas;
    enum view_theme theme;
    int colours;
    const char *ground, *plain;
};

static const struct canvas_cell *row_of(const struct svg *s, int row)
{
    return s->canvas->cells + (size_t)row * (size_t)s->canvas->cols;
}

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

static struct theme_look look_of(const struct svg *s, const struct canvas_cell *cell)
{
    return theme_look(s->theme, s->colours, cell->style);
}

static bool is_pixels(const struct canvas_cell *cell)
{
    return cell->blocks || cell->picture;
}

/* Where the stretch that begins at col ends. *drawn: it has more than blanks. */
static int stretch_end(const struct svg *s, const struct canvas_cell *line, int col, bool *drawn)
{
    struct theme_look look = look_of(s, &line[col]);
    int next = col;
    *drawn = false;
    for (; next < s->canvas->cols; next++) {
        if (is_pixels(&line[next]) || !theme_same_look(look, look_of(s, &line[next]))) break;
        bool apart = line[next].width != 1 || line[next].n > 1; /* wide ones and marks stand alone */
        if (apart && next > col) break;
        if (apart) {
            *drawn = true;
            return next + (line[next].width == 2 && next + 1 < s->canvas->cols ? 2 : 1);
        }
        *drawn = *drawn || line[next].point[0] != ' ';
    }
    return next;
}

static void put_cell(const struct svg *s, const struct canvas_cell *cell)
{
    for (int i = 0; i < cell->n; i++) {
        char bytes[4];
        int n = width_put(cell->point[i], bytes);
        if (bytes[0] == '&' || bytes[0] == '<')
            fputs(bytes[0] == '&' ? "&amp;" : "&lt;", s->file);
        else
            fwrite(bytes, 1, (size_t)n, s->file);
    }
}

static void put_stretch(const struct svg *s, int row, int col, int end, bool drawn)
{
    const struct canvas_cell *line = row_of(s, row);
    struct theme_look look = look_of(s, &line[col]);
    uint8_t rgb[3];
    char colour[8];
    snprintf(colour, sizeof colour, "%s", s->plain);
    if (look.fg >= 0) {
        theme_rgb(look.fg, rgb);
        snprintf(colour, sizeof colour, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
    }
    bool reverse = look.attributes & STYLE_REVERSE;
    int x = PAD + col * CELL_W, y = PAD + row * CELL_H;
    if (reverse)
        fprintf(s->file, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", x, y,
                (end - col) * CELL_W, CELL_H, colour);
    if (!drawn) return;
    /* Beyond ASCII, fonts differ in width: each cell says where it stands. */
    bool ascii = true;
    for (int c = col; c < end; c++) ascii = ascii && line[c].n == 1 && line[c].point[0] < 0x80;
    fprintf(s->file, "<text y=\"%d\" x=\"%d", y + 14, x);
    for (int c = col + 1; !ascii && c < end; c++)
        if (line[c].n) fprintf(s->file, " %d", PAD + c * CELL_W);
    if (ascii) fprintf(s->file, "\" textLength=\"%d", (end - col) * CELL_W);
    static const char *const lines[] = {"", " text-decoration=\"underline\"", " text-decoration=\"line-through\"",
                                        " text-decoration=\"underline line-through\""};
    int lined = (look.attributes & STYLE_UNDERLINE ? 1 : 0) + (look.attributes & STYLE_STRIKE ? 2 : 0);
    fprintf(s->file, "\" fill=\"%s\"%s%s%s>", reverse ? s->ground : colour,
            look.attributes & STYLE_BOLD ? " font-weight=\"bold\"" : "",
            look.attributes & STYLE_ITALIC ? " font-style=\"italic\"" : "", lines[lined]);
    for (int c = col; c < end; c++) put_cell(s, &line[c]);
    fputs("</text>\n", s->file);
}

/* ---- Pixels ------------------------------------------------------------------------------------------------------ */

/* The colour of a part of a cell that shows pixels: sub-column and sub-row of SUB_COLS and SUB_ROWS. */
static unsigned pixel_of(const struct svg *s, int row, int col, int sub_col, int sub_row)
{
    const struct canvas_cell *cell = row_of(s, row) + col;
    uint8_t rgb[3];
    if (cell->blocks) {
        theme_rgb(sub_row < SUB_ROWS / 2 ? cell->upper : cell->lower, rgb);
        return (unsigned)rgb[0] << 16 | (unsigned)rgb[1] << 8 | rgb[2];
    }
    const struct canvas_picture *p = &s->canvas->pictures[cell->picture - 1];
    uint64_t x = (uint64_t)((col - p->col) * SUB_COLS + sub_col) * 2 + 1;
    uint64_t y = (uint64_t)((row - p->row) * SUB_ROWS + sub_row) * 2 + 1;
    x = x * p->width / (2 * SUB_COLS * (unsigned)p->cols);
    y = y * p->height / (2 * SUB_ROWS * (unsigned)p->rows);
    const uint8_t *at = p->rgb + 3 * ((size_t)y * p->width + x);
    return (unsigned)at[0] << 16 | (unsigned)at[1] << 8 | at[2];
}

/* The cells [col, end) of a row, which show pixels, of half blocks or of pictures: rectangles of one colour each. */
static void put_pixels(const struct svg *s, int row, int col, int end)
{
    int step = row_of(s, row)[col].blocks ? SUB_ROWS / 2 : 1;
    fputs("<g shape-rendering=\"crispEdges\">\n", s->file);
    for (int sub_row = 0; sub_row < SUB_ROWS; sub_row += step)
        for (int at = col * SUB_COLS, next; at < end * SUB_COLS; at = next) {
            unsigned colour = pixel_of(s, row, at / SUB_COLS, at % SUB_COLS, sub_row);
            for (next = at + 1; next < end * SUB_COLS; next++)
                if (pixel_of(s, row, next / SUB_COLS, next % SUB_COLS, sub_row) != colour) break;
            fprintf(s->file, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"#%06x\"/>\n",
                    PAD + at * (double)CELL_W / SUB_COLS, PAD + (row + sub_row / (double)SUB_ROWS) * CELL_H,
                    (next - at) * (double)CELL_W / SUB_COLS, (double)CELL_H * step / SUB_ROWS, colour);
        }
    fputs("</g>\n", s->file);
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static void put_row(const struct svg *s, int row)
{
    const struct canvas_cell *line = row_of(s, row);
    for (int col = 0, next; col < s->canvas->cols; col = next) {
        bool drawn;
        if (!is_pixels(&line[col])) {
            next = stretch_end(s, line, col, &drawn);
            put_stretch(s, row, col, next, drawn);
            continue;
        }
        for (next = col + 1; next < s->canvas->cols; next++)
            if (!is_pixels(&line[next]) || line[next].blocks != line[col].blocks) break;
        put_pixels(s, row, col, next);
    }
}

char *canvas_svg(const struct canvas *canvas, enum view_theme theme, int colours)
{
    struct buffer_stream stream;
    bool light = theme_is_light(theme);
    struct svg s = {buffer_stream_open(&stream),  canvas, theme, colours, light ? "#ffffff" : "#16181d",
                    light ? "#1c1c1c" : "#e4e4e4"};
    if (!s.file) return NULL;
    int w = canvas->cols * CELL_W + 2 * PAD, h = canvas->rows * CELL_H + 2 * PAD;
    fprintf(s.file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n"
            "<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"%s\"/>\n"
            "<g font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"15\" "
            "xml:space=\"preserve\">\n",
            w, h, w, h, w, h, s.ground);
    for (int row = 0; row < canvas->rows; row++) put_row(&s, row);
    if (canvas->cursor_row >= 0)
        fprintf(s.file, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" opacity=\"0.6\"/>\n",
                PAD + canvas->cursor_col * CELL_W, PAD + canvas->cursor_row * CELL_H, CELL_W, CELL_H, s.plain);
    fputs("</g>\n</svg>\n", s.file);
    return buffer_stream_close(&stream, NULL);
}
