#include "src/tui/lists/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool tui_page_begin(tui_page *p, size_t most)
{
    p->n = p->n_notes = 0;
    if (most <= p->room) return true;
    void *rows = realloc(p->rows, most * sizeof *p->rows);
    if (rows) p->rows = rows;
    void *items = rows ? realloc(p->items, most * sizeof *p->items) : NULL;
    if (items) p->items = items;
    if (items) p->room = most;
    return items != NULL;
}

char *tui_page_row(tui_page *p)
{
    if (p->n == p->room) return NULL;
    char *row = p->rows[p->n];
    p->items[p->n++] = (struct view_item){.text = row};
    return row;
}

void tui_page_note(tui_page *p, const char *text)
{
    if (text && *text && p->n_notes < TUI_PAGE_NOTES) p->notes[p->n_notes++] = text;
}

void tui_page_show(tui_page *p, const tui_list *l, const char *title, const char *footer, struct view_popup *v)
{
    bool filtered = l->filter[0] && !l->filtering;
    snprintf(p->title, sizeof p->title, "%s%s%s", title, filtered ? " /" : "", filtered ? l->filter : "");
    tui_list_harmless(p->title);
    *v = (struct view_popup){.kind = VIEW_POPUP_TABLE, .title = p->title, .items = p->items, .n_items = p->n,
                             .selected = l->selected, .notes = p->notes, .n_notes = p->n_notes,
                             .footer = l->filtering ? "Enter keeps it  Esc all" : footer};
    tui_list_ask(l, v);
}

void tui_page_ask(struct view_popup *v, const char *ask, const char *input)
{
    v->ask = ask;
    v->input = input;
    v->input_len = v->input_cursor = strlen(input);
}

void tui_page_free(tui_page *p)
{
    free(p->rows);
    free(p->items);
    *p = (tui_page){0};
}

const char *tui_page_date(char out[TUI_PAGE_DATE], int64_t time_s)
{
    struct tm parts;
    time_t when = (time_t)time_s;
    out[0] = 0;
    if (time_s && localtime_r(&when, &parts)) strftime(out, TUI_PAGE_DATE, "%Y-%m-%d %H:%M", &parts);
    return out;
}
