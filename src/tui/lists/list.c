#include "src/tui/lists/list.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/harmless.h"
#include "ui/draw/width.h"
#include "ui/unicode/cluster.h"
#include "ui/unicode/fold.h"

/* By insertion: the order of equal rows stays. */
static void sort(tui_list *l, const tui_list_rows *rows)
{
    for (size_t i = 1; i < l->n_shown; i++) {
        size_t row = l->shown[i], at = i;
        for (; at && rows->before(rows->owner, row, l->shown[at - 1]); at--) l->shown[at] = l->shown[at - 1];
        l->shown[at] = row;
    }
}

void tui_list_choose(tui_list *l, const tui_list_rows *rows, size_t row)
{
    size_t *larger = realloc(l->shown, (rows->n + 1) * sizeof *larger);
    if (!larger) return;
    l->shown = larger;
    l->n_shown = l->selected = 0;
    for (size_t i = 0; i < rows->n; i++)
        if (fold_holds(rows->text(rows->owner, i), l->filter)) l->shown[l->n_shown++] = i;
    if (rows->before) sort(l, rows);
    for (size_t i = 0; i < l->n_shown; i++)
        if (l->shown[i] == row) l->selected = i;
}

static tui_list_result move(tui_list *l, long by)
{
    long last = l->n_shown ? (long)l->n_shown - 1 : 0, to = (long)l->selected + by;
    l->selected = to < 0 ? 0 : (size_t)(to > last ? last : to);
    return TUI_LIST_MOVED;
}

static tui_list_result byte(tui_list *l, long rows, unsigned char c)
{
    switch (c) {
    case 'j':
    case 14: return move(l, 1);
    case 'k':
    case 16: return move(l, -1);
    case ' ': return move(l, rows);
    case 'b': return move(l, -rows);
    case 'g': return move(l, LONG_MIN / 2);
    case 'G': return move(l, LONG_MAX / 2);
    case '/':
        l->filter[0] = 0;
        l->filtering = true;
        return TUI_LIST_FILTERS;
    case 'q': return TUI_LIST_CLOSES;
    default: return TUI_LIST_NOT_MINE;
    }
}

static tui_list_result code(tui_list *l, long rows, enum key_code code)
{
    switch (code) {
    case KEYCODE_DOWN: return move(l, 1);
    case KEYCODE_UP: return move(l, -1);
    case KEYCODE_PAGE_DOWN: return move(l, rows);
    case KEYCODE_PAGE_UP: return move(l, -rows);
    case KEYCODE_HOME: return move(l, LONG_MIN / 2);
    case KEYCODE_END: return move(l, LONG_MAX / 2);
    case KEYCODE_F1: return TUI_LIST_CLOSES;
    default: return TUI_LIST_NOT_MINE;
    }
}

tui_list_result tui_list_event(tui_list *l, int rows, const struct decoder_event *e)
{
    bool one = e->kind == DECODER_BYTES && e->length == 1;
    bool escape = e->kind == DECODER_ESC, ctrl_c = one && (e->data[0] == 3 || e->data[0] == 7);
    if ((escape || ctrl_c) && (l->filtering || (escape && l->filter[0]))) {
        l->filter[0] = 0;
        l->filtering = false;
        return TUI_LIST_FILTERS;
    }
    if (escape || ctrl_c) return TUI_LIST_CLOSES;
    if (e->kind == DECODER_MOUSE) return move(l, e->row - (long)l->selected);
    if (l->filtering) {
        if (tui_line_edit(l->filter, sizeof l->filter, e)) l->filtering = false;
        return TUI_LIST_FILTERS;
    }
    if (rows < 1) rows = 1;
    if (one) return byte(l, rows, (unsigned char)e->data[0]);
    return e->kind == DECODER_KEY ? code(l, rows, e->code) : TUI_LIST_NOT_MINE;
}

void tui_list_ask(const tui_list *l, struct view_popup *v)
{
    if (!l->filtering) return;
    v->ask = "filter:";
    v->input = l->filter;
    v->input_len = v->input_cursor = strlen(l->filter);
}

size_t tui_list_row(const tui_list *l) { return l->selected < l->n_shown ? l->shown[l->selected] : SIZE_MAX; }

void tui_list_free(tui_list *l)
{
    free(l->shown);
    *l = (tui_list){0};
}

size_t tui_list_cell(char *out, size_t room, const char *text, int width, bool right)
{
    size_t all = strlen(text), n = width_text(text, all) <= width ? all : width_fit(text, all, width);
    int pad = width - width_text(text, n);
    int put = snprintf(out, room, "%*s%.*s%*s", right ? pad : 0, "", (int)n, text, right ? 0 : pad, "");
    return put < 0 ? 0 : (size_t)put < room ? (size_t)put : room - 1;
}

void tui_list_harmless(char *text)
{
    for (char *c = text; *c; c++)
        if (*c == '\n' || *c == '\t') *c = ' ';
    harmless_line(text);
}

bool tui_line_edit(char *text, size_t room, const struct decoder_event *e)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < e->length && (e->kind == DECODER_BYTES || e->kind == DECODER_PASTE); i++) {
        unsigned char c = (unsigned char)e->data[i];
        if (c == '\r' && e->kind == DECODER_BYTES) return true;
        if (c == 0x7f || c == 8) {
            n = cluster_before(text, n, n);
        } else if (c == 0x15) {
            n = 0;
        } else if (c >= 0x20 && n + 1 < room) {
            text[n++] = (char)c;
        }
        text[n] = 0;
    }
    return false;
}
