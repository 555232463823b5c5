#include "src/tui/tui_hits.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"

static const char *text_of(const void *owner, size_t row)
{
    const tui_hits *h = owner;
    return h->all[row].text;
}

static void choose(tui_hits *h)
{
    const tui_list_rows rows = {.n = h->n, .text = text_of, .owner = h};
    tui_list_choose(&h->choice, &rows, tui_list_row(&h->choice));
}

static void take(void *ctx, const store_entry *entry, int id, const tdm_node *node)
{
    tui_hits *h = ctx;
    if (h->found++ >= TUI_HITS_MOST) return;
    tui_hit *larger = realloc(h->all, (h->n + 1) * sizeof *larger);
    if (!larger) return;
    h->all = larger;
    tui_hit *hit = &h->all[h->n++];
    char line[TUI_HITS_ROW - 8];
    memcpy(hit->id, entry->id, sizeof hit->id);
    hit->node = id;
    snprintf(hit->session, sizeof hit->session, "%.79s", entry->name ? entry->name : "");
    store_excerpt(node->text, node->length, h->words, line, sizeof line);
    snprintf(hit->text, sizeof hit->text, "%s: %s", node->role == TDM_USER ? "you" : "model", line);
    tui_list_harmless(hit->session);
    tui_list_harmless(hit->text);
}

tdm_status tui_hits_open(tui_hits *h, const char *words, tdm_error *err)
{
    tui_hits_close(h);
    snprintf(h->words, sizeof h->words, "%s", words);
    tdm_status status = store_search(words, take, h, err);
    if (!status && !h->n) status = error_set(err, TDM_E_NOT_FOUND, "no saved message has '%s'", words);
    h->rows = calloc(h->n + 1, sizeof *h->rows);
    h->items = calloc(h->n + 1, sizeof *h->items);
    if (!status && (!h->rows || !h->items)) status = error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status) choose(h);
    return status;
}

void tui_hits_close(tui_hits *h)
{
    tui_list_free(&h->choice);
    free(h->all);
    free(h->rows);
    free(h->items);
    *h = (tui_hits){0};
}

tui_action tui_hits_event(tui_hits *h, int rows, const struct decoder_event *e, bool *closes)
{
    *closes = false;
    switch (tui_list_event(&h->choice, rows, e)) {
    case TUI_LIST_MOVED: break;
    case TUI_LIST_FILTERS: choose(h); break;
    case TUI_LIST_CLOSES: *closes = true; break;
    case TUI_LIST_NOT_MINE:
        if (e->kind != DECODER_BYTES || e->length != 1 || e->data[0] != '\r') break;
        *closes = true;
        if (tui_list_row(&h->choice) >= h->n) break;
        return tui_action_visit(h->all[tui_list_row(&h->choice)].id, h->all[tui_list_row(&h->choice)].node);
    }
    return (tui_action){0};
}

void tui_hits_fill(tui_hits *h, int cols, struct view_popup *v)
{
    enum { NAME_MOST = 26 };
    int name = cols / 3 < NAME_MOST ? cols / 3 : NAME_MOST;
    for (size_t i = 0; i < h->choice.n_shown; i++) {
        const tui_hit *hit = &h->all[h->choice.shown[i]];
        size_t n = tui_list_cell(h->rows[i], TUI_HITS_ROW, hit->session, name, false);
        n += tui_list_cell(h->rows[i] + n, TUI_HITS_ROW - n, "", 2, false);
        tui_list_cell(h->rows[i] + n, TUI_HITS_ROW - n, hit->text, cols - name - 2, false);
        h->items[i] = (struct view_item){.text = h->rows[i]};
    }
    snprintf(h->title, sizeof h->title, "search '%s'", h->words);
    tui_list_harmless(h->title);
    *v = (struct view_popup){.kind = VIEW_POPUP_TABLE, .title = h->title, .items = h->items,
                             .n_items = h->choice.n_shown, .selected = h->choice.selected, .notes = h->notes,
                             .footer = h->choice.filtering ? "Enter keeps it  Esc all"
                                                           : "Enter opens it there  / filter  q close"};
    size_t row = tui_list_row(&h->choice);
    if (row < h->n) h->notes[v->n_notes++] = h->all[row].text; /* in full */
    snprintf(h->note, sizeof h->note, "%zu messages; the first %d are listed", h->found, TUI_HITS_MOST);
    if (h->found > h->n) h->notes[v->n_notes++] = h->note;
    tui_list_ask(&h->choice, v);
}
