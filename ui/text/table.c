#include "ui/text/table.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_COL = 4, GAP = 3, MAX_COLS = 64, ONE_LINE = 1 << 24 };

void table_free(struct table *table)
{
    lines_free(&table->text);
    free(table->cells);
    memset(table, 0, sizeof *table);
}

static void end_cell(struct table *table)
{
    if (table->n_cells) table->cells[table->n_cells - 1].to = table->text.len;
}

void table_cell_start(struct table *table, enum table_align align)
{
    end_cell(table);
    if (table->n_cells == table->cap_cells) {
        size_t cap = table->cap_cells ? table->cap_cells * 2 : 32;
        struct table_cell *cells = realloc(table->cells, cap * sizeof *cells);
        if (!cells) {
            table->text.failed = true;
            return;
        }
        table->cells = cells;
        table->cap_cells = cap;
    }
    table->cells[table->n_cells++] = (struct table_cell){table->text.len, table->text.len, align};
}

static int cell_width(const struct table *table, size_t i)
{
    const struct table_cell *cell = &table->cells[i];
    /* A table whose cells are all empty has no text to point into. */
    return cell->from == cell->to ? 0 : width_text(table->text.text + cell->from, cell->to - cell->from);
}

/* Takes columns from the widest until the sum fits. */
static void shrink(int *widths, size_t cols, int room)
{
    int sum = 0;
    for (size_t c = 0; c < cols; c++) sum += widths[c];
    while (sum > room) {
        size_t widest = 0;
        int second = MIN_COL;
        for (size_t c = 1; c < cols; c++)
            if (widths[c] > widths[widest]) widest = c;
        for (size_t c = 0; c < cols; c++)
            if (c != widest && widths[c] > second) second = widths[c];
        int take = widths[widest] - second;
        if (take < 1) take = 1;
        if (take > sum - room) take = sum - room;
        if (widths[widest] - take < MIN_COL) break;
        widths[widest] -= take;
        sum -= take;
    }
}

/* Padding and rules stand where the text before them does. */
static size_t here(const struct lines *out) { return out->n_runs ? out->runs[out->n_runs - 1].source : 0; }

static void blanks(struct lines *out, int n)
{
    for (; n > 0; n--) lines_add_made(out, " ", 1, here(out), STYLE_TEXT);
}

static void row(struct table *table, struct lines *out, size_t first, const int *widths, struct lines_prefix prefix,
                bool ascii)
{
    struct lines wrapped[MAX_COLS] = {0};
    size_t height = 1;
    for (size_t c = 0; c < table->cols; c++) {
        const struct table_cell *cell = &table->cells[first + c];
        lines_copy(&wrapped[c], &table->text, cell->from, cell->to);
        lines_wrap(&wrapped[c], 0, widths[c], (struct lines_prefix){"", "", STYLE_TEXT}, LINES_WORDS);
        if (wrapped[c].n > height) height = wrapped[c].n;
        out->failed |= wrapped[c].failed;
    }
    for (size_t k = 0; k < height; k++) {
        size_t from = out->len;
        for (size_t c = 0; c < table->cols; c++) {
            const struct lines *w = &wrapped[c];
            size_t a = k < w->n ? w->line[k].from : 0, b = k < w->n ? w->line[k].to : 0;
            int left = widths[c] - (b > a ? width_text(w->text + a, b - a) : 0), before = 0;
            if (table->cells[first + c].align == TABLE_RIGHT) before = left;
            if (table->cells[first + c].align == TABLE_CENTER) before = left / 2;
            if (c) lines_add_made(out, ascii ? " | " : " \xe2\x94\x82 ", ascii ? 3 : 5, here(out), STYLE_RULE);
            blanks(out, before);
            lines_copy(out, w, a, b);
            if (c + 1 < table->cols) blanks(out, left - before);
        }
        lines_wrap(out, from, ONE_LINE, prefix, LINES_HARD);
    }
    for (size_t c = 0; c < table->cols; c++) lines_free(&wrapped[c]);
}

static void rule(const struct table *table, struct lines *out, const int *widths, struct lines_prefix prefix,
                 bool ascii)
{
    size_t from = out->len;
    for (size_t c = 0; c < table->cols; c++) {
        if (c)
            lines_add_made(out, ascii ? "-+-" : "\xe2\x94\x80\xe2\x94\xbc\xe2\x94\x80", ascii ? 3 : 9, here(out),
                           STYLE_RULE);
        for (int i = 0; i < widths[c]; i++)
            lines_add_made(out, ascii ? "-" : "\xe2\x94\x80", ascii ? 1 : 3, here(out), STYLE_RULE);
    }
    lines_wrap(out, from, ONE_LINE, prefix, LINES_HARD);
}

/* The narrow form: one line for each cell, an empty one between rows. */
static void records(struct table *table, struct lines *out, size_t rows, int width, struct lines_prefix prefix)
{
    for (size_t r = 1; r < rows; r++) {
        for (size_t c = 0; c < table->cols; c++) {
            const struct table_cell *head = &table->cells[c], *cell = &table->cells[r * table->cols + c];
            size_t from = out->len;
            lines_copy(out, &table->text, head->from, head->to);
            lines_add_made(out, ": ", 2, here(out), STYLE_QUIET);
            lines_copy(out, &table->text, cell->from, cell->to);
            lines_wrap(out, from, width, prefix, LINES_WORDS);
        }
        if (r + 1 < rows) lines_wrap(out, out->len, width, prefix, LINES_WORDS);
    }
}

void table_draw(struct table *table, struct lines *out, int width, struct lines_prefix prefix, bool ascii)
{
    int widths[MAX_COLS] = {0};
    end_cell(table);
    if (table->text.failed) out->failed = true;
    if (table->cols == 0 || table->n_cells < table->cols) return;
    size_t rows = table->n_cells / table->cols;
    int room = width - width_text(prefix.rest, strlen(prefix.rest)) - GAP * (int)(table->cols - 1);
    if (table->cols > MAX_COLS || room < MIN_COL * (int)table->cols) {
        records(table, out, rows, width, prefix);
        return;
    }
    for (size_t i = 0; i < rows * table->cols; i++) {
        int w = cell_width(table, i);
        if (w > widths[i % table->cols]) widths[i % table->cols] = w;
    }
    for (size_t c = 0; c < table->cols; c++)
        if (widths[c] < 1) widths[c] = 1;
    shrink(widths, table->cols, room);
    for (size_t r = 0; r < rows; r++) {
        row(table, out, r * table->cols, widths, prefix, ascii);
        prefix.first = prefix.rest;
        if (r == 0) rule(table, out, widths, prefix, ascii);
    }
}
