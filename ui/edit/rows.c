#include "ui/edit/rows.h"

#include <stdbool.h>

size_t rows_next(const char *text, size_t len, size_t at, int column, int columns, struct width_glyph *glyph,
                 int *width)
{
    size_t n = width_next(text + at, len - at, glyph);
    *width = glyph->width;
    if (glyph->n && glyph->point[0] == '\t') {
        *width = WIDTH_TAB - column % WIDTH_TAB;
        if (columns && column < columns && *width > columns - column) *width = columns - column;
    }
    return n;
}

size_t rows_end(const char *text, size_t len, size_t start, int columns, int used)
{
    size_t at = start, cut = start; /* the last place where the row may end, with something before it */
    bool wide_before = false;
    for (int column = used; at < len && text[at] != '\n';) {
        struct width_glyph glyph;
        int width;
        size_t n = rows_next(text, len, at, column, columns, &glyph, &width);
        bool wide = width == 2 && glyph.width == 2;
        if (at > start && (wide || wide_before) && text[at] != ' ' && !width_sticks(glyph.point[0])) cut = at;
        if (columns && column + width > columns && (at > start || used)) return cut > start ? cut : used ? start : at;
        column += width;
        at += n;
        if (text[at - n] == ' ' || text[at - n] == '\t') cut = at;
        wide_before = wide;
    }
    return at;
}
