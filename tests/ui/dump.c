#include "tests/ui/dump.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/base/buffer.h"

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

char *dump_canvas(const struct canvas *canvas)
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

char *dump_looks(const struct canvas *canvas, enum view_theme theme, int colours)
{
    struct buffer_stream stream;
    FILE *file = buffer_stream_open(&stream);
    char *text = malloc((size_t)canvas->cols * WIDTH_POINTS * 4 + 1);
    if (!file || !text) {
        if (file) free(buffer_stream_close(&stream, NULL));
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
                if (!theme_same_look(look, theme_look(theme, colours, line[next].style))) break;
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
    return buffer_stream_close(&stream, NULL);
}
